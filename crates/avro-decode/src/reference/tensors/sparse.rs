//! The entries of sparse features.

use std::iter::repeat_n;

use atds_features::feature::{CheckedFeature, FeatureKind};
use tensor_batch::{Scalar, UNKNOWN};

use super::compared::units;
use super::follow::{Found, TypedValue};
use super::row::{Entry, Row, deeper};
use crate::plan::MeaningOf;
use crate::reference::convert::{in_unit, whole};
use crate::schema::Node;
use crate::{DecodeErrorKind, OutOfBounds, PlanOptions, Value};

/// The parts of entries, each in the order of the data.
#[derive(Default)]
struct EntryParts {
    /// The indices of the lists around each entry.
    around: Vec<Vec<i64>>,
    /// The indices of each dimension.
    indices: Vec<Vec<i64>>,
    /// The values; `None` if missing.
    values: Vec<Option<Scalar>>,
}

/// The entries of ATDS's record of arrays.
pub(super) fn record_entries(
    row: &mut Row,
    checked: &CheckedFeature,
    found: Found<'_>,
    options: &PlanOptions,
) {
    let typed = match found {
        Found::At(typed) => typed,
        Found::Missing(why) => return row.missing(checked, why),
        Found::List(_) | Found::Key(_) => panic!("a sparse record stands in no list"),
    };
    let (Node::Record(record), Value::Record(values)) = (typed.node(), typed.value) else {
        panic!("a sparse record is a record");
    };
    let mut parts = EntryParts {
        indices: vec![Vec::new(); record.fields.len() - 1],
        ..EntryParts::default()
    };
    for (field, value) in record.fields.iter().zip(values) {
        let array = typed.inside(field.ty, value).resolve();
        let items = match array {
            Found::At(array) => array.elements(),
            Found::Missing(why) => {
                row.missing(checked, why);
                continue;
            }
            Found::List(_) | Found::Key(_) => unreachable!("a value stands in no list"),
        };
        let items = Found::List(items.into_iter().map(TypedValue::resolve).collect());
        match field.name.strip_prefix("indices") {
            Some(dimension) => {
                let dimension: usize = dimension.parse().expect("a dimension");
                let of = MeaningOf::Indices(checked.column, dimension);
                row.indices(checked, items, 1, &of, &mut parts.indices[dimension]);
            }
            None => row.entry_values(checked, items, 1, &mut parts.values),
        }
    }
    parts.around = vec![Vec::new(); parts.values.len()];
    row.entries(checked, parts, options);
}

/// The entries of a sparse feature with keys.
pub(super) fn named_entries(
    row: &mut Row,
    checked: &CheckedFeature,
    found: Found<'_>,
    root: TypedValue<'_>,
    options: &PlanOptions,
) {
    let keys = checked.keys.as_ref().expect("the feature has keys");
    let value_lists = keys.value.path.lists();
    let mut parts = EntryParts {
        indices: vec![Vec::new(); keys.index.len()],
        ..EntryParts::default()
    };
    row.lengths = vec![Vec::new(); checked.path.lists()];
    // Keys that all start from the root need no entry record.
    let is_rooted = checked.is_rooted;
    let mut records = Vec::new();
    if !is_rooted {
        row.records(checked, found, &[], &mut records);
    }
    for (around, record) in records {
        let mut counts = Vec::new();
        for (dimension, (key, indices)) in keys.index.iter().zip(&mut parts.indices).enumerate() {
            if !key.from_root {
                let before = indices.len();
                let found = record.follow(&key.path.steps, root);
                let of = MeaningOf::Indices(checked.column, dimension);
                row.indices(checked, found, key.path.lists(), &of, indices);
                counts.push(indices.len() - before);
            }
        }
        if !keys.value.from_root {
            let before = parts.values.len();
            let found = record.follow(&keys.value.path.steps, root);
            row.entry_values(checked, found, value_lists, &mut parts.values);
            counts.push(parts.values.len() - before);
        }
        row.same(&counts);
        parts.around.extend(repeat_n(around, counts[0]));
    }
    for (dimension, (key, indices)) in keys.index.iter().zip(&mut parts.indices).enumerate() {
        if key.from_root {
            let found = root.follow(&key.path.steps, root);
            let of = MeaningOf::Indices(checked.column, dimension);
            row.indices(checked, found, key.path.lists(), &of, indices);
        }
    }
    if keys.value.from_root {
        let found = root.follow(&keys.value.path.steps, root);
        row.entry_values(checked, found, value_lists, &mut parts.values);
    }
    if is_rooted {
        parts.around = vec![Vec::new(); parts.values.len()];
    }
    row.entries(checked, parts, options);
}

