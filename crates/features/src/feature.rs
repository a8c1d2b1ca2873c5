//! Features: the values to read from a record, and their columns.
//!
//! Features can be written in ATDS's style ([`Feature::dense`], [`Feature::sparse`],
//! [`Feature::varlen`]) or TensorFlow's ([`Feature::fixed_len`], [`Feature::fixed_len_sequence`],
//! [`Feature::var_len`], [`Feature::sparse_keys`]). Both styles give the same three
//! [kinds](FeatureKind).

mod check;
mod error;
mod partition;

use tensor_batch::{ColumnKind, ColumnSpec, DType, Layout, Scalar, UNKNOWN};

pub use check::{CheckedFeature, Features, KeyPaths};
pub use error::{FeatureError, FeatureErrorKind};
pub use partition::Partition;

use crate::convert::Convert;

/// A feature: its name, the path to its values in a record, and the column that they become.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Feature {
    /// The name of its column.
    pub name: String,
    /// The [path expression](crate::path) to the feature's values.
    ///
    /// `None` uses the name. If the record has a field of exactly that name, such as `user-id` or
    /// `a.b`, the name means that field. Otherwise the name is parsed as an expression.
    ///
    /// Lists at the end of a path are read whole. `x` means `x[*]` if `x` is a list and the
    /// feature has a dimension for it.
    pub expression: Option<String>,
    /// The dtype of the values.
    pub dtype: DType,
    /// Whether strings are unchecked bytes, which need not be UTF-8: `bytes` in a features file.
    pub any_bytes: bool,
    /// Kind and shape.
    pub kind: FeatureKind,
    /// For TFRecord's ragged features: what divides the values of a key into lists of lists, the
    /// outermost first. See [`with_partitions`](Feature::with_partitions).
    pub partitions: Vec<Partition>,
    /// Whether a list that is longer than its dimension is cut to it. Otherwise it is an error. See
    /// [`with_truncate`](Feature::with_truncate).
    pub truncate: bool,
    /// How a value becomes an element of the dtype.
    pub convert: Convert,
    /// How a missing value is treated.
    pub missing: Missing,
}

/// How a missing value is treated. A value is missing if it is null, an absent element or key, or
/// in another branch of a union. In a dense feature, values after the end of a too short list are
/// missing too. Without a default or a mask, a missing value is an error.
///
/// In varlen and sparse features a missing list is empty. In dense features it is a list of missing
/// values.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Missing {
    /// The value that replaces a missing one. If only a mask is given, it is 0, false or the empty
    /// string.
    pub default: Option<Fill>,
    /// The name of a bool column that is true where a value is present. It has the shape of the
    /// values: dense `[B, d..]`, sparse and varlen `[nnz]`.
    pub mask: Option<String>,
    /// The name of a bool column `[B]` that is false where the whole feature is missing. It tells a
    /// null list from an empty one.
    pub row_mask: Option<String>,
}

/// The default of a feature.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// The same for every missing value.
    Scalar(Scalar),
    /// For dense features of known shape: one value for each element, in row-major order.
    Tensor(Vec<Scalar>),
}

/// The kind and shape of a feature, which determine its column.
#[derive(Clone, Debug, PartialEq)]
pub enum FeatureKind {
    /// A dense tensor `[B, d..]`.
    Dense {
        /// Dimensions, without the batch.
        ///
        /// `None` is the length of the longest list in the batch. Shorter lists are padded, which
        /// needs a default or a mask. With `reshape` and without a default or a mask, all lists of
        /// a batch must have the same length.
        shape: Vec<Option<usize>>,
        /// Whether a list may fill several dimensions, in row-major order. If there is one
        /// dimension more than lists, a first `None` is then the batch.
        reshape: bool,
    },
    /// Lists of any length: coordinates or ragged.
    Varlen {
        /// Dimensions, [`UNKNOWN`] if the length varies. Without `shape`, one for each `[*]` and
        /// filter of the expression.
        shape: Option<Vec<i64>>,
        /// The size of an unknown dimension in `dense_shape`.
        extents: Extents,
        /// Coordinates or ragged.
        layout: Layout,
    },
    /// Entries with an index: coordinates or ragged.
    Sparse {
        /// The paths to the index and the value of an entry.
        keys: SparseKeys,
        /// A dimension for each index; [`UNKNOWN`] accepts any index.
        shape: Vec<i64>,
        /// Whether the entries of a row are sorted by index. Otherwise they keep the order of the
        /// data.
        sort: bool,
        /// Coordinates or ragged.
        layout: Layout,
    },
}

