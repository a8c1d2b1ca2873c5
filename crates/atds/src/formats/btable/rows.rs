//! The rows of a file one after another, for what reads files whole.

use std::path::PathBuf;
use std::sync::Arc;

use atds_btable::{Error as TableError, ErrorKind as TableErrorKind, Row, RowReader};

use super::BTableError;
use crate::opened::Opened;
use crate::source::{Packing, Reading};
use crate::{Error, ErrorKind};

/// Reads the rows of a file.
pub(crate) struct FileRows {
    pub(crate) path: PathBuf,
    pub(crate) packing: Option<Packing>,
    table: RowReader<Box<dyn std::io::Read + Send>>,
}

impl FileRows {
    /// Reads the header.
    pub(crate) fn new(opened: Opened) -> Result<Self, Error> {
        let path = opened.path.clone();
        let Reading { reader, packing } = opened.into_reading()?;
        let table = RowReader::new(reader);
        let table = table.map_err(|error| row_error(error, (&path, packing)))?;
        Ok(FileRows {
            path,
            packing,
            table,
        })
    }

    pub(crate) fn labels(&self) -> &Arc<[String]> {
        self.table.labels()
    }

    /// The next row; `None` at the end of the file.
    ///
    /// # Errors
    /// The row is wrong or incomplete, or reading fails.
    pub(crate) fn next(&mut self) -> Result<Option<Row<'_>>, Error> {
        let file = (&*self.path, self.packing);
        self.table
            .next_row()
            .map_err(|error| row_error(error, file))
    }
}

/// The error of a file's header, or of a row.
#[cold]
pub(crate) fn row_error(error: TableError, file: (&std::path::Path, Option<Packing>)) -> Error {
    let kind = match error.kind {
        TableErrorKind::Io(error) => ErrorKind::of_reading(error),
        kind => ErrorKind::BTable(Box::new(BTableError::Table(kind))),
    };
    Error::at_record(kind, file, Some(error.offset), error.row)
}
