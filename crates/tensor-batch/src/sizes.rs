//! Sizes of a column, from which the next batch's column reserves memory.

use crate::ALIGNMENT;
use crate::batch::ColumnData;
use crate::values::each_values;

/// The numbers of values, bytes of strings, indices and lists of a column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sizes {
    values: usize,
    bytes: usize,
    indices: usize,
    splits: Vec<usize>,
    /// Bytes of all of them.
    memory: usize,
}

impl Sizes {
    /// Sets the sizes to those of `column`.
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
        self.memory = column.used_bytes();
    }

    /// The most bytes that a column takes which reserves memory for these sizes.
    pub(crate) fn reserved_bytes(&self) -> usize {
        // Each buffer ends with a cache line.
        roomy(self.memory).saturating_add((3 + self.splits.len()) * ALIGNMENT)
    }

    /// Reserves memory in a new `column` for these sizes, and somewhat more. Growing step by step
    /// would copy the elements each time and take up to twice the memory.
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

/// The capacity for a size, with headroom for batches that differ a little.
fn roomy(size: usize) -> usize {
    size.saturating_add(size / 8)
}
