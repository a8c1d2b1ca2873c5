//! The row that a feature makes of one record.

use atds_features::Convert;
use atds_features::feature::{CheckedFeature, FeatureKind, SparseKeys};
use tensor_batch::{DType, Scalar};

use super::follow::{Found, TypedValue, dimensions};
use super::sparse::{named_entries, record_entries};
use crate::plan::MeaningOf;
use crate::reference::convert::convert;
use crate::schema::Schema;
use crate::{DecodeErrorKind, PlanOptions, Value};

/// The row that a feature makes of one record.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// Whether the feature is present.
    pub(super) is_present: bool,
    pub(super) entries: Vec<Entry>,
    /// The lengths of the lists of each level, from the outermost; 0 for a missing list.
    pub(super) lengths: Vec<Vec<usize>>,
    /// Number of sparse entries left out for an index outside their dimension.
    pub(super) dropped: u64,
    /// Number of lists that were cut to the length of their dimension.
    pub(super) truncated: u64,
    /// The errors. If there are any, the rest of the row is meaningless.
    pub(super) faults: Vec<DecodeErrorKind>,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The index, without the row.
    pub(super) index: Vec<i64>,
    /// The value; `None` if it is missing.
    pub(super) value: Option<Scalar>,
}

impl Row {
    /// The row that a feature makes of a record.
    pub(super) fn of(checked: &CheckedFeature, root: TypedValue<'_>, options: &PlanOptions) -> Row {
        let found = root.follow(&checked.path.steps, root);
        let mut row = Row {
            is_present: !matches!(found, Found::Missing(_)),
            ..Row::default()
        };
        match &checked.feature.kind {
            FeatureKind::Dense { .. } => {
                let dims = list_dims(checked, root);
                row.lengths = vec![Vec::new(); dims.len()];
                row.values(checked, found, &dims, &[]);
            }
            FeatureKind::Varlen { .. } => {
                row.lengths = vec![Vec::new(); checked.shape.len()];
                row.values(checked, found, &checked.shape, &[]);
            }
            FeatureKind::Sparse {
                keys: SparseKeys::Record,
                ..
            } => record_entries(&mut row, checked, found, options),
            FeatureKind::Sparse { .. } => named_entries(&mut row, checked, found, root, options),
        }
        row
    }

    /// Handles a missing value or list: an error, unless the feature has a default or a mask.
    pub(super) fn missing(&mut self, checked: &CheckedFeature, why: DecodeErrorKind) {
        if !fills(checked) {
            self.faults.push(why);
        }
    }

    /// The elements of a value: three for a duration, one per byte for uint8, one otherwise.
    pub(super) fn converted(
        &mut self,
        checked: &CheckedFeature,
        typed: TypedValue<'_>,
    ) -> Vec<Scalar> {
        let feature = &checked.feature;
        let (schema, ty, value) = (typed.schema, typed.ty, typed.value);
        let is_bytes = feature.any_bytes && feature.dtype == DType::String;
        if let (true, Value::Fixed(bytes)) = (is_bytes, value) {
            return vec![Scalar::String(bytes.clone())];
        }
        let column = typed
            .context
            .meanings
            .of(&MeaningOf::Values(checked.column));
        let made = convert(schema, ty, value, feature.dtype, &feature.convert, column);
        made.unwrap_or_else(|kind| {
            self.faults.push(kind);
            vec![Scalar::zero(feature.dtype)]
        })
    }

    /// The element of a key, as a string.
    pub(super) fn converted_key(&mut self, checked: &CheckedFeature, key: &str) -> Option<Scalar> {
        let schema = Schema::parse("\"string\"").expect("a schema");
        let value = Value::String(key.to_owned());
        let feature = &checked.feature;
        let (dtype, how) = (feature.dtype, &feature.convert);
        match convert(&schema, schema.root(), &value, dtype, how, None) {
            Ok(made) => made.into_iter().next(),
            Err(kind) => {
                self.faults.push(kind);
                Some(Scalar::zero(dtype))
            }
        }
    }

