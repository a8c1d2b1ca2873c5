//! What a pipeline holds after many epochs: what one needs, no more.
//!
//! One test alone, since what other tests hold would count.
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use atds::{Codec, Dataset, Threads};

use crate::common::{Folder, Row, SCHEMA, container, features};

mod common;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes held now.
static HELD: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, with a count of bytes.
struct Counting;

// SAFETY: all is the system allocator's doing; counting neither allocates nor
// unwinds.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size() as u64, Relaxed);
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size() as u64, Relaxed);
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(block, layout) }
    }
}

const FILE: u64 = 16_000;
const BLOCK: u64 = 10;
const BATCH: usize = 800;
const SHUFFLE_BUFFER: usize = 2_000;
const EPOCHS: u64 = 50;

/// Batches that there are at a time: with the consumer, two ready, one being made.
const BATCHES: u64 = 4;

/// Threads, each with room for what it wrote of a batch, be it by chance all.
const THREADS: usize = 2;

/// Bytes of the large pieces of memory that blocks wait in parts of. What is unused of
/// the last takes no memory, but counts. Larger ones follow on more than are here.
const SLAB: u64 = 4 << 20;

/// Whatever else there is: buffers that blocks are inflated to, tasks, plans.
const OTHER: u64 = 512 << 10;

#[test]
fn many_epochs_hold_a_window_and_some_batches() {
    let folder = uneven_rows();
    for codec in [Codec::Null, Codec::Deflate] {
        let dataset = Dataset::builder(folder.join(&format!("{codec}.avro")), BATCH)
            .features(features())
            .shuffle_buffer_size(SHUFFLE_BUFFER)
            .threads(Threads::Fixed(THREADS))
            // Blocks that are read ahead are memory of files then.
            .mmap(true);
        let dataset = dataset.build().unwrap();
        let (mut largest, mut window) = (0, 0);
        for epoch in 0..EPOCHS {
            // One that is left before its end leaves nothing behind either.
            dataset.epoch(epoch).nth(2).unwrap().unwrap();
            let mut batches = dataset.epoch(epoch);
            let first = batches.next().unwrap().unwrap();
            // By then as many batches wait ready as may.
            thread::sleep(Duration::from_millis(20));
            drop(first);
            for batch in batches.by_ref() {
                largest = largest.max(batch.unwrap().used_bytes() as u64);
            }
            window = window.max(batches.stats().window_peak);
            drop(batches);
            // Memory that is used again has some room, for less growing.
            let batches = (BATCHES + THREADS as u64) * (largest + largest / 4);
            // A block may wait in a third more memory than it has bytes.
            let waiting = match codec {
                Codec::Null => 0,
                _ => (window + window / 3).next_multiple_of(SLAB),
            };
            let most = waiting + batches + OTHER;
            let held = HELD.load(Relaxed);
            assert!(
                held <= most,
                "{codec}, epoch {epoch}: {held} bytes are held, {most} at most"
            );
        }
    }
}

/// A file per codec of rows that differ much in length.
fn uneven_rows() -> Folder {
    let folder = Folder::new();
    for codec in [Codec::Null, Codec::Deflate] {
        let blocks = (0..FILE).step_by(BLOCK as usize).map(|start| {
            let rows = (start..start + BLOCK).flat_map(|id| uneven_row(id).encode());
            (BLOCK, rows.collect())
        });
        let bytes = container(SCHEMA, codec, blocks);
        folder.write(&format!("{codec}.avro"), &bytes);
    }
    folder
}

fn uneven_row(id: u64) -> Row {
    // Anything that looks like chance.
    let mut state = id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut below = |n: u64| {
        state = (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state % n
    };
    let row = Row::new(id as i64);
    Row {
        text: "x".repeat(below(200) as usize),
        list: (0..below(100) as i32).collect(),
        cells: (0..below(60) as i64).map(|i| (i, 0.5)).collect(),
        ..row
    }
}
