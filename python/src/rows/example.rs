//! Rows of Python as records of TFRecord: an `Example` of a dict, or bytes as they are.

use std::collections::HashMap;

use atds::write::ExampleEncoder;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};

use super::items_of_dict;
use super::misfit::{Fault, shown, text_of};

/// Encodes rows.
pub(super) struct ExampleRows {
    example: ExampleEncoder,
    /// The kinds of keys: those that were given, or that earlier rows had.
    kinds: HashMap<String, Kind>,
    /// Whether the kinds were given, and no other keys may come.
    are_given: bool,
    /// `atds._rows`.
    helpers: Py<PyModule>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int64,
    Float,
    Bytes,
}

/// The values of a key.
enum List<'py> {
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Bytes(Vec<Bound<'py, PyAny>>),
    /// No values, and nothing that tells their kind.
    Empty,
}

impl Kind {
    fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "int64" => Kind::Int64,
            "float32" => Kind::Float,
            "bytes" => Kind::Bytes,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Int64 => "int64",
            Kind::Float => "float32",
            Kind::Bytes => "bytes",
        }
    }
}

impl ExampleRows {
    pub(super) fn new(py: Python<'_>, kinds: Option<Vec<(String, String)>>) -> PyResult<Self> {
        let are_given = kinds.is_some();
        let kinds = kinds.into_iter().flatten().map(|(key, name)| {
            let kind = Kind::of_name(&name).ok_or_else(|| PyValueError::new_err(name))?;
            Ok((key, kind))
        });
        Ok(ExampleRows {
            example: ExampleEncoder::new(),
            kinds: kinds.collect::<PyResult<_>>()?,
            are_given,
            helpers: py.import("atds._rows")?.unbind(),
        })
    }

    /// Appends a row to `out`.
    pub(super) fn encode(
        &mut self,
        row: &Bound<'_, PyAny>,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        if let Ok(bytes) = row.cast::<PyBytes>() {
            out.extend_from_slice(bytes.as_bytes());
            return Ok(());
        }
        let plainer = self.helper(row, "plain")?;
        let Ok(dict) = plainer.cast::<PyDict>() else {
            let said = "a row is a dict of keys and values, or bytes";
            return Err(Fault::misfit(format!("{said}, not {}", shown(row))));
        };
        for item in items_of_dict(dict) {
            let (key, value) = item?;
            let Ok(key) = key.cast::<PyString>() else {
                return Err(Fault::misfit(format!("a key is text, not {}", shown(&key))));
            };
            let key = text_of(key)?;
            let added = self.add(key, &value);
            added.map_err(|fault| fault.within(key))?;
        }
        self.example.take_into(out);
        Ok(())
    }

    fn add(&mut self, key: &str, value: &Bound<'_, PyAny>) -> Result<(), Fault> {
        if self.are_given && !self.kinds.contains_key(key) {
            return Err(Fault::misfit("the schema does not have the key"));
        }
        if value.is_none() {
            return Ok(());
        }
        let list = self.list_of(value)?;
        let list = match self.kinds.get(key) {
            Some(&kind) => of_kind(list, kind, self.are_given)?,
            None => {
                let kind = match list {
                    List::Int64(_) => Some(Kind::Int64),
                    List::Float(_) => Some(Kind::Float),
                    List::Bytes(_) => Some(Kind::Bytes),
                    List::Empty => None,
                };
                if let Some(kind) = kind {
                    self.kinds.insert(key.to_owned(), kind);
                }
                list
            }
        };
        match list {
            List::Int64(values) => self.example.int64_list(key, values),
            List::Float(values) => self.example.float_list(key, values),
            List::Bytes(values) => {
                let values = values.iter().map(bytes_of);
                let values = values.collect::<Result<Vec<_>, Fault>>()?;
                self.example.bytes_list(key, values);
            }
            List::Empty => self.example.no_values(key),
        }
        Ok(())
    }

    fn list_of<'py>(&self, value: &Bound<'py, PyAny>) -> Result<List<'py>, Fault> {
        if let Some(list) = flat(value)? {
            return Ok(list);
        }
        // Arrays, and lists of lists or of other classes.
        let value = self.helper(value, "flat")?;
        if let Ok(array) = value.cast::<PyArray1<i64>>() {
            return Ok(List::Int64(array.readonly().to_vec().map_err(PyErr::from)?));
        }
        if let Ok(array) = value.cast::<PyArray1<f32>>() {
            return Ok(List::Float(array.readonly().to_vec().map_err(PyErr::from)?));
        }
        flat(&value)?.ok_or_else(|| {
            let said = "a key has ints, floats, bytes or text, one or a list of them";
            Fault::misfit(format!("{said}, not {}", shown(&value)))
        })
    }

    fn helper<'py>(
        &self,
        value: &Bound<'py, PyAny>,
        name: &str,
    ) -> Result<Bound<'py, PyAny>, Fault> {
        let py = value.py();
        let called = self.helpers.bind(py).getattr(name)?.call1((value,));
        called.map_err(|error| Fault::of_helper(py, error))
    }
}

