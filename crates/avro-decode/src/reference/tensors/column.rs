//! Turns rows into columns.

use atds_features::feature::{CheckedFeature, Extents, Feature, FeatureKind, Fill};
use tensor_batch::{Layout, Scalar, UNKNOWN};

use super::ReferenceColumn;
use super::row::{Entry, Row};

/// The columns of a feature, each with its index in the batch.
pub(super) fn columns(checked: &CheckedFeature, rows: &[Row]) -> Vec<(usize, ReferenceColumn)> {
    let (values, mask) = match &checked.feature.kind {
        FeatureKind::Dense { .. } => dense(checked, rows),
        kind => (of_entries(checked, kind, rows), flat_mask(rows)),
    };
    let mut columns = vec![(checked.column, values)];
    columns.extend(checked.mask.map(|position| (position, mask)));
    columns.extend(checked.row_mask.map(|position| {
        let shape = vec![rows.len() as i64];
        let values = rows.iter().map(|row| Scalar::Bool(row.is_present));
        let values = values.collect();
        (position, ReferenceColumn::Dense { shape, values })
    }));
    columns
}

/// A dense column and its mask. An element without an entry is missing.
fn dense(checked: &CheckedFeature, rows: &[Row]) -> (ReferenceColumn, ReferenceColumn) {
    let dims = checked.shape.iter().enumerate();
    let dims = dims.map(|(level, &dim)| dim.unwrap_or_else(|| longest(rows, level)));
    let dims: Vec<usize> = dims.collect();
    let cells: usize = dims.iter().product();
    let (mut values, mut mask) = (Vec::new(), Vec::new());
    for row in rows {
        let first = values.len();
        values.extend((0..cells).map(|position| fill(&checked.feature, position)));
        mask.extend((0..cells).map(|_| Scalar::Bool(false)));
        for entry in &row.entries {
            if let Some(value) = &entry.value {
                let position = first + cell(&entry.index, &dims);
                values[position] = value.clone();
                mask[position] = Scalar::Bool(true);
            }
        }
    }
    let dims = dims.iter().map(|&dim| dim as i64);
    let shape: Vec<i64> = [rows.len() as i64].into_iter().chain(dims).collect();
    let mask = ReferenceColumn::Dense {
        shape: shape.clone(),
        values: mask,
    };
    (ReferenceColumn::Dense { shape, values }, mask)
}

/// The position of a multi-dimensional index in row-major order. If one list fills the whole row,
/// its index is already the position.
fn cell(index: &[i64], dims: &[usize]) -> usize {
    if let ([position], true) = (index, dims.len() > 1) {
        return *position as usize;
    }
    let parts = index.iter().zip(dims);
    parts.fold(0, |position, (&index, dim)| position * dim + index as usize)
}

/// The replacement for a missing value at an index of a row.
fn fill(feature: &Feature, position: usize) -> Scalar {
    match &feature.missing.default {
        None => Scalar::zero(feature.dtype),
        Some(Fill::Scalar(value)) => value.clone(),
        Some(Fill::Tensor(values)) => values[position].clone(),
    }
}

/// The mask of a varying number of values.
fn flat_mask(rows: &[Row]) -> ReferenceColumn {
    let entries = rows.iter().flat_map(|row| &row.entries);
    let values: Vec<_> = entries
        .map(|entry| Scalar::Bool(entry.value.is_some()))
        .collect();
    let shape = vec![values.len() as i64];
    ReferenceColumn::Dense { shape, values }
}

/// A varlen or sparse column.
fn of_entries(checked: &CheckedFeature, kind: &FeatureKind, rows: &[Row]) -> ReferenceColumn {
    let entries = || rows.iter().flat_map(|row| &row.entries);
    let value = |entry: &Entry| {
        let value = entry.value.clone();
        value.unwrap_or_else(|| fill(&checked.feature, 0))
    };
    let values = entries().map(value).collect();
    let by_values = |level: usize| {
        let indices = entries().map(|entry| entry.index[level]);
        indices.max().map_or(0, |largest| largest + 1)
    };
    let mut dense_shape = vec![rows.len() as i64];
    match kind {
        FeatureKind::Varlen {
            layout: Layout::Ragged,
            ..
        } => {
            let lengths =
                |level: usize| rows.iter().flat_map(move |row| row.lengths[level].clone());
            let row_splits = (0..checked.shape.len()).map(|level| splits(lengths(level)));
            let row_splits = row_splits.collect();
            ReferenceColumn::Ragged { values, row_splits }
        }
        FeatureKind::Varlen { extents, .. } => {
            for (level, dim) in checked.shape.iter().enumerate() {
                dense_shape.push(match (dim, extents) {
                    (Some(dim), _) => *dim as i64,
                    (None, Extents::Values) => by_values(level),
                    (None, Extents::Lengths) => longest(rows, level) as i64,
                });
            }
            ReferenceColumn::Sparse {
                indices: coordinates(rows),
                values,
                dense_shape,
            }
        }
        FeatureKind::Sparse { shape, layout, .. } => {
            let levels = checked.path.lists();
            dense_shape.extend((0..levels).map(|level| longest(rows, level) as i64));
            for (dimension, &size) in shape.iter().enumerate() {
                dense_shape.push(match size {
                    UNKNOWN => by_values(levels + dimension),
                    size => size,
                });
            }
            match layout {
                Layout::Coo => ReferenceColumn::Sparse {
                    indices: coordinates(rows),
                    values,
                    dense_shape,
                },
                Layout::Ragged => ReferenceColumn::RaggedSparse {
                    indices: entries().flat_map(|entry| entry.index.clone()).collect(),
                    values,
                    row_splits: splits(rows.iter().map(|row| row.entries.len())),
                    dense_shape,
                },
                _ => unreachable!("every layout of this version is above"),
            }
        }
        FeatureKind::Dense { .. } => panic!("a dense column has no entries"),
    }
}

/// The length of the longest list of a level.
fn longest(rows: &[Row], level: usize) -> usize {
    let lengths = rows.iter().flat_map(|row| &row.lengths[level]);
    lengths.copied().max().unwrap_or(0)
}

/// The indices of all entries, each after its row.
fn coordinates(rows: &[Row]) -> Vec<i64> {
    let mut coordinates = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        for entry in &row.entries {
            coordinates.push(number as i64);
            coordinates.extend(&entry.index);
        }
    }
    coordinates
}

/// Row splits: 0, then the sum of the lengths up to each list.
fn splits(lengths: impl Iterator<Item = usize>) -> Vec<i64> {
    let mut splits = vec![0];
    let mut end = 0;
    for length in lengths {
        end += length as i64;
        splits.push(end);
    }
    splits
}
