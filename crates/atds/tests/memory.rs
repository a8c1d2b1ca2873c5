//! Files that ask for far more memory than they have bytes: no more is allocated than the limit and what
//! it does not count, whatever the codec, the number of threads and the order.
//!
//! This test is a binary of its own, since memory of other tests would be counted. An allocator sees
//! nothing of the decoders that are written in C: the test of the command measures resident memory.
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use atds::{Codec, ColumnSpec, DType, Dataset, DatasetBuilder, ErrorKind, Threads};
use avro_decode::encode::{write_bytes, write_long};

use crate::common::{CODECS, Folder, container};

mod common;

#[global_allocator]
static ALLOCATOR: Limiting = Limiting;

/// Allocated bytes, the most of them at a time, and how many there may be.
static HELD: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);
static MOST: AtomicU64 = AtomicU64::new(u64::MAX);

/// The system's allocator, which has no more than `MOST` bytes.
struct Limiting;

fn add(bytes: usize) -> bool {
    let held = HELD.fetch_add(bytes as u64, Relaxed) + bytes as u64;
    PEAK.fetch_max(held, Relaxed);
    let fits = held <= MOST.load(Relaxed);
    if !fits {
        remove(bytes);
    }
    fits
}

fn remove(bytes: usize) {
    HELD.fetch_sub(bytes as u64, Relaxed);
}

// SAFETY: every call that fits is passed on to the system's allocator, and a null pointer says that one
// does not. Counting does not allocate or unwind.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Limiting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match add(layout.size()) {
            // SAFETY: the caller's promise is the same.
            true => unsafe { System.alloc(layout) },
            false => null_mut(),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match add(layout.size()) {
            // SAFETY: the caller's promise is the same.
            true => unsafe { System.alloc_zeroed(layout) },
            false => null_mut(),
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Large memory is moved by the system, so that old and new are never there at a time.
        let fits = size <= layout.size() || add(size - layout.size());
        if !fits {
            return null_mut();
        }
        remove(layout.size().saturating_sub(size));
        // SAFETY: the caller's promise is the same.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        remove(layout.size());
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(block, layout) }
    }
}

const LIMIT: u64 = 16 << 20;
/// What 16 workers write before they count it, buffers that are kept, plans and the threads.
const UNCOUNTED: u64 = 14 << 20;

/// Runs an epoch under `limit`. Returns the limit that its error names, if it ends with one.
fn run(builder: DatasetBuilder, limit: u64, of: &str) -> Option<u64> {
    let before = HELD.load(Relaxed);
    PEAK.store(before, Relaxed);
    MOST.store(before + limit + UNCOUNTED, Relaxed);
    let dataset = builder.memory_limit(limit).build().unwrap();
    let error = dataset.iter().find_map(Result::err);
    drop(dataset);
    MOST.store(u64::MAX, Relaxed);
    let peak = PEAK.load(Relaxed) - before;
    assert!(peak <= limit + UNCOUNTED, "{peak} bytes: {of}");
    let error = error?;
    let ErrorKind::MemoryLimit { needed, .. } = error.kind else {
        panic!("{of}: {error}");
    };
    assert!(error.place.block.is_some(), "{of}: {error}");
    Some(needed)
}

/// A list of `n` items of a byte 0.
fn list(n: usize) -> Vec<u8> {
    let mut record = Vec::new();
    write_long(&mut record, n as i64);
    record.resize(record.len() + n + 1, 0);
    record
}

fn text(n: usize) -> Vec<u8> {
    let mut record = Vec::new();
    write_bytes(&mut record, &vec![b'x'; n]);
    record
}

