//! A running pipeline allocates some dozens of times for a batch, and never for a record.
//!
//! This test is a binary of its own, since allocations of other tests would be counted.
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use atds::{Codec, DatasetBuilder, Threads};

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

/// Numbers of batches that are read before allocations are counted, and while they are.
const WARM_UP: usize = 100;
const COUNTED: usize = 200;

/// The most allocations of a batch: of its plan, its op, its columns and each of its blocks.
const PER_BATCH: u64 = 48;
const PER_BLOCK: u64 = 8;

#[test]
fn a_batch_allocates_and_a_record_does_not() {
    COUNTS.set(false);
    let codecs = [Codec::Null, Codec::Deflate];
    for codec in codecs.into_iter().chain([Codec::Snappy]) {
        // Two blocks a batch, of few records or of many.
        for block in [20, 400] {
            let batch = 2 * block;
            let folder = Folder::of_rows(1, 50 * batch, block, codec);
            for (shuffle, mmap, threads) in
                [(0, false, 1), (0, true, 2), (7, false, 2), (7, true, 1)]
            {
                let dataset = folder.rows(batch).epochs(1_000).mmap(mmap);
                let dataset = dataset.shuffle_buffer_size(shuffle * block);
                let dataset = dataset.threads(Threads::Fixed(threads));
                let made = allocations(dataset);
                let blocks_read = if shuffle == 0 { 2 } else { 9 };
                let most = PER_BATCH + PER_BLOCK * blocks_read;
                assert!(
                    made <= most,
                    "{codec}, {block} records a block, shuffle {shuffle}, mmap {mmap}, {threads} \
                     threads: {made} allocations a batch, {most} at most"
                );
            }
        }
    }
}

/// The number of allocations of a batch, once the pipeline has run for a while.
fn allocations(dataset: DatasetBuilder) -> u64 {
    let mut batches = dataset.build().unwrap().iter();
    let mut read = |count: usize| {
        for _ in 0..count {
            drop(batches.next().unwrap().unwrap());
        }
        ALLOCATIONS.load(Relaxed)
    };
    let before = read(WARM_UP);
    (read(COUNTED) - before).div_ceil(COUNTED as u64)
}
