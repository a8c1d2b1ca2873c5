//! A running pipeline allocates some dozens of times for a batch, and never for a record; and an iteration has the
//! memory of the one before.
//!
//! These tests are a binary of their own, since allocations of other tests would be counted.
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use atds::{Codec, DatasetBuilder, Threads};

use crate::common::Folder;

mod common;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Number of allocations, without those of threads that are not counted.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// Bytes of the large ones.
static LARGE_BYTES: AtomicU64 = AtomicU64::new(0);
const LARGE: usize = 16 << 10;

/// Held by the test that counts.
static TURN: Mutex<()> = Mutex::new(());

thread_local! {
    static COUNTS: Cell<bool> = const { Cell::new(true) };
}

/// The system's allocator, which counts allocations.
struct Counting;

fn count(bytes: usize) {
    if COUNTS.get() {
        ALLOCATIONS.fetch_add(1, Relaxed);
        if bytes >= LARGE {
            LARGE_BYTES.fetch_add(bytes as u64, Relaxed);
        }
    }
}
// SAFETY: every call is passed on to the system's allocator. Counting does not allocate or unwind:
// the thread's flag needs no initialization and no destructor.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
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
    let _turn = begin();
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

#[test]
fn an_iteration_has_the_memory_of_the_one_before() {
    let _turn = begin();
    let folder = Folder::of_rows(1, 40_000, 400, Codec::Null);
    for (shuffle, threads) in [(0, 1), (0, 2), (4_000, 1)] {
        let dataset = folder.rows(4_000).shuffle_buffer_size(shuffle);
        let dataset = dataset.threads(Threads::Fixed(threads)).build().unwrap();
        let read = || {
            let before = LARGE_BYTES.load(Relaxed);
            for batch in &dataset {
                drop(batch.unwrap());
            }
            LARGE_BYTES.load(Relaxed) - before
        };
        let first = read();
        // Which of its buffers an iteration still used as it ended is left to chance.
        let later = (0..4).map(|_| read()).min().unwrap();
        assert!(
            later < first / 4,
            "shuffle {shuffle}, {threads} threads: {later} bytes of large memory, {first} before"
        );
    }
}

/// Waits for the turn of a test, whose own thread does not count.
fn begin() -> MutexGuard<'static, ()> {
    COUNTS.set(false);
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
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
