//! A table as a matrix of compressed sparse rows (CSR).

use std::io::Read;

use crate::error::{Error, ErrorKind};
use crate::reader::{NextCells, RowReader};
use crate::row::{CELL, bad_column, column, value};

/// A matrix of compressed sparse rows. The cells of row `i` are those from `indptr[i]` to `indptr[i + 1]`.
///
/// These are the arrays of scipy's `csr_matrix((data, indices, indptr))`, with sorted indices and no
/// duplicates.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    /// A 0, and then for each row where its cells end. One more than there are rows.
    pub indptr: Vec<i64>,
    /// The column of each cell.
    pub indices: Vec<i32>,
    /// The value of each cell.
    pub data: Vec<f64>,
}

impl Default for Csr {
    fn default() -> Self {
        Csr {
            indptr: vec![0],
            indices: Vec::new(),
            data: Vec::new(),
        }
    }
}

impl Csr {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.indptr.len() - 1
    }
}

impl<R: Read> RowReader<R> {
    /// Reads all rows that are left, in one pass.
    ///
    /// Memory is reserved for the whole file if its size is known
    /// ([`with_file_bytes`](Self::with_file_bytes)); else it grows.
    ///
    /// # Errors
    /// A row is wrong or incomplete, or reading fails.
    pub fn read_csr(&mut self) -> Result<Csr, Error> {
        let mut csr = Csr::default();
        self.read_csr_rows(&mut csr, u64::MAX)?;
        Ok(csr)
    }

    /// Reads rows into memory of the caller: the columns and values of their cells, and for each row where its
    /// cells end, as [`Csr`] has them, `first` being the number of cells before. It stops before a row that
    /// does not fit.
    ///
    /// # Errors
    /// As [`read_csr`](Self::read_csr).
    ///
    /// # Panics
    /// If `indices` and `data` have different lengths.
    pub fn fill_csr(
        &mut self,
        first: i64,
        indptr: &mut Vec<i64>,
        indices: &mut [i32],
        data: &mut [f64],
    ) -> Result<Filled, Error> {
        assert_eq!(indices.len(), data.len());
        let columns = self.columns();
        let mut filled = Filled::default();
        loop {
            let left = indices.len() - filled.cells;
            let row = self.rows_read();
            let (at, offset) = match self.next_cells_of(left)? {
                NextCells::Row(at, offset) => (at, offset),
                NextCells::TooMany => return Ok(filled),
                NextCells::End => {
                    filled.is_end = true;
                    return Ok(filled);
                }
            };
            let cells = self.cells(at);
            let place = filled.cells..filled.cells + cells.len();
            let indices = &mut indices[place.clone()];
            indices
                .iter_mut()
                .zip(cells)
                .for_each(|(to, cell)| *to = column(cell));
            if !ascends(indices, columns) {
                let error = bad_column(cells.iter().map(column), columns, offset, row);
                return Err(self.fail(error));
            }
            let data = &mut data[place.clone()];
            data.iter_mut()
                .zip(cells)
                .for_each(|(to, cell)| *to = value(cell));
            filled.cells = place.end;
            indptr.push(first + place.end as i64);
        }
    }

    /// The most cells that the rest of the file can have, if its size is known.
    pub fn most_cells(&self) -> Option<usize> {
        // What does not fit the memory is not reserved.
        let bytes = usize::try_from(self.bytes_left()?).unwrap_or(usize::MAX);
        Some(bytes / CELL)
    }

    /// Adds at most `rows` rows to `csr`. Returns how many there were: fewer at the end of the file only.
    ///
    /// # Errors
    /// As [`read_csr`](Self::read_csr). `csr` then has the rows before the wrong one.
    pub fn read_csr_rows(&mut self, csr: &mut Csr, rows: u64) -> Result<u64, Error> {
        if let (Some(cells), u64::MAX) = (self.most_cells(), rows) {
            // What cannot be reserved may never be needed.
            let _ = csr.indices.try_reserve_exact(cells);
            let _ = csr.data.try_reserve_exact(cells);
        }
        let columns = self.columns();
        for done in 0..rows {
            let row = self.rows_read();
            let Some((at, offset)) = self.next_cells()? else {
                return Ok(done);
            };
            let cells = self.cells(at);
            let before = csr.indices.len();
            csr.indices.extend(cells.iter().map(column));
            if !ascends(&csr.indices[before..], columns) {
                csr.indices.truncate(before);
                let error = bad_column(cells.iter().map(column), columns, offset, row);
                return Err(self.fail(error));
            }
            csr.data.extend(cells.iter().map(value));
            csr.indptr.push(csr.indices.len() as i64);
        }
        Ok(rows)
    }
}

/// What [`RowReader::fill_csr`] has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// Number of cells.
    pub cells: usize,
    /// Whether these were the last rows of the file.
    pub is_end: bool,
}

/// Whether `indices` ascend and are columns.
#[inline]
fn ascends(indices: &[i32], columns: u32) -> bool {
    let (Some(&first), Some(&last)) = (indices.first(), indices.last()) else {
        return true;
    };
    // No early end, so that several are compared at a time.
    let pairs = indices.iter().zip(&indices[1..]);
    let ascends = pairs.fold(true, |ascends, (a, b)| ascends & (a < b));
    ascends && first >= 0 && i64::from(last) < i64::from(columns)
}

/// What is wrong with the arrays of a matrix, before any is read; `rows` ends of rows follow a start.
pub(crate) fn check_ends<I: Copy + Into<i64>>(
    indptr: &[I],
    indices: usize,
    data: usize,
) -> Result<(), ErrorKind> {
    let [first, .., last] = indptr else {
        // A single number is a matrix without rows.
        return match indptr {
            [_] => Ok(()),
            _ => Err(ErrorKind::NoCsr("indptr is empty")),
        };
    };
    if indices != data {
        return Err(ErrorKind::NoCsr("indices and data have different lengths"));
    }
    let (first, last): (i64, i64) = ((*first).into(), (*last).into());
    if first < 0 {
        return Err(ErrorKind::NoCsr("indptr begins below 0"));
    }
    if indptr
        .windows(2)
        .any(|pair| pair[0].into() > pair[1].into())
    {
        return Err(ErrorKind::NoCsr("indptr descends"));
    }
    if last > indices as i64 {
        return Err(ErrorKind::NoCsr("indptr ends beyond the indices"));
    }
    Ok(())
}
