//! What a pipeline holds after many epochs: what one needs, no more.
//!
//! One test alone, since what other tests hold would count.
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

/// Bytes held now, but for those of [`SLAB`].
static HELD: AtomicU64 = AtomicU64::new(0);

/// Where the memory is that blocks wait in parts of: more addresses than bytes are ever
/// used. It counts for as many as are. There is one at a time.
static SLAB: AtomicUsize = AtomicUsize::new(0);
const SLAB_BYTES: usize = (64 << 20) - (4 << 10);

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

/// Bytes of [`SLAB`] that are memory, as Linux says; other systems are not asked.
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

/// Those of a mapping, if `line` is the first of one.
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

/// Batches that there are at a time: with the consumer, two ready, one being made.
const BATCHES: u64 = 4;

/// Threads, each with room for what it wrote of a batch, be it by chance all.
const THREADS: usize = 2;

/// Memory that blocks wait in parts of comes in huge pages, and what of the last two is
/// unused counts.
const HUGE_PAGES: u64 = 4 << 20;

/// Whatever else there is: buffers that blocks are decompressed to, tasks, plans.
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
