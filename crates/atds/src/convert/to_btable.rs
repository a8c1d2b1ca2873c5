//! Records as rows of a BTable: numeric fields become columns.

use avro_decode::Value;
use avro_decode::schema::{Node, NodeId, Schema};

use super::ConvertError;
use super::losses::{LossKind, Losses};
use super::names::Table;
use super::types::{Branch, Flattened, branch, single};
use crate::Error;

/// Makes rows of the records of a table.
pub(super) struct ToRow {
    schema: Schema,
    fields: Vec<Field>,
    pub(super) labels: Vec<String>,
    pub(super) cells: Vec<(u32, f64)>,
}

/// A field of a record.
struct Field {
    name: String,
    ty: NodeId,
    becomes: Becomes,
}

enum Becomes {
    Column(u32),
    /// A record whose fields have columns.
    Fields(Vec<Field>),
    Nothing(LossKind),
}

impl ToRow {
    /// # Errors
    /// No field has a column, or flattened records have too many.
    pub(super) fn new(table: &Table, flattens: bool, to: crate::FileFormat) -> Result<Self, Error> {
        let mut row = ToRow {
            schema: table.schema.clone(),
            fields: Vec::new(),
            labels: Vec::new(),
            cells: Vec::new(),
        };
        let fields = table.record().fields.iter().zip(&table.names);
        let mut flattened = flattens.then(Flattened::default);
        let fields = fields.map(|(field, name)| {
            let labels = &mut row.labels;
            plan(&table.schema, name, field.ty, &mut flattened, 0, labels)
        });
        row.fields = fields.collect::<Result<_, _>>()?;
        match row.labels.is_empty() {
            true => Err(ConvertError::NoFields { to }.into()),
            false => Ok(row),
        }
    }

    /// Has the cells of a record.
    ///
    /// # Errors
    /// A value has no place, and losses are not allowed.
    pub(super) fn fill(&mut self, record: &Value, losses: &mut Losses) -> Result<(), Error> {
        self.cells.clear();
        let Value::Record(values) = record else {
            unreachable!("the table has records");
        };
        fill(&self.schema, &self.fields, values, &mut self.cells, losses)
    }
}

/// Records in records whose fields become columns at most: a schema may be recursive.
const MAX_FLATTENED: usize = 16;

fn plan(
    schema: &Schema,
    name: &str,
    ty: NodeId,
    flattened: &mut Option<Flattened>,
    depth: usize,
    labels: &mut Vec<String>,
) -> Result<Field, ConvertError> {
    let becomes = match single(schema, ty) {
        Err(kind) => Becomes::Nothing(kind),
        Ok(node) => match node {
            Node::Boolean | Node::Int | Node::Long | Node::Float | Node::Double => {
                labels.push(name.to_owned());
                Becomes::Column(labels.len() as u32 - 1)
            }
            Node::Record(record) => match flattened {
                Some(all) if depth < MAX_FLATTENED => {
                    all.add(name, record)?;
                    let fields = record.fields.iter().map(|field| {
                        let name = format!("{name}.{}", field.name);
                        plan(schema, &name, field.ty, flattened, depth + 1, labels)
                    });
                    Becomes::Fields(fields.collect::<Result<_, _>>()?)
                }
                _ => Becomes::Nothing(LossKind::NestedRecord),
            },
            Node::Map(_) => Becomes::Nothing(LossKind::Map),
            Node::Array(_) => Becomes::Nothing(LossKind::Array),
            Node::Null => Becomes::Nothing(LossKind::Null),
            _ => Becomes::Nothing(LossKind::Text),
        },
    };
    Ok(Field {
        name: name.to_owned(),
        ty,
        becomes,
    })
}

fn fill(
    schema: &Schema,
    fields: &[Field],
    values: &[Value],
    cells: &mut Vec<(u32, f64)>,
    losses: &mut Losses,
) -> Result<(), Error> {
    for (Field { name, ty, becomes }, value) in fields.iter().zip(values) {
        let value = match branch(schema, *ty, value) {
            Branch::Null => {
                losses.add(name, LossKind::Null)?;
                continue;
            }
            Branch::Several => {
                losses.add(name, LossKind::Union)?;
                continue;
            }
            Branch::Value(_, value) => value,
        };
        let column = match becomes {
            Becomes::Column(column) => *column,
            Becomes::Fields(fields) => {
                if let Value::Record(values) = value {
                    fill(schema, fields, values, cells, losses)?;
                }
                continue;
            }
            Becomes::Nothing(kind) => {
                losses.add(name, *kind)?;
                continue;
            }
        };
        let number = match *value {
            Value::Boolean(value) => f64::from(u8::from(value)),
            Value::Int(value) => value.into(),
            Value::Long(value) => {
                let rounded = value as f64;
                // The nearest double of the largest integers is one above them.
                if i128::from(value) != rounded as i128 {
                    losses.add_number(name, LossKind::Rounded, value)?;
                }
                rounded
            }
            Value::Float(value) => value.into(),
            Value::Double(value) => value,
            _ => unreachable!("the value is of the schema"),
        };
        cells.push((column, number));
    }
    Ok(())
}
