//! Errors of features that are invalid with any schema.

use tensor_batch::{DType, SpecErrorKind};
use thiserror::Error;

use crate::path::PathError;
use crate::words::{Shown, counted};

/// A feature that is invalid with any schema.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("feature '{}': {kind}", Shown(feature))]
#[non_exhaustive]
pub struct FeatureError {
    /// The feature's name.
    pub feature: String,
    /// What is wrong with it.
    pub kind: FeatureErrorKind,
}

impl FeatureError {
    #[cold]
    pub(super) fn new(feature: &str, kind: impl Into<FeatureErrorKind>) -> Self {
        let (feature, kind) = (feature.to_owned(), kind.into());
        FeatureError { feature, kind }
    }
}

/// What is wrong with a feature.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum FeatureErrorKind {
    /// Its expression, or a key of a sparse feature, cannot be parsed.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Its column, or the column of a mask, is invalid.
    #[error("{0}")]
    Column(SpecErrorKind),
    /// One of its masks has the name of a feature, or of another mask.
    #[error("its mask '{}' has the name of another column: give it a name of its own", Shown(.0))]
    MaskName(String),
    /// Its default is of another dtype.
    #[error("the default is {default}, but the feature is {dtype}")]
    DefaultDType {
        /// The default's dtype.
        default: DType,
        /// The feature's dtype.
        dtype: DType,
    },
    /// Its default has another number of values than its shape.
    #[error("the default has {}, but a row has {row_len}", counted(*default, "value"))]
    DefaultLength {
        /// Number of values in the default.
        default: usize,
        /// Number of values in a row.
        row_len: usize,
    },
    /// It has a default for each element, but its shape is not known.
    #[error(
        "only a dense feature of known shape takes a default for each element; other features take one value"
    )]
    DefaultForEachPlace,
    /// A dimension varies and shorter lists need padding, but there is no default and no mask.
    #[error("shorter lists are padded where a dimension varies: give a `default` or a `mask`")]
    PaddingWithoutDefault,
    /// It is truncated, but has no dimension of known length.
    #[error(
        "`truncate` cuts lists to the lengths in `shape`, but `shape` has none: give one, \
         or leave `truncate` out"
    )]
    NothingToTruncate,
    /// It has partitions, but is not ragged.
    #[error("`partitions` are for varlen features of the layout 'ragged' without `truncate`")]
    PartitionsOfOther,
    /// It has partitions, but another shape than they give.
    #[error("the partitions give {levels} levels of lists: leave `shape` and `rank` out")]
    PartitionShape {
        /// Number of levels of lists.
        levels: usize,
    },
    /// Its partition has lists of no length.
    #[error("uniform_row_length is the length of each list, 1 or more")]
    UniformLength,
    /// `sort` is set for ATDS's sparse feature, whose entries always keep the order of the data.
    #[error("the entries of a sparse record keep the order of the data and cannot be sorted")]
    SortedRecord,
    /// The expression of ATDS's sparse feature leads to a list of its records.
    #[error("a row is one sparse record, but a '[*]', a slice or a filter leads to many")]
    ManySparseRecords,
    /// A sparse feature has no index key.
    #[error("a sparse feature needs at least one index key")]
    NoIndexKey,
    /// The number of sizes of a sparse feature differs from the number of its index keys.
    #[error("{} for {}", counted(*sizes, "size"), counted(*keys, "index key"))]
    SizeCount {
        /// Number of sizes.
        sizes: usize,
        /// Number of index keys.
        keys: usize,
    },
}
