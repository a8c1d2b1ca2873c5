//! Values as JSON, for people to read.

use atds_features::path::field_step;
use serde_json::{Map, Value as Json};

use crate::limits::DEEPEST;
use crate::schema::{Node, NodeId, Schema};
use crate::{Value, ValueError, ValueErrorKind};

/// The value as JSON.
///
/// Records and maps become objects, enums their symbols, and unions the value alone. `bytes` and
/// `fixed` become strings with a character of U+0000 to U+00FF for each byte, as in Avro's JSON
/// encoding. JSON has no infinities and no NaN, so they become the strings `"Infinity"`,
/// `"-Infinity"` and `"NaN"`. Values of logical types are written as the underlying type. If a map
/// has a key twice, its last value is used.
///
/// # Errors
/// If the value does not fit the type at `id`.
///
/// # Panics
/// If `id` is not of `schema`.
pub fn to_json(schema: &Schema, id: NodeId, value: &Value) -> Result<Json, ValueError> {
    json(schema, id, value, 0)
}

fn json(schema: &Schema, id: NodeId, value: &Value, depth: usize) -> Result<Json, ValueError> {
    if depth == DEEPEST && value.is_nested() {
        return Err(ValueError::new(ValueErrorKind::TooDeep));
    }
    let part = |id, value| json(schema, id, value, depth + 1);
    Ok(match (schema.node(id), value) {
        (Node::Null, Value::Null) => Json::Null,
        (Node::Boolean, &Value::Boolean(value)) => value.into(),
        (Node::Int, &Value::Int(value)) => value.into(),
        (Node::Long, &Value::Long(value)) => value.into(),
        (Node::Float, &Value::Float(value)) => float_to_json(value),
        (Node::Double, &Value::Double(value)) => double_to_json(value),
        (Node::Bytes, Value::Bytes(bytes)) | (Node::Fixed(_), Value::Fixed(bytes)) => bytes
            .iter()
            .copied()
            .map(char::from)
            .collect::<String>()
            .into(),
        (Node::String, Value::String(text)) => text.as_str().into(),
        (Node::Enum(symbols), &Value::Enum(index)) => match symbols.symbols.get(index as usize) {
            Some(symbol) => symbol.as_str().into(),
            None => {
                let symbols = symbols.symbols.len();
                let kind = ValueErrorKind::BadEnumIndex { index, symbols };
                return Err(ValueError::new(kind));
            }
        },
        (&Node::Array(items), Value::Array(values)) => {
            let values = values.iter().map(|value| part(items, value));
            Json::Array(values.collect::<Result<_, _>>()?)
        }
        (&Node::Map(values), Value::Map(entries)) => {
            let entries = entries.iter();
            let entries = entries.map(|(key, value)| Ok((key.clone(), part(values, value)?)));
            Json::Object(entries.collect::<Result<_, _>>()?)
        }
        (Node::Union(branches), Value::Union(branch, value)) => match branches.get(*branch) {
            Some(&id) => part(id, value)?,
            None => {
                return Err(ValueError::new(ValueErrorKind::BadUnionBranch {
                    branch: *branch,
                    branches: branches.len(),
                }));
            }
        },
        (Node::Record(record), Value::Record(values)) => {
            if values.len() != record.fields.len() {
                return Err(ValueError::new(ValueErrorKind::FieldCount {
                    expected: record.fields.len(),
                    found: values.len(),
                }));
            }
            let mut object = Map::new();
            for (field, value) in record.fields.iter().zip(values) {
                let json = part(field.ty, value);
                let json = json.map_err(|error| error.in_field(&field_step(&field.name)))?;
                object.insert(field.name.clone(), json);
            }
            Json::Object(object)
        }
        (node, value) => return Err(ValueError::wrong_type(node.type_name(), value)),
    })
}

/// The float as JSON, which has no NaN and no infinities: these are strings.
pub fn float_to_json(value: f32) -> Json {
    // The shortest decimal that reads back as this float: 0.1, although the nearest double is
    // 0.10000000149011612.
    match value.to_string().parse() {
        Ok(shortest) if value.is_finite() => double_to_json(shortest),
        _ => double_to_json(value.into()),
    }
}

/// The double as JSON, which has no NaN and no infinities: these are strings.
pub fn double_to_json(value: f64) -> Json {
    if value.is_nan() {
        "NaN".into()
    } else if value == f64::INFINITY {
        "Infinity".into()
    } else if value == f64::NEG_INFINITY {
        "-Infinity".into()
    } else {
        value.into()
    }
}

#[cfg(test)]
mod tests;
