//! The figures of a run add up.

use atds::avro::inspect;
use atds::{Codec, Threads};

use crate::common::{CODECS, Folder};

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
            assert_eq!(stats.threads, threads);
            let schedule = stats.schedule.as_ref().unwrap();
            assert_eq!(schedule.threads, threads);
            assert!(schedule.row_ns > 0.0);
            assert_eq!(schedule.prepare_ns > 0.0, codec != Codec::Null);
            assert!(stats.records_per_s() > 0.0);
        }
    }
}

#[test]
fn automatic_threads_say_what_was_decided_and_what_each_has_decoded() {
    let folder = Folder::of_rows(3, 500, 8, Codec::Deflate);
    for (threads, most) in [(Threads::Auto, 4), (Threads::UpTo(3), 3)] {
        let dataset = folder.rows(20).threads(threads).cores(4).build().unwrap();
        // The second iteration begins with what the first has measured.
        for _ in 0..2 {
            let mut batches = dataset.iter();
            let rows: usize = batches.by_ref().map(|batch| batch.unwrap().rows()).sum();
            let stats = batches.stats();
            assert_eq!(stats.threads, most);
            assert!((1..=most).contains(&stats.thread_records.len()));
            assert_eq!(stats.thread_records.iter().sum::<u64>(), rows as u64);
            let schedule = stats.schedule.unwrap();
            assert!((1..=most).contains(&schedule.threads));
            assert!((1..=schedule.threads).contains(&schedule.workers));
            assert!(schedule.pace.is_some());
            let text = schedule.to_string();
            for part in ["decoding a row takes", "planning one", "the consumer takes"] {
                assert!(text.contains(part), "{text}");
            }
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
