//! A table from any reader, row by row.

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::header::{Header, START};
use crate::limits::{BUFFER_BYTES, Limits};
use crate::row::{CELL, COUNT, RawCell, Row, UncheckedRow, count_of};

/// Reads a table from any [`Read`], row by row, in memory that does not grow with the table.
///
/// ```
/// use atds_btable::{RowReader, Writer};
///
/// let mut writer = Writer::new(Vec::new(), &["a", "b", "c"])?;
/// writer.write_row([(0, 1.0), (2, 0.5)])?;
/// let file = writer.finish()?;
///
/// let mut table = RowReader::new(file.as_slice())?;
/// assert_eq!(**table.labels(), ["a", "b", "c"]);
/// while let Some(row) = table.next_row()? {
///     assert_eq!(row.iter().collect::<Vec<_>>(), [(0, 1.0), (2, 0.5)]);
///     assert_eq!(row.get(1), 0.0);
/// }
/// # Ok::<(), atds_btable::Error>(())
/// ```
pub struct RowReader<R> {
    reader: R,
    header: Header,
    input: Input,
    /// The number of the next row.
    row: u64,
    /// The error that was returned.
    failed: Option<Error>,
    /// Size of the file in bytes, if it is known.
    file_bytes: Option<u64>,
}

/// What a reader finds next.
pub(crate) enum NextCells {
    /// Where the cells of a row are in the buffer, and the offset of the first one in the file.
    Row(Range<usize>, u64),
    /// A row of more cells than were asked for.
    TooMany,
    End,
}

/// Bytes that were read and not used yet.
#[derive(Debug)]
struct Input {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset in the file of the byte at `start`.
    offset: u64,
}

impl<R: Read> RowReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// The header is wrong or incomplete, or reading fails.
    pub fn new(reader: R) -> Result<Self, Error> {
        Self::with_limits(reader, Limits::default())
    }

    /// Reads the header.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_limits(mut reader: R, limits: Limits) -> Result<Self, Error> {
        let mut input = Input {
            buffer: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
            offset: 0,
        };
        input.fill(&mut reader, START, None)?;
        let needed = Header::len_of(input.bytes(), &limits)?.unwrap_or(START);
        input.fill(&mut reader, needed, None)?;
        let here = input.bytes().len();
        if here < needed {
            let missing = (needed - here) as u64;
            let kind = match here {
                0 => ErrorKind::Empty,
                _ => ErrorKind::EndsInHeader { missing },
            };
            return Err(Error::new(kind, here as u64, None));
        }
        let header = Header::parse(&input.bytes()[..needed])?;
        input.consume(needed);
        Ok(RowReader {
            reader,
            header,
            input,
            row: 0,
            failed: None,
            file_bytes: None,
        })
    }

    /// Says that the file has `bytes` bytes: [`read_csr`](Self::read_csr) then needs to enlarge no array.
    #[must_use]
    pub fn with_file_bytes(mut self, bytes: u64) -> Self {
        self.file_bytes = Some(bytes);
        self
    }

    /// The labels of the columns, see [`Header::labels`].
    pub fn labels(&self) -> &Arc<[String]> {
        self.header.labels()
    }

    /// Number of columns.
    pub fn columns(&self) -> u32 {
        self.header.columns()
    }

    /// Number of rows that were read.
    pub fn rows_read(&self) -> u64 {
        self.row
    }

    /// The next row; `None` at the end of the file. Nothing is allocated for it.
    ///
    /// # Errors
    /// The row is wrong or incomplete, or reading fails. The same error is returned again.
    #[inline]
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>, Error> {
        let Some((at, offset)) = self.next_cells()? else {
            return Ok(None);
        };
        let columns = self.header.columns();
        let row = UncheckedRow::new(self.cells(at.clone()), columns, offset, self.row - 1);
        match row.check() {
            Ok(_) => Ok(Some(Row::of_checked(self.cells(at)))),
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Where the cells of the next row are in the buffer, and the offset of the first one in the file. Their
    /// columns are not checked.
    #[inline]
    pub(crate) fn next_cells(&mut self) -> Result<Option<(Range<usize>, u64)>, Error> {
        Ok(match self.next_cells_of(usize::MAX)? {
            NextCells::Row(at, offset) => Some((at, offset)),
            _ => None,
        })
    }

    /// As [`next_cells`](Self::next_cells), of a row of at most `most` cells.
    #[inline]
    pub(crate) fn next_cells_of(&mut self, most: usize) -> Result<NextCells, Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let columns = self.header.columns();
        match row_bytes(&mut self.input, &mut self.reader, columns, self.row) {
            Ok(None) => Ok(NextCells::End),
            Ok(Some(len)) if len / CELL > most => Ok(NextCells::TooMany),
            Ok(Some(len)) => {
                self.row += 1;
                let offset = self.input.offset + COUNT as u64;
                self.input.consume(COUNT + len);
                let end = self.input.start;
                Ok(NextCells::Row(end - len..end, offset))
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    /// The cells that [`next_cells`](Self::next_cells) has found.
    #[inline]
    pub(crate) fn cells(&self, at: Range<usize>) -> &[RawCell] {
        self.input.buffer[at].as_chunks().0
    }

    /// Keeps the error, which ends the reading.
    #[cold]
    pub(crate) fn fail(&mut self, error: Error) -> Error {
        self.failed = Some(error.clone());
        error
    }

    /// Bytes of the file that are not read yet, at most; `None` if the size of the file is not known.
    pub(crate) fn bytes_left(&self) -> Option<u64> {
        let left = self.file_bytes?.saturating_sub(self.input.offset);
        Some(left.max(self.input.bytes().len() as u64))
    }
}

impl<R> fmt::Debug for RowReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "RowReader({} columns, row {})",
            self.header.columns(),
            self.row
        )
    }
}

