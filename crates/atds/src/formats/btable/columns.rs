//! What the features of a data set ask of a BTable: which columns, in which form.

use std::ops::Range;
use std::sync::Arc;

use atds_btable::{ErrorKind as TableErrorKind, Row};
use atds_features::feature::{CheckedFeature, FeatureKind, SparseKeys};
use atds_features::path::Step;
use atds_features::{Convert, Features};
use tensor_batch::{BatchSpec, DType, Layout, UNKNOWN};

/// What is asked for, and how the columns are numbered.
#[derive(Debug)]
pub(crate) struct Request {
    features: Features,
    /// The labels of the first file. Where a feature numbers columns, all files have these labels. `None` for
    /// files of any labels.
    labels: Option<Arc<[String]>>,
}

/// What to read of the tables with some labels.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) labels: Arc<[String]>,
    pub(super) outputs: Vec<Output>,
    /// Bytes that a cell takes in columns of variable size, if all of them have it.
    cell_bytes: usize,
}

/// A column of a batch, and the columns of the table in it.
#[derive(Debug)]
pub(super) struct Output {
    /// The index of the column in the batch.
    pub(super) column: usize,
    pub(super) columns: Columns,
    pub(super) form: Form,
    /// Bytes that a cell takes, if the column is of variable size.
    cell_bytes: usize,
}

/// Bytes of the end of a ragged row.
const SPLIT_BYTES: usize = size_of::<i64>();

impl Plan {
    /// The only output, if that has all cells of each row.
    pub(super) fn only_all_cells(&self) -> Option<&Output> {
        match &*self.outputs {
            [output]
                if matches!(output.columns, Columns::All { .. }) && output.form != Form::Dense =>
            {
                Some(output)
            }
            _ => None,
        }
    }

    /// The most bytes that a row of `cells` cells adds to columns of variable size.
    #[inline]
    pub(super) fn most_bytes(&self, cells: usize) -> usize {
        self.cell_bytes * cells + SPLIT_BYTES * self.outputs.len()
    }

    /// Bytes that a row adds to columns of variable size.
    #[cold]
    pub(super) fn bytes(&self, row: Row<'_>) -> usize {
        let of = |output: &Output| {
            let mut cells = 0;
            output.columns.each(row, |_, _| cells += 1);
            let split = usize::from(output.form == Form::Ragged) * SPLIT_BYTES;
            output.cell_bytes * cells + split
        };
        self.outputs.iter().map(of).sum()
    }
}

/// How the numbers of a row become values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// All of them, zeros included.
    Dense,
    /// Those that are cells of the row, with the row and their number.
    Coo,
    /// Those that are cells of the row, with their number.
    Ragged,
}

/// Columns of a table, numbered from 0 among themselves.
#[derive(Debug)]
pub(super) enum Columns {
    /// All of them, as they are numbered.
    All {
        len: u32,
    },
    Range(Range<u32>),
    /// For each column of the table its number, or [`NONE`]. The numbers may be in any order.
    Some {
        numbers: Box<[u32]>,
        len: u32,
    },
}

/// No number of a column.
const NONE: u32 = u32::MAX;

impl Columns {
    /// The columns for which `is_left` is not set.
    fn rest(is_named: &[bool]) -> Self {
        let mut len = 0;
        let numbers = is_named.iter().map(|is_named| {
            len += u32::from(!is_named);
            if *is_named { NONE } else { len - 1 }
        });
        let numbers: Box<[u32]> = numbers.collect();
        if len as usize == numbers.len() {
            Columns::All { len }
        } else {
            Columns::Some { numbers, len }
        }
    }

    /// `columns` of a table with `all` columns, numbered in their order.
    fn of(columns: &[usize], all: usize) -> Self {
        let mut numbers = vec![NONE; all];
        for (number, &column) in (0..).zip(columns) {
            numbers[column] = number;
        }
        Columns::Some {
            numbers: numbers.into(),
            len: columns.len() as u32,
        }
    }

    /// Number of columns.
    pub(super) fn len(&self) -> usize {
        match self {
            Columns::Range(range) => range.len(),
            Columns::All { len } | Columns::Some { len, .. } => *len as usize,
        }
    }

