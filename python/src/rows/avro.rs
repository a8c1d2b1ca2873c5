//! Values of Python as values of Avro.

mod unions;

use atds::avro::Schema;
use atds::write::Value;
use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::path::field_step;
use avro_decode::resolve::default_value;
use avro_decode::schema::{LogicalType, Node, NodeId, Record};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::items_of_dict;
use super::misfit::{Fault, listed, shown, text_of};

/// Encodes rows by a schema.
pub(super) struct AvroRows {
    /// For each type that is a record, its fields.
    records: Vec<Vec<FieldInfo>>,
    /// `atds._rows`.
    helpers: Py<PyModule>,
}

struct FieldInfo {
    name: Py<PyString>,
    /// The value of a field that a row lacks.
    absent: Option<Value>,
}

type Converted = Result<Value, Fault>;

impl AvroRows {
    pub(super) fn new(py: Python<'_>, schema: &Schema) -> PyResult<Self> {
        let records = schema.ids().map(|id| match schema.node(id) {
            Node::Record(record) => fields_of(py, schema, record),
            _ => Vec::new(),
        });
        Ok(AvroRows {
            records: records.collect(),
            helpers: py.import("atds._rows")?.unbind(),
        })
    }

    /// Appends a row to `out`.
    pub(super) fn encode(
        &self,
        schema: &Schema,
        row: &Bound<'_, PyAny>,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let rows = Rows { schema, of: self };
        let value = rows.value(schema.root(), row, 0)?;
        encode(
            schema,
            schema.root(),
            &value,
            out,
            &EncodeOptions::default(),
        )
        .map_err(|error| {
            let fault = Fault::misfit(error.kind.to_string());
            match error.field {
                Some(field) => fault.within(&field),
                None => fault,
            }
        })
    }
}

fn fields_of(py: Python<'_>, schema: &Schema, record: &Record) -> Vec<FieldInfo> {
    let fields = record.fields.iter().map(|field| FieldInfo {
        name: PyString::new(py, &field.name).unbind(),
        absent: default_value(schema, field).or_else(|| null_of(schema, field.ty)),
    });
    fields.collect()
}

/// Null, if the type allows it.
fn null_of(schema: &Schema, id: NodeId) -> Option<Value> {
    match schema.node(id) {
        Node::Null => Some(Value::Null),
        Node::Union(branches) => {
            let branch = |id: &NodeId| matches!(schema.node(*id), Node::Null);
            let null = branches.iter().position(branch)?;
            Some(Value::Union(null, Box::new(Value::Null)))
        }
        _ => None,
    }
}

struct Rows<'a> {
    schema: &'a Schema,
    of: &'a AvroRows,
}

/// Maximum number of values around a value that are converted: Python's lists may contain themselves.
const MAX_DEPTH: usize = avro_decode::limits::MAX_DECODE_DEPTH;

