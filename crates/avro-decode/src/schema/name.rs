//! Names and namespaces (Avro 1.12, "Names").

use std::fmt;
use std::sync::Arc;

use super::SchemaErrorKind;
use crate::limits::MAX_NAME_BYTES;

/// The full name of a record, enum or fixed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name {
    /// Shared by all names that inherit it; empty for no namespace.
    namespace: Arc<str>,
    simple: String,
}

impl Name {
    /// The namespace, such as `org.example`; `None` if there is none.
    pub fn namespace(&self) -> Option<&str> {
        Some(&*self.namespace).filter(|namespace| !namespace.is_empty())
    }

    /// The name without its namespace.
    pub fn simple(&self) -> &str {
        &self.simple
    }

    /// The name that the attributes `name` and `namespace` define within the namespace `enclosing`.
    pub(super) fn define(name: &str, namespace: Option<&str>, enclosing: &Arc<str>) -> Name {
        match namespace {
            // The namespace is ignored if the name has dots.
            Some(namespace) if !name.contains('.') => Name {
                namespace: namespace.into(),
                simple: name.to_owned(),
            },
            _ => Name::refer(name, enclosing),
        }
    }

    /// The full name of a reference within the namespace `enclosing`.
    pub(super) fn refer(name: &str, enclosing: &Arc<str>) -> Name {
        if name.contains('.') {
            Name::from_full(name)
        } else {
            Name {
                namespace: Arc::clone(enclosing),
                simple: name.to_owned(),
            }
        }
    }

    pub(super) fn from_full(full: &str) -> Name {
        let (namespace, simple) = full.rsplit_once('.').unwrap_or(("", full));
        Name {
            namespace: namespace.into(),
            simple: simple.to_owned(),
        }
    }

    pub(super) fn shared_namespace(&self) -> &Arc<str> {
        &self.namespace
    }

    /// Whether the name follows the specification, ignoring its namespace.
    pub(crate) fn is_plain(&self) -> bool {
        is_name(&self.simple) && !is_primitive(&self.simple)
    }

    pub(super) fn check_length(&self) -> Result<(), SchemaErrorKind> {
        if self.namespace.len() + self.simple.len() >= MAX_NAME_BYTES {
            return Err(SchemaErrorKind::NameTooLong);
        }
        Ok(())
    }

    /// Checks that the name follows the specification.
    pub(super) fn check(&self) -> Result<(), SchemaErrorKind> {
        let namespace_ok = self.namespace.is_empty() || self.namespace.split('.').all(is_name);
        if !namespace_ok || !is_name(&self.simple) {
            return Err(SchemaErrorKind::BadName(self.to_string()));
        }
        if is_primitive(&self.simple) {
            return Err(SchemaErrorKind::ReservedName(self.simple.clone()));
        }
        Ok(())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = self.namespace() {
            write!(f, "{namespace}.")?;
        }
        f.write_str(&self.simple)
    }
}

/// Whether `name` is valid as the name of a field, a symbol, or a part of a full name.
pub(super) fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Checks that the name of a field or a symbol follows the specification.
pub(super) fn check_simple(name: &str) -> Result<(), SchemaErrorKind> {
    if is_name(name) {
        Ok(())
    } else {
        Err(SchemaErrorKind::BadName(name.to_owned()))
    }
}

/// Checks the length of the name of a field or a symbol.
pub(super) fn check_length(name: &str) -> Result<(), SchemaErrorKind> {
    if name.len() > MAX_NAME_BYTES {
        return Err(SchemaErrorKind::NameTooLong);
    }
    Ok(())
}

fn is_primitive(name: &str) -> bool {
    super::Node::primitive(name).is_some()
}
