//! Types, and which of them can be features.

use avro_decode::Schema;
use avro_decode::schema::{Node, NodeId};
use serde_json::{Value as Json, json};
use tensor_batch::{ColumnSpec, DType, Layout, UNKNOWN};

use super::Source;
use super::common;

/// The union around a type.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wrap {
    None,
    Single,
    NullFirst,
    NullLast,
}

impl Wrap {
    fn any(source: &mut Source) -> Wrap {
        match source.below(6) {
            1 => Wrap::Single,
            2 => Wrap::NullFirst,
            3 => Wrap::NullLast,
            _ => Wrap::None,
        }
    }

    fn json(self, inner: Json) -> Json {
        match self {
            Wrap::None => inner,
            Wrap::Single => json!([inner]),
            Wrap::NullFirst => json!(["null", inner]),
            Wrap::NullLast => json!([inner, "null"]),
        }
    }

    pub(super) fn branch(self) -> usize {
        usize::from(matches!(self, Wrap::NullFirst))
    }

    pub(super) fn inside(self, schema: &Schema, id: NodeId) -> NodeId {
        match schema.node(id) {
            Node::Union(branches) => branches[self.branch()],
            _ => id,
        }
    }
}

/// A type, and what of it can be a feature.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) json: Json,
    pub(super) wrap: Wrap,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// Any type, to be skipped.
    Odd,
    /// A primitive in arrays, outermost first, of a length or any.
    Nested {
        leaf: &'static str,
        arrays: Vec<(Wrap, Option<usize>)>,
    },
    /// A record of indices and values, in the order of its fields.
    Sparse {
        fields: Vec<SparseField>,
    },
    Record {
        fields: Vec<(String, Shape)>,
    },
}

#[derive(Debug)]
pub(super) struct SparseField {
    pub(super) name: String,
    pub(super) array: Wrap,
    pub(super) item: Wrap,
    pub(super) leaf: &'static str,
    /// The dimension, 0 for the values.
    pub(super) size: i64,
}

const LEAVES: [&str; 7] = [
    "int", "long", "float", "double", "boolean", "string", "bytes",
];

pub(super) fn fields(source: &mut Source, depth: usize, names: &mut usize) -> Vec<(String, Shape)> {
    let count = source.below(5);
    let field = |i| (format!("f{i}"), Shape::any(source, depth, names));
    (0..count).map(field).collect()
}

impl Shape {
    fn any(source: &mut Source, depth: usize, names: &mut usize) -> Shape {
        match source.below(8) {
            0..3 => Shape::nested(source),
            3..5 => Shape::sparse(source, names),
            5 if depth < 2 => {
                let wrap = Wrap::any(source);
                let fields = fields(source, depth + 1, names);
                Shape::record(wrap, fields, names)
            }
            _ => Shape::odd(source, names),
        }
    }

    fn odd(source: &mut Source, names: &mut usize) -> Shape {
        let mut json = common::schema_json(&mut source.entropy(60));
        rename(&mut json, &format!("_{names}"));
        *names += 1;
        Shape {
            json,
            wrap: Wrap::None,
            kind: Kind::Odd,
        }
    }

    fn nested(source: &mut Source) -> Shape {
        let leaf = LEAVES[source.below(LEAVES.len())];
        let count = source.below(4);
        let length = |source: &mut Source| source.flag().then(|| 1 + source.below(3));
        let arrays: Vec<_> = (0..count)
            .map(|_| (Wrap::any(source), length(source)))
            .collect();
        let wrap = Wrap::any(source);
        let mut json = wrap.json(json!(leaf));
        for (around, _) in arrays.iter().rev() {
            json = around.json(json!({"type": "array", "items": json}));
        }
        Shape {
            json,
            wrap,
            kind: Kind::Nested { leaf, arrays },
        }
    }

