//! Describes a type in a few words, for errors.

use atds_features::words::Shown;

use super::{Node, NodeId, Schema};

/// Maximum number of a union's branches that are named; the rest is only counted.
const MAX_BRANCHES: usize = 6;

/// Maximum nesting that is described; for deeper types, only the name of the type is given.
const MAX_DEPTH: usize = 8;

/// A type in a few words, such as `int`, `array of float`, `record 'com.x.Y'`, `["null", "int"]`.
pub(crate) fn describe(schema: &Schema, node: NodeId) -> String {
    describe_at(schema, node, 0)
}

fn describe_at(schema: &Schema, node: NodeId, depth: usize) -> String {
    let describe = |inner| describe_at(schema, inner, depth + 1);
    let found = schema.node(node);
    match found {
        Node::Array(_) | Node::Map(_) | Node::Union(_) if depth == MAX_DEPTH => {
            found.type_name().to_owned()
        }
        Node::Array(item) => format!("array of {}", describe(*item)),
        Node::Map(value) => format!("map of {}", describe(*value)),
        Node::Union(branches) => {
            let named = branches.iter().take(MAX_BRANCHES);
            let mut names: Vec<_> = named
                .map(|&branch| format!("\"{}\"", describe(branch)))
                .collect();
            if branches.len() > MAX_BRANCHES {
                names.push(format!("{} more", branches.len() - MAX_BRANCHES));
            }
            format!("[{}]", names.join(", "))
        }
        _ => match found.name() {
            Some(name) => {
                let name = name.to_string();
                format!("{} '{}'", found.type_name(), Shown(&name))
            }
            None => found.type_name().to_owned(),
        },
    }
}

impl Schema {
    /// The type at `node` in a few words, for messages: `array of float`, `record
    /// 'com.x.Y'`, `["null", "int"]`.
    pub fn describe(&self, node: NodeId) -> String {
        describe(self, node)
    }
}