/// Has the next row in `input`, and returns the size of its cells; `None` at the end of the file.
#[inline]
fn row_bytes(
    input: &mut Input,
    reader: &mut impl Read,
    columns: u32,
    row: u64,
) -> Result<Option<usize>, Error> {
    let ends_in_row = |input: &Input, needed: usize| {
        let here = input.bytes().len();
        let missing = (needed - here) as u64;
        let kind = ErrorKind::EndsInRow { missing };
        Error::new(kind, input.offset + here as u64, Some(row))
    };
    if input.bytes().len() < COUNT {
        input.fill(reader, COUNT, Some(row))?;
    }
    let Some(count) = input.bytes().first_chunk() else {
        return match input.bytes() {
            [] => Ok(None),
            _ => Err(ends_in_row(input, COUNT)),
        };
    };
    let count = count_of(*count, columns);
    let count = count.map_err(|kind| Error::new(kind, input.offset, Some(row)))?;
    let len = CELL * count;
    if input.bytes().len() < COUNT + len {
        input.fill(reader, COUNT + len, Some(row))?;
        if input.bytes().len() < COUNT + len {
            return Err(ends_in_row(input, COUNT + len));
        }
    }
    Ok(Some(len))
}

impl Input {
    fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Takes the first `len` bytes, which are here.
    fn consume(&mut self, len: usize) {
        self.start += len;
        self.offset += len as u64;
    }

    /// Reads until `needed` bytes are here, or the file ends. `row` is for errors.
    #[cold]
    fn fill(
        &mut self,
        reader: &mut impl Read,
        needed: usize,
        row: Option<u64>,
    ) -> Result<(), Error> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while self.end < needed {
            if self.end == self.buffer.len() {
                // The size may be damage: memory grows with the bytes that are there.
                let len = needed.min(2 * self.buffer.len());
                self.buffer.resize(len, 0);
            }
            match reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(Error::new(error, self.offset + self.end as u64, row));
                }
            }
        }
        Ok(())
    }
}
