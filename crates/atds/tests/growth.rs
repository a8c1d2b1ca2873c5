//! After 100 epochs a pipeline holds no more memory and no more threads than after a few.
//!
//! This test is a binary of its own, since memory and threads of other tests would be counted.
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use atds::{Batch, Codec, Dataset, Threads};

use crate::common::{Folder, Row, SCHEMA, container, features};

mod common;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Number of allocated bytes.
static HELD: AtomicU64 = AtomicU64::new(0);

/// Number of allocations that are not freed.
static LIVE: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, which counts bytes and allocations.
struct Counting;

// SAFETY: every call is passed on to the system's allocator. Counting does not allocate or unwind.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size() as u64, Relaxed);
        LIVE.fetch_add(1, Relaxed);
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size() as u64, Relaxed);
        LIVE.fetch_add(1, Relaxed);
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size() as u64, Relaxed);
        LIVE.fetch_sub(1, Relaxed);
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Resident bytes and the number of threads, as Linux says them (proc(5)); 0 on other systems.
fn of_process() -> (u64, u64) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.map_or(0, |number| number.parse().unwrap())
    };
    (number("VmRSS:") << 10, number("Threads:"))
}

const FILE: u64 = 1_000;
const BLOCK: u64 = 10;
const EPOCHS: u64 = 100;

/// The epochs that are compared with the last ones.
const WARM: Range<u64> = 20..40;
const LAST: Range<u64> = 80..EPOCHS;

/// So little that it does not matter whether much or little of it is kept for later batches.
const LIMIT: u64 = 24 << 20;

/// Batches by which the mean may vary, besides one for each thread: by chance, as many are kept for later
/// ones, are ready, or are in use.
const SPARE_BATCHES: u64 = 8 + 2 + 1;

/// What else it may vary by: buffers of payloads, builders, and what the system's allocator keeps.
const SPARE: u64 = 8 << 20;
const SPARE_RESIDENT: u64 = 20 << 20;

/// Sums over moments, and the most threads.
#[derive(Debug, Default)]
struct Seen {
    moments: u64,
    held: u64,
    resident: u64,
    threads: u64,
}

/// What was seen in `WARM`, and in `LAST`.
#[derive(Debug, Default)]
struct Growth {
    seen: [Seen; 2],
    largest: u64,
}

impl Growth {
    /// Looks at the process after `batch` of an epoch.
    fn see(&mut self, epoch: u64, batch: &Batch) {
        self.largest = self.largest.max(batch.used_bytes() as u64);
        for (epochs, seen) in [WARM, LAST].iter().zip(&mut self.seen) {
            if epochs.contains(&epoch) {
                let (resident, threads) = of_process();
                seen.moments += 1;
                seen.held += HELD.load(Relaxed);
                seen.resident += resident;
                seen.threads = seen.threads.max(threads);
            }
        }
    }

    fn check(&self, threads: usize, of: &str) {
        let [warm, last] = &self.seen;
        let means = [warm, last].map(|seen| {
            let mean = |sum| sum / seen.moments;
            (mean(seen.held), mean(seen.resident))
        });
        println!(
            "{of}: {means:?} bytes are held and resident, {} threads",
            last.threads
        );
        let [(held, resident), (held_last, resident_last)] = means;
        // Reused memory has a quarter more than a batch, so that it grows less often.
        let spare = (SPARE_BATCHES + threads as u64) * (self.largest + self.largest / 4);
        assert!(held_last <= held + spare + SPARE, "{of}: {means:?}");
        assert!(
            resident_last <= resident + spare + SPARE_RESIDENT,
            "{of}: {means:?}"
        );
        // Workers start when there is work: on a busy machine, some after the epochs that are compared.
        // Besides them there are the planning thread, the test's and the harness's.
        let threads = warm.threads.max(threads as u64 + 3);
        assert!(last.threads <= threads, "{of}: {self:?}");
    }
}

#[test]
fn many_epochs_hold_no_more_than_some() {
    a_hundred_epochs_hold_no_more_than_some();
    thousands_of_small_epochs_leave_no_allocation();
}

