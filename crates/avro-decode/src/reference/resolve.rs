//! Resolves trees of the writer's schema to trees of the reader's.

use atds_features::path::field_step;

use crate::limits::{MAX_DECODE_DEPTH, MAX_FILLED_PARTS};
use crate::reference::convert::{in_unit, unit_of};
use crate::reference::decode;
use crate::resolve::{DefaultField, Resolution, Resolved, ResolvedId};
use crate::schema::describe::describe;
use crate::schema::{Node, NodeId};
use crate::{Value, ValueError, ValueErrorKind};

/// The value of the reader's schema that a value of the writer's schema resolves to.
///
/// # Errors
/// If the value is not of the writer's schema, or has a branch or a symbol that the reader lacks.
/// Also if the resulting value is nested too deep, or has too many values from defaults.
pub fn resolve(resolution: &Resolution, value: &Value) -> Result<Value, ValueError> {
    let mut resolver = Resolver {
        resolution,
        filled_parts: 0,
    };
    resolver.value(resolution.root, value, Depth::default())
}

struct Resolver<'r> {
    resolution: &'r Resolution,
    /// Number of values, and bytes of strings, from defaults so far.
    filled_parts: usize,
}

/// Number of records, arrays, maps and unions around a value.
#[derive(Clone, Copy, Default)]
struct Depth {
    writer: usize,
    reader: usize,
}

