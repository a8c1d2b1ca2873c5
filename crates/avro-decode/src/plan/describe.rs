//! A type in a few words, for errors.

use crate::schema::{Node, NodeId, Schema};

/// Branches of a union that are named before the rest is only counted.
const MAX_BRANCHES: usize = 6;

/// Such as `int`, `array of float`, `record 'com.x.Y'`, `["null", "int"]`.
pub(super) fn describe(schema: &Schema, node: NodeId) -> String {
    let found = schema.node(node);
    match found {
        Node::Array(item) => format!("array of {}", describe(schema, *item)),
        Node::Map(value) => format!("map of {}", describe(schema, *value)),
        Node::Union(branches) => {
            let named = branches.iter().take(MAX_BRANCHES);
            let mut names: Vec<_> = named
                .map(|&branch| format!("\"{}\"", describe(schema, branch)))
                .collect();
            if branches.len() > MAX_BRANCHES {
                names.push(format!("{} more", branches.len() - MAX_BRANCHES));
            }
            format!("[{}]", names.join(", "))
        }
        _ => match found.name() {
            Some(name) => format!("{} '{name}'", found.type_name()),
            None => found.type_name().to_owned(),
        },
    }
}
