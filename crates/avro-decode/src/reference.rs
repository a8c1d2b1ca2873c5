//! The reference decoder: slow and obvious. The fast code is tested against it.
//!
//! [`decode`] reads bytes into a tree of values. [`tensors`] turns such trees into the tensors that
//! a [`Plan`](crate::Plan) must give. [`resolve()`] turns a tree of a writer's schema into a tree
//! of a reader's.
//!
//! The decoder follows the specification's "Binary Encoding" sentence by sentence. It is as strict
//! as the fast one. A boolean is 0 or 1, strings are UTF-8, and an `int` takes at most 5 bytes. A
//! block's size in bytes must be the size of its items. Padded varints are accepted.

mod compare;
pub(crate) mod convert;
mod resolve;
mod round;
mod tensors;

use atds_features::path::field_step;

use crate::limits::{DEEPEST, MAX_ZERO_SIZE_ITEMS, MAX_ZERO_SIZE_VALUES};
use crate::schema::{Node, NodeId, Schema};
use crate::varint::{read_int, read_long};
use crate::{DecodeError, DecodeErrorKind, DecodeOptions, Value};

pub use compare::{ColumnPart, Difference, DifferenceKind};
pub use resolve::resolve;
pub use tensors::{RecordError, ReferenceColumn, ReferenceTensors, faults, tensors};

/// Decodes a value of the type at `id` from `input`, starting at `position`, and moves `position`
/// past it.
///
/// The tree takes memory in proportion to the bytes read. Values without bytes are limited to
/// [`MAX_ZERO_SIZE_VALUES`].
///
/// ```
/// use avro_decode::{Schema, Value, reference};
///
/// let schema = Schema::parse(r#"{"type": "array", "items": "int"}"#)?;
/// let mut position = 0;
/// let value = reference::decode(&schema, schema.root(), &[4, 2, 4, 0], &mut position)?;
/// assert_eq!(value, Value::Array(vec![Value::Int(1), Value::Int(2)]));
/// assert_eq!(position, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the input is not such a value; `position` is then unchanged. The error's offset is an offset
/// in `input`.
///
/// # Panics
/// If `id` is not of `schema`.
pub fn decode(
    schema: &Schema,
    id: NodeId,
    input: &[u8],
    position: &mut usize,
) -> Result<Value, DecodeError> {
    decode_with(schema, id, input, position, &DecodeOptions::default())
}

/// [`decode`] with options.
///
/// # Errors
/// As [`decode`].
///
/// # Panics
/// As [`decode`].
pub fn decode_with(
    schema: &Schema,
    id: NodeId,
    input: &[u8],
    position: &mut usize,
    options: &DecodeOptions,
) -> Result<Value, DecodeError> {
    let mut decoder = Decoder {
        options,
        schema,
        input,
        position: *position,
        depth: 0,
        zero_size_values: 0,
    };
    let value = decoder.value(id).map_err(|error| *error)?;
    *position = decoder.position;
    Ok(value)
}

struct Decoder<'a> {
    options: &'a DecodeOptions,
    schema: &'a Schema,
    input: &'a [u8],
    position: usize,
    /// Number of records, arrays, maps and unions around the value.
    depth: usize,
    /// Number of values without bytes so far.
    zero_size_values: usize,
}

/// The error is boxed to keep the frames of the recursion small.
type Decoded<T> = Result<T, Box<DecodeError>>;

impl<'a> Decoder<'a> {
    fn value(&mut self, id: NodeId) -> Decoded<Value> {
        let schema = self.schema;
        match schema.node(id) {
            Node::Null => Ok(Value::Null),
            Node::Boolean => self.boolean(),
            Node::Int => Ok(Value::Int(self.int()?)),
            Node::Long => Ok(Value::Long(self.long()?)),
            Node::Float => Ok(Value::Float(f32::from_le_bytes(self.array_of_bytes()?))),
            Node::Double => Ok(Value::Double(f64::from_le_bytes(self.array_of_bytes()?))),
            Node::Bytes => Ok(Value::Bytes(self.bytes()?.to_vec())),
            Node::String => Ok(Value::String(self.string()?)),
            Node::Fixed(fixed) => Ok(Value::Fixed(self.take(fixed.size)?.to_vec())),
            Node::Enum(symbols) => self.symbol(symbols.symbols.len()),
            Node::Array(items) => self.nested(|decoder| decoder.array(*items)),
            Node::Map(values) => self.nested(|decoder| decoder.map(*values)),
            Node::Union(branches) => self.nested(|decoder| decoder.union(branches)),
            Node::Record(record) => self.nested(|decoder| {
                let mut fields = Vec::new();
                for field in &record.fields {
                    let value = decoder.part(field.ty);
                    fields.push(
                        value
                            .map_err(|error| Box::new(error.in_field(&field_step(&field.name))))?,
                    );
                }
                Ok(Value::Record(fields))
            }),
        }
    }

    /// Decodes an item of an array or a field of a record, and counts it if it has no bytes.
    fn part(&mut self, id: NodeId) -> Decoded<Value> {
        if self.schema.is_always_empty(id) {
            self.zero_size_values += 1;
            if self.zero_size_values > MAX_ZERO_SIZE_VALUES {
                return Err(self.error(DecodeErrorKind::TooManyZeroSizeValues));
            }
        }
        self.value(id)
    }