#[test]
fn no_more_is_allocated_than_the_limit_allows() {
    let string = r#""string""#;
    let strings = r#"{"type": "array", "items": "string"}"#;
    let longs = r#"{"type": "array", "items": "long"}"#;
    let dense = ColumnSpec::dense("x", &[], DType::String);
    let varlen = |dtype| ColumnSpec::varlen("x", &[-1], dtype);
    let folder = Folder::new();
    let mut cases = Vec::new();
    for codec in CODECS {
        cases.extend([
            // Blocks that do not fit, and blocks that do, whose values do not fit a second time.
            (string, dense.clone(), codec, 2, (1, text(18 << 20))),
            (string, dense.clone(), codec, 1, (1, text(10 << 20))),
        ]);
    }
    let deflate = Codec::Deflate;
    cases.extend([
        (
            string,
            dense.clone(),
            deflate,
            1,
            (12, text(800 << 10).repeat(12)),
        ),
        (string, dense.clone(), deflate, 64, (1, text(1 << 20))),
        (
            string,
            dense.clone(),
            deflate,
            64,
            (16, text(60 << 10).repeat(16)),
        ),
        (
            strings,
            varlen(DType::String),
            deflate,
            1,
            (1, list(3 << 20)),
        ),
        (
            strings,
            varlen(DType::String),
            deflate,
            64,
            (1, list(200 << 10)),
        ),
        (
            longs,
            varlen(DType::Int64),
            deflate,
            1,
            (48, list(100 << 10).repeat(48)),
        ),
        (
            longs,
            varlen(DType::Int64),
            deflate,
            64,
            (1, list(200 << 10)),
        ),
        // Rows of many bytes, few of which fit.
        (
            longs,
            ColumnSpec::dense("x", &[64 << 10], DType::Int64),
            deflate,
            1,
            (64, list(64 << 10).repeat(64)),
        ),
    ]);
    for (kind, column, codec, blocks, (records, payload)) in cases {
        let schema = format!(
            r#"{{"type": "record", "name": "R", "fields": [{{"name": "x", "type": {kind}}}]}}"#
        );
        let file = container(
            &schema,
            codec,
            (0..blocks).map(|_| (records, payload.clone())),
        );
        let path = folder.write("x.avro", &file);
        let of = format!("{blocks} blocks of {records} {kind} in {codec}");
        drop((file, payload));
        let builder = |threads, shuffled: bool| {
            let builder = Dataset::builder(&path, 1024).features([column.clone()]);
            let builder = builder.threads(Threads::Fixed(threads));
            match shuffled {
                true => builder.shuffle_buffer_size(4096),
                false => builder,
            }
        };
        let orders = if codec == Codec::Deflate {
            &[false, true][..]
        } else {
            &[false]
        };
        for &shuffled in orders {
            let named = [1, 16].map(|threads| {
                let of = format!("{of}, {threads} threads, shuffled: {shuffled}");
                run(builder(threads, shuffled), LIMIT, &of)
            });
            let [Some(needed), of_16] = named else {
                panic!("{of} fits");
            };
            assert_eq!(of_16, Some(needed), "{of}");
            if blocks == 1 {
                let again = run(builder(16, shuffled), needed, &of);
                assert_eq!(again, None, "{of} with {needed}");
            }
        }
    }
    // Batches of several pieces that are joined, blocks that are prepared early, reads ahead of them.
    let schema = r#"{"type": "record", "name": "R", "fields": [{"name": "x", "type": "string"}]}"#;
    for codec in [Codec::Null, Codec::Deflate] {
        let blocks = (0..64).map(|_| (1_000, text(200).repeat(1_000)));
        let path = folder.write("x.avro", &container(schema, codec, blocks));
        for shuffled in [0, 2_048] {
            let builder = Dataset::builder(&path, 4_096).features([dense.clone()]);
            let builder = builder.shuffle_buffer_size(shuffled).epochs(2);
            let of = format!("what fits, in {codec}, shuffled: {shuffled}");
            assert_eq!(run(builder.threads(Threads::Fixed(16)), LIMIT, &of), None);
        }
    }
    // Workers that expect batches as large as the largest all begin one at the same time.
    let sizes = (0..60).map(|block| if block % 20 == 0 { 24 } else { 1 + block % 3 });
    let blocks = sizes.map(|size| (1, text(size << 18)));
    let path = folder.write("x.avro", &container(schema, Codec::Deflate, blocks));
    let builder = Dataset::builder(&path, 1).features([dense]);
    let error = run(
        builder.threads(Threads::Fixed(16)),
        4 * LIMIT,
        "large and small",
    );
    assert_eq!(error, None);
}
