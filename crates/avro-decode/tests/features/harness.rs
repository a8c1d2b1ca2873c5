//! Makes tensors from schemas, records and features, all as text.

use std::fmt::Write;
use std::sync::Arc;

use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::resolve::Resolution;
use avro_decode::schema::{Node, NodeId};
use avro_decode::{DecodeError, Feature, Features, Plan, PlanOptions, Schema, Value, reference};
use serde_json::Value as Json;
use tensor_batch::{Batch, BatchBuilder, Column, Values};

/// The batch of some records, one line for each column; or the message of the error.
pub(crate) fn tensors(schema: &str, records: &str, feature: Feature) -> String {
    tensors_with(schema, records, vec![feature], &PlanOptions::default())
}

/// As [`tensors`], with several features and other options.
pub(crate) fn tensors_with(
    schema: &str,
    records: &str,
    features: Vec<Feature>,
    options: &PlanOptions,
) -> String {
    let schema = Arc::new(Schema::parse(schema).unwrap());
    let records: Vec<Json> = serde_json::from_str(records).unwrap();
    let records: Vec<Value> = (records.iter())
        .map(|record| value(&schema, schema.root(), record))
        .collect();
    match run(&schema, &records, features, options) {
        Ok(batch) => show(&batch),
        Err(message) => message,
    }
}

/// The message of the error for a feature.
pub(crate) fn refused(schema: &str, feature: Feature) -> String {
    tensors(schema, "[]", feature)
}

/// Options with a reader's schema.
pub(crate) fn read_as(reader: &str) -> PlanOptions {
    let mut options = PlanOptions::default();
    options.reader_schema = Some(Arc::new(Schema::parse(reader).unwrap()));
    options
}

fn run(
    schema: &Arc<Schema>,
    records: &[Value],
    features: Vec<Feature>,
    options: &PlanOptions,
) -> Result<Batch, String> {
    let mut data = Vec::new();
    for record in records {
        let options = EncodeOptions::default();
        encode(schema, schema.root(), record, &mut data, &options).unwrap();
    }
    let features = Features::new(features).map_err(|error| error.to_string())?;
    let plan = Plan::compile(schema, &features, options).map_err(|error| error.to_string())?;
    let batch = execute(&plan, &data, records.len());
    assert_agrees_with_reference(&batch, schema, records, &features, options);
    batch.map_err(|error| error.to_string())
}

fn execute(plan: &Plan, data: &[u8], records: usize) -> Result<Batch, DecodeError> {
    let mut builder = BatchBuilder::new(plan.spec().clone());
    // One run and one call for each record: no state may leak from one to the next.
    let mut position = 0;
    for (record, mut slots) in builder.slots(&vec![1; records]).into_iter().enumerate() {
        let executed = plan.execute(data, position, 1, &mut slots);
        let executed = executed.map_err(|error| error.in_record(record as u64))?;
        position = executed.position;
    }
    assert_eq!(position, data.len());
    builder.gather().into_iter().for_each(|task| task.run());
    let by_record = builder.finish();
    // All records in one call.
    for mut slots in builder.slots(&[records]) {
        plan.execute(data, 0, records, &mut slots).unwrap();
    }
    builder.gather().into_iter().for_each(|task| task.run());
    let batch = builder.finish();
    assert_eq!(show(&batch), show(&by_record));
    Ok(batch)
}

/// Panics unless the reference makes the same tensors from the records.
fn assert_agrees_with_reference(
    batch: &Result<Batch, DecodeError>,
    schema: &Arc<Schema>,
    records: &[Value],
    features: &Features,
    options: &PlanOptions,
) {
    let reader = options.reader_schema.as_ref().unwrap_or(schema);
    let resolution = Resolution::new(Arc::clone(schema), Arc::clone(reader)).unwrap();
    let mut resolved = Vec::new();
    for record in records {
        match reference::resolve(&resolution, record) {
            Ok(record) => resolved.push(record),
            Err(_) => return assert!(batch.is_err()),
        }
    }
    let expected = reference::tensors(reader, &resolved, features, options);
    match (batch, expected) {
        (Ok(batch), Ok(expected)) => expected.compare(batch).unwrap(),
        (Err(error), Err(expected)) => {
            assert_eq!(error.kind, expected.kind);
            assert_eq!(error.record, Some(expected.record as u64));
        }
        (batch, expected) => panic!("{batch:?}, but {expected:?}"),
    }
}

