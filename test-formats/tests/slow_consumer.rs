//! A slow consumer needs few workers.

#![allow(clippy::unwrap_used)]

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use atds_format::{ByteSource, Format, Location};
use atds_pipeline::{Files, Options, Pipeline};
use atds_test_formats::{InMemory, Row, TestFormat, ToyFiles};
use bytes::Bytes;

#[derive(Debug)]
struct OneFile {
    bytes: Bytes,
    format: Arc<dyn Format>,
}

impl Files for OneFile {
    fn len(&self) -> usize {
        1
    }

    fn location(&self, _: usize) -> Location {
        Location::Path("toy".into())
    }

    fn source(&self, _: usize) -> io::Result<Arc<dyn ByteSource>> {
        Ok(Arc::new(InMemory::new("toy", self.bytes.clone())))
    }

    fn format(&self, _: usize) -> Arc<dyn Format> {
        self.format.clone()
    }
}

fn pipeline(batch: usize, rows: usize, threads: usize) -> Pipeline {
    let toy = ToyFiles { is_packed: true };
    let row = |i: usize| Row {
        label: (i % 10) as i64,
        numbers: Vec::new(),
    };
    let all: Vec<Row> = (0..rows).map(row).collect();
    let blocks: Vec<Vec<Row>> = all.chunks(100).map(<[Row]>::to_vec).collect();
    let files = OneFile {
        bytes: toy.write(&blocks).into(),
        format: toy.format(),
    };
    let mut options = Options::new(batch);
    options.threads = threads;
    Pipeline::new(toy.spec(), Arc::new(files), options)
}

/// The share of the rows that the busiest worker decodes for a consumer that takes a batch every 10 ms.
fn largest_share(threads: usize) -> f64 {
    let mut batches = pipeline(1_024, 1_024 * 100, threads).iter(0..1);
    for batch in batches.by_ref() {
        batch.unwrap();
        thread::sleep(Duration::from_millis(10));
    }
    let rows = batches.stats().thread_records;
    println!("{threads} threads: {rows:?}");
    let most = rows.iter().max().unwrap();
    *most as f64 / rows.iter().sum::<u64>() as f64
}

#[test]
fn one_worker_does_nine_tenths_of_what_is_taken_every_10_ms() {
    for threads in [2, 16, 64] {
        // While other programs keep a worker from its core, another one rightly helps.
        let is_most = (0..3).any(|_| largest_share(threads) >= 0.9);
        assert!(is_most, "{threads} threads");
    }
}

#[test]
fn few_batches_start_few_threads() {
    let mut batches = pipeline(64, 64 * 8, 128).iter(0..1);
    for batch in batches.by_ref() {
        batch.unwrap();
    }
    let rows = batches.stats().thread_records;
    assert_eq!(rows.iter().sum::<u64>(), 8 * 64);
    assert!(rows.len() <= 16, "{rows:?}");
}
