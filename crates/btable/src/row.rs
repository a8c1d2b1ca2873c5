//! Rows as sparse slices of the bytes that they are read from.

use std::iter;

use crate::error::{Error, ErrorKind};

/// Size in bytes of the number of a row's cells.
pub(crate) const COUNT: usize = 4;

/// A cell as it is in the file: column and value, big-endian.
pub(crate) type RawCell = [u8; CELL];

/// Size in bytes of a cell.
pub(crate) const CELL: usize = 12;

/// A row: its cells in ascending order of their columns. It is a slice of the bytes that it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a> {
    cells: &'a [RawCell],
}

impl<'a> Row<'a> {
    /// The row of cells that were checked.
    #[inline]
    pub(crate) fn of_checked(cells: &'a [RawCell]) -> Self {
        Row { cells }
    }

    /// Number of cells.
    #[inline]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether all values are 0.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The cells: column and value.
    #[inline]
    pub fn iter(&self) -> Cells<'a> {
        Cells(self.cells.iter())
    }

    /// The columns of the cells, ascending. Faster than [`iter`](Self::iter) where the values are not needed.
    #[inline]
    pub fn columns(&self) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + use<'a> {
        self.cells.iter().map(|cell| column(cell) as u32)
    }

    /// The values of the cells, in the order of their columns.
    #[inline]
    pub fn values(&self) -> impl DoubleEndedIterator<Item = f64> + ExactSizeIterator + use<'a> {
        self.cells.iter().map(value)
    }

    /// The value of the cell in `column`, if the row has one.
    pub fn cell(&self, column: u32) -> Option<f64> {
        let cells = self.cells;
        let found = cells.binary_search_by_key(&column, |cell| self::column(cell) as u32);
        found.ok().map(|at| value(&cells[at]))
    }

    /// The value in `column`: 0.0 if the row has no cell there.
    pub fn get(&self, column: u32) -> f64 {
        self.cell(column).unwrap_or(0.0)
    }

    /// Writes all values of the row to `values`, zeros included.
    ///
    /// # Panics
    /// If `values` has fewer items than the table has columns.
    pub fn fill(&self, values: &mut [f64]) {
        values.fill(0.0);
        for (column, value) in self.iter() {
            values[column as usize] = value;
        }
    }
}

/// A row whose columns are not checked yet. Its cells are checked as they are read, in one pass.
#[derive(Clone, Copy, Debug)]
pub struct UncheckedRow<'a> {
    cells: &'a [RawCell],
    columns: u32,
    /// Offset in the file of the first cell.
    offset: u64,
    row: u64,
}

impl<'a> UncheckedRow<'a> {
    /// The row of these cells, in row `row` whose first cell is at byte `offset` of the file.
    #[inline]
    pub(crate) fn new(cells: &'a [RawCell], columns: u32, offset: u64, row: u64) -> Self {
        UncheckedRow {
            cells,
            columns,
            offset,
            row,
        }
    }

    /// The number of the row.
    pub fn number(&self) -> u64 {
        self.row
    }

    /// Number of cells.
    #[inline]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether all values are 0.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The row.
    ///
    /// # Errors
    /// A column is out of range, repeated or descending.
    #[inline]
    pub fn check(self) -> Result<Row<'a>, Error> {
        self.read(iter::repeat_n((), self.len()), |(), _, _| ())
    }

    /// Calls `give` with an item of `to`, the column and the value of each cell, and returns the row: one pass
    /// for what [`check`](Self::check) and [`Row::iter`] would read twice.
    ///
    /// # Errors
    /// A column is out of range, repeated or descending. What was given is of no use then.
    ///
    /// # Panics
    /// If the number of items of `to` is not the number of cells.
    #[inline]
    pub fn read<T>(
        self,
        to: impl ExactSizeIterator<Item = T>,
        mut give: impl FnMut(T, u32, f64),
    ) -> Result<Row<'a>, Error> {
        assert_eq!(to.len(), self.len(), "an item for each cell");
        // A negative column is above all others. The differences are negative as long as columns ascend.
        let (mut last, mut differences) = (-1, -1);
        self.cells.iter().zip(to).for_each(|(cell, to)| {
            let next = column(cell) as u32;
            give(to, next, value(cell));
            let next = i64::from(next);
            differences &= last - next;
            last = next;
        });
        if differences < 0 && last < i64::from(self.columns) {
            Ok(Row { cells: self.cells })
        } else {
            let found = self.cells.iter().map(column);
            Err(bad_column(found, self.columns, self.offset, self.row))
        }
    }
}

impl<'a> IntoIterator for Row<'a> {
    type Item = (u32, f64);
    type IntoIter = Cells<'a>;

    fn into_iter(self) -> Cells<'a> {
        self.iter()
    }
}

/// The cells of a row: column and value.
#[derive(Clone, Debug)]
pub struct Cells<'a>(std::slice::Iter<'a, RawCell>);

