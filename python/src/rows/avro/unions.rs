//! The branch of a union that a value is of.

use atds::write::Value;
use avro_decode::schema::{Node, NodeId};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyList, PyString, PyTuple};

use super::{Converted, Rows, whole};
use crate::rows::misfit::{Fault, shown, text_of};

/// How well a value fits a branch of a union.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    No,
    /// It becomes a value of the branch: an int a double, text bytes.
    Loosely,
    Well,
}

impl Rows<'_> {
    pub(super) fn union(
        &self,
        branches: &[NodeId],
        object: &Bound<'_, PyAny>,
        depth: usize,
    ) -> Converted {
        let of = |branch: usize, object: &Bound<'_, PyAny>| {
            let value = self.value(branches[branch], object, depth + 1)?;
            Ok(Value::Union(branch, Box::new(value)))
        };
        let is_null = |id: &NodeId| matches!(self.schema.node(*id), Node::Null);
        if object.is_none()
            && let Some(null) = branches.iter().position(is_null)
        {
            return Ok(Value::Union(null, Box::new(Value::Null)));
        }
        if let Some((branch, object)) = self.named_branch(branches, object)? {
            return of(branch, &object);
        }
        // With one branch beside null there is no choice, and the branch's own message says most.
        let mut others = (0..branches.len()).filter(|&i| !is_null(&branches[i]));
        if let (Some(branch), None) = (others.next(), others.next()) {
            if object.is_none() {
                return Err(self.no_branch(branches, object));
            }
            return of(branch, object);
        }
        let plainer = self.plainer(object)?;
        let mut best = (Fit::No, 0);
        for (branch, &id) in branches.iter().enumerate() {
            let fit = self.fit(id, &plainer)?;
            if fit > best.0 {
                best = (fit, branch);
            }
        }
        match best {
            (Fit::No, _) => Err(self.no_branch(branches, object)),
            (_, branch) => of(branch, &plainer),
        }
    }

    /// The branch that a pair `(name, value)` names, and the value.
    fn named_branch<'py>(
        &self,
        branches: &[NodeId],
        object: &Bound<'py, PyAny>,
    ) -> PyResult<Option<(usize, Bound<'py, PyAny>)>> {
        let Ok(pair) = object.cast::<PyTuple>() else {
            return Ok(None);
        };
        if pair.len() != 2 {
            return Ok(None);
        }
        let first = pair.get_item(0)?;
        let Ok(name) = first.cast::<PyString>() else {
            return Ok(None);
        };
        let name = name.to_str()?;
        let is_named = |id: &NodeId| {
            let node = self.schema.node(*id);
            match node.name() {
                Some(own) => own.to_string() == name || own.simple() == name,
                None => node.type_name() == name,
            }
        };
        match branches.iter().position(is_named) {
            Some(branch) => Ok(Some((branch, pair.get_item(1)?))),
            None => Ok(None),
        }
    }

    /// How well a value fits a branch, without a look at what is in lists and dicts, but for the keys of a
    /// record.
    fn fit(&self, id: NodeId, object: &Bound<'_, PyAny>) -> Result<Fit, Fault> {
        let well = |is: bool| if is { Fit::Well } else { Fit::No };
        let loosely = |is: bool| if is { Fit::Loosely } else { Fit::No };
        if let Some(logical) = self.schema.logical(id) {
            let fits = self.helper(object.py(), "fits", (object, logical.name()))?;
            if fits.is_truthy()? {
                return Ok(Fit::Well);
            }
        }
        let number = whole(object).map(Result::ok);
        Ok(match self.schema.node(id) {
            Node::Null => well(object.is_none()),
            Node::Boolean => well(object.is_instance_of::<PyBool>()),
            Node::Int => match number {
                Some(Some(n)) => well(i32::try_from(n).is_ok()),
                _ => Fit::No,
            },
            Node::Long => well(number.flatten().is_some()),
            Node::Float => match object.cast::<PyFloat>() {
                Ok(double) => {
                    let double = double.value();
                    match double.is_nan() || f64::from(double as f32) == double {
                        true => Fit::Well,
                        false => loosely((double as f32).is_finite()),
                    }
                }
                Err(_) => loosely(number.is_some()),
            },
            Node::Double => match object.is_instance_of::<PyFloat>() {
                true => Fit::Well,
                false => loosely(number.is_some()),
            },
            Node::Bytes => match object.is_instance_of::<PyBytes>() {
                true => Fit::Well,
                false => loosely(object.is_instance_of::<PyString>()),
            },
            Node::String => match object.cast::<PyBytes>() {
                Ok(bytes) => loosely(std::str::from_utf8(bytes.as_bytes()).is_ok()),
                Err(_) => well(object.is_instance_of::<PyString>()),
            },
            Node::Fixed(fixed) => well(
                object
                    .cast::<PyBytes>()
                    .is_ok_and(|bytes| bytes.as_bytes().len() == fixed.size),
            ),
            Node::Enum(symbols) => {
                match object.cast::<PyString>() {
                    Ok(text) => {
                        let text = text_of(text)?;
                        well(symbols.symbols.iter().any(|symbol| symbol == text))
                    }
                    Err(_) => loosely(number.flatten().is_some_and(|n| {
                        usize::try_from(n).is_ok_and(|n| n < symbols.symbols.len())
                    })),
                }
            }
            Node::Array(_) => {
                well(object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>())
            }
            Node::Map(_) => loosely(object.is_instance_of::<PyDict>()),
            Node::Record(_) => match object.cast::<PyDict>() {
                Ok(dict) => {
                    let mut found = 0;
                    for info in &self.of.records[id.index()] {
                        match dict.contains(&info.name)? {
                            true => found += 1,
                            false if info.absent.is_none() => return Ok(Fit::No),
                            false => {}
                        }
                    }
                    well(found == dict.len())
                }
                Err(_) => Fit::No,
            },
            Node::Union(_) => Fit::No,
        })
    }

    #[cold]
    fn no_branch(&self, branches: &[NodeId], object: &Bound<'_, PyAny>) -> Fault {
        let names: Vec<String> = branches.iter().map(|&id| self.described(id)).collect();
        Fault::misfit(format!(
            "{} fits no branch of the union of {}: a pair (name of the branch, value) chooses one",
            shown(object),
            names.join(", ")
        ))
    }
}