    /// Calls `give` with the number and the value of each cell of `row` in these columns, in the order of
    /// the row.
    #[inline]
    pub(super) fn each(&self, row: Row<'_>, mut give: impl FnMut(u32, f64)) {
        match self {
            Columns::Range(range) if range.len() == 1 => {
                if let Some(value) = row.cell(range.start) {
                    give(0, value);
                }
            }
            Columns::All { .. } => row.iter().for_each(|(column, value)| give(column, value)),
            Columns::Range(range) => {
                for (column, value) in row {
                    if range.contains(&column) {
                        give(column - range.start, value);
                    }
                }
            }
            Columns::Some { numbers, .. } => {
                for (column, value) in row {
                    match numbers[column as usize] {
                        NONE => {}
                        number => give(number, value),
                    }
                }
            }
        }
    }
}

/// What can be wrong with a file of a data set, or with a feature for it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BTableError {
    /// The table itself.
    #[error("{0}")]
    Table(TableErrorKind),
    /// A feature that the file cannot give.
    #[error("feature '{}': {fault}", feature.escape_debug())]
    Feature {
        /// The name of the feature.
        feature: String,
        /// What is wrong with it.
        fault: FeatureFault,
    },
    /// A file whose columns are not those of the first file.
    #[error(
        "column {column} is {}, and in the first file it is {}: where a feature numbers columns, they must be \
         the same in all files",
        shown(found),
        shown(expected)
    )]
    OtherLabels {
        /// The first column that differs.
        column: usize,
        /// Its label in this file.
        found: Option<String>,
        /// Its label in the first file.
        expected: Option<String>,
    },
    /// The rows of a block have become others since they were counted.
    #[error("the block is not the one that was listed: the file has changed since")]
    BlockChanged,
    /// Bytes after the last row of a block.
    #[error("{0} bytes are left after the last row of the block")]
    BytesLeft(usize),
}

/// What is wrong with a feature for a BTable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FeatureFault {
    /// No column has the label.
    #[error("no column has the label '{}'{}", label.escape_debug(), first_of(first))]
    NoLabel {
        /// The label.
        label: String,
        /// Some labels that there are.
        first: Vec<String>,
    },
    /// Two columns have the label.
    #[error(
        "columns {first} and {second} have the label '{}': name one by its number, '[{first}]'",
        label.escape_debug()
    )]
    LabelTwice {
        /// The label.
        label: String,
        /// The first column.
        first: usize,
        /// The second column.
        second: usize,
    },
    /// An expression has a label twice.
    #[error("the label '{}' stands there twice", .0.escape_debug())]
    AskedTwice(String),
    /// The table has no such column.
    #[error("there is no column {column}: the table has {columns} columns")]
    NoColumn {
        /// The column, counted from 0.
        column: u64,
        /// Number of columns.
        columns: usize,
    },
    /// The expression leads to nothing in a row.
    #[error(
        "a row of a BTable is a list of numbers with labels: an expression is a label, labels '['a','b']', a \
         number '[2]', all columns '[*]', a slice '[0:4]', or '@' for all that no other feature names"
    )]
    Expression,
    /// The shape does not fit the number of columns.
    #[error("it has {columns} columns, but its shape is {shape:?}")]
    Shape {
        /// Number of columns.
        columns: usize,
        /// The shape that was asked for.
        shape: Vec<i64>,
    },
    /// The kind is of lists, which there are not.
    #[error("a row has a number for each column and no lists: make it dense, or sparse with '@'")]
    Kind,
    /// The dtype is not one that float64 becomes.
    #[error("values are float64, and with `cast` other floats or bool, but not {0}")]
    DType(DType),
    /// A default or a mask was given.
    #[error(
        "no value is missing in a BTable, for a cell that is left out is 0: leave out `default` and masks"
    )]
    Missing,
    /// No column is left for the feature.
    #[error("no column is left that no other feature names")]
    NothingLeft,
}

impl Request {
    /// What `features` ask of tables with these labels.
    ///
    /// # Errors
    /// A feature asks for what there is not.
    pub(crate) fn new(features: Features, labels: Arc<[String]>) -> Result<Self, BTableError> {
        let mut request = Request {
            features,
            labels: None,
        };
        request.plan(&labels)?;
        request.labels = Some(labels);
        Ok(request)
    }

