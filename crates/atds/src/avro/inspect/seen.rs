//! Properties of features that depend on the data: lengths of lists, largest indices.

use atds_features::Feature;
use atds_features::feature::FeatureKind;
use tensor_batch::Column;

/// The properties of a column in the batches so far.
pub(crate) enum Seen {
    /// A scalar, which has no such properties.
    Scalar,
    /// For each level of arrays their common length, or `None` if they differ.
    Lengths(Vec<Option<i64>>),
    /// For each dimension the largest index + 1.
    Extents(Vec<i64>),
}

impl Seen {
    pub(crate) fn new(column: &Column<'_>) -> Self {
        match column {
            Column::Ragged(ragged) => {
                let levels = ragged.row_splits.iter();
                Seen::Lengths(
                    levels
                        .map(|splits| common_length(splits.as_slice()))
                        .collect(),
                )
            }
            Column::Sparse(sparse) => Seen::Extents(sparse.dense_shape[1..].to_vec()),
            _ => Seen::Scalar,
        }
    }

    pub(crate) fn add(&mut self, column: &Column<'_>) {
        match (self, Seen::new(column)) {
            (Seen::Lengths(lengths), Seen::Lengths(more)) => {
                for (length, more) in lengths.iter_mut().zip(more) {
                    if *length != more {
                        *length = None;
                    }
                }
            }
            (Seen::Extents(extents), Seen::Extents(more)) => {
                for (extent, more) in extents.iter_mut().zip(more) {
                    *extent = more.max(*extent);
                }
            }
            _ => {}
        }
    }

    /// The feature of this column, adapted to the data.
    pub(crate) fn feature(self, mut feature: Feature) -> Feature {
        match (self, &mut feature.kind) {
            (Seen::Lengths(lengths), kind) => {
                // No dimension is ever 0, so arrays that are all empty stay varlen.
                let known = |length: &Option<i64>| usize::try_from((*length)?).ok();
                let dense = lengths.iter().map(|len| known(len).filter(|&len| len > 0));
                if let Some(shape) = dense.map(|dim| dim.map(Some)).collect() {
                    let reshape = false;
                    *kind = FeatureKind::Dense { shape, reshape };
                }
            }
            (Seen::Extents(extents), FeatureKind::Sparse { shape, .. }) => {
                *shape = extents.into_iter().map(|extent| extent.max(1)).collect();
            }
            _ => {}
        }
        feature
    }
}

/// The length of all lists, or `None` if they differ or there are none.
fn common_length(splits: &[i64]) -> Option<i64> {
    let mut lengths = splits.windows(2).map(|ends| ends[1] - ends[0]);
    let first = lengths.next()?;
    lengths.all(|length| length == first).then_some(first)
}
