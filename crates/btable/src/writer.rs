//! Writing a table, byte for byte as the originals do.

use std::io::Write;

use crate::csr::check_ends;
use crate::error::{Error, ErrorKind};
use crate::header::Header;
use crate::limits::BUFFER_BYTES;
use crate::row::{CELL, COUNT, RawCell, bad_column};

/// Writes a table to any [`Write`], in memory that does not grow with the table.
///
/// Cells equal to 0.0, so -0.0 too, are left out, as the originals leave them out. A NaN is written. A row
/// with an error is not written at all, and the table can go on.
///
/// ```
/// use atds_btable::Writer;
///
/// let mut writer = Writer::new(Vec::new(), &["a", "b", "c"])?;
/// writer.write_row([(0, 1.0), (2, 0.5)])?;
/// writer.write_dense_row(&[1.0, 0.0, 0.5])?;
/// writer.write_csr(&[0, 2], &[0, 2], &[1.0, 0.5])?;
/// let file = writer.finish()?;
///
/// // The header, and three times the number of cells and two cells.
/// assert_eq!(file.len(), 8 + 2 * 5 + 3 * (4 + 2 * 12));
/// # Ok::<(), atds_btable::Error>(())
/// ```
#[derive(Debug)]
pub struct Writer<W> {
    writer: W,
    columns: u32,
    /// Rows that are encoded and not written, up to `len`.
    buffer: Vec<u8>,
    len: usize,
    /// Number of bytes that were written.
    offset: u64,
    rows: u64,
    /// The columns of the cells of a dense row.
    found: Vec<u32>,
}

/// An integer of the index arrays of a CSR matrix: `i32` or `i64`, as scipy has both.
pub trait Index: Copy + Into<i64> + private::Sealed {}

impl Index for i32 {}
impl Index for i64 {}

mod private {
    pub trait Sealed {}
    impl Sealed for i32 {}
    impl Sealed for i64 {}
}

impl<W: Write> Writer<W> {
    /// Writes the header, with a label for each column.
    ///
    /// # Errors
    /// There are no labels, a label has the character U+001F, they have 2^31 code units or more, or writing
    /// fails.
    pub fn new<L: AsRef<str>>(mut writer: W, labels: &[L]) -> Result<Self, Error> {
        let header = Header::encode(labels)?;
        let written = writer.write_all(&header);
        written.map_err(|error| Error::new(error, 0, None))?;
        Ok(Writer {
            writer,
            columns: labels.len() as u32,
            buffer: vec![0; BUFFER_BYTES],
            len: 0,
            offset: header.len() as u64,
            rows: 0,
            found: Vec::new(),
        })
    }

    /// Number of columns.
    pub fn columns(&self) -> u32 {
        self.columns
    }

    /// Number of rows that were written.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Number of bytes so far, those of the buffer included.
    pub fn bytes(&self) -> u64 {
        self.offset + self.len as u64
    }

    /// Writes a row: its cells, in ascending order of their columns.
    ///
    /// # Errors
    /// A column is out of range, repeated or descending, or writing fails.
    pub fn write_row(&mut self, cells: impl IntoIterator<Item = (u32, f64)>) -> Result<(), Error> {
        let start = self.len;
        self.space(start, COUNT);
        let mut end = start + COUNT;
        let mut before = None;
        for (column, value) in cells {
            if column >= self.columns || before.is_some_and(|before| column <= before) {
                let pair = before.into_iter().chain([column]);
                // Of the two, only the second is wrong, and its offset is that of the next cell.
                let mut error = bad_column(pair, self.columns, 0, self.rows);
                error.offset = self.offset + end as u64;
                return Err(error);
            }
            before = Some(column);
            if value != 0.0 {
                encode(column, value, as_cell(self.space(end, CELL)));
                end += CELL;
            }
        }
        self.end_row(start, (end - start - COUNT) / CELL)
    }