/// The size of an unknown dimension in a varlen column's `dense_shape`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extents {
    /// The largest index of a value + 1, as in ATDS. Empty inner lists do not count.
    Values,
    /// The largest length of a list.
    Lengths,
}

/// The paths to the index and the value of a sparse feature's entries.
#[derive(Clone, Debug, PartialEq)]
pub enum SparseKeys {
    /// ATDS's record of lists: `indices0`.. and `values`.
    Record,
    /// Named paths. A path starts from each entry, or with `@` from the root of the record. The
    /// entries are the record, or the items of the list of records, at the feature's expression.
    /// Each `[*]` and filter of the expression adds an index before the indices of the keys.
    Named {
        /// The paths to the indices.
        index: Vec<String>,
        /// The path to the value.
        value: String,
    },
}

impl Feature {
    /// ATDS's dense feature: every row has `shape`. A shorter list is an error, unless there is a
    /// [default](Feature::with_default) or a [mask](Feature::with_mask). A longer list is an
    /// error, unless it is [truncated](Feature::with_truncate).
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

    /// ATDS's varlen feature: a primitive nested in one list per dimension of `shape`.
    pub fn varlen(name: impl Into<String>, shape: &[i64], dtype: DType) -> Self {
        let kind = FeatureKind::Varlen {
            shape: Some(shape.to_vec()),
            extents: Extents::Values,
            layout: Layout::Coo,
        };
        Self::new(name, dtype, kind)
    }

    /// TensorFlow's `FixedLenFeature`: dense `[B, shape..]`.
    ///
    /// If there is one dimension more than the expression has `[*]` and filters, a first `None` is
    /// the batch. Any other `None` is the length of the longest list in the batch. Without a
    /// default or a mask, all lists of a batch must have the same length.
    pub fn fixed_len(name: impl Into<String>, shape: &[Option<usize>], dtype: DType) -> Self {
        let shape = shape.to_vec();
        let reshape = true;
        Self::new(name, dtype, FeatureKind::Dense { shape, reshape })
    }

    /// TensorFlow's `FixedLenSequenceFeature`. With `allow_missing`, `default` fills all missing
    /// values (0, false or empty if it is `None`). Otherwise this is
    /// [`fixed_len`](Feature::fixed_len), and a missing value is an error.
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

    /// TensorFlow's `VarLenFeature`: coordinates, with an index for the row and an index for each
    /// `[*]` and filter of the expression.
    pub fn var_len(name: impl Into<String>, dtype: DType) -> Self {
        let kind = FeatureKind::Varlen {
            shape: None,
            extents: Extents::Lengths,
            layout: Layout::Coo,
        };
        Self::new(name, dtype, kind)
    }

    /// [`var_len`](Feature::var_len) of a given rank: lists at the end of the expression are read
    /// whole until there are `rank` dimensions.
    pub fn var_len_of_rank(name: impl Into<String>, dtype: DType, rank: usize) -> Self {
        let kind = FeatureKind::Varlen {
            shape: Some(vec![UNKNOWN; rank]),
            extents: Extents::Lengths,
            layout: Layout::Coo,
        };
        Self::new(name, dtype, kind)
    }

