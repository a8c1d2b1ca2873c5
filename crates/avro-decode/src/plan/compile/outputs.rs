//! The output layout of features' values.

use atds_features::feature::{CheckedFeature, Extents, Feature, FeatureKind, SparseKeys};
use tensor_batch::Layout;

use crate::plan::output::{Entries, Output, OutputLayout};
use crate::plan::{OutOfBounds, PlanOptions};

pub(super) fn outputs(features: &[CheckedFeature], options: &PlanOptions) -> Vec<Output> {
    let outputs = features.iter().map(|checked| Output {
        column: checked.column,
        mask: checked.mask,
        row_mask: checked.row_mask,
        layout: layout(checked, options),
        fill: checked.fill.clone(),
    });
    outputs.collect()
}

fn layout(checked: &CheckedFeature, options: &PlanOptions) -> OutputLayout {
    match &checked.feature.kind {
        FeatureKind::Dense { .. } => match checked.shape.iter().copied().collect() {
            Some(shape) => OutputLayout::Dense {
                strides: strides(shape),
            },
            None => OutputLayout::Ragged,
        },
        FeatureKind::Varlen {
            layout: Layout::Ragged,
            ..
        } => OutputLayout::Ragged,
        FeatureKind::Varlen { extents, .. } => OutputLayout::Coo {
            by_values: *extents == Extents::Values,
        },
        FeatureKind::Sparse {
            keys: SparseKeys::Record,
            ..
        } => OutputLayout::Record,
        FeatureKind::Sparse { .. } => entries(checked, options),
    }
}

/// The layout of a sparse feature with keys. The index of its state is assigned later.
///
/// # Panics
/// If the feature is not sparse.
pub(super) fn entries(checked: &CheckedFeature, options: &PlanOptions) -> OutputLayout {
    let FeatureKind::Sparse {
        shape,
        sort,
        layout,
        ..
    } = &checked.feature.kind
    else {
        unreachable!("a sparse feature");
    };
    let keys = checked.keys.iter();
    let keys = keys.flat_map(|keys| keys.index.iter().chain([&keys.value]));
    OutputLayout::Entries(Entries {
        state: 0,
        lists: checked.path.lists(),
        shape: shape.as_slice().into(),
        relative: keys.map(|key| !key.from_root).collect(),
        sort: *sort,
        layout: *layout,
        out_of_bounds: out_of_bounds(&checked.feature, options),
    })
}

/// How a sparse feature treats entries with an index outside their dimension.
pub(super) fn out_of_bounds(feature: &Feature, options: &PlanOptions) -> OutOfBounds {
    if feature.truncate {
        OutOfBounds::Drop
    } else {
        options.out_of_bounds
    }
}

/// For each dimension the number of values in one of its lists, then 1.
fn strides(shape: Vec<usize>) -> Box<[usize]> {
    let inside = |depth: usize| shape[depth..].iter().product();
    (0..=shape.len()).map(inside).collect()
}
