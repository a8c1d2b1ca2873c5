//! Reading and writing row by row allocate nothing for a row.
//!
//! This test is a binary of its own, since allocations of other tests would be counted.
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use atds_btable::{RowReader, Writer};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// Of this thread alone: the test harness allocates meanwhile.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

/// The system's allocator, which counts allocations.
struct Counting;

// SAFETY: every call is passed on to the system's allocator. Counting does not allocate or unwind.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(block, layout) }
    }
}

#[test]
fn rows_allocate_nothing() {
    const ROWS: usize = 20_000;
    let values: Vec<f64> = (0..50).map(f64::from).collect();
    let indices: Vec<i32> = (0..50).collect();
    let mut writer = Writer::new(std::io::sink(), &["label"; 50]).unwrap();
    writer.write_dense_row(&values).unwrap();
    let before = allocations();
    for _ in 0..ROWS {
        writer.write_dense_row(&values).unwrap();
        writer.write_row((0..).zip(values.iter().copied())).unwrap();
        writer.write_csr(&[0, 50], &indices, &values).unwrap();
    }
    // The buffer may grow by the last row of a write, once.
    let written = allocations() - before;
    assert!(written <= 1, "{written} allocations");

    let mut writer = Writer::new(Vec::new(), &["label"; 50]).unwrap();
    for _ in 0..ROWS {
        writer.write_dense_row(&values).unwrap();
    }
    let file = writer.finish().unwrap();
    let mut table = RowReader::new(file.as_slice()).unwrap();
    let before = allocations();
    let mut sum = 0.0;
    while let Some(row) = table.next_row().unwrap() {
        assert!(row.columns().zip(row.values()).eq(row));
        sum += row.values().sum::<f64>();
    }
    assert_eq!(allocations() - before, 0);
    assert_eq!(sum, ROWS as f64 * 1225.0);
}
