//! Names of fields: those of the other formats are any text, those of Avro are not.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::ConvertError;
use crate::Error;
use crate::avro::Schema;
use avro_decode::schema::{Node, Record};

/// The attribute of a field of a schema that has the name of the key or column that the field is.
const NAME: &str = "atds.name";

/// A schema of records, and the name of each field in the formats that allow any name.
pub(super) struct Table {
    pub(super) schema: Schema,
    pub(super) text: String,
    pub(super) names: Vec<String>,
}

impl Table {
    /// The fields of a schema.
    ///
    /// # Errors
    /// Its values are no records.
    pub(super) fn new(schema: Schema, text: String) -> Result<Self, Error> {
        let Node::Record(record) = schema.node(schema.root()) else {
            let found = schema.describe(schema.root());
            return Err(ConvertError::NotRecords { found }.into());
        };
        let named = names_of(&text);
        let name = |name: &String| named.get(name).unwrap_or(name).clone();
        let names = record.fields.iter().map(|field| name(&field.name));
        let names = names.collect();
        Ok(Table {
            schema,
            text,
            names,
        })
    }

    /// A record called `record` of fields with these names and types. With a type goes whether it may be
    /// null.
    ///
    /// # Errors
    /// No schema has so many fields.
    pub(super) fn of_fields(record: &str, fields: &[(String, Json, bool)]) -> Result<Self, Error> {
        let mut taken = HashMap::new();
        let fields = fields.iter().map(|(name, field_type, is_nullable)| {
            let avro_name = avro_name(name, &mut taken);
            let mut field = serde_json::json!({"name": avro_name, "type": field_type});
            if *is_nullable {
                field["type"] = serde_json::json!(["null", field_type]);
                field["default"] = Json::Null;
            }
            if avro_name != *name {
                field[NAME] = Json::from(name.as_str());
            }
            field
        });
        let fields: Vec<Json> = fields.collect();
        let text = serde_json::json!({"type": "record", "name": record, "fields": fields});
        let text = text.to_string();
        let schema = Schema::parse(&text).map_err(ConvertError::Schema)?;
        Table::new(schema, text)
    }

    /// The record of the schema.
    pub(super) fn record(&self) -> &Record {
        match self.schema.node(self.schema.root()) {
            Node::Record(record) => record,
            _ => unreachable!("a table has records"),
        }
    }
}

/// The names that the fields of the outermost record of a schema have by their attribute.
fn names_of(text: &str) -> HashMap<String, String> {
    let schema: Json = serde_json::from_str(text).unwrap_or_default();
    let fields = schema["fields"].as_array().into_iter().flatten();
    let named = fields.filter_map(|field| {
        let (name, key) = (field["name"].as_str()?, field[NAME].as_str()?);
        Some((name.to_owned(), key.to_owned()))
    });
    named.collect()
}

/// A name that Avro allows, and that is not taken: other characters become `_`.
fn avro_name(name: &str, taken: &mut HashMap<String, u64>) -> String {
    let is_right = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let kept = name.chars().map(|c| if is_right(c) { c } else { '_' });
    let mut kept: String = kept.collect();
    if !kept.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        kept.insert(0, '_');
    }
    let mut found = kept.clone();
    // The number of a name goes on where it was, so that many equal ones take no time.
    while taken.contains_key(&found) {
        let number = taken.get_mut(&kept).map_or(2, |number| {
            *number += 1;
            *number
        });
        found = format!("{kept}_{number}");
    }
    taken.insert(found.clone(), 1);
    found
}
