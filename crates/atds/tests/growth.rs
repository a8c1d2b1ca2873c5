//! After many epochs a pipeline holds no more memory than one epoch needs.
//!
//! This test is a binary of its own, since memory of other tests would be counted.
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use std::{fs, thread};

use atds::{Codec, Dataset, Threads};

use crate::common::{Folder, Row, SCHEMA, container, features};

mod common;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Number of allocated bytes, without those of [`SLAB`].
static HELD: AtomicU64 = AtomicU64::new(0);

/// The address of the arena for waiting blocks. It reserves more addresses than it uses, so only
/// its resident bytes count. There is one at a time.
static SLAB: AtomicUsize = AtomicUsize::new(0);
const SLAB_BYTES: usize = (64 << 20) - (4 << 10);

/// The system's allocator, which counts bytes.
struct Counting;

// SAFETY: every call is passed on to the system's allocator. Counting does not allocate or unwind.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size() as u64, Relaxed);
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the same.
        let block = unsafe { System.alloc_zeroed(layout) };
        let is_slab = layout.size() == SLAB_BYTES;
        if !is_slab
            || SLAB
                .compare_exchange(0, block.addr(), Relaxed, Relaxed)
                .is_err()
        {
            HELD.fetch_add(layout.size() as u64, Relaxed);
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if SLAB
            .compare_exchange(block.addr(), 0, Relaxed, Relaxed)
            .is_err()
        {
            HELD.fetch_sub(layout.size() as u64, Relaxed);
        }
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Number of resident bytes of [`SLAB`] on Linux; 0 on other systems.
fn slab_bytes() -> u64 {
    let start = SLAB.load(Relaxed);
    let slab = start..start + SLAB_BYTES;
    let maps = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let mut is_slab = false;
    let mut bytes = 0;
    for line in maps.lines() {
        if let Some(addresses) = addresses(line) {
            is_slab = addresses.start < slab.end && slab.start < addresses.end;
        } else if let (true, Some(size)) = (is_slab, line.strip_prefix("Anonymous:")) {
            let kilobytes = size.trim().trim_end_matches(" kB");
            bytes += kilobytes.parse::<u64>().unwrap() << 10;
        }
    }
    bytes
}

/// The addresses of a mapping, if `line` is the first line of one.
fn addresses(line: &str) -> Option<Range<usize>> {
    let (start, rest) = line.split_once('-')?;
    let (end, _) = rest.split_once(' ')?;
    let [start, end] = [start, end].map(|address| usize::from_str_radix(address, 16));
    Some(start.ok()?..end.ok()?)
}

const FILE: u64 = 16_000;
const BLOCK: u64 = 10;
const BATCH: usize = 800;
const SHUFFLE_BUFFER: usize = 2_000;
const EPOCHS: u64 = 50;

/// Maximum number of batches at a time: one in use, two ready, one being made.
const BATCHES: u64 = 4;

/// Number of threads. By chance, one may write a whole batch, so each can have memory for one.
const THREADS: usize = 2;

/// Size of two huge pages. The arena for waiting blocks may leave that much unused.
const HUGE_PAGES: u64 = 4 << 20;

/// Size of all other memory: buffers for decompressed blocks, tasks, plans.
const OTHER: u64 = 512 << 10;

#[test]
fn many_epochs_hold_a_window_and_some_batches() {
    let folder = uneven_rows();
    for codec in [Codec::Null, Codec::Deflate] {
        let dataset = Dataset::builder(folder.join(&format!("{codec}.avro")), BATCH)
            .features(features())
            .shuffle_buffer_size(SHUFFLE_BUFFER)
            .threads(Threads::Fixed(THREADS))
            // With a map, blocks that are read ahead take no allocated memory.
            .mmap(true);
        let dataset = dataset.build().unwrap();
        let (mut largest, mut window) = (0, 0);
        for epoch in 0..EPOCHS {
            // An epoch that ends early keeps no memory either.
            dataset.epoch(epoch).nth(2).unwrap().unwrap();
            let mut batches = dataset.epoch(epoch);
            let first = batches.next().unwrap().unwrap();
            // After this time the maximum number of batches is ready.
            thread::sleep(Duration::from_millis(20));
            drop(first);
            for batch in batches.by_ref() {
                largest = largest.max(batch.unwrap().used_bytes() as u64);
            }
            window = window.max(batches.stats().window_peak);
            drop(batches);
            // Reused memory has spare capacity, so that it grows less often.
            let batches = (BATCHES + THREADS as u64) * (largest + largest / 4);
            // A waiting block may take a third more memory than its bytes.
            let waiting = match codec {
                Codec::Null => 0,
                _ => (window + window / 3).next_multiple_of(HUGE_PAGES),
            };
            let most = waiting + batches + OTHER;
            let held = HELD.load(Relaxed) + slab_bytes();
            assert!(
                held <= most,
                "{codec}, epoch {epoch}: {held} bytes are held, {most} at most"
            );
        }
    }
}

/// One file for each codec, with rows of very different lengths.
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
    // Pseudo-random numbers.
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
