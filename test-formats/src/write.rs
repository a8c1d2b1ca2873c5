//! Writers of the two formats.

use std::fmt::Write;

use crate::Row;

/// A toy file. The label of the damaged row, given by block and row, is no number.
pub(crate) fn toy(
    blocks: &[Vec<Row>],
    is_packed: bool,
    damaged: Option<(usize, usize)>,
) -> Vec<u8> {
    let head: &[u8] = if is_packed {
        b"toy pack\n"
    } else {
        b"toy text\n"
    };
    let mut file = head.to_vec();
    for (number, rows) in blocks.iter().enumerate() {
        let mut text = String::new();
        for (row, Row { label, numbers }) in rows.iter().enumerate() {
            if damaged == Some((number, row)) {
                text.push('x');
            }
            write!(text, "{label}").expect("a string grows");
            for number in numbers {
                write!(text, " {number}").expect("a string grows");
            }
            text.push('\n');
        }
        let mut payload = text.into_bytes();
        if is_packed {
            payload = pack(&payload);
        }
        file.extend_from_slice(format!("#{:9} {:9}\n", rows.len(), payload.len()).as_bytes());
        file.extend_from_slice(&payload);
    }
    file
}

/// Each run of a character as its length and the character.
fn pack(text: &[u8]) -> Vec<u8> {
    let runs = text.chunk_by(|a, b| a == b);
    let runs = runs.flat_map(|run| run.chunks(255));
    runs.flat_map(|run| [run.len() as u8, run[0]]).collect()
}

/// A file of columns with `group_blocks` blocks in a group. The list of the damaged row, given by
/// block and row, ends where no value is.
pub(crate) fn columns(
    blocks: &[Vec<Row>],
    group_blocks: usize,
    damaged: Option<(usize, usize)>,
) -> Vec<u8> {
    let mut file = b"COLS".to_vec();
    let mut footer = Vec::new();
    for (group, blocks) in blocks.chunks(group_blocks).enumerate() {
        let rows = || blocks.iter().flatten();
        let mut columns = [Vec::new(), Vec::new(), Vec::new()];
        let [labels, ends, values] = &mut columns;
        differences(rows().map(|row| row.label), labels);
        differences(rows().flat_map(|row| row.numbers.iter().copied()), values);
        let mut end = 0u32;
        for (number, rows) in blocks.iter().enumerate() {
            for (row, Row { numbers, .. }) in rows.iter().enumerate() {
                end += numbers.len() as u32;
                let is_damaged = damaged == Some((group * group_blocks + number, row));
                let written = if is_damaged { u32::MAX } else { end };
                ends.extend_from_slice(&written.to_le_bytes());
            }
        }

        footer.extend_from_slice(&(rows().count() as u32).to_le_bytes());
        footer.extend_from_slice(&end.to_le_bytes());
        // Neither in the order of the payload's parts nor side by side.
        let mut offsets = [0; 3];
        for column in [2, 0, 1] {
            file.extend_from_slice(b"----");
            offsets[column] = file.len() as u64;
            file.extend_from_slice(&columns[column]);
        }
        for offset in offsets {
            footer.extend_from_slice(&offset.to_le_bytes());
        }
        footer.extend_from_slice(&(blocks.len() as u32).to_le_bytes());
        for rows in blocks {
            footer.extend_from_slice(&(rows.len() as u32).to_le_bytes());
        }
    }
    file.extend_from_slice(&footer);
    file.extend_from_slice(&(footer.len() as u32).to_le_bytes());
    file.extend_from_slice(b"COLS");
    file
}

fn differences(numbers: impl Iterator<Item = i64>, to: &mut Vec<u8>) {
    let mut before = 0i64;
    for number in numbers {
        to.extend_from_slice(&number.wrapping_sub(before).to_le_bytes());
        before = number;
    }
}
