//! Checked features, and the columns that they need.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use tensor_batch::{
    BatchSpec, ColumnKind, ColumnSpec, DType, Layout, Scalar, SpecError, SpecErrorKind, UNKNOWN,
    Values,
};

use super::{
    Extents, Feature, FeatureError, FeatureErrorKind, FeatureKind, Fill, Missing, Partition,
    SparseKeys,
};
use crate::path::{Path, PathError, Reference, Step};

/// A set of features and the columns that they become. They are checked as far as possible without
/// a schema, and sorted by name.
#[derive(Clone, Debug)]
pub struct Features {
    checked: Arc<[CheckedFeature]>,
    spec: BatchSpec,
}

/// A feature with its expressions parsed and its columns assigned. A decoder is made from it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CheckedFeature {
    /// The feature.
    pub feature: Feature,
    /// The path to the values, or to the entries of a sparse feature with keys.
    pub path: Path,
    /// Why the name is not an expression, if the feature has no other. The name may still be that
    /// of a field.
    pub not_a_path: Option<PathError>,
    /// Whether this is a sparse feature whose keys all start from the root. Its expression is then
    /// only a name.
    pub is_rooted: bool,
    /// The keys of a sparse feature; for ATDS's record, the paths to its lists: `indices0[*]`.. and `values[*]`.
    pub keys: Option<KeyPaths>,
    /// The dimensions of a dense or varlen row; `None` if a dimension varies.
    pub shape: Vec<Option<usize>>,
    /// The index in the batch of the column of values.
    pub column: usize,
    /// The index of the mask's column.
    pub mask: Option<usize>,
    /// The index of the row mask's column.
    pub row_mask: Option<usize>,
    /// The replacement for a missing value: one value, or one for each element of a row. `None` if
    /// a missing value is an error.
    pub fill: Option<Values>,
}

/// The keys of a sparse feature.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KeyPaths {
    /// The paths to the indices.
    pub index: Vec<Reference>,
    /// The path to the value.
    pub value: Reference,
}

impl CheckedFeature {
    /// Whether the first dimension given is the batch, which `shape` leaves out.
    pub fn has_batch(&self) -> bool {
        matches!(&self.feature.kind,
            FeatureKind::Dense { shape, .. } if shape.len() > self.shape.len())
    }

    /// The feature's name in errors about the data: the expression, or the name if all keys start
    /// from the root.
    pub fn text(&self) -> &str {
        if self.is_rooted {
            &self.feature.name
        } else {
            self.feature.expression()
        }
    }
}

impl Features {
    /// Checks features and assigns their columns.
    ///
    /// # Errors
    /// If an expression cannot be parsed, two columns have one name, a shape is invalid for its
    /// column, or a default does not fit.
    pub fn new<F: Into<Feature>>(
        features: impl IntoIterator<Item = F>,
    ) -> Result<Features, FeatureError> {
        let mut features: Vec<Feature> = features.into_iter().map(Into::into).collect();
        features.sort_by(|a, b| a.name.cmp(&b.name));
        let mut columns = Vec::new();
        let mut parsed = Vec::new();
        for feature in features {
            let draft = Draft::new(feature)?;
            columns.extend(draft.columns());
            parsed.push(draft);
        }
        let spec = BatchSpec::new(columns).map_err(|error| column_error(&parsed, error))?;
        let position = |name: &str| spec.position(name).expect("the column of the feature");
        let checked = parsed.into_iter().map(|draft| {
            let missing = &draft.feature.missing;
            CheckedFeature {
                column: position(&draft.feature.name),
                mask: missing.mask.as_deref().map(position),
                row_mask: missing.row_mask.as_deref().map(position),
                feature: draft.feature,
                path: draft.path,
                not_a_path: draft.not_a_path,
                is_rooted: draft.is_rooted,
                keys: draft.keys,
                shape: draft.shape,
                fill: draft.fill,
            }
        });
        let checked = checked.collect();
        Ok(Features { checked, spec })
    }

    /// The columns that the features become: their values and their masks,
    /// sorted by name.
    pub fn spec(&self) -> &BatchSpec {
        &self.spec
    }

