//! One row of a batch, printed as an example.

use std::io::{self, Write};

use atds::tensors::value_to_json;

use atds::{Batch, Column, ColumnSpec};
use serde_json::{Map, Value, json};

use crate::inspect::form;

/// One row of a batch.
pub(crate) struct Example(Vec<Feature>);

/// The values of a row in one column.
struct Feature {
    column: ColumnSpec,
    /// The cell of each value, without the row; `None` for a dense column.
    indices: Option<Vec<Vec<i64>>>,
    values: Vec<Value>,
}

impl Example {
    /// Row `row` of a batch whose columns are dense or coordinates.
    pub(crate) fn of_row(batch: &Batch, row: usize) -> Self {
        let features = batch.columns().filter_map(|(spec, column)| match column {
            Column::Dense(tensor) => {
                let len = tensor.values.len() / batch.rows();
                Some(Feature {
                    column: spec.clone(),
                    indices: None,
                    values: (row * len..(row + 1) * len)
                        .map(|i| value_to_json(tensor.values, i))
                        .collect(),
                })
            }
            Column::Sparse(tensor) => {
                let cells = tensor.indices.chunks(tensor.dense_shape.len());
                let of_row = cells.enumerate().filter(|(_, cell)| cell[0] == row as i64);
                let (indices, values) = of_row
                    .map(|(i, cell)| (cell[1..].to_vec(), value_to_json(tensor.values, i)))
                    .unzip();
                Some(Feature {
                    column: spec.clone(),
                    indices: Some(indices),
                    values,
                })
            }
            _ => None,
        });
        Example(features.collect())
    }

    pub(crate) fn to_json(&self) -> Value {
        let features = self.0.iter().map(|feature| {
            let mut entry = json!({
                "dtype": feature.column.dtype.name(),
                "form": form(&feature.column),
                "values": feature.values,
            });
            if let Some(indices) = &feature.indices {
                entry["indices"] = json!(indices);
            }
            (feature.column.name.clone(), entry)
        });
        Value::Object(features.collect::<Map<_, _>>())
    }

    /// Prints one line for each feature. Long lines are truncated.
    pub(crate) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let names = self.0.iter().map(|feature| feature.column.name.len());
        let width = names.max().unwrap_or(0);
        for feature in &self.0 {
            let (name, dtype) = (&feature.column.name, feature.column.dtype.name());
            let form = form(&feature.column);
            writeln!(
                out,
                "  {name:<width$}  {dtype:<8}{form:<18}{}",
                feature.text()
            )?;
        }
        Ok(())
    }
}

/// Maximum number of values of a feature that are printed.
const SHOWN: usize = 6;

impl Feature {
    fn text(&self) -> String {
        let shown = self.values.iter().take(SHOWN).enumerate();
        let shown: Vec<String> = shown
            .map(|(i, value)| match &self.indices {
                None => value.to_string(),
                Some(indices) => {
                    let cell: Vec<String> = indices[i].iter().map(i64::to_string).collect();
                    format!("{}: {value}", cell.join(","))
                }
            })
            .collect();
        let more = match self.values.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(", .. {more} more"),
        };
        format!("{}{more}", shown.join(", "))
    }
}