/// The list of a value of a built-in class, or of a list of them; `None` if a value is of another class.
fn flat<'py>(value: &Bound<'py, PyAny>) -> Result<Option<List<'py>>, Fault> {
    let values = match value.cast::<PyList>() {
        Ok(list) => list.iter().collect(),
        Err(_) => vec![value.clone()],
    };
    let Some(first) = values.first() else {
        return Ok(Some(List::Empty));
    };
    if first.is_instance_of::<PyBytes>() || first.is_instance_of::<PyString>() {
        let is_text = |value: &Bound<'_, PyAny>| {
            value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyString>()
        };
        return Ok(values.iter().all(is_text).then_some(List::Bytes(values)));
    }
    if values.iter().all(|value| value.is_instance_of::<PyInt>()) {
        let ints = values.iter().map(|value| {
            let beyond = |_| Fault::misfit(format!("{} is beyond int64", shown(value)));
            value.extract().map_err(beyond)
        });
        return Ok(Some(List::Int64(ints.collect::<Result<_, _>>()?)));
    }
    let is_number = |value: &Bound<'_, PyAny>| {
        value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>()
    };
    if !values.iter().all(is_number) {
        return Ok(None);
    }
    let floats = values.iter().map(|value| match value.cast::<PyFloat>() {
        Ok(float) => {
            let double = float.value();
            match (double as f32).is_infinite() && double.is_finite() {
                true => Err(Fault::misfit(format!("{double} is beyond float32"))),
                false => Ok(double as f32),
            }
        }
        Err(_) => float_of(value.extract().ok(), || shown(value)),
    });
    Ok(Some(List::Float(floats.collect::<Result<_, _>>()?)))
}

/// The float that is equal to an int.
fn float_of(int: Option<i64>, shown: impl FnOnce() -> String) -> Result<f32, Fault> {
    let float = int.filter(|&int| (int as f32) as i128 == i128::from(int));
    float.map(|int| int as f32).ok_or_else(|| {
        let shown = shown();
        Fault::misfit(format!(
            "no float32 is equal to {shown}: give a float to round it"
        ))
    })
}

/// The list as one of the kind.
fn of_kind(list: List<'_>, kind: Kind, is_given: bool) -> Result<List<'_>, Fault> {
    let found = match (list, kind) {
        (list @ List::Int64(_), Kind::Int64)
        | (list @ List::Float(_), Kind::Float)
        | (list @ List::Bytes(_), Kind::Bytes) => return Ok(list),
        (List::Empty, Kind::Int64) => return Ok(List::Int64(Vec::new())),
        (List::Empty, Kind::Float) => return Ok(List::Float(Vec::new())),
        (List::Empty, Kind::Bytes) => return Ok(List::Bytes(Vec::new())),
        (List::Int64(ints), Kind::Float) => {
            let floats = ints
                .into_iter()
                .map(|int| float_of(Some(int), || int.to_string()));
            return Ok(List::Float(floats.collect::<Result<_, _>>()?));
        }
        (List::Int64(_), _) => Kind::Int64,
        (List::Float(_), _) => Kind::Float,
        (List::Bytes(_), _) => Kind::Bytes,
    };
    let (found, name) = (found.name(), kind.name());
    Err(Fault::misfit(match is_given {
        true => format!("{found} values, but the schema has {name}"),
        false => format!(
            "{found} values, but earlier rows have {name}, and readers take one kind: give one, or \
             a schema with the kind of each key"
        ),
    }))
}

fn bytes_of<'a>(value: &'a Bound<'_, PyAny>) -> Result<&'a [u8], Fault> {
    match value.cast::<PyBytes>() {
        Ok(bytes) => Ok(bytes.as_bytes()),
        Err(_) => Ok(text_of(value.cast().map_err(PyErr::from)?)?.as_bytes()),
    }
}