    /// What `features` ask of files with any labels.
    #[cfg(test)]
    pub(crate) fn of_any(features: Features) -> Self {
        Request {
            features,
            labels: None,
        }
    }

    /// The columns of a batch.
    pub(crate) fn spec(&self) -> &BatchSpec {
        self.features.spec()
    }

    /// What to read of tables with these labels.
    ///
    /// # Errors
    /// The labels do not fit the features, or those of the first file.
    pub(super) fn plan(&self, labels: &Arc<[String]>) -> Result<Plan, BTableError> {
        let checked = self.features.checked();
        let sources = checked.iter().map(|feature| Source::of(feature, labels));
        let sources: Vec<_> = sources.collect::<Result<_, _>>()?;
        let is_by_label = |source: &Source| matches!(source, Source::Label(_) | Source::Labels(_));
        if let Some(first) = self.labels.as_ref().filter(|first| *first != labels)
            && !sources.iter().all(is_by_label)
        {
            return Err(other_labels(labels, first));
        }
        let mut is_named = vec![false; labels.len()];
        for source in &sources {
            let named = match source {
                Source::Label(column) | Source::Number(column) => std::slice::from_ref(column),
                Source::Labels(columns) => columns,
                Source::Range(_) | Source::Rest => &[],
            };
            named.iter().for_each(|&column| is_named[column] = true);
        }
        let outputs = checked.iter().zip(&sources);
        let outputs = outputs.map(|(feature, source)| output(feature, source, &is_named));
        let outputs: Vec<Output> = outputs.collect::<Result<_, _>>()?;
        Ok(Plan {
            cell_bytes: outputs.iter().map(|output| output.cell_bytes).sum(),
            outputs,
            labels: labels.clone(),
        })
    }
}

/// What an expression leads to.
#[derive(Clone, Debug)]
enum Source {
    /// The column of a label.
    Label(usize),
    /// The columns of several labels, each once.
    Labels(Vec<usize>),
    /// A column by its number.
    Number(usize),
    Range(Range<usize>),
    /// The columns that no other feature names.
    Rest,
}

impl Source {
    fn of(feature: &CheckedFeature, labels: &[String]) -> Result<Self, BTableError> {
        let asked = &feature.feature;
        let by_label = |label: &str| find(label, labels).map(Source::Label);
        let columns = labels.len();
        let name =
            (asked.expression.is_none() && labels.contains(&asked.name)).then_some(&asked.name);
        let source = match (name, &*feature.path.steps) {
            (Some(label), _) => by_label(label),
            (None, []) => Ok(Source::Rest),
            (None, [Step::Key(label)]) => by_label(label),
            (None, [Step::SomeKeys(keys)]) => find_all(keys, labels).map(Source::Labels),
            (None, [Step::All]) => Ok(Source::Range(0..columns)),
            (None, [Step::Slice(slice)]) => Ok(Source::Range(slice.of_length(columns))),
            (None, [Step::Index(column)]) => match usize::try_from(*column) {
                Ok(column) if column < columns => Ok(Source::Number(column)),
                _ => Err(FeatureFault::NoColumn {
                    column: *column,
                    columns,
                }),
            },
            (None, steps) => {
                let names = steps.iter().map(|step| match step {
                    Step::Field(name) => Some(&**name),
                    _ => None,
                });
                let names: Option<Vec<_>> = names.collect();
                match names {
                    // A label with dots, without quotes.
                    Some(names) => by_label(&names.join(".")),
                    None => Err(FeatureFault::Expression),
                }
            }
        };
        source.map_err(|fault| faulty(feature, fault))
    }
}

/// The column of a label.
fn find(label: &str, labels: &[String]) -> Result<usize, FeatureFault> {
    /// Number of labels that an error shows.
    const SHOWN: usize = 5;
    let mut found = (0..labels.len()).filter(|&column| labels[column] == label);
    let label = || label.to_owned();
    match (found.next(), found.next()) {
        (Some(first), Some(second)) => Err(FeatureFault::LabelTwice {
            label: label(),
            first,
            second,
        }),
        (Some(column), None) => Ok(column),
        (None, _) => Err(FeatureFault::NoLabel {
            label: label(),
            first: labels.iter().take(SHOWN).cloned().collect(),
        }),
    }
}

