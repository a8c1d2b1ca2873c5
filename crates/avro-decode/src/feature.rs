//! Features: what is asked of a record, and the columns that become of it.
//!
//! There are two ways to say a feature, ATDS's ([`Feature::dense`],
//! [`Feature::sparse`], [`Feature::varlen`]) and TensorFlow's
//! ([`Feature::fixed_len`], [`Feature::fixed_len_sequence`],
//! [`Feature::var_len`], [`Feature::sparse_keys`]); both are the same three
//! [kinds](FeatureKind).

mod check;
mod error;

use tensor_batch::{ColumnKind, ColumnSpec, DType, Layout, Scalar, UNKNOWN};

pub use check::Features;
pub(crate) use check::{Checked, is_meant_as_path, lists, root_fields};
pub use error::{FeatureError, FeatureErrorKind};

use crate::convert::Convert;

/// A feature: a name, where in the record its values are, and what they become.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Feature {
    /// The name of its column.
    pub name: String,
    /// The [path expression](crate::path) to its values; the name where there
    /// is none: that of a field of the record, whatever is in it, such as `user-id`
    /// and `a.b`, or else an expression. Arrays at its end are taken whole: `x` is `x[*]` where `x` is
    /// an array and the feature has a dimension for it.
    pub expression: Option<String>,
    /// The dtype of the values.
    pub dtype: DType,
    /// Whether strings are any bytes, which need not be UTF-8: `bytes` in a
    /// features file.
    pub any_bytes: bool,
    /// Kind and shape.
    pub kind: FeatureKind,
    /// Whether a list that is longer than its dimension is cut to it; an error
    /// otherwise. See [`with_truncate`](Feature::with_truncate).
    pub truncate: bool,
    /// How a value becomes one of the dtype.
    pub convert: Convert,
    /// What a missing value becomes; an error if nothing is said.
    pub missing: Missing,
}

/// What a missing value becomes: a null, an element or key that is not there,
/// another branch of a union, and, in dense features, what a list is too short
/// by. An error, unless there is a default or a mask.
///
/// A missing list counts as empty in varlen and sparse features, and in dense
/// ones as a list of missing values.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Missing {
    /// The value in its place; 0, false or the empty string where there is only
    /// a mask.
    pub default: Option<Fill>,
    /// The name of a bool column that is true where a value was present: of the
    /// shape of the values, dense `[B, d..]`, sparse and varlen `[nnz]`.
    pub mask: Option<String>,
    /// The name of a bool column `[B]` that is false where the whole feature
    /// was missing, which tells a null list from an empty one.
    pub row_mask: Option<String>,
}

/// The default of a feature.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fill {
    /// The same for every missing value.
    Scalar(Scalar),
    /// For dense features of known shape: a value for each place, in row-major
    /// order.
    Tensor(Vec<Scalar>),
}

/// The kind and shape of a feature; what column becomes of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FeatureKind {
    /// A dense tensor `[B, d..]`.
    Dense {
        /// Dimensions, without the batch; `None` is the longest in the batch,
        /// shorter lists are padded, for which there must be a default or a mask;
        /// with `reshape`, without them, no list of a batch is shorter.
        shape: Vec<Option<usize>>,
        /// Whether a list may fill several dimensions, in row-major order, and
        /// whether a first `None` is the batch where there is one dimension
        /// more than lists.
        reshape: bool,
    },
    /// Lists of any length: coordinates, or ragged.
    Varlen {
        /// Dimensions, [`UNKNOWN`] where the length varies; where not given,
        /// one for each `[*]` and filter of the expression.
        shape: Option<Vec<i64>>,
        /// What an unknown dimension of `dense_shape` is.
        extents: Extents,
        /// Coordinates or ragged.
        layout: Layout,
    },
    /// Entries with an index: coordinates, or ragged.
    Sparse {
        /// Where the index and the value of an entry are.
        keys: SparseKeys,
        /// A dimension for each index, [`UNKNOWN`] where any index is good.
        shape: Vec<i64>,
        /// Whether the entries of a row are sorted by index; if not, they stay
        /// in the order of the document.
        sort: bool,
        /// Coordinates or ragged.
        layout: Layout,
    },
}

/// What an unknown dimension of a varlen column's `dense_shape` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extents {
    /// The largest index of a value + 1, as in ATDS: empty inner lists do not
    /// count.
    Values,
    /// The largest length of a list, as in AvroRecordDataset.
    Lengths,
}

