//! Rows of Python as records of TFRecord: an `Example` or a `SequenceExample` of a dict, or bytes as they
//! are.

use std::collections::HashMap;

use atds::write::{Example, ExampleEncoder, FeatureValues};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};

use super::items_of_dict;
use super::misfit::{Fault, shown, text_of};

/// Encodes rows.
pub(super) struct ExampleRows {
    example: ExampleEncoder,
    /// The kinds of the keys of an `Example`, or of a context.
    kinds: Kinds,
    /// The kinds of feature lists.
    kinds_of_lists: Kinds,
    /// `atds._rows`.
    helpers: Py<PyModule>,
}

/// The kinds of keys: those that were given, or that earlier rows had.
struct Kinds {
    of_keys: HashMap<String, Kind>,
    /// Whether the kinds were given, and no other keys may come.
    are_given: bool,
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

/// The two parts of a `SequenceExample`.
const CONTEXT: &str = "context";
const FEATURE_LISTS: &str = "feature_lists";

impl Kinds {
    fn new(given: Option<Vec<(String, String)>>) -> PyResult<Self> {
        let are_given = given.is_some();
        let of_keys = given.into_iter().flatten().map(|(key, name)| {
            let kind = Kind::of_name(&name).ok_or_else(|| PyValueError::new_err(name))?;
            Ok((key, kind))
        });
        Ok(Kinds {
            of_keys: of_keys.collect::<PyResult<_>>()?,
            are_given,
        })
    }

    fn check(&self, key: &str) -> Result<(), Fault> {
        match self.are_given && !self.of_keys.contains_key(key) {
            true => Err(Fault::misfit("the schema does not have the key")),
            false => Ok(()),
        }
    }

    /// The list as one of the key's kind, which is `kind` unless it is known.
    fn convert<'py>(
        &mut self,
        key: &str,
        list: List<'py>,
        kind: Option<Kind>,
    ) -> Result<List<'py>, Fault> {
        match (self.of_keys.get(key), kind) {
            (Some(&known), _) => of_kind(list, known, self.are_given),
            (None, Some(kind)) => {
                self.of_keys.insert(key.to_owned(), kind);
                of_kind(list, kind, self.are_given)
            }
            (None, None) => Ok(list),
        }
    }
}

impl List<'_> {
    /// The kind of the values; `None` if there are none that tell it.
    fn kind(&self) -> Option<Kind> {
        match self {
            List::Int64(_) => Some(Kind::Int64),
            List::Float(_) => Some(Kind::Float),
            List::Bytes(_) => Some(Kind::Bytes),
            List::Empty => None,
        }
    }

    /// The values of a feature; `None` if nothing tells their kind.
    fn into_values(self) -> Result<Option<FeatureValues>, Fault> {
        Ok(Some(match self {
            List::Int64(values) => FeatureValues::Int64(values),
            List::Float(values) => FeatureValues::Float(values),
            List::Bytes(values) => {
                let values = values.iter().map(|value| Ok(bytes_of(value)?.to_vec()));
                FeatureValues::Bytes(values.collect::<Result<_, Fault>>()?)
            }
            List::Empty => return Ok(None),
        }))
    }
}