    /// TensorFlow's `SparseFeature`, sorted by index. The expression leads to a record or a list
    /// of records, which are the entries. Each entry has an index for each of `index_keys`, less
    /// than the dimension's `size`, and a value at `value_key`.
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
            partitions: Vec::new(),
            truncate: false,
            kind,
            convert: Convert::default(),
            missing: Missing::default(),
        }
    }

    /// The same feature, with the values at `expression`.
    pub fn at(mut self, expression: impl Into<String>) -> Self {
        self.expression = Some(expression.into());
        self
    }

    /// The same feature in `layout`; a dense feature is unchanged.
    pub fn with_layout(mut self, new: Layout) -> Self {
        match &mut self.kind {
            FeatureKind::Dense { .. } => {}
            FeatureKind::Varlen { layout, .. } | FeatureKind::Sparse { layout, .. } => {
                *layout = new;
            }
        }
        self
    }

    /// The same feature, with its values converted by `convert`.
    pub fn with_convert(mut self, convert: Convert) -> Self {
        self.convert = convert;
        self
    }

    /// The same feature; its strings may be any bytes, and are not checked for UTF-8.
    pub fn with_any_bytes(mut self) -> Self {
        self.any_bytes = true;
        self
    }

    /// The same feature; values beyond its dimensions are left out.
    ///
    /// | kind | in each dimension of known length |
    /// |---|---|
    /// | dense | the first values of a longer list; a shorter list still needs a [default](Feature::with_default) or a [mask](Feature::with_mask) |
    /// | varlen | the first values of a longer list; a shorter list stays as it is, and is no error; a ragged column's dimension then varies |
    /// | sparse | the entries whose indices are below the dimension; the others are left out |
    ///
    /// Values that are left out are not checked. Decoders count the lists that were cut and the
    /// sparse entries left out. It is an error if no dimension has a known length.
    ///
    /// ```
    /// use atds_features::Feature;
    /// use tensor_batch::DType;
    ///
    /// let tokens = Feature::dense("tokens", &[512], DType::Int64).with_truncate();
    /// assert!(tokens.truncate);
    /// ```
    pub fn with_truncate(mut self) -> Self {
        self.truncate = true;
        self
    }

    /// The same feature, ragged, with the values of its key divided into lists of lists: one level
    /// more for each partition, the outermost first, as in TensorFlow's `RaggedFeature`. TFRecord
    /// alone has such features.
    ///
    /// ```
    /// use atds_features::feature::Partition;
    /// use atds_features::{Feature, Features};
    /// use tensor_batch::DType;
    ///
    /// let words = Feature::var_len("words", DType::String)
    ///     .with_partitions([Partition::RowLengths("words per line".into())]);
    /// let features = Features::new([words])?;
    /// assert_eq!(features.spec().columns()[0].rank(), 2);
    /// # Ok::<(), atds_features::FeatureError>(())
    /// ```
    pub fn with_partitions(mut self, partitions: impl IntoIterator<Item = Partition>) -> Self {
        self.partitions = partitions.into_iter().collect();
        self.with_layout(Layout::Ragged)
    }

    /// The same feature with a default for missing values.
    pub fn with_default(mut self, default: Fill) -> Self {
        self.missing.default = Some(default);
        self
    }

    /// The same feature with a mask, a bool column with this name.
    pub fn with_mask(mut self, name: impl Into<String>) -> Self {
        self.missing.mask = Some(name.into());
        self
    }

    /// The same feature with a mask of its rows, a bool column with this name.
    pub fn with_row_mask(mut self, name: impl Into<String>) -> Self {
        self.missing.row_mask = Some(name.into());
        self
    }

    /// The same feature; a sparse feature's entries keep the order of the data, because they are
    /// already sorted or need no order.
    pub fn already_sorted(mut self) -> Self {
        if let FeatureKind::Sparse { sort, .. } = &mut self.kind {
            *sort = false;
        }
        self
    }

    /// Whether bytes are read as lists of uint8.
    pub fn takes_octets(&self) -> bool {
        self.dtype == DType::UInt8 && matches!(self.convert, Convert::Exact | Convert::Cast)
    }

    /// The path expression, or the name if there is none.
    pub fn expression(&self) -> &str {
        self.expression.as_deref().unwrap_or(&self.name)
    }
}

impl From<ColumnSpec> for Feature {
    /// The ATDS feature of a column. A padded column becomes a feature padded with its fill. A flat
    /// column becomes a varlen feature without dimensions.
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
                if exact {
                    Feature::new(name, dtype, kind)
                } else {
                    Feature::new(name, dtype, kind).with_default(Fill::Scalar(fill))
                }
            }
            _ => Feature::varlen(name, &[], dtype),
        }
    }
}
