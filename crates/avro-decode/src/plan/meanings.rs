//! The meanings of a data set's columns: fixed by the first schema that has a column's values, for
//! all later schemas.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use atds_features::feature::{CheckedFeature, Features};
use atds_features::path::{Operand, Path, Step};
use atds_features::words::Shown;

use crate::convert::Meaning;

/// The meanings of the columns of some features, as far as schemas have fixed them. It starts
/// empty, and [`Plan::meanings`](crate::Plan::meanings) adds the meanings that a plan's schema
/// fixes.
///
/// Besides column values, it has the meanings of sparse features' indices and of values that
/// filters compare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meanings(BTreeMap<MeaningOf, Fixed>);

/// The error for values whose meaning does not convert to that of their column.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MeaningError {
    /// The meaning of the values.
    pub found: Meaning,
    /// The type of the values.
    pub schema_type: String,
    /// The meaning of the column.
    pub column: Meaning,
    /// The type of the values that fixed the column's meaning.
    pub column_type: String,
    /// The origin of the schema that fixed it, if the [options](crate::PlanOptions) named one.
    pub origin: Option<Arc<str>>,
    pub(crate) of: MeaningOf,
}

impl fmt::Display for MeaningError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MeaningError {
            found,
            schema_type,
            column,
            column_type,
            origin,
            of,
        } = self;
        let (values, fixed, remedy) = match of {
            MeaningOf::Values(_) => ("values", "the column's type", found.remedy(column)),
            MeaningOf::Indices(..) => ("indices", "their type", found.remedy_by_schema(column)),
            MeaningOf::Operand(..) | MeaningOf::RootOperand(_) => (
                "values that a filter compares",
                "their type",
                found.remedy_by_schema(column),
            ),
        };
        write!(f, "the {values} are {found} ({schema_type}), but ")?;
        match origin {
            Some(origin) => write!(f, "{column} ({column_type}) in {origin}")?,
            None => write!(f, "{column} ({column_type}) in the schema before")?,
        }
        write!(f, ", which fixed {fixed}")?;
        if let Some(symbol) = found.symbol_beyond(column) {
            write!(f, "; '{}' has no number there", Shown(symbol))?;
        }
        write!(f, ": {remedy}")
    }
}

impl std::error::Error for MeaningError {}

/// Values whose meaning can differ between schemas.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MeaningOf {
    /// The values of a feature, by its index in the batch.
    Values(usize),
    /// The indices of a sparse feature, by its index in the batch and the dimension.
    Indices(usize, usize),
    /// A value of an element that a filter compares, by the feature's index in the batch and the
    /// index of the operand in its expressions.
    Operand(usize, usize),
    /// A root value that filters compare, by its path.
    RootOperand(String),
}

/// A fixed meaning, and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fixed {
    pub(crate) meaning: Meaning,
    /// The type in words.
    pub(crate) schema_type: String,
    /// The origin of the schema, if the [options](crate::PlanOptions) named one.
    pub(crate) origin: Option<Arc<str>>,
}

impl Meanings {
    pub(crate) fn get(&self, of: &MeaningOf) -> Option<&Fixed> {
        self.0.get(of)
    }

    /// Fixes a meaning, unless it is already fixed.
    pub(crate) fn fix(&mut self, of: MeaningOf, fixed: impl FnOnce() -> Fixed) {
        self.0.entry(of).or_insert_with(fixed);
    }

    /// The fixed meaning of these values.
    pub(crate) fn of(&self, of: &MeaningOf) -> Option<&Meaning> {
        self.get(of).map(|fixed| &fixed.meaning)
    }

    /// Whether the meanings of all `features`' values are fixed, and of the indices of sparse
    /// features.
    pub fn cover(&self, features: &Features) -> bool {
        features.checked().iter().all(|checked| {
            let keys = checked.keys.as_ref().map_or(0, |keys| keys.index.len());
            let indices = (0..keys).map(|key| MeaningOf::Indices(checked.column, key));
            let mut of = indices.chain([MeaningOf::Values(checked.column)]);
            of.all(|of| self.0.contains_key(&of))
        })
    }

    /// Number of fixed meanings. It grows with each schema that fixes a new one.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no meaning is fixed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl MeaningOf {
    /// An operand, in one of a feature's filters, that starts from the element.
    pub(crate) fn operand(checked: &CheckedFeature, path: &Path) -> MeaningOf {
        let mut number = 0;
        let keys = checked.keys.iter();
        let keys = keys.flat_map(|keys| keys.index.iter().chain([&keys.value]));
        let paths = keys.map(|key| &key.path).chain([&checked.path]);
        for operand in paths.flat_map(|path| operands(&path.steps)) {
            if std::ptr::eq(operand, path) {
                break;
            }
            number += 1;
        }
        MeaningOf::Operand(checked.column, number)
    }

    /// An operand that starts from the root.
    pub(crate) fn root_operand(path: &Path) -> MeaningOf {
        MeaningOf::RootOperand(path.to_string())
    }
}

/// The operands in a path's filters that start from the element.
fn operands(steps: &[Step]) -> Vec<&Path> {
    let mut operands = Vec::new();
    for step in steps {
        let Step::Filter(filter) = step else { continue };
        for operand in [&filter.left, &filter.right] {
            if let Operand::Element(path) = operand {
                operands.push(path);
            }
        }
    }
    operands
}