    /// Writes a row of which all values are given.
    ///
    /// # Errors
    /// There are more or fewer values than columns, or writing fails.
    pub fn write_dense_row(&mut self, values: &[f64]) -> Result<(), Error> {
        if values.len() != self.columns as usize {
            let kind = ErrorKind::RowLength {
                values: values.len(),
                columns: self.columns,
            };
            return Err(Error::new(kind, self.bytes(), Some(self.rows)));
        }
        let mut found = std::mem::take(&mut self.found);
        found.resize(values.len(), 0);
        // Without a branch, which zeros at random would have guessed wrong.
        let mut count = 0;
        for (column, value) in (0..).zip(values) {
            found[count] = column;
            count += usize::from(*value != 0.0);
        }
        let start = self.len;
        let (cells, _) = self.space(start, COUNT + CELL * count)[COUNT..].as_chunks_mut();
        for (cell, &column) in cells.iter_mut().zip(&found) {
            encode(column, values[column as usize], cell);
        }
        self.found = found;
        self.end_row(start, count)
    }

    /// Writes the rows of a CSR matrix: those from `indptr[i]` to `indptr[i + 1]` are the cells of a row.
    ///
    /// # Errors
    /// The arrays fit each other not, a row's columns are out of range, repeated or descending, or writing
    /// fails. The rows before the wrong one are written.
    pub fn write_csr<P: Index, I: Index>(
        &mut self,
        indptr: &[P],
        indices: &[I],
        data: &[f64],
    ) -> Result<(), Error> {
        check_ends(indptr, indices.len(), data.len())
            .map_err(|kind| Error::new(kind, self.bytes(), None))?;
        for ends in indptr.windows(2) {
            let cells = ends[0].into() as usize..ends[1].into() as usize;
            self.write_sparse(&indices[cells.clone()], &data[cells])?;
        }
        Ok(())
    }

    fn write_sparse<I: Index>(&mut self, indices: &[I], data: &[f64]) -> Result<(), Error> {
        let start = self.len;
        let columns = i64::from(self.columns);
        let (cells, _) = self.space(start, COUNT + CELL * data.len())[COUNT..].as_chunks_mut();
        let (mut count, mut last, mut ascends) = (0, -1, true);
        for (&column, &value) in indices.iter().zip(data) {
            let column = column.into();
            ascends &= column > last;
            last = column;
            // A wrong column is an error below, so what is written for it does not matter.
            encode(column as u32, value, &mut cells[count]);
            count += usize::from(value != 0.0);
        }
        if !ascends || last >= columns {
            let offset = self.bytes() + COUNT as u64;
            let found = indices.iter().map(|&column| column.into());
            return Err(bad_column(found, self.columns, offset, self.rows));
        }
        self.end_row(start, count)
    }

    /// Writes what is in the buffer.
    ///
    /// # Errors
    /// Writing fails.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.write_buffer()?;
        let flushed = self.writer.flush();
        flushed.map_err(|error| Error::new(error, self.offset, Some(self.rows)))
    }

    /// Writes what is left, and returns the underlying writer.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(mut self) -> Result<W, Error> {
        self.flush()?;
        Ok(self.writer)
    }

    /// Ends a row of `count` cells, which begins at `start` of the buffer.
    #[inline]
    fn end_row(&mut self, start: usize, count: usize) -> Result<(), Error> {
        self.buffer[start..start + COUNT].copy_from_slice(&(count as u32).to_be_bytes());
        self.len = start + COUNT + CELL * count;
        self.rows += 1;
        if self.len >= BUFFER_BYTES {
            self.write_buffer()?;
        }
        Ok(())
    }

    fn write_buffer(&mut self) -> Result<(), Error> {
        let written = self.writer.write_all(&self.buffer[..self.len]);
        written.map_err(|error| Error::new(error, self.offset, Some(self.rows)))?;
        self.offset += self.len as u64;
        self.len = 0;
        Ok(())
    }

    /// The `len` bytes of the buffer from `start` on.
    #[inline]
    fn space(&mut self, start: usize, len: usize) -> &mut [u8] {
        if self.buffer.len() < start + len {
            let more = (start + len).max(2 * self.buffer.len());
            self.buffer.resize(more, 0);
        }
        &mut self.buffer[start..start + len]
    }
}

#[inline]
fn as_cell(bytes: &mut [u8]) -> &mut RawCell {
    bytes.as_chunks_mut().0.first_mut().expect("`CELL` bytes")
}

#[inline]
fn encode(column: u32, value: f64, cell: &mut RawCell) {
    cell[..COUNT].copy_from_slice(&column.to_be_bytes());
    cell[COUNT..].copy_from_slice(&value.to_be_bytes());
}
