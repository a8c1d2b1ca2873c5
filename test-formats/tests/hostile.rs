//! Files that ask for much more memory than they have bytes, read with an allocator that counts: the
//! limit holds, and the outcome is the same for all numbers of threads.
//!
//! This test is a binary of its own, since allocations of other tests would be counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use atds_format::{ByteSource, Format, Location};
use atds_pipeline::{Error, ErrorKind, Files, Options, Pipeline};
use atds_test_formats::{InMemory, Late, LateOptions, Row, TestFormat, ToyFiles};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that are allocated, and the most that were.
static BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, which counts bytes.
struct Counting;

fn add(bytes: usize) {
    let now = BYTES.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(now, Relaxed);
}

// SAFETY: every call is passed on to the system's allocator. Counting does not allocate or unwind.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old memory may be there until the new is filled.
        add(size);
        BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is the same.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Allocations of one test must not count for another.
static ALONE: Mutex<()> = Mutex::new(());

/// What is not counted, of a whole iteration and of each thread: what a worker writes between two
/// counts, its stack's guard, the scratch of the format.
const UNCOUNTED: usize = 8 << 20;
const UNCOUNTED_OF_THREAD: usize = 1 << 20;

#[derive(Debug)]
struct TestFiles {
    sources: Vec<Arc<dyn ByteSource>>,
    format: Arc<dyn Format>,
}

impl Files for TestFiles {
    fn len(&self) -> usize {
        self.sources.len()
    }

    fn location(&self, file: usize) -> Location {
        self.sources[file].location().clone()
    }

    fn source(&self, file: usize) -> std::io::Result<Arc<dyn ByteSource>> {
        Ok(self.sources[file].clone())
    }

    fn format(&self, _: usize) -> Arc<dyn Format> {
        self.format.clone()
    }
}

fn files(files: &[Vec<u8>], is_late: bool) -> Arc<dyn Files> {
    let sources = files.iter().enumerate().map(|(i, file)| {
        let name = format!("part-{i}");
        let options = LateOptions {
            delay: std::time::Duration::from_micros(100),
            ..LateOptions::default()
        };
        let source: Arc<dyn ByteSource> = match is_late {
            true => Arc::new(Late::new(&name, file.clone(), options)),
            false => Arc::new(InMemory::new(&name, file.clone()).as_stream()),
        };
        source
    });
    Arc::new(TestFiles {
        sources: sources.collect(),
        format: PACKED.format(),
    })
}

const PACKED: ToyFiles = ToyFiles { is_packed: true };

/// A packed block: its count of records, and its runs of characters.
fn block(records: usize, runs: &[(u8, u8)]) -> Vec<u8> {
    let payload: Vec<u8> = runs.iter().flat_map(|&(n, byte)| [n, byte]).collect();
    let mut block = format!("#{records:9} {:9}\n", payload.len()).into_bytes();
    block.extend(payload);
    block
}

/// A file of these blocks.
fn file(blocks: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut file = PACKED.write(&[]);
    blocks.into_iter().for_each(|block| file.extend(block));
    file
}

/// The number of batches and the error of a run, and the bytes that were allocated at its peak.
fn run(files: &Arc<dyn Files>, options: &Options) -> (usize, Option<Error>, usize) {
    let before = BYTES.load(Relaxed);
    PEAK.store(before, Relaxed);
    let pipeline = Pipeline::new(PACKED.spec(), files.clone(), options.clone());
    let (mut batches, mut error) = (0, None);
    let mut iter = pipeline.iter(0..1);
    for item in iter.by_ref() {
        match item {
            Ok(_) => batches += 1,
            Err(found) => error = Some(found),
        }
    }
    let stats = iter.stats();
    assert!(stats.memory_peak <= options.memory_limit, "{stats:?}");
    drop(iter);
    (batches, error, PEAK.load(Relaxed) - before)
}

