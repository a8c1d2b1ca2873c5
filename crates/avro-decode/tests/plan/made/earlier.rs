//! Earlier schemas that fixed the meanings of columns.

use std::sync::Arc;

use avro_decode::{Features, Meanings, Plan, PlanOptions, Schema, Value, reference};
use serde_json::{Value as Json, json};

use super::Source;

/// The meanings of the columns of `features` by an earlier schema. That schema has finer units,
/// larger scales and more symbols than `reader`. `None` if the features or the `records` do not fit
/// it.
pub(super) fn meanings(
    reader: &Schema,
    features: &Features,
    options: &PlanOptions,
    records: &[Value],
    source: &mut Source,
) -> Meanings {
    let mut json = reader.to_json();
    change(&mut json, source);
    let earlier = Schema::parse(&json.to_string()).expect("the changes make a schema");
    let Ok(plan) = Plan::compile(&Arc::new(earlier), features, &PlanOptions::default()) else {
        return Meanings::default();
    };
    let mut options = options.clone();
    options.reader_schema = None;
    options.meanings = plan.meanings().clone();
    let reader = Arc::new(reader.clone());
    let fits = Plan::compile(&reader, features, &options).is_ok()
        && reference::tensors(&reader, records, features, &options).is_ok();
    if fits {
        options.meanings
    } else {
        Meanings::default()
    }
}

fn change(json: &mut Json, source: &mut Source) {
    match json {
        Json::Array(parts) => parts.iter_mut().for_each(|part| change(part, source)),
        Json::Object(entries) => {
            let logical = entries.get("logicalType").and_then(Json::as_str);
            if logical == Some("decimal") {
                let more = source.below(4);
                let add = |digits: &Json| json!(digits.as_u64().unwrap_or(0) + more as u64);
                // The size of a `fixed` limits the precision.
                if entries["type"] == "bytes" {
                    entries["precision"] = add(&entries["precision"]);
                }
                entries["scale"] = add(entries.get("scale").unwrap_or(&json!(0)));
            } else if let Some(finer) = logical.and_then(|name| finer(name, source)) {
                *json = finer;
                return;
            }
            if let Some(Json::Array(symbols)) = entries.get_mut("symbols") {
                symbols.push(json!("Y"));
                let by = source.below(symbols.len());
                symbols.rotate_right(by);
            }
            for inner in ["items", "values", "fields", "type"] {
                if let Some(inner) = entries.get_mut(inner) {
                    change(inner, source);
                }
            }
        }
        _ => {}
    }
}

/// A time of the same kind as the logical type, sometimes with a finer unit.
pub(super) fn finer(logical: &str, source: &mut Source) -> Option<Json> {
    let names: &[&str] = match logical {
        "date" => &["date", "local-timestamp-millis", "local-timestamp-nanos"],
        "time-millis" => &["time-millis", "time-micros"],
        "timestamp-millis" => &["timestamp-millis", "timestamp-micros", "timestamp-nanos"],
        "local-timestamp-micros" => &["local-timestamp-micros", "local-timestamp-nanos"],
        _ => return None,
    };
    let name = source.one_of(names);
    let ty = if name == "date" || name == "time-millis" {
        "int"
    } else {
        "long"
    };
    Some(json!({"type": ty, "logicalType": name}))
}