    /// Adds the values at `index`, in one list for each of `dims`. A `None` in `dims` accepts any
    /// length.
    fn values(
        &mut self,
        checked: &CheckedFeature,
        found: Found<'_>,
        dims: &[Option<usize>],
        index: &[i64],
    ) {
        let level = index.len();
        let Some((&dim, inner)) = dims.split_first() else {
            let value = match found {
                Found::Missing(why) => {
                    self.missing(checked, why);
                    None
                }
                Found::At(typed) => self.converted(checked, typed).into_iter().next(),
                Found::Key(key) => self.converted_key(checked, key),
                Found::List(_) => panic!("a list beyond the dimensions"),
            };
            let index = index.to_vec();
            self.entries.push(Entry { index, value });
            return;
        };
        let mut items = match found {
            Found::Missing(why) => {
                self.missing(checked, why);
                self.lengths[level].push(0);
                return;
            }
            Found::At(typed) if !is_array(typed) => {
                let mut parts = self.converted(checked, typed);
                // A duration is three numbers, whatever the shape says.
                if let Some(dim) = dim
                    && checked.feature.truncate
                    && checked.feature.dtype == DType::UInt8
                    && parts.len() > dim
                {
                    parts.truncate(dim);
                    self.truncated += 1;
                }
                self.list(checked, dim, level, parts.len());
                for (i, value) in parts.into_iter().enumerate() {
                    let value = Some(value);
                    let index = deeper(index, i);
                    self.entries.push(Entry { index, value });
                }
                return;
            }
            // An array at the end of the expression is read whole.
            Found::At(typed) => {
                let elements = typed.elements().into_iter();
                elements.map(TypedValue::resolve).collect()
            }
            Found::Key(_) => panic!("a key is no list"),
            Found::List(items) => items,
        };
        if let Some(dim) = dim
            && checked.feature.truncate
            && items.len() > dim
        {
            items.truncate(dim);
            self.truncated += 1;
        }
        self.list(checked, dim, level, items.len());
        for (i, item) in items.into_iter().enumerate() {
            self.values(checked, item, inner, &deeper(index, i));
        }
    }

    /// Adds a list of `actual` items, and checks its length against its dimension. A dense list may
    /// be shorter if the feature has a default or a mask, a truncated varlen list in any case.
    fn list(&mut self, checked: &CheckedFeature, dim: Option<usize>, level: usize, actual: usize) {
        let may_be_shorter = match checked.feature.kind {
            FeatureKind::Dense { .. } => fills(checked),
            _ => checked.feature.truncate,
        };
        if let Some(expected) = dim
            && actual != expected
            && !(actual < expected && may_be_shorter)
        {
            let kind = DecodeErrorKind::ArrayLength { expected, actual };
            self.faults.push(kind);
        }
        self.lengths[level].push(actual);
    }
}

/// Whether a feature has a default or a mask for missing values.
fn fills(checked: &CheckedFeature) -> bool {
    let missing = &checked.feature.missing;
    missing.default.is_some() || missing.mask.is_some() || missing.row_mask.is_some()
}

/// The dimensions of a dense feature's lists: those of its shape, or their product if a single list
/// fills them.
fn list_dims(checked: &CheckedFeature, root: TypedValue<'_>) -> Vec<Option<usize>> {
    let shape = &checked.shape;
    let steps = &checked.path.steps;
    let feature = &checked.feature;
    let octets =
        feature.dtype == DType::UInt8 && matches!(feature.convert, Convert::Exact | Convert::Cast);
    let lists = dimensions(root.schema, root.schema.root(), steps, octets);
    // If the schema lacks the end of the path, only its own lists count.
    let lists = lists.unwrap_or_else(|| checked.path.lists());
    if lists == 1
        && shape.len() > 1
        && matches!(
            checked.feature.kind,
            FeatureKind::Dense { reshape: true, .. }
        )
        && let Some(len) = shape.iter().copied().product()
    {
        return vec![Some(len)];
    }
    shape.clone()
}

fn is_array(typed: TypedValue<'_>) -> bool {
    matches!(typed.value, Value::Array(_))
}

pub(super) fn deeper(index: &[i64], i: usize) -> Vec<i64> {
    let mut deeper = index.to_vec();
    deeper.push(i as i64);
    deeper
}