impl ExampleRows {
    /// `kinds` are those of the keys of an `Example` or a context, `kinds_of_lists` of feature lists.
    pub(super) fn new(
        py: Python<'_>,
        kinds: Option<Vec<(String, String)>>,
        kinds_of_lists: Option<Vec<(String, String)>>,
    ) -> PyResult<Self> {
        Ok(ExampleRows {
            example: ExampleEncoder::new(),
            kinds: Kinds::new(kinds)?,
            kinds_of_lists: Kinds::new(kinds_of_lists)?,
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
        if self.is_sequence(dict)? {
            return self.encode_sequence(dict, out);
        }
        for item in items_of_dict(dict) {
            let (key, value) = item?;
            let key = key_of(&key)?;
            let added = self.add(key, &value);
            added.map_err(|fault| fault.within(key))?;
        }
        self.example.take_into(out);
        Ok(())
    }

    /// Whether a row has a dict for a part of a `SequenceExample`. No key of an `Example` has a dict.
    fn is_sequence(&self, row: &Bound<'_, PyDict>) -> Result<bool, Fault> {
        for part in [CONTEXT, FEATURE_LISTS] {
            if let Some(value) = row.get_item(part)?
                && self.helper(&value, "plain")?.is_instance_of::<PyDict>()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn encode_sequence(&mut self, row: &Bound<'_, PyDict>, out: &mut Vec<u8>) -> Result<(), Fault> {
        let mut sequence = Example {
            features: Vec::new(),
            feature_lists: Some(Vec::new()),
        };
        for item in items_of_dict(row) {
            let (part, keys) = item?;
            let part = key_of(&part)?;
            let is_context = part == CONTEXT;
            if !is_context && part != FEATURE_LISTS {
                let said = "a SequenceExample has nothing but 'context' and 'feature_lists': give the \
                            key in one of them";
                return Err(Fault::misfit(said).within(part));
            }
            let keys = self.helper(&keys, "plain")?;
            let Ok(keys) = keys.cast::<PyDict>() else {
                let shown = shown(&keys);
                let said = format!("a part of a SequenceExample is a dict of keys, not {shown}");
                return Err(Fault::misfit(said).within(part));
            };
            for item in items_of_dict(keys) {
                let (key, value) = item?;
                let key = key_of(&key).map_err(|fault| fault.within(part))?;
                let added = match is_context {
                    true => self.add_context(&mut sequence, key, &value),
                    false => self.add_steps(&mut sequence, key, &value),
                };
                added.map_err(|fault| fault.within(key).within(part))?;
            }
        }
        sequence.encode(out);
        Ok(())
    }

    fn add(&mut self, key: &str, value: &Bound<'_, PyAny>) -> Result<(), Fault> {
        match self.values_of(key, value)? {
            None => {}
            Some(List::Int64(values)) => self.example.int64_list(key, values),
            Some(List::Float(values)) => self.example.float_list(key, values),
            Some(List::Bytes(values)) => {
                let values = values.iter().map(bytes_of);
                let values = values.collect::<Result<Vec<_>, Fault>>()?;
                self.example.bytes_list(key, values);
            }
            Some(List::Empty) => self.example.no_values(key),
        }
        Ok(())
    }

    fn add_context(
        &mut self,
        sequence: &mut Example,
        key: &str,
        value: &Bound<'_, PyAny>,
    ) -> Result<(), Fault> {
        // Readers take a key without a kind for a missing one.
        if let Some(list) = self.values_of(key, value)?
            && let Some(values) = list.into_values()?
        {
            sequence.features.push((key.to_owned(), values));
        }
        Ok(())
    }

    /// The values of a key of an `Example` or a context; `None` if it is left out.
    fn values_of<'py>(
        &mut self,
        key: &str,
        value: &Bound<'py, PyAny>,
    ) -> Result<Option<List<'py>>, Fault> {
        self.kinds.check(key)?;
        if value.is_none() {
            return Ok(None);
        }
        let list = self.list_of(value)?;
        let kind = list.kind();
        self.kinds.convert(key, list, kind).map(Some)
    }

    /// Adds a feature list. All of its steps are of one kind: TensorFlow refuses steps without a kind.
    fn add_steps(
        &mut self,
        sequence: &mut Example,
        key: &str,
        value: &Bound<'_, PyAny>,
    ) -> Result<(), Fault> {
        self.kinds_of_lists.check(key)?;
        if value.is_none() {
            return Ok(());
        }
        let steps = self.helper(value, "steps")?;
        let steps = steps.cast::<PyList>().map_err(PyErr::from)?.iter();
        let at = |index: usize| move |fault: Fault| fault.within(&format!("[{index}]"));
        let lists = steps
            .enumerate()
            .map(|(index, step)| self.list_of(&step).map_err(at(index)));
        let lists = lists.collect::<Result<Vec<_>, _>>()?;
        // An int beside floats is a float, as in the list of a key.
        let kinds = || lists.iter().filter_map(List::kind);
        let kind = match kinds().all(|kind| kind != Kind::Bytes) {
            true => kinds().find(|&kind| kind == Kind::Float),
            false => None,
        };
        let kind = kind.or_else(|| kinds().next());
        let mut steps = Vec::with_capacity(lists.len());
        for (index, list) in lists.into_iter().enumerate() {
            let list = self.kinds_of_lists.convert(key, list, kind);
            let values = list.and_then(List::into_values).map_err(at(index))?;
            if values.is_none() {
                return Err(Fault::misfit(
                    "no step has values, so that none tells the kind: give a schema, such as \
                     {'feature_lists': {'words': 'bytes'}}",
                ));
            }
            steps.push(values);
        }
        let lists = sequence.feature_lists.get_or_insert_default();
        lists.push((key.to_owned(), steps));
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
    let found = match (list.kind(), list) {
        (Some(found), list) if found == kind => return Ok(list),
        (None, _) => {
            return Ok(match kind {
                Kind::Int64 => List::Int64(Vec::new()),
                Kind::Float => List::Float(Vec::new()),
                Kind::Bytes => List::Bytes(Vec::new()),
            });
        }
        (Some(_), List::Int64(ints)) if kind == Kind::Float => {
            let floats = ints
                .into_iter()
                .map(|int| float_of(Some(int), || int.to_string()));
            return Ok(List::Float(floats.collect::<Result<_, _>>()?));
        }
        (Some(found), _) => found,
    };
    let (found, name) = (found.name(), kind.name());
    Err(Fault::misfit(match is_given {
        true => format!("{found} values, but the schema has {name}"),
        false => format!(
            "{found} values, but earlier values of the key are {name}, and readers take one kind: \
             give one, or a schema with the kind of each key"
        ),
    }))
}

fn key_of<'a>(key: &'a Bound<'_, PyAny>) -> Result<&'a str, Fault> {
    match key.cast::<PyString>() {
        Ok(key) => text_of(key),
        Err(_) => Err(Fault::misfit(format!("a key is text, not {}", shown(key)))),
    }
}

fn bytes_of<'a>(value: &'a Bound<'_, PyAny>) -> Result<&'a [u8], Fault> {
    match value.cast::<PyBytes>() {
        Ok(bytes) => Ok(bytes.as_bytes()),
        Err(_) => Ok(text_of(value.cast().map_err(PyErr::from)?)?.as_bytes()),
    }
}
