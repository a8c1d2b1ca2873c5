//! The contents of a BTable.

use std::path::PathBuf;
use std::sync::Arc;

use atds_features::Feature;

use super::size_of;
use crate::avro::inspect::InspectOptions;
use crate::files::Packing;
use crate::formats::btable::build::inferred;
use crate::formats::btable::rows::FileRows;
use crate::opened::Opened;
use crate::{Error, FileFormat};

/// Bytes of a header before its labels, of a row's count, and of a cell.
const START: u64 = 8;
const COUNT: u64 = 4;
const CELL: u64 = 12;

/// The contents of a BTable.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BTableInspection {
    /// The file.
    pub path: PathBuf,
    /// The format that the whole file is packed with, if it is packed.
    pub packing: Option<Packing>,
    /// Size of the file in bytes.
    pub file_bytes: u64,
    /// Size of the file in bytes, unpacked.
    pub unpacked_bytes: u64,
    /// Number of rows.
    pub rows: u64,
    /// The labels of the columns.
    pub labels: Arc<[String]>,
    /// Number of cells that are not 0.
    pub non_zeros: u64,
    /// For each column, the number of its cells that are not 0.
    pub column_non_zeros: Vec<u64>,
    /// The number of cells of the shortest and of the longest row; `None` without rows.
    pub row_cells: Option<(u64, u64)>,
    /// The feature that reads all columns.
    pub features: Vec<Feature>,
}

impl BTableInspection {
    /// The share of cells that are not 0; 0 without rows.
    pub fn density(&self) -> f64 {
        let cells = self.rows as f64 * self.labels.len() as f64;
        if cells > 0.0 {
            self.non_zeros as f64 / cells
        } else {
            0.0
        }
    }
}

/// Inspects a file by reading all of it.
///
/// # Errors
/// A row is damaged, or the file cannot be read; the caller has cancelled.
pub(super) fn inspect(opened: Opened, options: &InspectOptions) -> Result<BTableInspection, Error> {
    let mut table = FileRows::new(opened)?;
    let labels = table.labels().clone();
    let units = labels
        .iter()
        .map(|label| label.encode_utf16().count() as u64 + 1);
    let header = START + 2 * (units.sum::<u64>() - 1);
    let (mut rows, mut cells, mut row_cells) = (0, 0, None);
    let mut column_non_zeros = vec![0; labels.len()];
    while let Some(row) = table.next()? {
        let len = row.len() as u64;
        rows += 1;
        cells += len;
        let (least, most) = row_cells.unwrap_or((len, len));
        row_cells = Some((len.min(least), len.max(most)));
        // Other programs may write cells that are 0.
        for (column, value) in row {
            column_non_zeros[column as usize] += u64::from(value != 0.0);
        }
        options.check_cancelled()?;
    }
    Ok(BTableInspection {
        file_bytes: size_of(&table.path)?,
        path: table.path,
        packing: table.packing,
        unpacked_bytes: header + COUNT * rows + CELL * cells,
        rows,
        non_zeros: column_non_zeros.iter().sum(),
        column_non_zeros,
        row_cells,
        features: inferred(&labels),
        labels,
    })
}

/// The feature that reads all columns of files, which have the labels of the first one.
///
/// # Errors
/// The first file cannot be read, or its header is wrong.
pub(super) fn features(files: &[PathBuf], options: &InspectOptions) -> Result<Vec<Feature>, Error> {
    let opened = Opened::open(&files[0], Some(FileFormat::BTable), &options.stop())?;
    Ok(inferred(FileRows::new(opened)?.labels()))
}