/// Where the index and the value of a sparse feature's entries are.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SparseKeys {
    /// In ATDS's record of arrays: `indices0`.. and `values`.
    Record,
    /// Where paths say: relative to each entry (the record, or the items of the
    /// array of records, that the feature's expression leads to), or from the
    /// root of the record with `@`. Each `[*]` and filter of the expression
    /// adds an index before those of the keys.
    Named {
        /// The indices, a path each.
        index: Vec<String>,
        /// The value.
        value: String,
    },
}

impl Feature {
    /// ATDS's dense feature: every row has `shape`. An array of another length
    /// is an error: a shorter one unless there is a [default](Feature::with_default) or
    /// a [mask](Feature::with_mask), a longer one unless it is
    /// [truncated](Feature::with_truncate).
    pub fn dense(name: impl Into<String>, shape: &[usize], dtype: DType) -> Self {
        let shape = shape.iter().map(|&dim| Some(dim)).collect();
        let reshape = false;
        Self::new(name, dtype, FeatureKind::Dense { shape, reshape })
    }

    /// ATDS's sparse feature: a record of `indices0`.. and `values`.
    pub fn sparse(name: impl Into<String>, shape: &[i64], dtype: DType) -> Self {
        let kind = FeatureKind::Sparse {
            keys: SparseKeys::Record,
            shape: shape.to_vec(),
            sort: false,
            layout: Layout::Coo,
        };
        Self::new(name, dtype, kind)
    }

    /// ATDS's varlen feature: a primitive in as many arrays as `shape` has
    /// dimensions.
    pub fn varlen(name: impl Into<String>, shape: &[i64], dtype: DType) -> Self {
        let kind = FeatureKind::Varlen {
            shape: Some(shape.to_vec()),
            extents: Extents::Values,
            layout: Layout::Coo,
        };
        Self::new(name, dtype, kind)
    }

    /// TensorFlow's `FixedLenFeature`: dense `[B, shape..]`. Where there is one
    /// dimension more than the expression has `[*]` and filters, a first `None`
    /// is the batch; any other `None` is the longest list in the batch. Without a
    /// default and a mask all lists in a batch have that length, and a batch in
    /// which they differ is an error.
    pub fn fixed_len(name: impl Into<String>, shape: &[Option<usize>], dtype: DType) -> Self {
        let shape = shape.to_vec();
        let reshape = true;
        Self::new(name, dtype, FeatureKind::Dense { shape, reshape })
    }

    /// TensorFlow's `FixedLenSequenceFeature`: as
    /// [`fixed_len`](Feature::fixed_len); with `allow_missing`, `default` (0,
    /// false or empty if not given) fills every gap, else a gap is an error.
    pub fn fixed_len_sequence(
        name: impl Into<String>,
        shape: &[Option<usize>],
        dtype: DType,
        default: Option<Scalar>,
        allow_missing: bool,
    ) -> Self {
        let feature = Self::fixed_len(name, shape, dtype);
        if !allow_missing {
            return feature;
        }
        feature.with_default(Fill::Scalar(default.unwrap_or_else(|| Scalar::zero(dtype))))
    }

    /// TensorFlow's `VarLenFeature`: coordinates with an index for the row and
    /// one for each `[*]` and filter of the expression.
    pub fn var_len(name: impl Into<String>, dtype: DType) -> Self {
        let kind = FeatureKind::Varlen {
            shape: None,
            extents: Extents::Lengths,
            layout: Layout::Coo,
        };
        Self::new(name, dtype, kind)
    }

    /// [`var_len`](Feature::var_len) of a given rank: arrays at the end of the
    /// expression are taken whole until there are as many dimensions.
    pub fn var_len_of_rank(name: impl Into<String>, dtype: DType, rank: usize) -> Self {
        let kind = FeatureKind::Varlen {
            shape: Some(vec![UNKNOWN; rank]),
            extents: Extents::Lengths,
            layout: Layout::Coo,
        };
        Self::new(name, dtype, kind)
    }

    /// TensorFlow's `SparseFeature`: the entries of the record or the array of
    /// records that the expression leads to, each with an index by each of
    /// `index_keys` (below the dimension of `size`) and a value by `value_key`;
    /// sorted by index.
    pub fn sparse_keys(
        name: impl Into<String>,
        index_keys: &[&str],
        value_key: &str,
        size: &[i64],
        dtype: DType,
    ) -> Self {
        let kind = FeatureKind::Sparse {
            keys: SparseKeys::Named {
                index: index_keys.iter().map(|&key| key.to_owned()).collect(),
                value: value_key.to_owned(),
            },
            shape: size.to_vec(),
            sort: true,
            layout: Layout::Coo,
        };
        Self::new(name, dtype, kind)
    }

