//! The crate's error: what is wrong, at which byte, in which row.

use std::fmt;
use std::io;
use std::sync::Arc;

/// An error in a table, or of writing one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Offset in the file of the first wrong byte; where bytes lack, the end of the file. When a table is
    /// written, the size of what precedes.
    pub offset: u64,
    /// The number of the row, counted from 0; `None` for the header.
    pub row: Option<u64>,
}

impl Error {
    /// An error of `kind` at byte `offset` of the file, in row `row` if it lies in one.
    #[cold]
    pub fn new(kind: impl Into<ErrorKind>, offset: u64, row: Option<u64>) -> Self {
        Error {
            kind: kind.into(),
            offset,
            row,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row {
            Some(row) => write!(f, "row {row} at byte {}: {}", self.offset, self.kind),
            None => write!(f, "byte {}: {}", self.offset, self.kind),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The text of the kind is part of this one's.
        std::error::Error::source(&self.kind)
    }
}

/// What can be wrong with a table.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file has no bytes.
    #[error("the file is empty")]
    Empty,
    /// The file ends inside the header.
    #[error("the file ends inside the header, {missing} or more bytes short")]
    EndsInHeader {
        /// Minimum number of bytes that lack.
        missing: u64,
    },
    /// The file does not begin with version 0.
    #[error("{}", no_table(*.0))]
    Version(i32),
    /// The length of the labels is below zero.
    #[error("the length of the labels is negative: {0}")]
    NegativeLength(i32),
    /// The length of the labels is above its limit.
    #[error("the labels have {units} code units, above the limit of {limit}")]
    LabelsTooLong {
        /// The declared length in UTF-16 code units.
        units: u32,
        /// [`Limits::max_label_units`](crate::Limits::max_label_units).
        limit: u32,
    },
    /// A label is not UTF-16.
    #[error("the labels have an unpaired surrogate, {0:#06x}")]
    UnpairedSurrogate(u16),
    /// The file ends inside a row.
    #[error("the file ends inside the row, {missing} or more bytes short")]
    EndsInRow {
        /// Minimum number of bytes that lack.
        missing: u64,
    },
    /// The number of a row's cells is below zero.
    #[error("the number of cells is negative: {0}")]
    NegativeCount(i32),
    /// A row has more cells than the table has columns.
    #[error("the row has {count} cells, but the table has {columns} columns")]
    CountAboveColumns {
        /// The declared number of cells.
        count: u32,
        /// Number of columns.
        columns: u32,
    },
    /// The column of a cell does not exist.
    #[error("there is no column {column}: the table has {columns} columns")]
    ColumnOutOfRange {
        /// The column, counted from 0.
        column: i64,
        /// Number of columns.
        columns: u32,
    },
    /// A row has two cells of one column.
    #[error("column {0} comes twice")]
    RepeatedColumn(u32),
    /// The columns of a row do not ascend.
    #[error("column {column} comes after column {before}: columns must ascend")]
    DescendingColumn {
        /// The column, counted from 0.
        column: u32,
        /// The column of the cell before.
        before: u32,
    },
    /// A table without labels would be read as one with a single, unnamed column.
    #[error(
        "there are no labels: the file would be read as a table of one unnamed column, so give a label \
         for each column"
    )]
    NoLabels,
    /// A label has the character that separates labels.
    #[error("label {0:?} has the character U+001F, which separates labels")]
    SeparatorInLabel(String),
    /// A dense row has another number of values than the table has columns.
    #[error("the row has {values} values, but the table has {columns} columns")]
    RowLength {
        /// Number of values.
        values: usize,
        /// Number of columns.
        columns: u32,
    },
    /// The three arrays are no CSR matrix.
    #[error("these are no CSR arrays: {0}")]
    NoCsr(&'static str),
    /// The compression is not compiled in.
    #[error("{0} is not compiled in")]
    NotCompiledIn(&'static str),
    /// Reading or writing failed.
    #[error("{0}")]
    Io(#[source] Arc<io::Error>),
}

impl From<io::Error> for ErrorKind {
    fn from(error: io::Error) -> Self {
        ErrorKind::Io(Arc::new(error))
    }
}

/// The error text for a file that does not begin as a table does.
fn no_table(version: i32) -> String {
    let instead = match version.to_be_bytes() {
        [b'O', b'b', b'j', 1] => "this is an Avro file",
        [0x1f, 0x8b, ..] => "this is a gzip file, and gzip is not compiled in here",
        [0x28, 0xb5, 0x2f, 0xfd] => {
            "this is a zstandard file, and zstandard is not compiled in here"
        }
        [b'P', b'K', 3, 4] => "this is a zip file, such as scipy's save_npz writes",
        [0x93, b'N', b'U', b'M'] => "this is a file of numpy.save",
        [b'P', b'A', b'R', b'1'] => "this is a Parquet file",
        _ => "this is no BTable",
    };
    format!("the version is {version}, not 0: {instead}")
}