    fn sparse(source: &mut Source, names: &mut usize) -> Shape {
        let wrap = Wrap::any(source);
        let rank = 1 + source.below(3);
        let mut fields: Vec<_> = (0..=rank)
            .map(|i| {
                let is_values = i == rank;
                let leaves = if is_values { LEAVES.len() } else { 2 };
                SparseField {
                    name: match is_values {
                        true => "values".into(),
                        false => format!("indices{i}"),
                    },
                    array: Wrap::any(source),
                    item: Wrap::any(source),
                    leaf: LEAVES[source.below(leaves)],
                    size: match source.below(4) {
                        _ if is_values => 0,
                        0 => UNKNOWN,
                        _ => 1 + source.below(9) as i64,
                    },
                }
            })
            .collect();
        fields.rotate_left(source.below(rank + 1));
        let json_field = |field: &SparseField| {
            let items = field.item.json(json!(field.leaf));
            let array = field.array.json(json!({"type": "array", "items": items}));
            json!({"name": field.name, "type": array})
        };
        let json = json!({
            "type": "record",
            "name": format!("R{names}"),
            "fields": fields.iter().map(json_field).collect::<Vec<_>>(),
        });
        *names += 1;
        Shape {
            json: wrap.json(json),
            wrap,
            kind: Kind::Sparse { fields },
        }
    }

    pub(super) fn record(wrap: Wrap, fields: Vec<(String, Shape)>, names: &mut usize) -> Shape {
        let json_field =
            |(name, shape): &(String, Shape)| json!({"name": name, "type": shape.json});
        let json = json!({
            "type": "record",
            "name": format!("R{names}"),
            "fields": fields.iter().map(json_field).collect::<Vec<_>>(),
        });
        *names += 1;
        Shape {
            json: wrap.json(json),
            wrap,
            kind: Kind::Record { fields },
        }
    }

    /// Chooses features of the type, which `path` leads to.
    pub(super) fn features(&self, path: &str, source: &mut Source, columns: &mut Vec<ColumnSpec>) {
        let layout = |source: &mut Source| match source.flag() {
            true => Layout::Ragged,
            false => Layout::Coo,
        };
        let inside = |name: &str| match path {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        match &self.kind {
            Kind::Odd => {}
            Kind::Record { fields } => {
                for (name, shape) in fields {
                    shape.features(&inside(name), source, columns);
                }
            }
            _ if source.below(3) == 0 => {}
            Kind::Nested { leaf, arrays } => {
                let lengths: Option<Vec<usize>> =
                    arrays.iter().map(|(_, length)| *length).collect();
                columns.push(match lengths {
                    Some(shape) if shape.is_empty() || source.flag() => {
                        ColumnSpec::dense(path, &shape, dtype(leaf))
                    }
                    _ => {
                        let known = arrays.iter().map(|(_, length)| match length {
                            Some(length) if source.flag() => *length as i64,
                            _ => UNKNOWN,
                        });
                        let shape: Vec<_> = known.collect();
                        ColumnSpec::varlen(path, &shape, dtype(leaf)).with_layout(layout(source))
                    }
                });
            }
            Kind::Sparse { fields } => {
                let values = fields.iter().find(|field| field.name == "values");
                let dtype_of_values = dtype(values.expect("there are values").leaf);
                let mut sizes: Vec<_> = fields
                    .iter()
                    .filter(|field| field.name != "values")
                    .collect();
                sizes.sort_by_key(|field| &field.name);
                let shape: Vec<_> = sizes.iter().map(|field| field.size).collect();
                let sparse = ColumnSpec::sparse(path, &shape, dtype_of_values);
                columns.push(sparse.with_layout(layout(source)));
                // The same bytes, read once more.
                for field in fields {
                    if source.below(5) != 1 {
                        continue;
                    }
                    let array =
                        ColumnSpec::varlen(inside(&field.name), &[UNKNOWN], dtype(field.leaf));
                    columns.push(array.with_layout(layout(source)));
                }
            }
        }
    }
}

fn dtype(leaf: &str) -> DType {
    match leaf {
        "int" => DType::Int32,
        "long" => DType::Int64,
        "float" => DType::Float32,
        "double" => DType::Float64,
        "boolean" => DType::Bool,
        _ => DType::String,
    }
}

/// Gives the names `T0`, `T1` .. of an odd type an ending, so that those of
/// several do not meet.
fn rename(json: &mut Json, ending: &str) {
    match json {
        Json::String(text) => {
            let simple = text.rsplit('.').next().unwrap_or_default();
            let number = simple.strip_prefix('T').unwrap_or_default();
            if number.parse::<usize>().is_ok() {
                text.push_str(ending);
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| rename(item, ending)),
        Json::Object(entries) => entries.values_mut().for_each(|value| rename(value, ending)),
        _ => {}
    }
}