/// The value of a JSON text. In a union, `null` is null, and `{"name": value}` is of the branch
/// `name`. Any other value is of the first branch that is not null.
fn value(schema: &Schema, id: NodeId, json: &Json) -> Value {
    match schema.node(id) {
        Node::Null => Value::Null,
        Node::Boolean => Value::Boolean(json.as_bool().unwrap()),
        Node::Int => Value::Int(json.as_i64().unwrap().try_into().unwrap()),
        Node::Long => Value::Long(json.as_i64().unwrap()),
        Node::Float => Value::Float(json.as_f64().unwrap() as f32),
        Node::Double => Value::Double(json.as_f64().unwrap()),
        Node::Bytes => Value::Bytes(json.as_str().unwrap().into()),
        Node::String => Value::String(json.as_str().unwrap().into()),
        Node::Fixed(_) => Value::Fixed(json.as_str().unwrap().into()),
        Node::Enum(symbols) => {
            let mut symbols = symbols.symbols.iter();
            let place = symbols.position(|symbol| symbol == json.as_str().unwrap());
            Value::Enum(place.unwrap() as u32)
        }
        Node::Array(item) => {
            let items = json.as_array().unwrap().iter();
            Value::Array(items.map(|json| value(schema, *item, json)).collect())
        }
        Node::Map(item) => {
            let entries = json.as_object().unwrap().iter();
            let entry = |(key, json): (&String, _)| (key.clone(), value(schema, *item, json));
            Value::Map(entries.map(entry).collect())
        }
        Node::Union(branches) => {
            let name = |id: &NodeId| schema.node(*id).type_name();
            let entry = json.as_object().and_then(|entries| entries.iter().next());
            let named = entry.and_then(|(key, json)| {
                let place = branches.iter().position(|id| name(id) == key)?;
                Some((place, json))
            });
            let (place, json) = named.unwrap_or_else(|| {
                let is_null = |id: &NodeId| name(id) == "null";
                let mut branches = branches.iter();
                let place = branches.position(|id| is_null(id) == json.is_null());
                (place.unwrap(), json)
            });
            Value::Union(place, Box::new(value(schema, branches[place], json)))
        }
        Node::Record(record) => {
            let fields = record.fields.iter();
            let field = |field: &avro_decode::schema::Field| {
                value(schema, field.ty, &json[field.name.as_str()])
            };
            Value::Record(fields.map(field).collect())
        }
    }
}

fn show(batch: &Batch) -> String {
    let mut text = String::new();
    for (spec, column) in batch.columns() {
        let name = &spec.name;
        let line = match column {
            Column::Dense(dense) => {
                let (shape, values) = (dense.shape, values(dense.values));
                format!("{name}: {values} {shape:?}")
            }
            Column::Sparse(coo) => {
                let (shape, values) = (coo.dense_shape, values(coo.values));
                let stride = shape.len();
                let indices: Vec<_> = coo.indices.chunks(stride).collect();
                format!("{name}: {values} at {indices:?} of {shape:?}")
            }
            Column::Ragged(ragged) => {
                let values = values(ragged.values);
                format!("{name}: {values} split {:?}", ragged.row_splits)
            }
            Column::RaggedSparse(ragged) => {
                let values = values(ragged.values);
                let (indices, splits) = (ragged.indices, ragged.row_splits);
                format!("{name}: {values} at {indices:?} split {splits:?}")
            }
            other => format!("{name}: {other:?}"),
        };
        writeln!(text, "{line}").unwrap();
    }
    text.trim_end().to_owned()
}

fn values(values: &Values) -> String {
    match values {
        Values::Int32(values) => format!("{:?}", values.as_slice()),
        Values::Int64(values) => format!("{:?}", values.as_slice()),
        Values::Float16(values) => format!("{:?}", values.as_slice()),
        Values::BFloat16(values) => format!("{:?}", values.as_slice()),
        Values::Float32(values) => format!("{:?}", values.as_slice()),
        Values::Float64(values) => format!("{:?}", values.as_slice()),
        Values::Bool(values) => format!("{:?}", values.as_slice()),
        Values::String(strings) => {
            let strings = strings.iter().map(String::from_utf8_lossy);
            format!("{:?}", strings.collect::<Vec<_>>())
        }
        other => format!("{other:?}"),
    }
}