    /// Checks the names of features without an expression, before there is a schema. A name with a
    /// `.` or a `[` is meant as an expression, whatever fields the schema has. A name that only
    /// lacks quotes is accepted; the schema decides.
    ///
    /// # Errors
    /// The error of the first name that is meant as an expression but cannot be parsed.
    pub fn check_names(&self) -> Result<(), FeatureError> {
        for CheckedFeature {
            feature,
            not_a_path,
            ..
        } in &*self.checked
        {
            if let Some(error) = not_a_path
                && error.is_meant_as_path()
            {
                let kind = FeatureErrorKind::Path(error.clone());
                return Err(FeatureError::new(&feature.name, kind));
            }
        }
        Ok(())
    }

    /// The features, sorted by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Feature> + '_ {
        self.checked.iter().map(|checked| &checked.feature)
    }

    /// The checked features, sorted by name, for records whose fields are not known. See
    /// [`for_fields`](Features::for_fields).
    pub fn checked(&self) -> &[CheckedFeature] {
        &self.checked
    }

    /// The checked features for records with these fields. The name of a feature without an
    /// expression is a field of the record, if there is such a field, and an expression otherwise.
    pub fn for_fields<'a>(
        &self,
        fields: impl IntoIterator<Item = &'a str>,
    ) -> Cow<'_, [CheckedFeature]> {
        let mut checked = Cow::Borrowed(&*self.checked);
        let fields: HashSet<&str> = fields.into_iter().collect();
        for (i, one) in self.checked.iter().enumerate() {
            let name = &*one.feature.name;
            // A name with a list in it adds dimensions, whatever the fields are.
            if one.feature.expression.is_some() || one.is_rooted || one.path.lists() > 0 {
                continue;
            }
            let path = to_field(name);
            if path != one.path && fields.contains(name) {
                checked.to_mut()[i].path = path;
            }
        }
        checked
    }
}

/// The path to a field of the root.
fn to_field(name: &str) -> Path {
    Path {
        steps: vec![Step::Field(name.to_owned())],
    }
}

/// A feature during its check.
struct Draft {
    feature: Feature,
    path: Path,
    not_a_path: Option<PathError>,
    is_rooted: bool,
    keys: Option<KeyPaths>,
    shape: Vec<Option<usize>>,
    kind: ColumnKind,
    fill: Option<Values>,
}

impl Draft {
    fn new(feature: Feature) -> Result<Draft, FeatureError> {
        let name = feature.name.clone();
        Draft::parse(feature).map_err(|kind| FeatureError::new(&name, kind))
    }

    fn parse(feature: Feature) -> Result<Draft, FeatureErrorKind> {
        let keys = keys_of(&feature)?;
        let rooted = |keys: &KeyPaths| {
            let mut all = keys.index.iter().chain([&keys.value]);
            all.all(|key| key.from_root)
        };
        // If all keys start from the root, the expression is only a name, and need not lead to
        // entries.
        let is_rooted = keys.as_ref().is_some_and(rooted);
        let (path, not_a_path) = match &feature.expression {
            _ if is_rooted => (Path { steps: Vec::new() }, None),
            Some(expression) => (Path::parse(expression)?, None),
            None => match Path::parse(&feature.name) {
                Ok(path) => (path, None),
                Err(error) => (to_field(&feature.name), Some(error)),
            },
        };
        let lists = path.lists();
        let mut shape = Vec::new();
        let kind = match &feature.kind {
            FeatureKind::Dense {
                shape: given,
                reshape,
            } => {
                shape.clone_from(given);
                if *reshape && shape.len() == lists + 1 && shape[0].is_none() {
                    shape.remove(0);
                }
                dense_column(&feature, &shape)?
            }
            FeatureKind::Varlen {
                shape: given,
                layout,
                ..
            } => {
                let levels = match feature.partitions.len() {
                    0 => lists,
                    partitions => partitions + 1,
                };
                let given = given.clone().unwrap_or_else(|| vec![UNKNOWN; levels]);
                shape = given.iter().map(|&dim| usize::try_from(dim).ok()).collect();
                let layout = *layout;
                // With truncation a list may still be shorter, so its dimension varies in a ragged
                // layout.
                let shape = match (feature.truncate, layout) {
                    (true, Layout::Ragged) => vec![UNKNOWN; given.len()],
                    _ => given,
                };
                ColumnKind::Varlen { shape, layout }
            }
            FeatureKind::Sparse {
                shape: sizes,
                layout,
                keys: SparseKeys::Record,
                sort,
                ..
            } => {
                if *sort {
                    return Err(FeatureErrorKind::SortedRecord);
                }
                if lists > 0 {
                    return Err(FeatureErrorKind::ManySparseRecords);
                }
                let (shape, layout) = (sizes.clone(), *layout);
                ColumnKind::Sparse { shape, layout }
            }
            FeatureKind::Sparse {
                shape: sizes,
                layout,
                ..
            } => {
                let mut shape = vec![UNKNOWN; lists];
                shape.extend(sizes);
                let layout = *layout;
                ColumnKind::Sparse { shape, layout }
            }
        };
        if let FeatureKind::Varlen {
            shape,
            extents: Extents::Values,
            ..
        } = &feature.kind
            && shape.as_ref().is_some_and(Vec::is_empty)
        {
            return Err(FeatureErrorKind::Column(SpecErrorKind::EmptyShape));
        }
        check_partitions(&feature)?;
        if feature.truncate && !has_bound(&feature.kind, &shape) {
            return Err(FeatureErrorKind::NothingToTruncate);
        }
        let fill = fill_of(&feature, &kind)?;
        Ok(Draft {
            feature,
            path,
            not_a_path,
            is_rooted,
            keys,
            shape,
            kind,
            fill,
        })
    }