impl Resolver<'_> {
    fn value(&mut self, id: ResolvedId, value: &Value, depth: Depth) -> Result<Value, ValueError> {
        match (self.resolution.node(id), value) {
            (&Resolved::Leaf { writer, reader }, value) => self.leaf(writer, reader, value),
            (
                Resolved::Enum {
                    writer,
                    reader,
                    symbols,
                },
                &Value::Enum(index),
            ) => match symbols.get(index as usize) {
                Some(&Some(symbol)) => Ok(Value::Enum(symbol)),
                Some(None) => Err(self.unknown_symbol(*writer, *reader, index)),
                None => Err(ValueError::new(ValueErrorKind::BadEnumIndex {
                    index,
                    symbols: symbols.len(),
                })),
            },
            (Resolved::Array { item, .. }, Value::Array(items)) => {
                let depth = depth.deeper(1, 1)?;
                let items = items.iter().map(|value| self.value(*item, value, depth));
                Ok(Value::Array(items.collect::<Result<_, _>>()?))
            }
            (Resolved::Map { value: id, .. }, Value::Map(entries)) => {
                let depth = depth.deeper(1, 1)?;
                let entries = entries
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), self.value(*id, value, depth)?)));
                Ok(Value::Map(entries.collect::<Result<_, _>>()?))
            }
            (
                Resolved::Record {
                    writer,
                    reader,
                    fields,
                    defaults,
                },
                Value::Record(values),
            ) => {
                let depth = depth.deeper(1, 1)?;
                self.record((*writer, *reader), fields, defaults, values, depth)
            }
            (Resolved::Union { branches, .. }, Value::Union(branch, value)) => {
                let Some(&id) = branches.get(*branch) else {
                    return Err(ValueError::new(ValueErrorKind::BadUnionBranch {
                        branch: *branch,
                        branches: branches.len(),
                    }));
                };
                self.value(id, value, depth.deeper(1, 0)?)
            }
            (
                Resolved::Branch {
                    branch, value: id, ..
                },
                value,
            ) => {
                let value = self.value(*id, value, depth.deeper(0, 1)?)?;
                Ok(Value::Union(*branch, Box::new(value)))
            }
            (&Resolved::Never { writer, reader }, _) => {
                Err(ValueError::new(ValueErrorKind::Unresolvable {
                    writer: describe(&self.resolution.writer, writer),
                    reader: describe(&self.resolution.reader, reader),
                }))
            }
            (
                &(Resolved::Enum { writer, .. }
                | Resolved::Array { writer, .. }
                | Resolved::Map { writer, .. }
                | Resolved::Record { writer, .. }
                | Resolved::Union { writer, .. }),
                value,
            ) => {
                let expected = self.resolution.writer.node(writer).type_name();
                Err(ValueError::wrong_type(expected, value))
            }
        }
    }

    fn leaf(&self, writer: NodeId, reader: NodeId, value: &Value) -> Result<Value, ValueError> {
        let (w, r) = (
            self.resolution.writer.node(writer),
            self.resolution.reader.node(reader),
        );
        if let Some(time) = self.time(writer, reader, value)? {
            return Ok(time);
        }
        Ok(match (w, r, value) {
            (Node::Null, _, Value::Null) => Value::Null,
            (Node::Boolean, _, &Value::Boolean(value)) => Value::Boolean(value),
            (Node::Int, Node::Int, &Value::Int(value)) => Value::Int(value),
            (Node::Int, Node::Long, &Value::Int(value)) => Value::Long(value.into()),
            (Node::Int, Node::Float, &Value::Int(value)) => Value::Float(value as f32),
            (Node::Int, Node::Double, &Value::Int(value)) => Value::Double(value.into()),
            (Node::Long, Node::Long, &Value::Long(value)) => Value::Long(value),
            (Node::Long, Node::Float, &Value::Long(value)) => Value::Float(value as f32),
            (Node::Long, Node::Double, &Value::Long(value)) => Value::Double(value as f64),
            (Node::Float, Node::Float, &Value::Float(value)) => Value::Float(value),
            (Node::Float, Node::Double, &Value::Float(value)) => Value::Double(value.into()),
            (Node::Double, _, &Value::Double(value)) => Value::Double(value),
            (Node::Bytes, Node::Bytes, Value::Bytes(bytes)) => Value::Bytes(bytes.clone()),
            (Node::Bytes, Node::String, Value::Bytes(bytes)) => {
                let text = String::from_utf8(bytes.clone());
                let text = text.map_err(|_| ValueError::new(ValueErrorKind::InvalidUtf8));
                Value::String(text?)
            }
            (Node::String, Node::Bytes, Value::String(text)) => Value::Bytes(text.clone().into()),
            (Node::String, _, Value::String(text)) => Value::String(text.clone()),
            (Node::Fixed(fixed), _, Value::Fixed(bytes)) if fixed.size == bytes.len() => {
                Value::Fixed(bytes.clone())
            }
            (Node::Fixed(fixed), _, Value::Fixed(bytes)) => {
                return Err(ValueError::new(ValueErrorKind::FixedSize {
                    expected: fixed.size,
                    found: bytes.len(),
                }));
            }
            (node, _, value) => return Err(ValueError::wrong_type(node.type_name(), value)),
        })
    }

    /// A time in the reader's unit, if that differs.
    fn time(
        &self,
        writer: NodeId,
        reader: NodeId,
        value: &Value,
    ) -> Result<Option<Value>, ValueError> {
        let written = self.resolution.writer.logical(writer).and_then(unit_of);
        let read = self.resolution.reader.logical(reader).and_then(unit_of);
        let (Some(from), Some(to)) = (written, read) else {
            return Ok(None);
        };
        let time = match *value {
            Value::Int(time) => time.into(),
            Value::Long(time) => time,
            _ => return Ok(None),
        };
        if from == to {
            return Ok(None);
        }
        match in_unit(time, from, to) {
            Some(time) => Ok(Some(Value::Long(time))),
            None => Err(ValueError::new(ValueErrorKind::TimeOverflow {
                value: time,
                from,
                to,
            })),
        }
    }

    fn record(
        &mut self,
        (writer, reader): (NodeId, NodeId),
        fields: &[Option<(usize, ResolvedId)>],
        defaults: &[DefaultField],
        values: &[Value],
        depth: Depth,
    ) -> Result<Value, ValueError> {
        let (writer, reader) = (
            self.resolution.writer.node(writer),
            self.resolution.reader.node(reader),
        );
        let (Node::Record(writer), Node::Record(reader)) = (writer, reader) else {
            unreachable!("records are resolved to records");
        };
        if values.len() != fields.len() {
            return Err(ValueError::new(ValueErrorKind::FieldCount {
                expected: fields.len(),
                found: values.len(),
            }));
        }
        // Each element is replaced: every field is one of the writer's or has a default.
        let mut record = vec![Value::Null; reader.fields.len()];
        for ((field, value), read) in writer.fields.iter().zip(values).zip(fields) {
            if let &Some((position, id)) = read {
                let value = self.value(id, value, depth);
                record[position] =
                    value.map_err(|error| error.in_field(&field_step(&field.name)))?;
            }
        }
        for default in defaults {
            let field = &reader.fields[default.field];
            let value = self.default(field.ty, default, depth);
            record[default.field] =
                value.map_err(|error| error.in_field(&field_step(&field.name)))?;
        }
        Ok(Value::Record(record))
    }

    fn default(
        &mut self,
        ty: NodeId,
        default: &DefaultField,
        depth: Depth,
    ) -> Result<Value, ValueError> {
        depth.deeper(0, default.depth)?;
        self.filled_parts += default.parts;
        if self.filled_parts > MAX_FILLED_PARTS {
            return Err(ValueError::new(ValueErrorKind::DefaultsTooLarge));
        }
        let value = decode(&self.resolution.reader, ty, &default.encoded, &mut 0);
        Ok(value.expect("defaults are encoded by the reader's schema"))
    }

    #[cold]
    fn unknown_symbol(&self, writer: NodeId, reader: NodeId, index: u32) -> ValueError {
        let symbol = match self.resolution.writer.node(writer) {
            Node::Enum(symbols) => symbols.symbols[index as usize].clone(),
            _ => String::new(),
        };
        let reader = describe(&self.resolution.reader, reader);
        ValueError::new(ValueErrorKind::UnknownSymbol { symbol, reader })
    }
}

impl Depth {
    fn deeper(self, writer: usize, reader: usize) -> Result<Depth, ValueError> {
        let depth = Depth {
            writer: self.writer + writer,
            reader: self.reader + reader,
        };
        if depth.writer.max(depth.reader) > MAX_DECODE_DEPTH {
            return Err(ValueError::new(ValueErrorKind::TooDeep));
        }
        Ok(depth)
    }
}
