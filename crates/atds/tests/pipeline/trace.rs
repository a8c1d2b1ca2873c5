//! Traces, and the text that says what waits for what.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use atds::stats::Trace;
use atds::{Codec, Dataset, DatasetBuilder, Threads};
use avro_block::{Frame, Framer};
use bytes::Bytes;
use serde_json::Value;

use crate::common::Folder;

/// A writer that keeps what is written, up to a number of bytes; then it fails.
#[derive(Clone, Default)]
struct Kept {
    bytes: Arc<Mutex<Vec<u8>>>,
    most: Option<usize>,
}

impl Write for Kept {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let mut bytes = self.bytes.lock().unwrap();
        bytes.extend_from_slice(buf);
        match self.most {
            Some(most) if bytes.len() > most => Err(io::Error::other("the disk is full")),
            _ => Ok(buf.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Kept {
    fn events(&self) -> Vec<Value> {
        serde_json::from_slice(&self.bytes.lock().unwrap()).unwrap()
    }
}

/// Reads all batches, and returns their number.
fn read(dataset: &Dataset) -> u64 {
    let batches = dataset.iter().map(|batch| batch.unwrap());
    batches.filter(|batch| batch.rows() > 0).count() as u64
}

fn number(event: &Value, argument: &str) -> u64 {
    let number = event["args"][argument].as_u64();
    number.unwrap_or_else(|| panic!("{argument} of {event}"))
}

/// The start and the end of a span in ns.
fn span(event: &Value) -> (u64, u64) {
    let ns = |value: &Value| (value.as_f64().unwrap() * 1e3).round() as u64;
    let start = ns(&event["ts"]);
    (start, start + ns(&event["dur"]))
}

/// Checks the events of one iteration that gave out `batches` batches with `rows` rows.
fn check(events: &[Value], batches: u64, rows: u64, threads: u64) {
    let mut names = BTreeMap::new();
    let mut spans: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    let (mut given, mut made) = (Vec::new(), BTreeSet::new());
    let (mut given_rows, mut piece_rows, mut reads) = (0, 0, 0);
    for event in events {
        let thread = || event["tid"].as_u64().unwrap();
        let name = event["name"].as_str().unwrap();
        match event["ph"].as_str().unwrap() {
            "M" if name == "thread_name" => {
                let name = event["args"]["name"].as_str().unwrap().to_owned();
                assert_eq!(names.insert(thread(), name), None);
            }
            "M" => {}
            "i" => {
                assert_eq!((name, thread()), ("batch", 0));
                given.push(number(event, "batch"));
                given_rows += number(event, "rows");
                assert!(number(event, "bytes") > 0);
            }
            "X" => {
                spans.entry(thread()).or_default().push(span(event));
                match name {
                    "batches" => {
                        let first = number(event, "batch");
                        made.extend(first..first + number(event, "batches"));
                    }
                    "piece" => {
                        made.insert(number(event, "batch"));
                        piece_rows += number(event, "rows");
                        assert!(number(event, "piece") < number(event, "pieces"));
                    }
                    "prepare" => assert!(number(event, "blocks") > 0),
                    "read" => reads += number(event, "bytes"),
                    "open" => {}
                    "join" => assert!(number(event, "batch") < batches),
                    _ => assert!(name.starts_with("wait for "), "{event}"),
                }
                if event["cat"] == "op" {
                    assert!(event["args"]["file"].is_string(), "{event}");
                    let (_, bytes) = (number(event, "block"), number(event, "bytes"));
                    assert!(bytes > 0, "{event}");
                }
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(given, (0..batches).collect::<Vec<_>>());
    assert_eq!(made, (0..batches).collect());
    assert_eq!(given_rows, rows);
    assert!(piece_rows <= rows);
    assert!(reads > 0);
    assert_eq!(names[&0], "consumer");
    assert_eq!(names[&1], "planning thread");
    for (&thread, spans) in &mut spans {
        assert!(thread < 2 + threads);
        if thread >= 2 {
            assert_eq!(names[&thread], format!("worker {}", thread - 2));
        }
        // Spans nest: one ends before the next begins, or contains it.
        spans.sort_by_key(|&(start, end)| (start, u64::MAX - end));
        let mut open: Vec<u64> = Vec::new();
        for &(start, end) in &*spans {
            open.retain(|&outer| outer > start);
            assert!(open.iter().all(|&outer| end <= outer), "of {thread}");
            open.push(end);
        }
    }
}

#[test]
fn a_trace_has_each_batch_once_and_names_each_thread() {
    for codec in [Codec::Null, Codec::Deflate] {
        let folder = Folder::of_rows(3, 400, 8, codec);
        for threads in [1, 2, 4] {
            for (shuffle, batch_size, mmap) in [(0, 20, false), (100, 7, true), (0, 500, false)] {
                let kept = Kept::default();
                let trace = Trace::new(kept.clone());
                let dataset = folder.rows(batch_size).shuffle_buffer_size(shuffle);
                let dataset = dataset
                    .threads(Threads::Fixed(threads))
                    .mmap(mmap)
                    .epochs(2);
                let dataset = dataset.trace(trace.clone()).build().unwrap();
                // Two iterations are two processes of one trace.
                let batches = [read(&dataset), read(&dataset)];
                trace.finish().unwrap();
                trace.finish().unwrap();
                let events = kept.events();
                for (process, batches) in (1..).zip(batches) {
                    let of = events.iter().filter(|event| event["pid"] == process);
                    let of: Vec<Value> = of.cloned().collect();
                    check(&of, batches, 2 * (400 + 401 + 402), threads as u64);
                }
            }
        }
    }
}

/// The offset and the bytes of each read of one epoch: of the planning thread, and of the workers.
fn reads(dataset: DatasetBuilder) -> [Vec<(u64, u64)>; 2] {
    let kept = Kept::default();
    let trace = Trace::new(kept.clone());
    read(&dataset.trace(trace.clone()).build().unwrap());
    trace.finish().unwrap();
    let mut reads = [const { Vec::new() }; 2];
    for event in kept.events() {
        if event["name"] == "read" {
            let of_worker = usize::from(event["tid"] != 1);
            reads[of_worker].push((number(&event, "offset"), number(&event, "bytes")));
        }
    }
    reads
}

/// The planning thread reads the header and the first block, and the heads of blocks by reads so short that no trace
/// has them.
#[cfg(target_os = "linux")]
#[test]
fn workers_read_blocks_in_order_from_the_first_epoch_on() {
    let folder = Folder::of_rows(1, 2_000, 20, Codec::Null);
    let dataset = || folder.rows(100).reader_buffer_size(2 << 10);
    let bytes = Bytes::from(fs::read(folder.path().join("00.avro")).unwrap());
    let mut starts = BTreeSet::new();
    let mut framer = Framer::new();
    framer.push(bytes.clone());
    loop {
        match framer.next().unwrap() {
            Frame::Header(_) => {}
            Frame::Block(block) => drop(starts.insert(block.offset)),
            _ => break,
        }
    }
    let [planning, workers] = reads(dataset().threads(Threads::Fixed(3)));
    assert!(matches!(planning[..], [(0, _)]), "{planning:?}");
    assert!(
        workers.iter().all(|(offset, _)| starts.contains(offset)),
        "{workers:?}"
    );
    let read: u64 = workers.iter().map(|(_, bytes)| bytes).sum();
    assert_eq!(Some(&(bytes.len() as u64 - read)), starts.iter().nth(1));
    // One worker would read no sooner than the planning thread beside it.
    let [planning, workers] = reads(dataset().threads(Threads::Fixed(1)));
    assert_eq!(
        planning.iter().map(|(_, bytes)| bytes).sum::<u64>(),
        bytes.len() as u64
    );
    assert!(workers.is_empty(), "{workers:?}");
}

#[test]
fn a_trace_that_nobody_finishes_is_whole_and_one_that_is_cut_off_is_a_beginning() {
    let folder = Folder::of_rows(2, 200, 8, Codec::Deflate);
    let kept = Kept::default();
    let dataset = folder.rows(20).trace(Trace::new(kept.clone()));
    let dataset = dataset.build().unwrap();
    let batches = read(&dataset);
    let begun = kept.bytes.lock().unwrap().clone();
    let begun = String::from_utf8(begun).unwrap();
    let events: Vec<Value> = serde_json::from_str(&format!("{begun}]")).unwrap();
    let given = events.iter().filter(|event| event["ph"] == "i").count();
    assert_eq!(given as u64, batches);
    drop(dataset);
    assert_eq!(kept.events(), events);
}

#[test]
fn a_fault_of_the_writer_is_returned_and_the_iteration_goes_on() {
    let folder = Folder::of_rows(2, 200, 8, Codec::Deflate);
    for most in [0, 500, 3_000] {
        let kept = Kept {
            most: Some(most),
            ..Kept::default()
        };
        let trace = Trace::new(kept.clone());
        let dataset = folder.rows(2).trace(trace.clone()).build().unwrap();
        assert_eq!(read(&dataset), 201);
        let error = trace.finish().unwrap_err();
        assert_eq!(error.to_string(), "the disk is full");
        trace.finish().unwrap();
        // Nothing is written after the fault.
        let written = kept.bytes.lock().unwrap().len();
        read(&dataset);
        assert_eq!(kept.bytes.lock().unwrap().len(), written);
    }
}

#[test]
fn it_says_what_each_thread_does_before_during_and_after() {
    let folder = Folder::of_rows(3, 400, 8, Codec::Deflate);
    for threads in [1, 3] {
        let dataset = folder.rows(20).threads(Threads::Fixed(threads));
        let mut batches = dataset.build().unwrap().iter();
        let handle = batches.stats_handle();
        assert!(
            handle
                .describe_waits()
                .starts_with("consumer: does something else\n")
        );
        batches.next().unwrap().unwrap();
        // Finished batches wait for the consumer: the first op does not start.
        let started = Instant::now();
        let text = loop {
            let text = handle.describe_waits();
            let waits = ["worker 0: waits for an op since ", " ready (at most 2), "];
            if waits.iter().all(|part| text.contains(part)) && !text.contains(" 0 ready ") {
                break text;
            }
            assert!(started.elapsed() < Duration::from_secs(60), "{text}");
            sleep(Duration::from_millis(1));
        };
        assert!(text.contains(", took a batch 0."), "{text}");
        assert!(text.contains("\nbatches: 1 given out, "), "{text}");
        assert!(text.contains("\nmemory: "), "{text}");
        let planning = text
            .lines()
            .find(|line| line.starts_with("planning thread: "));
        assert!(planning.is_some(), "{text}");
        for batch in batches.by_ref() {
            batch.unwrap();
        }
        let text = batches.describe_waits();
        assert!(text.starts_with("the iteration is stopped\n"), "{text}");
        let idle = format!("\n{threads} of {threads} workers do not run\n");
        assert!(text.contains(&idle), "{text}");
        drop(batches);
        assert_eq!(handle.describe_waits(), "the iteration has ended\n");
    }
}
