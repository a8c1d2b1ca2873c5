//! The slow, readable twin of the readers and the writer: tests and fuzzing hold them against it.
//!
//! It has a whole table in memory, and follows the description of the format word by word. Use
//! [`RowReader`](crate::RowReader) and [`Writer`](crate::Writer).

use crate::error::{Error, ErrorKind};
use crate::limits::Limits;

/// A table in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The labels of the columns.
    pub labels: Vec<String>,
    /// The cells of each row: column and value.
    pub rows: Vec<Vec<(u32, f64)>>,
}

/// Reads a table. Where it is wrong, also returns the rows before.
pub fn read(file: &[u8], limits: &Limits) -> (Table, Option<Error>) {
    let mut table = Table::default();
    let mut input = Input { file, at: 0 };
    let error = read_header(&mut input, limits, &mut table)
        .and_then(|()| read_rows(&mut input, &mut table))
        .err();
    (table, error)
}

/// The bytes of a table whose rows are right: columns ascend and exist.
pub fn write(table: &Table) -> Vec<u8> {
    let mut file = 0i32.to_be_bytes().to_vec();
    let labels: Vec<u16> = table.labels.join("\u{1f}").encode_utf16().collect();
    file.extend((labels.len() as i32).to_be_bytes());
    for unit in labels {
        file.extend(unit.to_be_bytes());
    }
    for row in &table.rows {
        let cells: Vec<_> = row.iter().filter(|(_, value)| *value != 0.0).collect();
        file.extend((cells.len() as i32).to_be_bytes());
        for (column, value) in cells {
            file.extend((*column as i32).to_be_bytes());
            file.extend(value.to_be_bytes());
        }
    }
    file
}

struct Input<'a> {
    file: &'a [u8],
    at: usize,
}

impl Input<'_> {
    /// The next `N` bytes; the number of bytes that lack if there are fewer.
    fn take<const N: usize>(&mut self) -> Result<[u8; N], u64> {
        let rest = &self.file[self.at..];
        let bytes = rest.first_chunk().ok_or_else(|| (N - rest.len()) as u64)?;
        self.at += N;
        Ok(*bytes)
    }

    /// Number of bytes that lack if `needed` are to follow.
    fn missing(&self, needed: u64) -> Option<u64> {
        let here = (self.file.len() - self.at) as u64;
        needed.checked_sub(here).filter(|&missing| missing > 0)
    }

    fn end(&self) -> u64 {
        self.file.len() as u64
    }
}

fn read_header(input: &mut Input<'_>, limits: &Limits, table: &mut Table) -> Result<(), Error> {
    if input.file.is_empty() {
        return Err(Error::new(ErrorKind::Empty, 0, None));
    }
    let end = input.end();
    let ends = |missing| Error::new(ErrorKind::EndsInHeader { missing }, end, None);

    // The version is wrong before the file is too short.
    let version = i32::from_be_bytes(input.take().map_err(|missing| ends(missing + 4))?);
    if version != 0 {
        return Err(Error::new(ErrorKind::Version(version), 0, None));
    }
    let units = i32::from_be_bytes(input.take().map_err(ends)?);
    if units < 0 {
        return Err(Error::new(ErrorKind::NegativeLength(units), 4, None));
    }
    let (units, limit) = (units as u32, limits.max_label_units);
    if units > limit {
        let kind = ErrorKind::LabelsTooLong { units, limit };
        return Err(Error::new(kind, 4, None));
    }
    if let Some(missing) = input.missing(2 * u64::from(units)) {
        return Err(ends(missing));
    }
    let mut text = Vec::new();
    for _ in 0..units {
        text.push(u16::from_be_bytes(input.take().map_err(ends)?));
    }
    for (i, &unit) in text.iter().enumerate() {
        let is_high = |unit: u16| (0xd800..0xdc00).contains(&unit);
        let is_low = |unit: u16| (0xdc00..0xe000).contains(&unit);
        let is_paired = if is_high(unit) {
            text.get(i + 1).is_some_and(|&next| is_low(next))
        } else {
            !is_low(unit) || i > 0 && is_high(text[i - 1])
        };
        if !is_paired {
            let kind = ErrorKind::UnpairedSurrogate(unit);
            return Err(Error::new(kind, 8 + 2 * i as u64, None));
        }
    }
    let text = String::from_utf16_lossy(&text);
    table.labels = text.split('\u{1f}').map(str::to_owned).collect();
    Ok(())
}

fn read_rows(input: &mut Input<'_>, table: &mut Table) -> Result<(), Error> {
    let columns = table.labels.len() as u32;
    let end = input.end();
    while input.at < input.file.len() {
        let row = Some(table.rows.len() as u64);
        let ends = |missing| Error::new(ErrorKind::EndsInRow { missing }, end, row);

        let at = input.at as u64;
        let count = i32::from_be_bytes(input.take().map_err(ends)?);
        if count < 0 {
            return Err(Error::new(ErrorKind::NegativeCount(count), at, row));
        }
        let count = count as u32;
        if count > columns {
            let kind = ErrorKind::CountAboveColumns { count, columns };
            return Err(Error::new(kind, at, row));
        }
        if let Some(missing) = input.missing(12 * u64::from(count)) {
            return Err(ends(missing));
        }
        let mut cells: Vec<(u32, f64)> = Vec::new();
        for _ in 0..count {
            let at = input.at as u64;
            let column = i32::from_be_bytes(input.take().map_err(ends)?);
            if column < 0 || column as u32 >= columns {
                let column = column.into();
                let kind = ErrorKind::ColumnOutOfRange { column, columns };
                return Err(Error::new(kind, at, row));
            }
            let column = column as u32;
            match cells.last() {
                Some(&(before, _)) if column == before => {
                    return Err(Error::new(ErrorKind::RepeatedColumn(column), at, row));
                }
                Some(&(before, _)) if column < before => {
                    let kind = ErrorKind::DescendingColumn { column, before };
                    return Err(Error::new(kind, at, row));
                }
                _ => {}
            }
            let value = f64::from_be_bytes(input.take().map_err(ends)?);
            cells.push((column, value));
        }
        table.rows.push(cells);
    }
    Ok(())
}