/// The columns of `asked` labels, in their order.
fn find_all(asked: &[String], labels: &[String]) -> Result<Vec<usize>, FeatureFault> {
    let mut columns = Vec::with_capacity(asked.len());
    for label in asked {
        let column = find(label, labels)?;
        if columns.contains(&column) {
            return Err(FeatureFault::AskedTwice(label.clone()));
        }
        columns.push(column);
    }
    Ok(columns)
}

/// The column of a batch for a feature, which is checked.
fn output(
    feature: &CheckedFeature,
    source: &Source,
    is_named: &[bool],
) -> Result<Output, BTableError> {
    let fault = |fault| Err(faulty(feature, fault));
    let asked = &feature.feature;
    let is_float = matches!(
        asked.dtype,
        DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64 | DType::Bool
    );
    let is_cast = match asked.convert {
        Convert::Exact => asked.dtype == DType::Float64,
        Convert::Cast => is_float,
        _ => false,
    };
    if !is_cast {
        return fault(FeatureFault::DType(asked.dtype));
    }
    let missing = &asked.missing;
    if missing.default.is_some() || missing.mask.is_some() || missing.row_mask.is_some() {
        return fault(FeatureFault::Missing);
    }
    let (columns, is_one) = match source {
        Source::Label(column) | Source::Number(column) => {
            (Columns::Range(*column as u32..*column as u32 + 1), true)
        }
        Source::Labels(columns) => (Columns::of(columns, is_named.len()), false),
        Source::Range(range) if range.len() == is_named.len() => {
            let len = range.end as u32;
            (Columns::All { len }, false)
        }
        Source::Range(range) => (Columns::Range(range.start as u32..range.end as u32), false),
        Source::Rest => (Columns::rest(is_named), false),
    };
    if columns.len() == 0 {
        return fault(FeatureFault::NothingLeft);
    }
    let known = |shape: &[Option<usize>]| -> Vec<i64> {
        let known = shape
            .iter()
            .map(|dim| dim.map_or(UNKNOWN, |dim| dim as i64));
        known.collect()
    };
    let width = columns.len() as i64;
    let (form, shape, fits) = match &asked.kind {
        FeatureKind::Dense { .. } => {
            let shape = known(&feature.shape);
            // One column is a scalar, or a block of one.
            let fits = shape == [width] || is_one && shape.is_empty();
            (Form::Dense, shape, fits)
        }
        FeatureKind::Sparse {
            keys: SparseKeys::Record,
            shape,
            layout,
            ..
        } => {
            let form = if *layout == Layout::Coo {
                Form::Coo
            } else {
                Form::Ragged
            };
            let fits = !is_one && shape.len() == 1 && (shape[0] >= width || shape[0] == UNKNOWN);
            (form, shape.clone(), fits)
        }
        _ => return fault(FeatureFault::Kind),
    };
    if !fits {
        let columns = columns.len();
        return fault(FeatureFault::Shape { columns, shape });
    }
    let indices = match form {
        Form::Dense => None,
        Form::Coo => Some(2),
        Form::Ragged => Some(1),
    };
    let value_bytes = asked.dtype.size().unwrap_or(0);
    Ok(Output {
        column: feature.column,
        columns,
        form,
        cell_bytes: indices.map_or(0, |n| value_bytes + n * size_of::<i64>()),
    })
}

#[cold]
fn faulty(feature: &CheckedFeature, fault: FeatureFault) -> BTableError {
    BTableError::Feature {
        feature: feature.feature.name.clone(),
        fault,
    }
}

/// The error of labels that differ.
#[cold]
fn other_labels(found: &[String], expected: &[String]) -> BTableError {
    let most = found.len().max(expected.len());
    let column = (0..most).find(|&column| found.get(column) != expected.get(column));
    let column = column.unwrap_or(most);
    BTableError::OtherLabels {
        column,
        found: found.get(column).cloned(),
        expected: expected.get(column).cloned(),
    }
}

fn shown(label: &Option<String>) -> String {
    match label {
        Some(label) => format!("'{}'", label.escape_debug()),
        None => "not there".to_owned(),
    }
}

fn first_of(labels: &[String]) -> String {
    let labels = labels
        .iter()
        .map(|label| format!("'{}'", label.escape_debug()));
    format!("; the first are {}", labels.collect::<Vec<_>>().join(", "))
}