impl Row {
    /// The records that the expression leads to, each with the indices of the lists around it. The
    /// items of an array at the end of the expression are records too, and that array does not
    /// count as a list.
    fn records<'a>(
        &mut self,
        checked: &CheckedFeature,
        found: Found<'a>,
        index: &[i64],
        records: &mut Vec<(Vec<i64>, TypedValue<'a>)>,
    ) {
        match found {
            Found::Missing(why) => {
                self.missing(checked, why);
                if let Some(lengths) = self.lengths.get_mut(index.len()) {
                    lengths.push(0);
                }
            }
            Found::At(typed) if matches!(typed.value, Value::Array(_)) => {
                for item in typed.elements() {
                    self.records(checked, item.resolve(), index, records);
                }
            }
            Found::At(typed) => records.push((index.to_vec(), typed)),
            Found::Key(_) => panic!("entries are records"),
            Found::List(items) => {
                self.lengths[index.len()].push(items.len());
                for (i, item) in items.into_iter().enumerate() {
                    self.records(checked, item, &deeper(index, i), records);
                }
            }
        }
    }

    /// Appends the indices in nested lists. A missing index is an error, a missing list is empty.
    fn indices(
        &mut self,
        checked: &CheckedFeature,
        found: Found<'_>,
        lists: usize,
        of: &MeaningOf,
        indices: &mut Vec<i64>,
    ) {
        match found {
            Found::Missing(why) if lists > 0 => self.missing(checked, why),
            Found::Missing(why) => {
                self.faults.push(match why {
                    DecodeErrorKind::Null => DecodeErrorKind::NullIndex,
                    why => why,
                });
                indices.push(0);
            }
            Found::At(typed) => {
                let value = whole(typed.value);
                let index = match units(typed, of) {
                    None => value,
                    Some((from, to)) => in_unit(value, from, to).unwrap_or_else(|| {
                        let fault = DecodeErrorKind::TimeOverflow { value, from, to };
                        self.faults.push(fault);
                        0
                    }),
                };
                indices.push(index);
            }
            Found::Key(_) => panic!("an index is int or long"),
            Found::List(items) => {
                for item in items {
                    self.indices(checked, item, lists - 1, of, indices);
                }
            }
        }
    }

    /// Appends the values in nested lists. A missing list is empty.
    fn entry_values(
        &mut self,
        checked: &CheckedFeature,
        found: Found<'_>,
        lists: usize,
        values: &mut Vec<Option<Scalar>>,
    ) {
        match found {
            Found::Missing(why) => {
                self.missing(checked, why);
                if lists == 0 {
                    values.push(None);
                }
            }
            Found::At(typed) => values.extend(self.converted(checked, typed).into_iter().map(Some)),
            Found::Key(key) => values.extend(self.converted_key(checked, key).map(Some)),
            Found::List(items) => {
                for item in items {
                    self.entry_values(checked, item, lists - 1, values);
                }
            }
        }
    }

    /// Builds entries from their parts.
    fn entries(&mut self, checked: &CheckedFeature, parts: EntryParts, options: &PlanOptions) {
        let FeatureKind::Sparse { shape, sort, .. } = &checked.feature.kind else {
            panic!("a sparse feature");
        };
        let is_inside = |dimension: usize, index: i64| match shape[dimension] {
            // The dimension's size is the index + 1, and must be a long.
            UNKNOWN => (0..i64::MAX).contains(&index),
            size => (0..size).contains(&index),
        };
        if options.out_of_bounds == OutOfBounds::Error && !checked.feature.truncate {
            for (dimension, indices) in parts.indices.iter().enumerate() {
                let outside = indices
                    .iter()
                    .filter(|&&index| !is_inside(dimension, index));
                self.faults.extend(outside.map(|&index| {
                    let size = shape[dimension];
                    DecodeErrorKind::IndexOutOfBounds {
                        index,
                        dimension,
                        size,
                    }
                }));
            }
        }
        let counts = parts
            .indices
            .iter()
            .map(Vec::len)
            .chain([parts.values.len()]);
        self.same(&counts.collect::<Vec<_>>());
        if !self.faults.is_empty() {
            return;
        }
        for (entry, value) in parts.values.into_iter().enumerate() {
            let key: Vec<i64> = parts.indices.iter().map(|indices| indices[entry]).collect();
            if (0..key.len()).all(|dimension| is_inside(dimension, key[dimension])) {
                let mut index = parts.around[entry].clone();
                index.extend(key);
                self.entries.push(Entry { index, value });
            } else {
                self.dropped += 1;
            }
        }
        if *sort {
            self.entries
                .sort_by(|left, right| left.index.cmp(&right.index));
        }
    }

    /// Adds an error if the counts of indices and values differ.
    fn same(&mut self, counts: &[usize]) {
        let expected = counts[0];
        if let Some(&actual) = counts.iter().find(|&&count| count != expected) {
            self.faults
                .push(DecodeErrorKind::SparseLengths { expected, actual });
        }
    }
}
