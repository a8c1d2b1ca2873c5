//! How often a value is missing, counted over records as trees.

use std::path::Path;

use avro_decode::schema::{Node, NodeId};
use avro_decode::{Schema, SchemaPath, SchemaPaths, Value};

use crate::Error;
use crate::inspect::InspectOptions;
use crate::records::Trees;

/// A path of a file's schema, and what is there in a sample of its records.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InspectedPath {
    /// The path.
    pub path: SchemaPath,
    /// Values met, nulls among them. What is inside of a null is not met.
    pub values: u64,
    /// Nulls among them; for a branch of a union, values of all others.
    pub nulls: u64,
}

impl InspectedPath {
    /// The share of nulls among the values met; `None` if there were none.
    pub fn null_rate(&self) -> Option<f64> {
        (self.values > 0).then(|| self.nulls as f64 / self.values as f64)
    }
}

/// The paths of a file, counted over the first records of the sample, and how many
/// those are.
pub(super) fn count(
    file: &Path,
    found: SchemaPaths,
    options: &InspectOptions,
) -> Result<(Vec<InspectedPath>, u64), Error> {
    let mut counts = vec![Counts::default(); found.paths.len()];
    let mut sampled = 0;
    let mut records = Trees::open(file, &options.records())?;
    while sampled < options.sample
        && let Some(record) = records.next()?
    {
        options.check_cancelled()?;
        let schema = records.schema();
        let mut counter = Counter {
            schema,
            paths: &found.paths,
            counts: &mut counts,
        };
        counter.root(&record, &found.fields);
        sampled += 1;
    }
    let counted = found.paths.into_iter().zip(counts);
    let counted = counted.map(|(path, Counts { values, nulls })| InspectedPath {
        path,
        values,
        nulls,
    });
    Ok((counted.collect(), sampled))
}

#[derive(Clone, Copy, Default)]
struct Counts {
    values: u64,
    nulls: u64,
}

struct Counter<'a> {
    schema: &'a Schema,
    paths: &'a [SchemaPath],
    /// For each path.
    counts: &'a mut [Counts],
}

/// The trees are of the schema, and no deeper than the decoder allows.
impl<'a> Counter<'a> {
    /// Counts a whole value of the schema; `places` are those of its fields, or of
    /// its branches, or its own.
    fn root(&mut self, value: &Value, places: &'a [usize]) {
        let root = self.schema.root();
        let (node, inner) = self.past_null(root, value);
        match (self.schema.node(node), places) {
            (Node::Record(_) | Node::Union(_), _) => self.inside(node, inner, places),
            (Node::Null, places) if places.len() != 1 => {}
            (_, &[place, ..]) => self.value(root, value, place),
            _ => {}
        }
    }

    /// A value past a union that is passed through: of one type besides null.
    fn past_null<'v>(&self, node: NodeId, value: &'v Value) -> (NodeId, &'v Value) {
        match (self.schema.node(node), value) {
            (Node::Union(branches), Value::Union(branch, inner))
                if types(self.schema, branches).count() <= 1 =>
            {
                (branches[*branch], &**inner)
            }
            _ => (node, value),
        }
    }

    /// Counts a value of the type `node`, to which the path at `place` leads.
    fn value(&mut self, node: NodeId, value: &Value, place: usize) {
        self.counts[place].values += 1;
        let (node, value) = self.past_null(node, value);
        let is_null = match value {
            Value::Null => true,
            Value::Union(_, inner) => **inner == Value::Null,
            _ => false,
        };
        self.counts[place].nulls += u64::from(is_null);
        self.inside(node, value, &self.paths[place].inside);
    }

    /// Counts what is inside a value: by the paths at `places`.
    fn inside(&mut self, node: NodeId, value: &Value, places: &'a [usize]) {
        match (self.schema.node(node), value) {
            (Node::Record(record), Value::Record(values)) => {
                let fields = record.fields.iter().zip(values);
                for ((field, value), &place) in fields.zip(places) {
                    self.value(field.ty, value, place);
                }
            }
            (&Node::Array(item), Value::Array(items)) => {
                for (value, &place) in items.iter().zip(places.iter().cycle()) {
                    self.value(item, value, place);
                }
            }
            (&Node::Map(item), Value::Map(entries)) => {
                for (_, value) in entries {
                    if let Some(&place) = places.first() {
                        self.value(item, value, place);
                    }
                    if let Some(&keys) = places.get(1) {
                        self.counts[keys].values += 1;
                    }
                }
            }
            (Node::Union(branches), Value::Union(found, value)) => {
                for ((branch, node), &place) in types(self.schema, branches).zip(places) {
                    if branch == *found {
                        self.value(node, value, place);
                    } else {
                        self.counts[place].values += 1;
                        self.counts[place].nulls += 1;
                    }
                }
            }
            _ => {}
        }
    }
}

/// The branches of a union that are not null.
fn types<'a>(
    schema: &'a Schema,
    branches: &'a [NodeId],
) -> impl Iterator<Item = (usize, NodeId)> + 'a {
    let branches = branches.iter().copied().enumerate();
    branches.filter(move |&(_, branch)| *schema.node(branch) != Node::Null)
}