    /// The columns of the values and of the masks.
    fn columns(&self) -> impl Iterator<Item = ColumnSpec> + '_ {
        let column = |name: &str, dtype, kind| ColumnSpec::new(name, dtype, kind);
        let feature = &self.feature;
        let missing = &feature.missing;
        let values = column(&feature.name, feature.dtype, self.kind.clone());
        let mask_kind = match &self.kind {
            ColumnKind::Padded { shape, .. } => {
                let (shape, fill) = (shape.clone(), Scalar::Bool(false));
                let exact = false;
                ColumnKind::Padded { shape, fill, exact }
            }
            ColumnKind::Dense { shape } => ColumnKind::Dense {
                shape: shape.clone(),
            },
            _ => ColumnKind::Flat,
        };
        let mask = missing.mask.as_deref();
        let mask = mask.map(|name| column(name, DType::Bool, mask_kind));
        let row_mask = missing.row_mask.as_deref().map(|name| {
            let shape = Vec::new();
            column(name, DType::Bool, ColumnKind::Dense { shape })
        });
        [values].into_iter().chain(mask).chain(row_mask)
    }
}

/// The error of a column, as an error of the feature that the column belongs to.
#[cold]
fn column_error(drafts: &[Draft], error: SpecError) -> FeatureError {
    let is_mask = |draft: &&Draft| draft.columns().skip(1).any(|one| one.name == error.column);
    if error.kind == SpecErrorKind::DuplicateName
        && let Some(draft) = drafts.iter().find(is_mask)
    {
        let kind = FeatureErrorKind::MaskName(error.column);
        return FeatureError::new(&draft.feature.name, kind);
    }
    // A mask's error belongs to the mask's feature.
    let of_column = |draft: &&Draft| draft.columns().any(|one| one.name == error.column);
    let feature = drafts.iter().find(of_column).map(|d| &*d.feature.name);
    let kind = FeatureErrorKind::Column(error.kind);
    FeatureError::new(feature.unwrap_or(&error.column), kind)
}

/// Whether any dimension has a known length; `shape` is the shape of dense and varlen features.
fn has_bound(kind: &FeatureKind, shape: &[Option<usize>]) -> bool {
    match kind {
        FeatureKind::Sparse { shape: sizes, .. } => sizes.iter().any(|&size| size != UNKNOWN),
        _ => shape.iter().any(Option::is_some),
    }
}

/// Checks that a feature with partitions is one that they can divide.
fn check_partitions(feature: &Feature) -> Result<(), FeatureErrorKind> {
    let Feature {
        partitions,
        kind,
        truncate,
        ..
    } = feature;
    if partitions.is_empty() {
        return Ok(());
    }
    if partitions.contains(&Partition::UniformRowLength(0)) {
        return Err(FeatureErrorKind::UniformLength);
    }
    let levels = partitions.len() + 1;
    match kind {
        FeatureKind::Varlen {
            shape,
            layout: Layout::Ragged,
            ..
        } if !truncate => match shape {
            Some(shape) if *shape != vec![UNKNOWN; levels] => {
                Err(FeatureErrorKind::PartitionShape { levels })
            }
            _ => Ok(()),
        },
        _ => Err(FeatureErrorKind::PartitionsOfOther),
    }
}

