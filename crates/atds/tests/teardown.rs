//! Dropping an iteration ends the threads that the system lists: in states that only files of the
//! system have, and with threads that are kept. Other states are in the conformance suite.
//!
//! These tests are a binary of their own, since they count the threads of the process by name.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod common;

use std::ffi::OsString;
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use atds::{Codec, DatasetBuilder, Threads};
use common::{Folder, container, rows_file};

/// Each test holds this lock, so that it does not count threads of other tests.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(pipeline_threads(), Vec::<String>::new());
    guard
}

/// The names of the process's threads that an iteration has started. Threads that read headers
/// have done their work once `build` returns, but the kernel can list them for a moment longer.
fn pipeline_threads() -> Vec<String> {
    threads_by_id().into_iter().map(|(_, name)| name).collect()
}

/// The ids and names of the threads of [`pipeline_threads`].
fn threads_by_id() -> Vec<(OsString, String)> {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let threads = tasks.filter_map(|task| {
        let task = task.ok()?.path();
        let id = task.file_name()?.to_owned();
        // The thread may have ended since the folder was listed.
        let name = fs::read_to_string(task.join("comm")).ok()?;
        let stat = fs::read_to_string(task.join("stat")).ok()?;
        let counts = name.starts_with("atds-") && !name.starts_with("atds-headers");
        (counts && !is_exiting(&stat)).then(|| (id, name.trim_end().to_owned()))
    });
    let mut threads: Vec<_> = threads.collect();
    threads.sort();
    threads
}

/// Whether a thread is exiting, by its line in `stat` (proc(5)). `join` can return shortly before
/// the kernel removes the thread from the list.
fn is_exiting(stat: &str) -> bool {
    const PF_EXITING: u64 = 4;
    let (_, after_name) = stat.rsplit_once(')').unwrap();
    let flags = after_name.split_whitespace().nth(6).unwrap();
    flags.parse::<u64>().unwrap() & PF_EXITING != 0
}

/// Takes `batches` batches, then drops the iteration.
fn drop_after(batches: usize, dataset: DatasetBuilder) {
    let dataset = dataset.threads(Threads::Fixed(3)).build().unwrap();
    let mut iteration = dataset.iter();
    for _ in 0..batches {
        iteration.next().unwrap().unwrap();
    }
    drop(iteration);
    assert_eq!(pipeline_threads(), Vec::<String>::new());
}

#[test]
fn the_threads_of_a_pipeline_are_seen() {
    let _alone = alone();
    let folder = Folder::of_rows(1, 500, 20, Codec::Deflate);
    let dataset = folder.rows(16).threads(Threads::Fixed(3)).prefetch(1);
    let iteration = dataset.build().unwrap().iter();
    // A thread sets its name after it starts.
    let expected = ["atds-planner", "atds-worker"];
    let seen = |name: &&str| pipeline_threads().iter().any(|seen| seen == name);
    while !expected.iter().all(seen) {
        std::thread::yield_now();
    }
    drop(iteration);
    assert_eq!(pipeline_threads(), Vec::<String>::new());
}

#[test]
fn every_epoch_uses_the_kept_threads() {
    let _alone = alone();
    let folder = Folder::of_rows(2, 300, 20, Codec::Deflate);
    let dataset = folder.rows(16).threads(Threads::Fixed(3));
    let dataset = dataset.keep_threads(true).build().unwrap();
    let read = |taken: usize| {
        dataset
            .iter()
            .take(taken)
            .map(|it| it.unwrap().rows())
            .sum()
    };
    let all: usize = read(usize::MAX);
    assert_eq!(all, 601);
    let kept = threads_by_id();
    let names: Vec<_> = kept.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    // The threads stay if an iteration is dropped at once, half way or at the end.
    for taken in [0, 1, 5, usize::MAX] {
        let _: usize = read(taken);
        assert_eq!(threads_by_id(), kept);
    }
    let shard = dataset.shard(1, 2).unwrap();
    assert_eq!(
        shard
            .iter()
            .map(|batch| batch.unwrap().rows())
            .sum::<usize>(),
        301
    );
    assert_eq!(threads_by_id(), kept);
    // A second iteration at the same time has threads of its own, which are kept too.
    let (mut one, mut other) = (dataset.iter(), dataset.iter());
    assert!(one.next().is_some() && other.next().is_some());
    drop((one, other));
    assert!(threads_by_id().len() <= 8);
    drop((dataset, shard));
    assert_eq!(pipeline_threads(), Vec::<String>::new());
}

