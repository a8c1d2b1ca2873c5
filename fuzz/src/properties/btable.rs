//! Tables: readers and writers against their slow twin.

/// What each reader says about the same bytes: shared with the tests of atds-btable.
#[path = "../../../crates/btable/tests/common/mod.rs"]
mod model;

use atds_btable::reference::{self, Table};

use super::input::{Input, damage, piece_lens};

/// See [`BTABLE_READ`](super::BTABLE_READ).
pub(super) fn read(data: &[u8]) {
    let mut input = Input::new(data);
    let block_bytes = 1 + usize::from(input.byte());
    let rest = input.rest();
    for file in [rest.to_vec(), damaged(rest)] {
        let told = model::check_readers(&file, &piece_lens(&file), block_bytes);
        if told.error.is_none() {
            model::check_writers(&told.table);
        }
    }
}

/// See [`BTABLE_WRITE`](super::BTABLE_WRITE).
pub(super) fn write(data: &[u8]) {
    let table = table(&mut Input::new(data));
    model::check_writers(&table);
    let file = reference::write(&table);
    let told = model::check_readers(&file, &piece_lens(data), 1 + data.len() % 300);
    assert!(told.error.is_none());
}

/// A table whose rows are right, and then some damage.
fn damaged(data: &[u8]) -> Vec<u8> {
    let mut input = Input::new(data);
    let mut file = reference::write(&table(&mut input));
    damage(&mut file, &mut Input::new(data));
    file
}

/// A table of some columns, whose labels and rows `input` chooses.
fn table(input: &mut Input<'_>) -> Table {
    let labels = (0..1 + input.below(6)).map(|_| {
        let len = input.below(4);
        let text = String::from_utf8_lossy(input.take(len)).into_owned();
        text.replace('\u{1f}', "")
    });
    let labels: Vec<_> = labels.collect();
    let mut rows = Vec::new();
    while !input.is_empty() {
        let mut row = Vec::new();
        for column in 0..labels.len() as u32 {
            match input.byte() % 4 {
                0 => row.push((column, f64::from_bits(u64::from_le_bytes(input.array())))),
                1 => row.push((column, f64::from(input.byte() as i8))),
                _ => {}
            }
        }
        rows.push(row);
    }
    Table { labels, rows }
}