    fn new(name: impl Into<String>, dtype: DType, kind: FeatureKind) -> Self {
        Feature {
            name: name.into(),
            expression: None,
            dtype,
            any_bytes: false,
            truncate: false,
            kind,
            convert: Convert::default(),
            missing: Missing::default(),
        }
    }

    /// The same feature of the values that `expression` leads to.
    pub fn at(mut self, expression: impl Into<String>) -> Self {
        self.expression = Some(expression.into());
        self
    }

    /// The same feature in `layout`; nothing changes for a dense one.
    pub fn with_layout(mut self, new: Layout) -> Self {
        match &mut self.kind {
            FeatureKind::Dense { .. } => {}
            FeatureKind::Varlen { layout, .. } | FeatureKind::Sparse { layout, .. } => {
                *layout = new;
            }
        }
        self
    }

    /// The same feature, its values converted.
    pub fn with_convert(mut self, convert: Convert) -> Self {
        self.convert = convert;
        self
    }

    /// The same feature; its strings are any bytes, and not checked.
    pub fn with_any_bytes(mut self) -> Self {
        self.any_bytes = true;
        self
    }

    /// The same feature; what is beyond its dimensions is left out.
    ///
    /// | kind | in each dimension of known length |
    /// |---|---|
    /// | dense | the first values of a longer list; a shorter list still needs a [default](Feature::with_default) or a [mask](Feature::with_mask) |
    /// | varlen | the first values of a longer list; a shorter list is as it is, where without `truncate` it is an error; a ragged column's dimension then varies |
    /// | sparse | the entries whose indices are below it; the others are left out as by [`OutOfBounds::Drop`](crate::OutOfBounds::Drop) |
    ///
    /// Values that are left out are not checked. How many lists were cut is counted in
    /// [`Executed::truncated`](crate::Executed::truncated), sparse entries in
    /// [`Executed::dropped`](crate::Executed::dropped). An error where no dimension has a
    /// known length.
    ///
    /// ```
    /// use avro_decode::Feature;
    /// use tensor_batch::DType;
    ///
    /// let tokens = Feature::dense("tokens", &[512], DType::Int64).with_truncate();
    /// assert!(tokens.truncate);
    /// ```
    pub fn with_truncate(mut self) -> Self {
        self.truncate = true;
        self
    }

    /// The same feature with a default for what is missing.
    pub fn with_default(mut self, default: Fill) -> Self {
        self.missing.default = Some(default);
        self
    }

    /// The same feature with a mask, a bool column of this name.
    pub fn with_mask(mut self, name: impl Into<String>) -> Self {
        self.missing.mask = Some(name.into());
        self
    }

    /// The same feature with a mask of its rows, a bool column of this name.
    pub fn with_row_mask(mut self, name: impl Into<String>) -> Self {
        self.missing.row_mask = Some(name.into());
        self
    }

    /// The same feature; entries of a sparse one that are sorted already, or
    /// need not be, stay in the order of the document.
    pub fn already_sorted(mut self) -> Self {
        if let FeatureKind::Sparse { sort, .. } = &mut self.kind {
            *sort = false;
        }
        self
    }

    /// Whether bytes are read as lists of uint8.
    pub(crate) fn takes_octets(&self) -> bool {
        self.dtype == DType::UInt8 && matches!(self.convert, Convert::Exact | Convert::Cast)
    }

    /// The expression, or the name.
    pub fn expression(&self) -> &str {
        self.expression.as_deref().unwrap_or(&self.name)
    }
}

impl From<ColumnSpec> for Feature {
    /// The ATDS feature of a column. A padded column becomes a feature padded
    /// with its fill; a flat one, which is no feature by itself, a varlen one
    /// without dimensions.
    fn from(column: ColumnSpec) -> Self {
        let ColumnSpec {
            name, dtype, kind, ..
        } = column;
        match kind {
            ColumnKind::Dense { shape } => Feature::dense(name, &shape, dtype),
            ColumnKind::Sparse { shape, layout } => {
                Feature::sparse(name, &shape, dtype).with_layout(layout)
            }
            ColumnKind::Varlen { shape, layout } => {
                Feature::varlen(name, &shape, dtype).with_layout(layout)
            }
            ColumnKind::Padded { shape, fill, exact } => {
                let shape = shape.iter().map(|&dim| usize::try_from(dim).ok()).collect();
                let reshape = exact;
                let kind = FeatureKind::Dense { shape, reshape };
                match exact {
                    true => Feature::new(name, dtype, kind),
                    false => Feature::new(name, dtype, kind).with_default(Fill::Scalar(fill)),
                }
            }
            _ => Feature::varlen(name, &[], dtype),
        }
    }
}