#[test]
fn an_iteration_is_ended_in_time() {
    let _alone = alone();
    let folder = Folder::of_rows(2, 300, 20, Codec::Deflate);
    let mut iteration = folder.rows(16).build().unwrap().iter();
    assert!(iteration.next().is_some());
    while !iteration.stop_within(Duration::from_millis(1)) {}
    assert_eq!(pipeline_threads(), Vec::<String>::new());
    assert!(iteration.next().is_none());
    assert!(iteration.stop_within(Duration::ZERO));
}

#[test]
fn after_the_end_and_after_an_error() {
    let _alone = alone();
    let folder = Folder::of_rows(1, 50, 20, Codec::Deflate);
    let mut iteration = folder.rows(16).build().unwrap().iter();
    assert_eq!(iteration.by_ref().count(), 4);
    // The last batch stops the threads, without a drop.
    assert_eq!(pipeline_threads(), Vec::<String>::new());
    assert!(iteration.next().is_none());

    folder.write("99.avro", &[]);
    let unchecked = folder.rows(16).check_files(false);
    let mut iteration = unchecked.build().unwrap().iter();
    assert!(iteration.by_ref().last().unwrap().is_err());
    assert_eq!(pipeline_threads(), Vec::<String>::new());
    assert!(iteration.next().is_none());
}

/// Blocks without records never fill a batch or a window.
#[test]
fn in_a_file_of_nothing_but_empty_blocks() {
    let _alone = alone();
    let folder = Folder::new();
    let empty = (0..200_000).map(|_| (0, Vec::new()));
    folder.write("a.avro", &container(common::SCHEMA, Codec::Null, empty));
    for _ in 0..5 {
        drop_after(0, folder.rows(10).epochs(1_000));
    }
}

/// Empty blocks after a record do not delay its batch, and dropping the iteration stops reading.
#[test]
fn before_very_many_empty_blocks() {
    let _alone = alone();
    let row = common::Row::new(0).encode();
    let blocks = (0..1_000_000).map(|_| (0, Vec::new()));
    let file = container(
        common::SCHEMA,
        Codec::Null,
        [(1, row)].into_iter().chain(blocks),
    );
    let folder = Folder::new();
    folder.write("a.avro", &file);
    let mut iteration = folder.rows(1).build().unwrap().iter();
    let stats = iteration.stats_handle();
    assert_eq!(iteration.next().unwrap().unwrap().rows(), 1);
    drop(iteration);
    assert!(stats.stats().raw_bytes < file.len() as u64 / 2);
}

/// One block takes far longer to decompress than the rest of the test.
#[test]
fn while_a_huge_block_is_read() {
    let _alone = alone();
    let folder = Folder::new();
    folder.write("a.avro", &rows_file(0..200_000, 200_000, Codec::Deflate));
    for mmap in [false, true] {
        drop_after(0, folder.rows(10).mmap(mmap));
        drop_after(1, folder.rows(10).mmap(mmap));
    }
}

#[test]
fn several_iterations_stop_one_by_one() {
    let _alone = alone();
    let folder = Folder::of_rows(2, 300, 20, Codec::Snappy);
    let dataset = folder.rows(16).threads(Threads::Fixed(2)).build().unwrap();
    let (mut first, mut second) = (dataset.iter(), dataset.iter());
    first.next().unwrap().unwrap();
    drop(first);
    assert_eq!(
        second.by_ref().map(|b| b.unwrap().rows()).sum::<usize>(),
        601
    );
    assert_eq!(pipeline_threads(), Vec::<String>::new());
}