    fn array(&mut self, items: NodeId) -> Decoded<Value> {
        let mut values = Vec::new();
        let min_item = self.schema.min_encoded_len(items);
        self.blocks(min_item, |decoder| {
            values.push(decoder.part(items)?);
            Ok(())
        })?;
        Ok(Value::Array(values))
    }

    fn map(&mut self, values: NodeId) -> Decoded<Value> {
        let mut entries = Vec::new();
        // A key takes at least one byte, for its length.
        let min_entry = self.schema.min_encoded_len(values).saturating_add(1);
        self.blocks(min_entry, |decoder| {
            let key = decoder.string()?;
            entries.push((key, decoder.value(values)?));
            Ok(())
        })?;
        Ok(Value::Map(entries))
    }

    /// Decodes the blocks of an array or a map. Each has a count, the size in bytes if the count is
    /// negative, and the items. A count of 0 ends them.
    fn blocks(
        &mut self,
        min_item: u64,
        mut item: impl FnMut(&mut Self) -> Decoded<()>,
    ) -> Decoded<()> {
        loop {
            let header = self.position;
            let count = self.long()?;
            if count == 0 {
                return Ok(());
            }
            let declared = match count {
                ..0 => Some(self.length()?),
                _ => None,
            };
            let count = count.unsigned_abs();
            let room = declared.unwrap_or(self.remaining()) as u64;
            let most = match min_item {
                0 => MAX_ZERO_SIZE_ITEMS as u64,
                _ => room / min_item,
            };
            if count > most {
                let kind = DecodeErrorKind::TooManyItems { count, most };
                return Err(error_at(kind, header));
            }
            let start = self.position;
            for _ in 0..count {
                item(self)?;
            }
            let actual = self.position - start;
            if let Some(declared) = declared.filter(|&declared| declared != actual) {
                return Err(self.error(DecodeErrorKind::BadBlockSize { declared, actual }));
            }
        }
    }

    fn union(&mut self, branches: &[NodeId]) -> Decoded<Value> {
        let start = self.position;
        let branch = self.long()?;
        let found = usize::try_from(branch).ok();
        match found.and_then(|branch| Some((branch, *branches.get(branch)?))) {
            Some((branch, id)) => Ok(Value::Union(branch, Box::new(self.value(id)?))),
            None => {
                let branches = branches.len();
                let kind = DecodeErrorKind::BadUnionBranch { branch, branches };
                Err(error_at(kind, start))
            }
        }
    }

    fn symbol(&mut self, symbols: usize) -> Decoded<Value> {
        let start = self.position;
        let index = self.int()?;
        match u32::try_from(index) {
            Ok(index) if (index as usize) < symbols => Ok(Value::Enum(index)),
            _ => {
                let index = i64::from(index);
                let kind = DecodeErrorKind::BadEnumIndex { index, symbols };
                Err(error_at(kind, start))
            }
        }
    }

    fn boolean(&mut self) -> Decoded<Value> {
        let start = self.position;
        match self.take(1)?[0] {
            0 => Ok(Value::Boolean(false)),
            1 => Ok(Value::Boolean(true)),
            other => Err(error_at(DecodeErrorKind::BadBoolean(other), start)),
        }
    }

    fn string(&mut self) -> Decoded<String> {
        let start = self.position;
        let bytes = self.bytes()?;
        match simdutf8::basic::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) if self.options.replace_invalid_utf8 => {
                Ok(crate::utf8::replace(bytes).into_owned())
            }
            Err(_) => Err(error_at(DecodeErrorKind::InvalidUtf8, start)),
        }
    }

    fn bytes(&mut self) -> Decoded<&'a [u8]> {
        let length = self.length()?;
        self.take(length)
    }

    /// Decodes a length in bytes, and checks it against the remaining input.
    fn length(&mut self) -> Decoded<usize> {
        let start = self.position;
        let length = self.long()?;
        let remaining = self.remaining();
        let kind = match u64::try_from(length) {
            Err(_) => DecodeErrorKind::NegativeLength(length),
            Ok(length) if length > remaining as u64 => {
                DecodeErrorKind::LengthBeyondEnd { length, remaining }
            }
            Ok(length) => return Ok(length as usize),
        };
        Err(error_at(kind, start))
    }

    fn long(&mut self) -> Decoded<i64> {
        let value = read_long(self.input, &mut self.position);
        value.map_err(|kind| self.error(kind))
    }

    fn int(&mut self) -> Decoded<i32> {
        let value = read_int(self.input, &mut self.position);
        value.map_err(|kind| self.error(kind))
    }

    fn array_of_bytes<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    fn take(&mut self, length: usize) -> Decoded<&'a [u8]> {
        if length > self.remaining() {
            return Err(self.error(DecodeErrorKind::UnexpectedEnd));
        }
        let bytes = &self.input[self.position..][..length];
        self.position += length;
        Ok(bytes)
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Decoded<Value>) -> Decoded<Value> {
        let limit = self.options.max_depth.min(DEEPEST);
        if self.depth >= limit {
            return Err(self.error(DecodeErrorKind::TooDeep { limit }));
        }
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn remaining(&self) -> usize {
        self.input.len() - self.position
    }

    #[cold]
    fn error(&self, kind: DecodeErrorKind) -> Box<DecodeError> {
        error_at(kind, self.position)
    }
}

#[cold]
fn error_at(kind: DecodeErrorKind, offset: usize) -> Box<DecodeError> {
    Box::new(DecodeError::new(kind, offset))
}
