//! Counts nulls of each path, in records as trees of values.

use std::path::Path;

use avro_decode::schema::{Node, NodeId};
use avro_decode::{Schema, SchemaPath, SchemaPaths, Value};

use crate::Error;
use crate::avro::inspect::InspectOptions;
use crate::avro::records::Records;

/// A path of a file's schema, with counts of its values in a sample of the records.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InspectedPath {
    /// The path.
    pub path: SchemaPath,
    /// Number of values, including nulls. Paths inside a null do not count.
    pub values: u64,
    /// Number of nulls; for a branch of a union, of values of all other branches.
    pub nulls: u64,
}

impl InspectedPath {
    /// The fraction of nulls among the values; `None` if there were no values.
    pub fn null_rate(&self) -> Option<f64> {
        (self.values > 0).then(|| self.nulls as f64 / self.values as f64)
    }
}

/// The paths of a file with counts over the sample, and the number of records in the sample.
pub(super) fn count(
    file: &Path,
    found: SchemaPaths,
    options: &InspectOptions,
) -> Result<(Vec<InspectedPath>, u64), Error> {
    let mut counts = vec![Counts::default(); found.paths.len()];
    let mut sampled = 0;
    let mut records = Records::open_with(file, &options.records())?;
    while sampled < options.sample
        && let Some(record) = records.next_value()?
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
    /// The counts of each path.
    counts: &'a mut [Counts],
}

/// The trees match the schema, and the decoder limits their depth.
impl<'a> Counter<'a> {
    /// Counts a record. `indices` are the paths of its fields; for other types, of its branches or
    /// of the value itself.
    fn root(&mut self, value: &Value, indices: &'a [usize]) {
        let root = self.schema.root();
        let (node, inner) = self.past_null(root, value);
        match (self.schema.node(node), indices) {
            (Node::Record(_) | Node::Union(_), _) => self.inside(node, inner, indices),
            (Node::Null, indices) if indices.len() != 1 => {}
            (_, &[index, ..]) => self.value(root, value, index),
            _ => {}
        }
    }

    /// The value and its type, after skipping a union of null and one other type.
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

    /// Counts a value of the type `node`, to which the path at `index` leads.
    fn value(&mut self, node: NodeId, value: &Value, index: usize) {
        self.counts[index].values += 1;
        let (node, value) = self.past_null(node, value);
        let is_null = match value {
            Value::Null => true,
            Value::Union(_, inner) => **inner == Value::Null,
            _ => false,
        };
        self.counts[index].nulls += u64::from(is_null);
        self.inside(node, value, &self.paths[index].inside);
    }

    /// Counts the values inside a value, for the paths at `indices`.
    fn inside(&mut self, node: NodeId, value: &Value, indices: &'a [usize]) {
        match (self.schema.node(node), value) {
            (Node::Record(record), Value::Record(values)) => {
                let fields = record.fields.iter().zip(values);
                for ((field, value), &index) in fields.zip(indices) {
                    self.value(field.ty, value, index);
                }
            }
            (&Node::Array(item), Value::Array(items)) => {
                for (value, &index) in items.iter().zip(indices.iter().cycle()) {
                    self.value(item, value, index);
                }
            }
            (&Node::Map(item), Value::Map(entries)) => {
                for (_, value) in entries {
                    if let Some(&index) = indices.first() {
                        self.value(item, value, index);
                    }
                    if let Some(&keys) = indices.get(1) {
                        self.counts[keys].values += 1;
                    }
                }
            }
            (Node::Union(branches), Value::Union(found, value)) => {
                for ((branch, node), &index) in types(self.schema, branches).zip(indices) {
                    if branch == *found {
                        self.value(node, value, index);
                    } else {
                        self.counts[index].values += 1;
                        self.counts[index].nulls += 1;
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
