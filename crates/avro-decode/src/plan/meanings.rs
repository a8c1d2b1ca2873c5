//! What the columns of a data set mean: fixed by the first schema that has
//! their values, for all schemas after it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::convert::Meaning;
use crate::feature::{Checked, Features};
use crate::path::{Operand, Path, Step};
use crate::shown::Shown;

/// What the columns of some features mean, as far as schemas have told. Begins
/// with nothing; [`Plan::meanings`](crate::Plan::meanings) adds what its schema
/// tells.
///
/// Besides the values of a column these are the indices of sparse features, and
/// the values that filters compare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meanings(BTreeMap<MeaningOf, Fixed>);

/// Values that mean something else than the column they are for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MeaningError {
    /// What the values are.
    pub found: Meaning,
    /// Their type.
    pub schema_type: String,
    /// What the column holds.
    pub column: Meaning,
    /// The type of the values that say so.
    pub column_type: String,
    /// What the schema of those values is of, if the
    /// [options](crate::PlanOptions) said so.
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
        let (values, holds, remedy) = match of {
            MeaningOf::Values(_) => ("values", "the column holds", found.remedy(column)),
            MeaningOf::Indices(..) => ("indices", "they are", found.remedy_by_schema(column)),
            MeaningOf::Operand(..) | MeaningOf::RootOperand(_) => (
                "values that a filter compares",
                "they are",
                found.remedy_by_schema(column),
            ),
        };
        write!(f, "the {values} are {found} ({schema_type}), but ")?;
        match origin {
            Some(origin) => write!(f, "{column} ({column_type}) in {origin}")?,
            None => write!(f, "{column} ({column_type}) by the schema before")?,
        }
        write!(f, ", which says what {holds}")?;
        if let Some(symbol) = found.symbol_beyond(column) {
            write!(f, " and lacks '{}'", Shown(symbol))?;
        }
        write!(f, ": {remedy}")
    }
}

impl std::error::Error for MeaningError {}

/// Something that schemas can give different meanings to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MeaningOf {
    /// The values of a feature, by its place in the batch.
    Values(usize),
    /// The indices of a sparse feature, by its place in the batch and the
    /// dimension.
    Indices(usize, usize),
    /// A value of an element that a filter compares, by the feature's place in
    /// the batch and the number of the operand in its expressions.
    Operand(usize, usize),
    /// A value of the record that filters compare, by its path.
    RootOperand(String),
}

/// A meaning, and what says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fixed {
    pub(crate) meaning: Meaning,
    /// The type in words.
    pub(crate) schema_type: String,
    /// What the schema is of, if the [options](crate::PlanOptions) said so.
    pub(crate) origin: Option<Arc<str>>,
}

impl Meanings {
    pub(crate) fn get(&self, of: &MeaningOf) -> Option<&Fixed> {
        self.0.get(of)
    }

    /// Fixes a meaning, unless it is fixed.
    pub(crate) fn fix(&mut self, of: MeaningOf, fixed: impl FnOnce() -> Fixed) {
        self.0.entry(of).or_insert_with(fixed);
    }

    /// What the elements of a column mean.
    pub(crate) fn of(&self, of: &MeaningOf) -> Option<&Meaning> {
        self.get(of).map(|fixed| &fixed.meaning)
    }

    /// Whether it is fixed what the values of all `features` mean, and the indices
    /// of those that are sparse.
    pub fn cover(&self, features: &Features) -> bool {
        features.checked().iter().all(|checked| {
            let keys = checked.keys.as_ref().map_or(0, |keys| keys.index.len());
            let indices = (0..keys).map(|key| MeaningOf::Indices(checked.column, key));
            let mut of = indices.chain([MeaningOf::Values(checked.column)]);
            of.all(|of| self.0.contains_key(&of))
        })
    }

    /// Number of meanings that are fixed: more than before, if a schema told
    /// some that the schemas before it did not.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no meaning is fixed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl MeaningOf {
    /// An operand of one of a feature's filters that starts from the element.
    pub(crate) fn operand(checked: &Checked, path: &Path) -> MeaningOf {
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

    /// An operand that starts from the record.
    pub(crate) fn root_operand(path: &Path) -> MeaningOf {
        MeaningOf::RootOperand(path.to_string())
    }
}

/// The operands of the filters of a path that start from the element.
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
