//! Reading the attributes of a schema's JSON objects.

use serde_json::{Map, Value as Json};

use super::{Order, SchemaErrorKind};

pub(super) type Attributes = Map<String, Json>;

/// An attribute that must be there.
pub(super) fn required<'j>(
    attributes: &'j Attributes,
    attribute: &'static str,
) -> Result<&'j Json, SchemaErrorKind> {
    attributes
        .get(attribute)
        .ok_or(SchemaErrorKind::Missing(attribute))
}

/// An attribute that is a string if it is there.
pub(super) fn string<'j>(
    attributes: &'j Attributes,
    attribute: &'static str,
) -> Result<Option<&'j str>, SchemaErrorKind> {
    match attributes.get(attribute) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text)),
        Some(_) => Err(SchemaErrorKind::BadAttribute {
            attribute,
            expected: "a string",
        }),
    }
}

/// The `doc` of a type or a field; whatever is not a string is no doc.
pub(super) fn doc(attributes: &Attributes) -> Option<String> {
    Some(attributes.get("doc")?.as_str()?.to_owned())
}

/// The `aliases` of a type or a field.
pub(super) fn aliases(attributes: &Attributes) -> Result<Vec<&str>, SchemaErrorKind> {
    let aliases = match attributes.get("aliases") {
        None | Some(Json::Null) => Some(Vec::new()),
        Some(Json::Array(aliases)) => aliases.iter().map(Json::as_str).collect(),
        Some(_) => None,
    };
    aliases.ok_or(SchemaErrorKind::BadAttribute {
        attribute: "aliases",
        expected: "an array of strings",
    })
}

/// The `order` of a field.
pub(super) fn order(attributes: &Attributes) -> Result<Order, SchemaErrorKind> {
    match string(attributes, "order")? {
        None | Some("ascending") => Ok(Order::Ascending),
        Some("descending") => Ok(Order::Descending),
        Some("ignore") => Ok(Order::Ignore),
        Some(_) => Err(SchemaErrorKind::BadAttribute {
            attribute: "order",
            expected: "\"ascending\", \"descending\" or \"ignore\"",
        }),
    }
}
