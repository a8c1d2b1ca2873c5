//! A BTable, as text and as JSON.

use std::io::{self, Write};

use atds::features;
use atds::files::Packing;
use atds::inspect::BTableInspection;
use atds::interface::printable;
use serde_json::{Value, json};

use crate::units::{bytes, count, counted};

/// Maximum number of columns that are printed as text.
const MOST_COLUMNS: usize = 1_000;

pub(super) fn to_json(found: &BTableInspection) -> Value {
    let (least, most) = found.row_cells.unzip();
    json!({
        "file": found.path.display().to_string(),
        "format": "btable",
        "packed": found.packing.map(Packing::name),
        "records": found.rows,
        "file_bytes": found.file_bytes,
        "unpacked_bytes": found.unpacked_bytes,
        "columns": found.labels.len(),
        "non_zeros": found.non_zeros,
        "density": found.density(),
        "smallest_row": least,
        "largest_row": most,
        "labels": &*found.labels,
        "column_non_zeros": found.column_non_zeros,
        "features": features::to_json(&found.features),
    })
}

pub(super) fn print(found: &BTableInspection, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", printable(&found.path.display().to_string()))?;
    let mut line = |name: &str, text: String| writeln!(out, "  {name:<14}{text}");
    line("format", "BTable".to_owned())?;
    if let Some(packing) = found.packing {
        line("packed", packing.to_string())?;
    }
    line("records", count(found.rows))?;
    line("file", bytes(found.file_bytes))?;
    if found.packing.is_some() {
        line("unpacked", bytes(found.unpacked_bytes))?;
    }
    let density = 100.0 * found.density();
    line(
        "non-zeros",
        format!("{}, {density:.3} % of all cells", count(found.non_zeros)),
    )?;
    if let Some((least, most)) = found.row_cells {
        line(
            "a record",
            format!("{} to {} cells", count(least), count(most)),
        )?;
    }
    let columns = counted(found.labels.len() as u64, "column");
    writeln!(out, "  {columns}, and the non-zeros of each")?;
    let shown = found
        .labels
        .iter()
        .zip(&found.column_non_zeros)
        .take(MOST_COLUMNS);
    let width = shown
        .clone()
        .map(|(label, _)| printable(label).chars().count());
    let width = width.max().unwrap_or(0);
    for (label, &cells) in shown {
        writeln!(
            out,
            "    {:<width$}  {:>13}",
            printable(label),
            count(cells)
        )?;
    }
    match found.labels.len().saturating_sub(MOST_COLUMNS) {
        0 => Ok(()),
        more => writeln!(
            out,
            "    .. and {}, which --json has",
            counted(more as u64, "more column")
        ),
    }
}
