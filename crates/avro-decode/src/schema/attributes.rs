//! Reading the attributes of a schema's JSON objects.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};

use super::{Order, SchemaErrorKind};

pub(super) type Attributes = Map<String, Json>;

/// An attribute that is not as the specification says.
pub(super) struct Odd<T> {
    /// What is wrong with it.
    pub(super) kind: SchemaErrorKind,
    /// What stands for it.
    pub(super) instead: T,
}

/// An attribute that must be there.
pub(super) fn required<'j>(
    attributes: &'j Attributes,
    attribute: &'static str,
) -> Result<&'j Json, SchemaErrorKind> {
    attributes
        .get(attribute)
        .ok_or(SchemaErrorKind::Missing(attribute))
}

/// The `name` of a type or a field; otherwise the empty one, or a number's text.
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

/// The `namespace` of a type; whatever is not a string is none.
pub(super) fn namespace(attributes: &Attributes) -> Result<Option<&str>, Odd<Option<&str>>> {
    string(attributes, "namespace")
}

/// A symbol of an enum; of whatever is not a string its text.
pub(super) fn symbol(json: &Json) -> Result<Cow<'_, str>, Odd<Cow<'_, str>>> {
    match json {
        Json::String(symbol) => Ok(symbol.into()),
        json => Err(Odd {
            kind: NOT_SYMBOLS,
            instead: text_of(json),
        }),
    }
}

/// What an enum's `symbols` must be.
pub(super) const NOT_SYMBOLS: SchemaErrorKind = not_a("symbols", "an array of strings");

/// The `doc` of a type or a field; whatever is not a string is no doc.
pub(super) fn doc(attributes: &Attributes) -> Option<String> {
    Some(attributes.get("doc")?.as_str()?.to_owned())
}

/// The `aliases` of a type or a field; otherwise those of its items that are
/// strings.
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

/// The `order` of a field; otherwise ascending.
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

/// An attribute that is a string if it is there.
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

/// The text of a number or a truth value, and nothing of whatever else is no
/// string.
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
