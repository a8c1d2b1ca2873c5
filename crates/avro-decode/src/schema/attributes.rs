//! Reads the attributes of a schema's JSON objects.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};

use super::{Order, SchemaErrorKind};

pub(super) type Attributes = Map<String, Json>;

/// An attribute that violates the specification.
pub(super) struct Odd<T> {
    /// What is wrong with it.
    pub(super) kind: SchemaErrorKind,
    /// The value that a lenient parser uses.
    pub(super) instead: T,
}

/// A required attribute.
pub(super) fn required<'j>(
    attributes: &'j Attributes,
    attribute: &'static str,
) -> Result<&'j Json, SchemaErrorKind> {
    attributes
        .get(attribute)
        .ok_or(SchemaErrorKind::Missing(attribute))
}

/// The `name` of a type or a field. Leniently, the text of a number or a truth value, or an empty
/// name.
pub(super) fn name(attributes: &Attributes) -> Result<Cow<'_, str>, Odd<Cow<'_, str>>> {
    match attributes.get("name") {
        Some(Json::String(name)) => Ok(name.into()),
        None | Some(Json::Null) => Err(Odd {
            kind: SchemaErrorKind::Missing("name"),
            instead: "".into(),
        }),
        Some(json) => Err(Odd {
            kind: not_a("name", "a string"),
            instead: text_of(json),
        }),
    }
}

/// The `namespace` of a type. Leniently, a value that is not a string means no namespace.
pub(super) fn namespace(attributes: &Attributes) -> Result<Option<&str>, Odd<Option<&str>>> {
    string(attributes, "namespace")
}

/// A symbol of an enum. Leniently, the text of a number or a truth value, or an empty symbol.
pub(super) fn symbol(json: &Json) -> Result<Cow<'_, str>, Odd<Cow<'_, str>>> {
    match json {
        Json::String(symbol) => Ok(symbol.into()),
        json => Err(Odd {
            kind: NOT_SYMBOLS,
            instead: text_of(json),
        }),
    }
}

/// The error of an enum's `symbols`.
pub(super) const NOT_SYMBOLS: SchemaErrorKind = not_a("symbols", "an array of strings");

/// The `doc` of a type or a field; `None` if it is not a string.
pub(super) fn doc(attributes: &Attributes) -> Option<String> {
    Some(attributes.get("doc")?.as_str()?.to_owned())
}

/// The `aliases` of a type or a field. Leniently, only the strings among them.
pub(super) fn aliases(attributes: &Attributes) -> Result<Vec<&str>, Odd<Vec<&str>>> {
    let kind = || not_a("aliases", "an array of strings");
    match attributes.get("aliases") {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::Array(json)) => {
            let aliases: Vec<&str> = json.iter().filter_map(Json::as_str).collect();
            if aliases.len() == json.len() {
                return Ok(aliases);
            }
            Err(Odd {
                kind: kind(),
                instead: aliases,
            })
        }
        Some(_) => Err(Odd {
            kind: kind(),
            instead: Vec::new(),
        }),
    }
}

/// The `order` of a field. Leniently, an invalid order is ascending.
pub(super) fn order(attributes: &Attributes) -> Result<Order, Odd<Order>> {
    let odd = |kind| Odd {
        kind,
        instead: Order::Ascending,
    };
    match string(attributes, "order").map_err(|order| odd(order.kind))? {
        None | Some("ascending") => Ok(Order::Ascending),
        Some("descending") => Ok(Order::Descending),
        Some("ignore") => Ok(Order::Ignore),
        Some(_) => Err(odd(not_a(
            "order",
            "\"ascending\", \"descending\" or \"ignore\"",
        ))),
    }
}

/// An optional attribute that must be a string.
fn string<'j>(
    attributes: &'j Attributes,
    attribute: &'static str,
) -> Result<Option<&'j str>, Odd<Option<&'j str>>> {
    match attributes.get(attribute) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text)),
        Some(_) => Err(Odd {
            kind: not_a(attribute, "a string"),
            instead: None,
        }),
    }
}

/// The text of a number or a truth value; empty for other values.
fn text_of(json: &Json) -> Cow<'_, str> {
    match json {
        Json::Number(number) => number.to_string().into(),
        Json::Bool(truth) => truth.to_string().into(),
        _ => "".into(),
    }
}

const fn not_a(attribute: &'static str, expected: &'static str) -> SchemaErrorKind {
    SchemaErrorKind::BadAttribute {
        attribute,
        expected,
    }
}
