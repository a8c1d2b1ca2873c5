//! Schemas.

use std::sync::Arc;

use avro_decode::schema::{Node, NodeId};
use avro_decode::{Features, Plan, PlanOptions, Schema, SchemaError, infer};

use super::plan::common::{Entropy, schema_json};

/// See [`SCHEMA`](super::SCHEMA).
pub(super) fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let strict = Schema::parse(&text);
    match Schema::parse_lenient(&text) {
        Ok(schema) => {
            assert_eq!(schema.deviations().first(), strict.as_ref().err());
            check_schema(&schema, Schema::parse_lenient);
        }
        Err(_) => assert!(strict.is_err()),
    }
    if let Ok(schema) = strict {
        check_schema(&schema, Schema::parse);
    }
    let made = schema_json(&mut Entropy::new(data.to_vec())).to_string();
    let made = Schema::parse(&made).expect("the schema was made to be good");
    check_schema(&made, Schema::parse);
}

fn check_schema(schema: &Schema, parse: fn(&str) -> Result<Schema, SchemaError>) {
    for text in [schema.to_string(), format!("{schema:#}")] {
        let again = parse(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
        assert_eq!(again.to_string(), schema.to_string());
        assert_eq!(again.canonical_form(), schema.canonical_form());
        assert_same(schema, &again);
    }
    serde_json::from_str::<serde_json::Value>(&schema.canonical_form()).expect("JSON");
    check_inferred(schema);
}

fn assert_same(left: &Schema, right: &Schema) {
    assert_eq!(left.node_count(), right.node_count());
    assert_eq!(
        left.check_defaults().is_ok(),
        right.check_defaults().is_ok()
    );
    let mut met = vec![false; left.node_count()];
    assert_same_node((left, left.root()), (right, right.root()), &mut met);
}

/// Compares two types. Types that were compared before are skipped.
fn assert_same_node(left: (&Schema, NodeId), right: (&Schema, NodeId), met: &mut [bool]) {
    let nodes = (left.0.node(left.1), right.0.node(right.1));
    assert_eq!(nodes.0.name(), nodes.1.name());
    assert_eq!(nodes.0.type_name(), nodes.1.type_name());
    assert_eq!(left.0.logical(left.1), right.0.logical(right.1));
    let min_encoded_len = |(schema, id): (&Schema, NodeId)| schema.min_encoded_len(id);
    assert_eq!(min_encoded_len(left), min_encoded_len(right));
    if std::mem::replace(&mut met[left.1.index()], true) {
        return;
    }
    let (left_inner, right_inner) = (inner(nodes.0), inner(nodes.1));
    assert_eq!(left_inner.len(), right_inner.len());
    for (l, r) in left_inner.into_iter().zip(right_inner) {
        assert_same_node((left.0, l), (right.0, r), met);
    }
}

/// The types inside a type.
fn inner(node: &Node) -> Vec<NodeId> {
    match node {
        Node::Array(inner) | Node::Map(inner) => vec![*inner],
        Node::Union(branches) => branches.clone(),
        Node::Record(record) => record.fields.iter().map(|field| field.ty).collect(),
        _ => Vec::new(),
    }
}

fn check_inferred(schema: &Schema) {
    let inferred = infer(schema);
    let features = Features::new(inferred.features).expect("no feature is bad or there twice");
    let plan = Plan::compile(
        &Arc::new(schema.clone()),
        &features,
        &PlanOptions::default(),
    );
    assert!(plan.is_ok(), "{plan:?}");
}