impl Rows<'_> {
    fn value(&self, id: NodeId, object: &Bound<'_, PyAny>, depth: usize) -> Converted {
        if depth > MAX_DEPTH {
            return Err(Fault::misfit(format!(
                "values are nested deeper than {MAX_DEPTH}"
            )));
        }
        if let Node::Union(branches) = self.schema.node(id) {
            return self.union(branches, object, depth);
        }
        if let Some(base) = self.base_of_logical(id, object)? {
            return self
                .plain(id, &base, depth)?
                .ok_or_else(|| self.misfit(id, object));
        }
        if let Some(value) = self.plain(id, object, depth)? {
            return Ok(value);
        }
        let plainer = self.plainer(object)?;
        let value = match plainer.is(object) {
            true => None,
            false => self.plain(id, &plainer, depth)?,
        };
        value.ok_or_else(|| self.misfit(id, object))
    }

    /// The value of a built-in class; `None` if it is of a class that the type does not take.
    fn plain(
        &self,
        id: NodeId,
        object: &Bound<'_, PyAny>,
        depth: usize,
    ) -> Result<Option<Value>, Fault> {
        Ok(Some(match self.schema.node(id) {
            Node::Null if object.is_none() => Value::Null,
            Node::Boolean => match object.cast::<PyBool>() {
                Ok(value) => Value::Boolean(value.is_true()),
                Err(_) => return Ok(None),
            },
            Node::Int | Node::Long => return self.integer(id, object),
            Node::Float | Node::Double => return self.float(id, object),
            Node::Bytes => match bytes_of(object) {
                Some(bytes) => Value::Bytes(bytes?.to_vec()),
                None => return Ok(None),
            },
            Node::Fixed(fixed) => match object.cast::<PyBytes>() {
                Ok(bytes) if bytes.as_bytes().len() == fixed.size => {
                    Value::Fixed(bytes.as_bytes().to_vec())
                }
                Ok(bytes) => {
                    let (found, size) = (bytes.as_bytes().len(), fixed.size);
                    let said = format!("{found} bytes where the fixed has {size}");
                    return Err(Fault::misfit(said));
                }
                Err(_) => return Ok(None),
            },
            Node::String => match object.cast::<PyString>() {
                Ok(text) => Value::String(text_of(text)?.to_owned()),
                Err(_) => match object.cast::<PyBytes>() {
                    Ok(bytes) => match std::str::from_utf8(bytes.as_bytes()) {
                        Ok(text) => Value::String(text.to_owned()),
                        Err(_) => {
                            let said = "bytes that are not UTF-8 where the schema has a string: make the field bytes";
                            return Err(Fault::misfit(said));
                        }
                    },
                    Err(_) => return Ok(None),
                },
            },
            Node::Enum(symbols) => match object.cast::<PyString>() {
                Ok(text) => {
                    let text = text_of(text)?;
                    let found = symbols.symbols.iter().position(|symbol| symbol == text);
                    match found {
                        Some(index) => Value::Enum(index as u32),
                        None => {
                            let said = format!(
                                "'{text}' is no symbol of the enum {}: it has {}",
                                symbols.name,
                                listed(symbols.symbols.iter().map(String::as_str))
                            );
                            return Err(Fault::misfit(said));
                        }
                    }
                }
                Err(_) => {
                    let Some(index) = whole(object) else {
                        return Ok(None);
                    };
                    let index = index.ok().and_then(|index| usize::try_from(index).ok());
                    match index.filter(|&index| index < symbols.symbols.len()) {
                        Some(index) => Value::Enum(index as u32),
                        None => {
                            let (shown, symbols) = (shown(object), symbols.symbols.len());
                            let said =
                                format!("{shown} is no number of the enum's {symbols} symbols");
                            return Err(Fault::misfit(said));
                        }
                    }
                }
            },
            &Node::Array(items) => match items_of(object) {
                Some(objects) => {
                    let mut values = Vec::new();
                    for (i, object) in objects.enumerate() {
                        let value = self.value(items, &object, depth + 1);
                        values.push(value.map_err(|fault| fault.within(&format!("[{i}]")))?);
                    }
                    Value::Array(values)
                }
                None => return Ok(None),
            },
            &Node::Map(values) => match object.cast::<PyDict>() {
                Ok(dict) => {
                    let entries = items_of_dict(dict).map(|item| {
                        let (key, object) = item?;
                        let Ok(key) = key.cast::<PyString>() else {
                            let said = format!("the keys of a map are text, not {}", shown(&key));
                            return Err(Fault::misfit(said));
                        };
                        let key = text_of(key)?;
                        let value = self.value(values, &object, depth + 1);
                        let value = value.map_err(|fault| fault.within(&format!("['{key}']")))?;
                        Ok((key.to_owned(), value))
                    });
                    Value::Map(entries.collect::<Result<_, Fault>>()?)
                }
                Err(_) => return Ok(None),
            },
            Node::Record(record) => match object.cast::<PyDict>() {
                Ok(dict) => self.record(id, record, dict, depth)?,
                Err(_) => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }

    fn record(
        &self,
        id: NodeId,
        record: &Record,
        dict: &Bound<'_, PyDict>,
        depth: usize,
    ) -> Converted {
        let mut found = 0;
        let mut values = Vec::with_capacity(record.fields.len());
        for (field, info) in record.fields.iter().zip(&self.of.records[id.index()]) {
            values.push(match dict.get_item(&info.name)? {
                Some(object) => {
                    found += 1;
                    let value = self.value(field.ty, &object, depth + 1);
                    value.map_err(|fault| fault.within(&field_step(&field.name)))?
                }
                None => info.absent.clone().ok_or_else(|| {
                    Fault::misfit(
                        "the row lacks the field, which has no default and cannot be null",
                    )
                    .within(&field_step(&field.name))
                })?,
            });
        }
        if found < dict.len() {
            return Err(unknown_key(record, dict));
        }
        Ok(Value::Record(values))
    }

    fn integer(&self, id: NodeId, object: &Bound<'_, PyAny>) -> Result<Option<Value>, Fault> {
        let Some(number) = whole(object) else {
            return Ok(None);
        };
        let number = number.ok();
        let value = match self.schema.node(id) {
            Node::Int => number.and_then(|n| i32::try_from(n).ok()).map(Value::Int),
            _ => number.map(Value::Long),
        };
        match value {
            Some(value) => Ok(Some(value)),
            None => Err(Fault::misfit(format!(
                "{} is out of the range of {}",
                shown(object),
                self.schema.node(id).type_name()
            ))),
        }
    }

    /// An int is taken if the type has the very number. A float is rounded to 32 bits.
    fn float(&self, id: NodeId, object: &Bound<'_, PyAny>) -> Result<Option<Value>, Fault> {
        let is_float = matches!(self.schema.node(id), Node::Float);
        if let Ok(number) = object.cast::<PyFloat>() {
            let double = number.value();
            if !is_float {
                return Ok(Some(Value::Double(double)));
            }
            let float = double as f32;
            if float.is_infinite() && double.is_finite() {
                let said =
                    format!("{double} is out of the range of float: make the field a double");
                return Err(Fault::misfit(said));
            }
            return Ok(Some(Value::Float(float)));
        }
        let Some(number) = whole(object) else {
            return Ok(None);
        };
        let number = number.ok();
        let exact = |n: &i64| match is_float {
            true => (*n as f32) as i128 == i128::from(*n),
            false => (*n as f64) as i128 == i128::from(*n),
        };
        match number.filter(exact) {
            Some(n) if is_float => Ok(Some(Value::Float(n as f32))),
            Some(n) => Ok(Some(Value::Double(n as f64))),
            None => Err(Fault::misfit(format!(
                "no {} is equal to {}: make the field a long, or give a float",
                self.schema.node(id).type_name(),
                shown(object)
            ))),
        }
    }

    /// The value of the underlying type, if the type has a logical type and the value is of a class for it.
    fn base_of_logical<'py>(
        &self,
        id: NodeId,
        object: &Bound<'py, PyAny>,
    ) -> Result<Option<Bound<'py, PyAny>>, Fault> {
        let Some(logical) = self.schema.logical(id) else {
            return Ok(None);
        };
        let is_text_of_uuid =
            *logical == LogicalType::Uuid && matches!(self.schema.node(id), Node::String);
        let is_base = |object: &Bound<'_, PyAny>| {
            if is_text_of_uuid {
                return matches!(bytes_of(object), Some(Ok(text)) if is_uuid(text));
            }
            object.is_instance_of::<PyBytes>()
                || match logical {
                    LogicalType::Unknown(_) | LogicalType::BigDecimal => true,
                    LogicalType::Decimal { .. } | LogicalType::Duration => false,
                    LogicalType::Uuid => false,
                    _ => object.is_instance_of::<PyInt>(),
                }
        };
        if is_base(object) {
            return Ok(None);
        }
        let object = self.plainer(object)?;
        if is_base(&object) {
            return Ok(Some(object));
        }
        let py = object.py();
        let size = match self.schema.node(id) {
            Node::Fixed(fixed) => Some(fixed.size),
            _ => None,
        };
        let base = match *logical {
            LogicalType::Decimal { precision, scale } => {
                self.helper(py, "decimal_bytes", (object, precision, scale, size))?
            }
            LogicalType::Uuid => self.helper(py, "uuid_base", (object, size.is_some()))?,
            LogicalType::Duration => self.helper(py, "duration_bytes", (object,))?,
            _ => self.helper(py, "time_number", (object, logical.name()))?,
        };
        Ok(Some(base))
    }

    /// The value as one of a built-in class, if it is of another that has one.
    fn plainer<'py>(&self, object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Fault> {
        self.helper(object.py(), "plain", (object,))
    }

    fn helper<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        args: impl pyo3::call::PyCallArgs<'py>,
    ) -> Result<Bound<'py, PyAny>, Fault> {
        let called = self.of.helpers.bind(py).getattr(name)?.call1(args);
        called.map_err(|error| Fault::of_helper(py, error))
    }

    #[cold]
    fn misfit(&self, id: NodeId, object: &Bound<'_, PyAny>) -> Fault {
        Fault::misfit(format!(
            "{} does not fit {}",
            shown(object),
            self.described(id)
        ))
    }

    /// The type in a message: `int`, `the record Person`, `long (timestamp-millis)`.
    #[cold]
    fn described(&self, id: NodeId) -> String {
        let node = self.schema.node(id);
        let name = match node.name() {
            Some(name) => format!("the {} {name}", node.type_name()),
            None => node.type_name().to_owned(),
        };
        match self.schema.logical(id) {
            Some(logical) => format!("{name} ({})", logical.name()),
            None => name,
        }
    }
}

