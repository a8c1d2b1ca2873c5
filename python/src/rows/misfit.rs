//! Values that cannot be written.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Why a row is not encoded.
pub(super) enum Fault {
    /// A value does not fit.
    Misfit(Box<Misfit>),
    /// Python code has raised an exception.
    Raised(PyErr),
}

/// A value that does not fit the type of its field.
pub(super) struct Misfit {
    /// The field, with dots for nested fields; `None` for the row itself.
    pub(super) field: Option<String>,
    /// Why, and what to do.
    pub(super) message: String,
}

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Self {
        Fault::Raised(error)
    }
}

impl Fault {
    #[cold]
    pub(super) fn misfit(message: impl Into<String>) -> Self {
        let message = message.into();
        Fault::Misfit(Box::new(Misfit {
            field: None,
            message,
        }))
    }

    /// A `ValueError` of the helpers in Python is about a value.
    #[cold]
    pub(super) fn of_helper(py: Python<'_>, error: PyErr) -> Self {
        match error.is_instance_of::<PyValueError>(py) {
            true => Fault::misfit(error.value(py).to_string()),
            false => Fault::Raised(error),
        }
    }

    /// The fault, in a field or, as `[3]`, an item.
    #[cold]
    pub(super) fn within(mut self, step: &str) -> Self {
        if let Fault::Misfit(misfit) = &mut self {
            misfit.field = Some(match misfit.field.take() {
                Some(inner) if inner.starts_with('[') => format!("{step}{inner}"),
                Some(inner) => format!("{step}.{inner}"),
                None => step.to_owned(),
            });
        }
        self
    }
}

/// Text as UTF-8.
pub(super) fn text_of<'a>(text: &'a Bound<'_, PyString>) -> Result<&'a str, Fault> {
    text.to_str()
        .map_err(|_| Fault::misfit("text with surrogates, which UTF-8 does not have"))
}

/// A value in a message: its type, and the value if it is short.
#[cold]
pub(super) fn shown(value: &Bound<'_, PyAny>) -> String {
    const MOST: usize = 40;
    let name = value.get_type().name();
    let name = name.map_or("value".to_owned(), |name| name.to_string());
    match value.repr().map(|text| text.to_string()) {
        Ok(text) if text.chars().count() <= MOST => format!("{text} ({name})"),
        _ => format!("a value of the type {name}"),
    }
}

/// Names in a message, of which there may be many.
#[cold]
pub(super) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const MOST: usize = 12;
    let names: Vec<_> = names.collect();
    let shown = names[..names.len().min(MOST)].join(", ");
    match names.len().saturating_sub(MOST) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