/// Reads files with several limits and numbers of threads. Returns the outcomes for the limits.
fn outcomes(files: &Arc<dyn Files>, options: &Options) -> Vec<(usize, bool)> {
    let mut outcomes = Vec::new();
    for limit in [2 << 20, 8 << 20, 64 << 20] {
        let mut first = None;
        for threads in [1, 2, 16] {
            let mut options = options.clone();
            (options.threads, options.memory_limit) = (threads, limit);
            let (batches, error, peak) = run(files, &options);
            let of = format!("{limit} bytes, {threads} threads, {options:?}: {error:?}");
            if let Some(error) = &error {
                assert!(matches!(error.kind, ErrorKind::MemoryLimit { .. }), "{of}");
                assert!(error.place.location.is_some(), "{of}");
            }
            let uncounted = UNCOUNTED + threads * UNCOUNTED_OF_THREAD;
            assert!(peak <= limit as usize + uncounted, "{peak} bytes: {of}");
            let outcome = (batches, error.is_some());
            assert_eq!(outcome, *first.get_or_insert(outcome), "{of}");
        }
        outcomes.extend(first);
    }
    outcomes
}

#[test]
fn ordinary_files_need_little() {
    let _alone = ALONE.lock();
    let rows = |block: i64| {
        let row = |i| Row {
            label: i,
            numbers: vec![i; 20],
        };
        (block * 100..block * 100 + 100).map(row).collect()
    };
    let blocks: Vec<Vec<Row>> = (0..80).map(rows).collect();
    let file = PACKED.write(&blocks);
    for is_late in [false, true] {
        let files = files(&[file.clone(), file.clone()], is_late);
        for (batch_size, buffer) in [(256, 0), (256, 2000), (5_000, 0)] {
            let mut options = Options::new(batch_size);
            options.shuffle_buffer_size = buffer;
            let found = outcomes(&files, &options);
            let last = found.last().expect("three limits");
            assert!(!last.1, "an error for batches of {batch_size} of {buffer}");
        }
    }
}

#[test]
fn blocks_that_grow_are_granted_what_there_is() {
    let _alone = ALONE.lock();
    // Each block has many records, or one of 1 MB.
    let many = block(20_000, &[(1, b'7'), (1, b'\n')].repeat(20_000));
    let mut long = vec![(255, b'0'); 1 << 20 >> 8];
    long.push((1, b'\n'));
    let long = block(1, &long);
    for blocks in [vec![many; 8], vec![long; 12]] {
        let files = files(&[file(blocks)], false);
        for (batch_size, buffer) in [(1000, 0), (1000, 30_000), (20_000, 5)] {
            let mut options = Options::new(batch_size);
            options.shuffle_buffer_size = buffer;
            outcomes(&files, &options);
        }
    }
}

#[test]
fn a_record_with_a_huge_list_is_an_error() {
    let _alone = ALONE.lock();
    // Numbers that take 3.2 MB, and 8 MB while the column grows.
    let mut runs = [(1, b'1'), (1, b' ')].repeat(400_000);
    runs.extend([(1, b'1'), (1, b'\n')]);
    let small = block(3, &[(1, b'7'), (1, b'\n')].repeat(3));
    let file = file([small.clone(), block(1, &runs), small]);
    drop(runs);
    let files = files(&[file], false);
    for (batch_size, shuffle_buffer_size) in [(2, 0), (2, 4)] {
        let mut options = Options::new(batch_size);
        options.shuffle_buffer_size = shuffle_buffer_size;
        let errors: Vec<bool> = outcomes(&files, &options)
            .iter()
            .map(|found| found.1)
            .collect();
        assert_eq!(errors, [true, true, false], "of {shuffle_buffer_size}");
    }
}

#[test]
fn many_small_files_do_not_hold_their_buffers() {
    let _alone = ALONE.lock();
    let small = file([block(1, &[(1, b'7'), (1, b'\n')])]);
    let files = files(&vec![small; 2000], false);
    for (batch_size, buffer) in [(100, 0), (2000, 0), (100, 1000)] {
        let mut options = Options::new(batch_size);
        options.shuffle_buffer_size = buffer;
        let found = outcomes(&files, &options);
        assert!(!found.last().expect("three limits").1);
    }
}
