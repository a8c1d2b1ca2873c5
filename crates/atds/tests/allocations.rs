//! A running pipeline allocates nothing if each batch is dropped before the next one is taken.
//!
//! This test is a binary of its own, since allocations of other tests would be counted.
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use atds::{Batches, Codec, DatasetBuilder, Threads};

use crate::common::Folder;

mod common;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Number of allocations, without those of threads that are not counted.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static COUNTS: Cell<bool> = const { Cell::new(true) };
}

/// The system's allocator, which counts allocations.
struct Counting;

fn count() {
    if COUNTS.get() {
        ALLOCATIONS.fetch_add(1, Relaxed);
    }
}
// SAFETY: every call is passed on to the system's allocator. Counting does not allocate or unwind:
// the thread's flag needs no initialization and no destructor.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is the same.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Numbers of records in a file, a block and a batch.
const FILE: usize = 16_800;
const BLOCK: usize = 42;
const BATCH: usize = 84;

/// Number of batches in a stretch, over which allocations are counted. A file has several
/// stretches.
const STRETCH: usize = 40;

/// Number of stretches before the pipeline must not allocate any more: several epochs.
const WARM_UP: usize = 40;

/// Maximum number of allocations to open a file: its path, its header, and state that its blocks
/// share.
const PER_FILE: u64 = 30;

#[test]
fn a_pipeline_that_runs_allocates_nothing() {
    COUNTS.set(false);
    let codecs = [Codec::Null, Codec::Deflate];
    for codec in codecs.into_iter().chain([Codec::Snappy]) {
        let folder = Folder::of_rows(1, FILE, BLOCK, codec);
        for (shuffle, mmap, threads) in
            [(0, false, 1), (0, true, 2), (300, false, 2), (300, true, 1)]
        {
            let case = format!("{codec}, shuffle {shuffle}, mmap {mmap}, {threads} threads");
            let dataset = folder.rows(BATCH).epochs(1_000).mmap(mmap);
            let dataset = dataset.shuffle_buffer_size(shuffle);
            let dataset = dataset.threads(Threads::Fixed(threads));
            becomes_quiet(dataset.clone(), &case);
            kept_batches_cost_their_own_memory(dataset, &case);
        }
    }
}

/// If batches are dropped, whole stretches allocate nothing after a while; only opening files
/// allocates.
fn becomes_quiet(dataset: DatasetBuilder, case: &str) {
    let mut batches = dataset.build().unwrap().iter();
    let stretch = |batches: &mut Batches| {
        let before = ALLOCATIONS.load(Relaxed);
        for _ in 0..STRETCH {
            drop(batches.next().unwrap().unwrap());
        }
        ALLOCATIONS.load(Relaxed) - before
    };
    let mut counts = Vec::new();
    while counts.len() < WARM_UP {
        // An epoch. Only the stretch that opens the file may allocate.
        let epoch: [u64; FILE / BATCH / STRETCH] = std::array::from_fn(|_| stretch(&mut batches));
        counts.extend(epoch);
        let (quiet, total) = (epoch.iter().filter(|n| **n == 0), epoch.iter().sum::<u64>());
        if quiet.count() >= 4 && total <= PER_FILE {
            return;
        }
        // The file may be opened between two stretches, so the next stretches begin elsewhere.
        let rest = batches.by_ref().take(STRETCH / 4);
        rest.for_each(|batch| drop(batch.unwrap()));
    }
    panic!("{case}: allocations in {STRETCH} batches each: {counts:?}");
}

/// If batches are kept, each one allocates only the vectors and buffers of its columns, once and in
/// their final size.
fn kept_batches_cost_their_own_memory(dataset: DatasetBuilder, case: &str) {
    let mut batches = dataset.build().unwrap().iter();
    let columns = 5;
    let mut stretch = || {
        let before = ALLOCATIONS.load(Relaxed);
        let kept: Vec<_> = (0..STRETCH).map(|_| batches.next().unwrap()).collect();
        let made = ALLOCATIONS.load(Relaxed) - before;
        (kept, made)
    };
    // The size of a thread's part of a batch varies by chance, so its memory grows for a while.
    let _warm_up = [stretch(), stretch(), stretch(), stretch(), stretch()];
    let (_kept, made) = stretch();
    let each = 4 * columns + 2;
    let most = (STRETCH * each) as u64 + PER_FILE;
    assert!(made <= most, "{case}: {made} allocations, {most} at most");
}