fn keys_of(feature: &Feature) -> Result<Option<KeyPaths>, FeatureErrorKind> {
    let FeatureKind::Sparse { keys, shape, .. } = &feature.kind else {
        return Ok(None);
    };
    let SparseKeys::Named { index, value } = keys else {
        return Ok(Some(keys_of_record(shape.len())?));
    };
    if index.is_empty() {
        return Err(FeatureErrorKind::NoIndexKey);
    }
    if index.len() != shape.len() {
        let (sizes, keys) = (shape.len(), index.len());
        return Err(FeatureErrorKind::SizeCount { sizes, keys });
    }
    let index: Result<Vec<_>, _> = index.iter().map(|key| Reference::parse(key)).collect();
    let (index, value) = (index?, Reference::parse(value)?);
    Ok(Some(KeyPaths { index, value }))
}

/// The keys for the lists of ATDS's sparse record.
fn keys_of_record(rank: usize) -> Result<KeyPaths, FeatureErrorKind> {
    let index = (0..rank).map(|dimension| Reference::parse(&format!("indices{dimension}[*]")));
    let (index, value) = (
        index.collect::<Result<_, _>>()?,
        Reference::parse("values[*]")?,
    );
    Ok(KeyPaths { index, value })
}

fn dense_column(
    feature: &Feature,
    shape: &[Option<usize>],
) -> Result<ColumnKind, FeatureErrorKind> {
    if let Some(shape) = shape.iter().copied().collect::<Option<Vec<_>>>() {
        return Ok(ColumnKind::Dense { shape });
    }
    let Missing { default, mask, .. } = &feature.missing;
    let exact = default.is_none() && mask.is_none();
    let fill = match default {
        // TensorFlow's features take their rank from the data.
        None if exact && !matches!(feature.kind, FeatureKind::Dense { reshape: true, .. }) => {
            return Err(FeatureErrorKind::PaddingWithoutDefault);
        }
        None => Scalar::zero(feature.dtype),
        Some(Fill::Scalar(scalar)) => scalar.clone(),
        Some(Fill::Tensor(_)) => return Err(FeatureErrorKind::DefaultForEachPlace),
    };
    let dim = |dim: &Option<usize>| match dim {
        Some(dim) => i64::try_from(*dim).unwrap_or(i64::MAX),
        None => UNKNOWN,
    };
    let shape = shape.iter().map(dim).collect();
    Ok(ColumnKind::Padded { shape, fill, exact })
}

/// The replacement for missing values of a feature.
fn fill_of(feature: &Feature, kind: &ColumnKind) -> Result<Option<Values>, FeatureErrorKind> {
    let scalar;
    let values = match (&feature.missing.default, kind) {
        (None, _) => {
            let masks = &feature.missing;
            if masks.mask.is_none() && masks.row_mask.is_none() {
                return Ok(None);
            }
            scalar = Scalar::zero(feature.dtype);
            std::slice::from_ref(&scalar)
        }
        (Some(Fill::Scalar(scalar)), _) => std::slice::from_ref(scalar),
        (Some(Fill::Tensor(values)), ColumnKind::Dense { shape }) => {
            let mut dims = shape.iter();
            let row_len = dims
                .try_fold(1, |len: usize, &dim| len.checked_mul(dim))
                .ok_or(FeatureErrorKind::Column(SpecErrorKind::ShapeTooLarge))?;
            if values.len() != row_len {
                let default = values.len();
                return Err(FeatureErrorKind::DefaultLength { default, row_len });
            }
            values
        }
        (Some(Fill::Tensor(_)), _) => return Err(FeatureErrorKind::DefaultForEachPlace),
    };
    let dtype = feature.dtype;
    if let Some(other) = values.iter().find(|value| value.dtype() != dtype) {
        let default = other.dtype();
        return Err(FeatureErrorKind::DefaultDType { default, dtype });
    }
    let mut fill = Values::new(dtype);
    for value in values {
        fill.push(value);
    }
    Ok(Some(fill))
}
