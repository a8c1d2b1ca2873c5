//! The resolution of a schema to itself.

use super::{Resolved, ResolvedId};
use crate::schema::{Node, NodeId, Schema};

/// The index in [`nodes`] of a type's pair with itself.
pub(super) fn at(id: NodeId) -> ResolvedId {
    // A schema has fewer types than bytes of text, whose number has a limit.
    ResolvedId(id.index() as u32)
}

/// The pair of each type with itself, followed by one [`Resolved::Branch`] for each branch of each
/// union.
pub(super) fn nodes(schema: &Schema) -> Vec<Resolved> {
    let count = schema.node_count();
    let mut nodes = Vec::with_capacity(count);
    let mut unions = Vec::new();
    for id in schema.ids() {
        let (writer, reader) = (id, id);
        nodes.push(match schema.node(id) {
            &Node::Array(item) => Resolved::Array {
                writer,
                reader,
                item: at(item),
            },
            &Node::Map(value) => Resolved::Map {
                writer,
                reader,
                value: at(value),
            },
            Node::Record(record) => Resolved::Record {
                writer,
                reader,
                fields: (0..)
                    .zip(&record.fields)
                    .map(|(index, field)| Some((index, at(field.ty))))
                    .collect(),
                defaults: Box::default(),
            },
            Node::Enum(symbols) => Resolved::Enum {
                writer,
                reader,
                symbols: (0..symbols.symbols.len())
                    .map(|symbol| Some(symbol as u32))
                    .collect(),
            },
            Node::Union(branches) => {
                let start = count + unions.len();
                unions.extend(branches.iter().enumerate().map(|(branch, &value)| {
                    Resolved::Branch {
                        reader,
                        branch,
                        value: at(value),
                    }
                }));
                let indices = start..start + branches.len();
                Resolved::Union {
                    writer,
                    branches: indices.map(|index| ResolvedId(index as u32)).collect(),
                }
            }
            _ => Resolved::Leaf { writer, reader },
        });
    }
    nodes.append(&mut unions);
    nodes
}