/// A whole number, but not a bool; an error if it is beyond 64 bits.
fn whole(object: &Bound<'_, PyAny>) -> Option<PyResult<i64>> {
    let is_whole = object.is_instance_of::<PyInt>() && !object.is_instance_of::<PyBool>();
    is_whole.then(|| object.extract())
}

/// Whether text is a UUID as the specification has it: 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12.
fn is_uuid(text: &[u8]) -> bool {
    text.len() == 36
        && text.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// The bytes of bytes or text.
fn bytes_of<'a>(object: &'a Bound<'_, PyAny>) -> Option<Result<&'a [u8], Fault>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Some(Ok(bytes.as_bytes()));
    }
    let text = object.cast::<PyString>().ok()?;
    Some(text_of(text).map(str::as_bytes))
}

/// The items of a list or a tuple.
fn items_of<'py>(
    object: &Bound<'py, PyAny>,
) -> Option<impl Iterator<Item = Bound<'py, PyAny>> + use<'py>> {
    let list = match object.cast::<PyTuple>() {
        Ok(tuple) => tuple.to_list(),
        Err(_) => object.cast::<PyList>().ok()?.clone(),
    };
    Some(list.into_iter())
}

#[cold]
fn unknown_key(record: &Record, dict: &Bound<'_, PyDict>) -> Fault {
    let is_unknown = |key: &Bound<'_, PyAny>| match key.extract::<String>() {
        Ok(key) => record.field(&key).is_none(),
        Err(_) => true,
    };
    let key = dict.keys().into_iter().find(is_unknown);
    let key = key.map_or(String::new(), |key| shown(&key));
    let names = listed(record.fields.iter().map(|field| field.name.as_str()));
    Fault::misfit(format!(
        "the key {key} is no field of the record {}, which has {names}",
        record.name
    ))
}