fn a_hundred_epochs_hold_no_more_than_some() {
    let folder = uneven_rows();
    for (codec, threads, batch_size, shuffle) in [
        (Codec::Null, 1, 64, 0),
        (Codec::Deflate, 4, 64, 200),
        (Codec::Deflate, 4, 200, 0),
        // Pieces and joins.
        (Codec::Deflate, 4, 1_000, 0),
        (Codec::Null, 16, 100, 300),
    ] {
        let of = format!("{codec}, {threads} threads, {batch_size} of {shuffle}");
        let dataset = |epochs| {
            let dataset = Dataset::builder(folder.join(&format!("{codec}.avro")), batch_size);
            let dataset = dataset.features(features()).shuffle_buffer_size(shuffle);
            let dataset = dataset.threads(Threads::Fixed(threads)).epochs(epochs);
            let dataset = dataset.memory_limit(LIMIT);
            dataset.build().unwrap()
        };
        // An iteration for each epoch, and one that ends early.
        let each = dataset(1);
        let mut growth = Growth::default();
        for epoch in 0..EPOCHS {
            each.epoch(epoch).next().unwrap().unwrap();
            let mut rows = 0;
            for batch in each.epoch(epoch) {
                let batch = batch.unwrap();
                rows += batch.rows() as u64;
                growth.see(epoch, &batch);
            }
            assert_eq!(rows, FILE);
        }
        growth.check(threads, &format!("an iteration an epoch, {of}"));

        // One iteration of all epochs.
        let (mut growth, mut rows) = (Growth::default(), 0);
        for batch in dataset(EPOCHS).iter() {
            let batch = batch.unwrap();
            growth.see(rows / FILE, &batch);
            rows += batch.rows() as u64;
        }
        assert_eq!(rows, EPOCHS * FILE);
        growth.check(threads, &format!("one iteration, {of}"));
    }
}

/// Rows of a small file.
const SMALL: u64 = 40;

/// Iterations of one epoch, and epochs of one iteration. In an iteration, numbers vary more.
const SMALL_EPOCHS: u64 = 1_000;
const EPOCHS_OF_ONE: u64 = 4_000;

/// The fewest allocations at a moment vary little: one that is left an epoch is seen, however small.
fn thousands_of_small_epochs_leave_no_allocation() {
    let folder = Folder::of_rows(1, SMALL as usize, 10, Codec::Deflate);
    for (threads, batch_size, shuffle) in [(1, 8, 0), (4, 8, 20), (4, 40, 0)] {
        let of = format!("{threads} threads, {batch_size} of {shuffle}");
        let dataset = |epochs| {
            let dataset = folder.rows(batch_size).shuffle_buffer_size(shuffle);
            let dataset = dataset.threads(Threads::Fixed(threads)).epochs(epochs);
            dataset.build().unwrap()
        };
        let (each, mut fewest) = (dataset(1), Fewest::default());
        for epoch in 0..SMALL_EPOCHS {
            let rows: usize = each.epoch(epoch).map(|batch| batch.unwrap().rows()).sum();
            assert_eq!(rows as u64, SMALL);
            fewest.see(4 * epoch / SMALL_EPOCHS);
        }
        fewest.check(16, &format!("an iteration an epoch, {of}"));

        if threads > 1 {
            // By chance, the memory of more batches waits for later ones.
            continue;
        }
        let (mut fewest, mut rows) = (Fewest::default(), 0);
        for batch in dataset(EPOCHS_OF_ONE).iter() {
            fewest.see(4 * rows / SMALL / EPOCHS_OF_ONE);
            rows += batch.unwrap().rows() as u64;
        }
        assert_eq!(rows, EPOCHS_OF_ONE * SMALL);
        fewest.check(EPOCHS_OF_ONE / 4, &format!("one iteration, {of}"));
    }
}

/// The fewest allocations in each quarter of the epochs.
#[derive(Debug)]
struct Fewest([u64; 4]);

impl Default for Fewest {
    fn default() -> Self {
        Fewest([u64::MAX; 4])
    }
}

impl Fewest {
    fn see(&mut self, quarter: u64) {
        let fewest = &mut self.0[quarter as usize];
        *fewest = LIVE.load(Relaxed).min(*fewest);
    }

    /// Half of the epochs are between the quarters that are compared.
    fn check(&self, spare: u64, of: &str) {
        println!("{of}: at least {:?} allocations", self.0);
        let [_, before, _, last] = self.0;
        assert!(last < before + spare, "{of}: {self:?}");
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