impl Iterator for Cells<'_> {
    type Item = (u32, f64);

    #[inline]
    fn next(&mut self) -> Option<(u32, f64)> {
        let cell = self.0.next()?;
        Some((column(cell) as u32, value(cell)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for Cells<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<(u32, f64)> {
        let cell = self.0.next_back()?;
        Some((column(cell) as u32, value(cell)))
    }
}

impl ExactSizeIterator for Cells<'_> {}

/// The rows of a block, from its bytes. After an error there are no more.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    bytes: &'a [u8],
    columns: u32,
    /// Offset in the file of the first byte.
    offset: u64,
    /// The number of the next row.
    row: u64,
}

impl<'a> Rows<'a> {
    /// The rows in `bytes`, of a table with `columns` columns. `offset` is that of the first byte in the
    /// file, and `row` the number of the first row, as errors have them.
    pub fn new(bytes: &'a [u8], columns: u32, offset: u64, row: u64) -> Self {
        Rows {
            bytes,
            columns,
            offset,
            row,
        }
    }

    /// The bytes that are left, from the next row on.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// The next row, with its columns unchecked. After an error there is none.
    ///
    /// # Errors
    /// The row's number of cells is negative, above the number of columns, or beyond the end of the bytes; or
    /// there are no more bytes.
    #[inline]
    pub fn next_unchecked(&mut self) -> Result<UncheckedRow<'a>, Error> {
        let (columns, offset, row) = (self.columns, self.offset + COUNT as u64, self.row);
        let cells = self.next_cells()?;
        Ok(UncheckedRow::new(cells, columns, offset, row))
    }

    #[inline]
    fn next_cells(&mut self) -> Result<&'a [RawCell], Error> {
        let missing = |missing| {
            let kind = ErrorKind::EndsInRow { missing };
            Error::new(kind, self.offset + self.bytes.len() as u64, Some(self.row))
        };
        let Some((&count, rest)) = self.bytes.split_first_chunk::<COUNT>() else {
            return Err(missing((COUNT - self.bytes.len()) as u64));
        };
        let count = count_of(count, self.columns);
        let count = count.map_err(|kind| Error::new(kind, self.offset, Some(self.row)))?;
        let len = CELL * count;
        let Some((cells, rest)) = rest.split_at_checked(len) else {
            return Err(missing((len - rest.len()) as u64));
        };
        self.offset += (COUNT + len) as u64;
        // The number of the first one may be false.
        self.row = self.row.wrapping_add(1);
        self.bytes = rest;
        Ok(cells.as_chunks().0)
    }

    /// Goes on after `rows` rows, whose columns are not checked.
    ///
    /// # Errors
    /// A row's number of cells is negative, above the number of columns, or beyond the end of the bytes.
    pub fn skip_rows(&mut self, rows: u64) -> Result<(), Error> {
        for _ in 0..rows {
            self.next_cells()?;
        }
        Ok(())
    }
}

impl<'a> Iterator for Rows<'a> {
    type Item = Result<Row<'a>, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() {
            return None;
        }
        let checked = self.next_unchecked().and_then(UncheckedRow::check);
        if checked.is_err() {
            self.bytes = &[];
        }
        Some(checked)
    }
}

/// The number of cells, in a table with `columns` columns.
#[inline]
pub(crate) fn count_of(count: [u8; COUNT], columns: u32) -> Result<usize, ErrorKind> {
    let count = i32::from_be_bytes(count);
    match u32::try_from(count) {
        Ok(count) if count <= columns => Ok(count as usize),
        Ok(count) => Err(ErrorKind::CountAboveColumns { count, columns }),
        Err(_) => Err(ErrorKind::NegativeCount(count)),
    }
}

/// The column of a cell.
#[inline]
pub(crate) fn column(cell: &RawCell) -> i32 {
    let [a, b, c, d, ..] = *cell;
    i32::from_be_bytes([a, b, c, d])
}

/// The value of a cell.
#[inline]
pub(crate) fn value(cell: &RawCell) -> f64 {
    let [_, _, _, _, value @ ..] = *cell;
    f64::from_be_bytes(value)
}

/// The error of the first wrong column of row `row`, whose first cell is at byte `offset`.
#[cold]
pub(crate) fn bad_column(
    found: impl IntoIterator<Item = impl Into<i64>>,
    columns: u32,
    mut offset: u64,
    row: u64,
) -> Error {
    let mut before = None;
    for column in found {
        let column = column.into();
        let known = u32::try_from(column).ok().filter(|&known| known < columns);
        let kind = match (known, before) {
            (None, _) => ErrorKind::ColumnOutOfRange { column, columns },
            (Some(column), Some(before)) if column == before => ErrorKind::RepeatedColumn(column),
            (Some(column), Some(before)) if column < before => {
                ErrorKind::DescendingColumn { column, before }
            }
            _ => {
                before = known;
                offset += CELL as u64;
                continue;
            }
        };
        return Error::new(kind, offset, Some(row));
    }
    unreachable!("only for rows with a wrong column")
}
