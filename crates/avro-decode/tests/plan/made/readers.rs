//! Random readers' schemas.

use std::sync::Arc;

use avro_decode::resolve::Resolution;
use avro_decode::{Schema, Value, reference};
use serde_json::{Value as Json, json};

use super::Source;
use super::earlier::finer;
use super::schemas::{PRIMITIVES, is_sparse_name};

/// A reader's schema to which all `records` of `schema` can be resolved. `None` if the random one
/// is not.
pub(super) fn reader(
    schema: &Arc<Schema>,
    records: &[Value],
    source: &mut Source,
) -> Option<Arc<Schema>> {
    let mut json = schema.to_json();
    change(&mut json, false, source);
    let reader = Arc::new(Schema::parse(&json.to_string()).ok()?);
    let resolution = Resolution::new(Arc::clone(schema), Arc::clone(&reader)).ok()?;
    let mut read = records
        .iter()
        .map(|record| reference::resolve(&resolution, record));
    read.all(|record| record.is_ok()).then_some(reader)
}

/// Whether all values of a type take bytes. Arrays whose items take no bytes are refused with any
/// reader's schema.
fn takes_bytes(ty: &Json) -> bool {
    match ty {
        Json::String(name) => PRIMITIVES.contains(&&**name),
        Json::Object(entries) => match entries.get("fields") {
            Some(fields) => fields.as_array().is_some_and(|fields| {
                let mut types = fields.iter().map(|field| &field["type"]);
                types.any(takes_bytes)
            }),
            None => entries["type"] != "fixed" || entries["size"] != 0,
        },
        _ => true,
    }
}

fn change(json: &mut Json, in_union: bool, source: &mut Source) {
    let is_root = json.get("name").is_some_and(|name| name == "ns.R0");
    match json {
        Json::String(name) if !in_union => {
            let promotions: &[&str] = match &**name {
                "int" => &["int", "int", "long", "float", "double"],
                "long" => &["long", "long", "float", "double"],
                "float" => &["float", "float", "double"],
                "string" => &["string", "string", "bytes"],
                "bytes" => &["bytes", "bytes", "string"],
                _ => &[],
            };
            if !promotions.is_empty() {
                *json = json!(source.one_of(promotions));
            }
        }
        Json::Array(branches) => {
            for branch in branches.iter_mut() {
                change(branch, true, source);
            }
            let by = source.below(branches.len());
            branches.rotate_left(by);
            return;
        }
        Json::Object(entries) => {
            let logical = entries.get("logicalType").and_then(Json::as_str);
            if let Some(finer) = logical.and_then(|name| finer(name, source)) {
                *json = finer;
                return;
            }
            for inner in ["items", "values"] {
                if let Some(inner) = entries.get_mut(inner) {
                    change(inner, false, source);
                }
            }
            if let Some(Json::Array(symbols)) = entries.get_mut("symbols") {
                symbols.push(json!("Z"));
                symbols.rotate_right(source.below(2));
            }
            if let Some(Json::Array(fields)) = entries.get_mut("fields") {
                change_fields(fields, source);
            }
        }
        _ => {}
    }
    if !in_union && !is_root && source.below(6) == 5 && takes_bytes(json) {
        *json = json!(["null", json]);
    }
}

fn change_fields(fields: &mut Vec<Json>, source: &mut Source) {
    let is_sparse = |field: &Json| field["name"].as_str().is_some_and(is_sparse_name);
    let is_sparse = fields.iter().any(is_sparse);
    for field in fields.iter_mut() {
        let name = field["name"].as_str().unwrap_or_default();
        // The field of indices keeps its name.
        if !name.starts_with("indices") {
            change(&mut field["type"], false, source);
        }
        if !is_sparse && source.below(8) == 7 {
            let name = field["name"].take();
            field["name"] = json!(format!("{}_now", name.as_str().unwrap_or_default()));
            field["aliases"] = json!([name]);
        }
    }
    if is_sparse {
        return fields.rotate_left(source.below(2));
    }
    if fields.len() > 1 && source.below(6) == 5 {
        let removed = source.below(fields.len());
        fields.remove(removed);
    }
    let added = source.below(8);
    if !fields.iter().any(|field| takes_bytes(&field["type"])) {
        return;
    }
    match added {
        5 => fields.push(json!({"name": "added", "type": "long", "default": 3})),
        6 => fields.insert(
            0,
            json!({"name": "added", "type": ["null", "string"], "default": null}),
        ),
        7 => fields.push(json!({
            "name": "added",
            "type": {"type": "array", "items": "double"},
            "default": [0.1, 1.0],
        })),
        _ => {}
    }
    let by = source.below(fields.len().max(1));
    fields.rotate_left(by);
}
