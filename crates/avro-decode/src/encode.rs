//! Encodes values in Avro's binary encoding.

use std::num::NonZeroUsize;

use atds_features::path::field_step;

use crate::limits::MAX_DECODE_DEPTH;
use crate::schema::{Node, NodeId, Schema};
use crate::{Value, ValueError, ValueErrorKind};

pub use crate::varint::write_long;

/// Choices that the encoding leaves to the writer.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct EncodeOptions {
    /// Maximum number of items in a block of an array or a map; `None`, the default, for a single
    /// block.
    pub block_items: Option<NonZeroUsize>,
    /// Whether blocks give their size in bytes, so that a reader can skip them; false by default.
    pub byte_sizes: bool,
}

/// Appends `value`, of the type at `id`, to `out`.
///
/// # Errors
/// If the value does not fit its type; `out` is then unchanged.
///
/// # Panics
/// If `id` is not of `schema`.
pub fn encode(
    schema: &Schema,
    id: NodeId,
    value: &Value,
    out: &mut Vec<u8>,
    options: &EncodeOptions,
) -> Result<(), ValueError> {
    let encoder = Encoder { schema, options };
    let start = out.len();
    let result = encoder.value(id, value, out, 0);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// Appends `bytes` as Avro `bytes`: the length, then the bytes.
pub fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_len(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Appends `text` as an Avro `string`: the length in bytes, then the UTF-8 text.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    write_bytes(out, text.as_bytes());
}

struct Encoder<'a> {
    schema: &'a Schema,
    options: &'a EncodeOptions,
}

type Encoded = Result<(), ValueError>;

impl Encoder<'_> {
    /// `depth` counts the records, arrays, maps and unions around the value.
    fn value(&self, id: NodeId, value: &Value, out: &mut Vec<u8>, depth: usize) -> Encoded {
        if depth == MAX_DECODE_DEPTH && value.is_nested() {
            return Err(ValueError::new(ValueErrorKind::TooDeep));
        }
        match (self.schema.node(id), value) {
            (Node::Null, Value::Null) => {}
            (Node::Boolean, &Value::Boolean(value)) => out.push(value.into()),
            (Node::Int, &Value::Int(value)) => write_long(out, value.into()),
            (Node::Long, &Value::Long(value)) => write_long(out, value),
            (Node::Float, Value::Float(value)) => out.extend(value.to_le_bytes()),
            (Node::Double, Value::Double(value)) => out.extend(value.to_le_bytes()),
            (Node::Bytes, Value::Bytes(bytes)) => write_bytes(out, bytes),
            (Node::String, Value::String(text)) => write_string(out, text),
            (Node::Fixed(fixed), Value::Fixed(bytes)) => {
                if bytes.len() != fixed.size {
                    return Err(ValueError::new(ValueErrorKind::FixedSize {
                        expected: fixed.size,
                        found: bytes.len(),
                    }));
                }
                out.extend_from_slice(bytes);
            }
            (Node::Enum(symbols), &Value::Enum(index)) => {
                let symbols = symbols.symbols.len();
                if index as usize >= symbols {
                    let kind = ValueErrorKind::BadEnumIndex { index, symbols };
                    return Err(ValueError::new(kind));
                }
                write_long(out, index.into());
            }
            (&Node::Array(items), Value::Array(values)) => {
                self.blocks(values, out, |value, out| {
                    self.value(items, value, out, depth + 1)
                })?;
            }
            (&Node::Map(values), Value::Map(entries)) => {
                self.blocks(entries, out, |(key, value), out| {
                    write_string(out, key);
                    self.value(values, value, out, depth + 1)
                })?;
            }
            (Node::Union(branches), Value::Union(branch, value)) => {
                let Some(&id) = branches.get(*branch) else {
                    return Err(ValueError::new(ValueErrorKind::BadUnionBranch {
                        branch: *branch,
                        branches: branches.len(),
                    }));
                };
                write_len(out, *branch);
                self.value(id, value, out, depth + 1)?;
            }
            (Node::Record(record), Value::Record(values)) => {
                if values.len() != record.fields.len() {
                    return Err(ValueError::new(ValueErrorKind::FieldCount {
                        expected: record.fields.len(),
                        found: values.len(),
                    }));
                }
                for (field, value) in record.fields.iter().zip(values) {
                    self.value(field.ty, value, out, depth + 1)
                        .map_err(|error| error.in_field(&field_step(&field.name)))?;
                }
            }
            (node, value) => return Err(ValueError::wrong_type(node.type_name(), value)),
        }
        Ok(())
    }

    fn blocks<T>(
        &self,
        items: &[T],
        out: &mut Vec<u8>,
        write: impl Fn(&T, &mut Vec<u8>) -> Encoded,
    ) -> Encoded {
        let block_items = self
            .options
            .block_items
            .map_or(usize::MAX, NonZeroUsize::get);
        for block in items.chunks(block_items) {
            if self.options.byte_sizes {
                let mut bytes = Vec::new();
                block.iter().try_for_each(|item| write(item, &mut bytes))?;
                write_long(out, -(block.len() as i64));
                write_bytes(out, &bytes);
            } else {
                write_len(out, block.len());
                block.iter().try_for_each(|item| write(item, out))?;
            }
        }
        write_long(out, 0);
        Ok(())
    }
}

fn write_len(out: &mut Vec<u8>, len: usize) {
    // A slice in memory is never longer than `isize::MAX`.
    write_long(out, len as i64);
}
