//! The figures of a run add up.

use std::fs::File;
use std::io::Write;
use std::process::Command;
use std::time::Duration;

use atds::avro::inspect;
use atds::{Batches, Codec, Threads};

use crate::common::{CODECS, Folder, rows_file};

/// Takes all batches. Returns the number of worker runs that made them, and whether the costs of
/// earlier runs decided the last one.
fn runs(mut batches: Batches) -> (u64, bool) {
    batches.by_ref().for_each(|batch| drop(batch.unwrap()));
    let schedule = batches.stats().schedule.unwrap();
    (schedule.runs, schedule.decision.unwrap().total_ns.is_some())
}

#[test]
fn records_steps_and_bytes_add_up() {
    for codec in CODECS {
        let folder = Folder::of_rows(3, 50, 8, codec);
        let files = folder.rows(1).build().unwrap().files().to_vec();
        let inspected: Vec<_> = files.iter().map(|file| inspect(file).unwrap()).collect();
        let blocks: u64 = inspected.iter().map(|file| file.blocks).sum();
        let payloads: u64 = inspected.iter().map(|file| file.raw_bytes).sum();
        let decompressed: u64 = inspected.iter().map(|file| file.decompressed_bytes).sum();
        assert_eq!(blocks, 7 + 7 + 7);
        for (shuffle, threads) in [(0, 1), (0, 3), (70, 1), (70, 3)] {
            let dataset = folder.rows(20).shuffle_buffer_size(shuffle).epochs(2);
            let mut batches = dataset
                .threads(Threads::Fixed(threads))
                .build()
                .unwrap()
                .iter();
            let rows: usize = batches.by_ref().map(|batch| batch.unwrap().rows()).sum();
            let stats = batches.stats();
            assert_eq!(stats.records, rows as u64);
            assert_eq!(stats.records, 2 * (50 + 51 + 52));
            assert_eq!(stats.steps, 2 * 8);
            // A block is a count, a size of one or two bytes, its payload and the sync marker.
            let heads = stats.raw_bytes - 2 * payloads - 2 * 16 * blocks;
            assert!(
                (2 * 2 * blocks..=2 * 3 * blocks).contains(&heads),
                "{codec}: {heads}"
            );
            assert_eq!(stats.decompressed_bytes, 2 * decompressed, "{codec}");
            assert!(!stats.decode.is_zero());
            assert_eq!(stats.decompress.is_zero(), codec == Codec::Null);
            assert!(stats.memory_peak > 0 && stats.memory_peak <= stats.memory_limit);
            assert!(stats.window_peak > 0 && stats.window_peak <= stats.memory_peak);
            assert_eq!((stats.dropped_entries, stats.dropped_records), (0, 0));
            assert!((1..=threads).contains(&stats.threads), "{}", stats.threads);
            // In file order, several threads make two batches in a run. The first batch, and an
            // incomplete batch at the end, are runs of their own.
            let runs = if (shuffle, threads) == (0, 3) { 5 } else { 8 };
            assert_eq!(stats.schedule.as_ref().unwrap().runs, 2 * runs);
            assert!(stats.records_per_s() > 0.0);
        }
    }
}

#[test]
fn the_blocks_of_a_file_are_all_of_it_but_the_header() {
    let folder = Folder::of_rows(1, 100, 8, Codec::Deflate);
    let dataset = folder.rows(10).build().unwrap();
    let mut batches = dataset.iter();
    batches.by_ref().for_each(|batch| drop(batch.unwrap()));
    let empty = crate::common::rows_file([], 1, Codec::Deflate);
    let size = dataset.total_bytes().unwrap().unwrap();
    assert_eq!(batches.stats().raw_bytes, size - empty.len() as u64);
}

#[test]
fn figures_grow_while_batches_are_taken_and_stand_still_afterwards() {
    let folder = Folder::of_rows(1, 100, 8, Codec::Deflate);
    let mut batches = folder.rows(10).build().unwrap().iter();
    assert_eq!((batches.stats().records, batches.stats().steps), (0, 0));
    for step in 1..=10 {
        batches.next().unwrap().unwrap();
        let stats = batches.stats();
        assert_eq!((stats.records, stats.steps), (10 * step, step));
    }
    assert!(batches.next().is_none());
    let (end, later) = (batches.stats(), batches.stats());
    assert_eq!(end.elapsed, later.elapsed);
    assert!(!end.elapsed.is_zero());
}

#[test]
fn an_iteration_knows_what_earlier_ones_of_the_data_set_have_learnt() {
    for threads in [Threads::Auto, Threads::Fixed(1)] {
        let folder = Folder::of_rows(1, 10, 8, Codec::Deflate);
        let dataset = folder.rows(10).threads(threads).build().unwrap();
        assert_eq!(runs(dataset.iter()), (1, false));
        assert_eq!(runs(dataset.iter()), (1, true));
        let slice = dataset.slice(0..5, dataset.file_records().unwrap());
        assert_eq!(runs(slice.unwrap().iter()), (1, true));
        // Another data set starts without measured costs.
        let dataset = folder.rows(10).threads(threads).build().unwrap();
        assert_eq!(runs(dataset.iter()), (1, false));
    }
}

#[test]
#[cfg(unix)]
fn what_a_run_is_expected_to_take_has_the_wait_for_bytes_in_it() {
    const EACH: Duration = Duration::from_millis(4);
    // The wait is far longer than decoding a record, which takes some microseconds.
    let has_the_wait = |ns: &f64| *ns > EACH.as_nanos() as f64 / 4.0;
    // On a busy machine the reader can be late and does not wait, so one success is enough.
    let found = (0..10)
        .map(|_| expected_ns_of_pipe(60, EACH))
        .find(has_the_wait);
    assert!(found.is_some());
}

/// The longest expected time of a run that reads the end of a pipe. The writer waits until the pipe
/// is empty, then for `pause`, then writes the next block.
#[cfg(unix)]
fn expected_ns_of_pipe(blocks: usize, pause: Duration) -> f64 {
    let bytes = rows_file(0..blocks as i64, 1, Codec::Null);
    let folder = Folder::new();
    let path = folder.write("pipe.avro", &bytes);
    // Building needs a file for the schema; the pipe replaces it before reading.
    let dataset = folder.rows(1).build().unwrap();
    std::fs::remove_file(&path).unwrap();
    let made = Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo, of the system, is there").success());
    let mut batches = dataset.iter();
    let writer = std::thread::spawn(move || {
        let mut pipe = File::create(path).unwrap();
        for part in bytes.chunks(bytes.len().div_ceil(blocks)) {
            while rustix::io::ioctl_fionread(&pipe).unwrap() > 0 {
                std::thread::sleep(pause / 8);
            }
            std::thread::sleep(pause);
            pipe.write_all(part).unwrap();
        }
    });
    assert_eq!(batches.by_ref().flatten().count(), blocks);
    writer.join().unwrap();
    let decision = batches.stats().schedule.unwrap().decision.unwrap();
    let expected = decision.expected_ns.iter();
    expected.map(|&(_, ns)| ns).fold(0.0, f64::max)
}
