//! How large a column was, for the memory of the next one.

use crate::batch::ColumnData;
use crate::values::each_values;

/// How many values, bytes of strings, indices and lists a column had.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sizes {
    values: usize,
    bytes: usize,
    indices: usize,
    splits: Vec<usize>,
}

impl Sizes {
    /// Takes those of `column`.
    pub(crate) fn take(&mut self, column: &ColumnData) {
        let values = &column.values;
        self.values = values.len();
        self.bytes = values
            .as_strings()
            .map_or(0, |strings| strings.data().len());
        self.indices = column.indices.len();
        self.splits.clear();
        self.splits
            .extend(column.splits.iter().map(|ends| ends.len()));
    }

    /// Makes room in a new `column` for one of these sizes, and somewhat more:
    /// growing step by step would copy what there is each time, and end with up
    /// to twice the memory.
    pub(crate) fn reserve(&self, column: &mut ColumnData) {
        let values = roomy(self.values);
        each_values!(
            &mut column.values,
            buffer => buffer.reserve(values),
            strings => strings.reserve(values, roomy(self.bytes))
        );
        column.indices.reserve(roomy(self.indices));
        for (ends, size) in column.splits.iter_mut().zip(&self.splits) {
            ends.reserve(roomy(*size));
        }
    }
}

/// Room for batches that differ a little.
fn roomy(size: usize) -> usize {
    size.saturating_add(size / 8)
}
