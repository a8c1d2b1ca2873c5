//! Compares schema resolution with the `apache-avro` crate, on arbitrary pairs of schemas and
//! values.
//!
//! That crate resolves values, not schemas, and deviates from the specification. It ignores the
//! names of types. If the values allow it, it reads `long` as `int`, `double` as `float`, `bytes`
//! as `fixed`, `string` as `fixed`, `enum` or `float`, `fixed` as `string`, and a map as a record.
//! Cases that this crate refuses are not compared.
//!
//! The random pairs avoid its other deviations:
//!
//! - It ignores the aliases of fields. So it gets the reader's schema with the old name of each
//!   field, which is equivalent by the specification.
//! - It reads the text of defaults for `bytes` and `fixed` as UTF-8, and takes defaults of unions
//!   for the first branch. So these defaults are ASCII, and of the first branch.
//! - It chooses the branch of a union by the value, with the wrong conversions above: see
//!   [`chooses_alike`].

#![allow(clippy::unwrap_used)]

#[path = "common/apache.rs"]
mod apache;
mod common;
#[allow(dead_code, reason = "some is for other tests")]
#[path = "resolve/evolved/mod.rs"]
mod evolved;

use std::collections::BTreeMap;
use std::sync::Arc;

use apache::{from_apache, with_sorted_maps};
use apache_avro::reader::datum::GenericDatumReader;
use avro_decode::schema::{Node, NodeId};
use avro_decode::{Resolution, Schema, Transcoder, reference};
use common::assert_same;
use evolved::{Case, Change, arb_case, cases};
use proptest::prelude::*;
use serde_json::Value as Json;

/// The reader's schema with the old name of each field.
fn under_old_names(json: &Json) -> Json {
    match json {
        Json::Array(branches) => branches.iter().map(under_old_names).collect(),
        Json::Object(attributes) => {
            let mut json = json.clone();
            for inner in ["items", "values"] {
                if let Some(ty) = attributes.get(inner) {
                    json[inner] = under_old_names(ty);
                }
            }
            for field in json["fields"].as_array_mut().into_iter().flatten() {
                field["type"] = under_old_names(&field["type"]);
                if let Some(alias) = field["aliases"].get(1) {
                    field["name"] = alias.clone();
                }
                field.as_object_mut().unwrap().remove("aliases");
            }
            if attributes.get("fields").is_none() {
                json.as_object_mut().unwrap().remove("fields");
            }
            json
        }
        _ => json.clone(),
    }
}

/// Whether the other crate chooses the branches of the specification for all values. There may be
/// only one record, one enum and one fixed, since it ignores their names. No earlier branch may be
/// one that it reads wrongly.
fn chooses_alike(schema: &Schema, branches: &[NodeId]) -> bool {
    let position = |is: fn(&Node) -> bool| {
        branches
            .iter()
            .position(|&branch| is(schema.node(branch)))
            .unwrap_or(usize::MAX)
    };
    let count = |ty: &str| {
        branches
            .iter()
            .filter(|&&branch| schema.node(branch).type_name() == ty)
            .count()
    };
    let int = position(|node| matches!(node, Node::Int));
    let long = position(|node| matches!(node, Node::Long));
    let floating = position(|node| matches!(node, Node::Float | Node::Double));
    let string = position(|node| matches!(node, Node::String));
    let bytes = position(|node| matches!(node, Node::Bytes));
    let map = position(|node| matches!(node, Node::Map(_)));
    let record = position(|node| matches!(node, Node::Record(_)));
    let named = position(|node| matches!(node, Node::Fixed(_) | Node::Enum(_)));

    let long_alike = long != usize::MAX || int == usize::MAX || floating < int;
    let string_alike = string != usize::MAX || bytes < named.min(floating);
    let bytes_alike = bytes != usize::MAX || string < named;
    let map_alike = map == usize::MAX || map < record || record == usize::MAX;
    let neither = string == usize::MAX && bytes == usize::MAX;
    ["record", "enum", "fixed"]
        .into_iter()
        .all(|ty| count(ty) <= 1)
        && long_alike
        && map_alike
        && (neither || (string_alike && bytes_alike))
}

/// Whether both crates read the case, so that it was compared.
fn check(case: &Case) -> bool {
    let reader = &case.reader;
    let unions = reader_unions(reader);
    if !unions
        .iter()
        .all(|branches| chooses_alike(reader, branches))
    {
        return false;
    }
    let Ok(resolution) = Resolution::new(Arc::clone(&case.writer), Arc::clone(reader)) else {
        return false;
    };
    let mut out = Vec::new();
    if Transcoder::new(&resolution)
        .transcode(&case.data, &mut out)
        .is_err()
    {
        return false;
    }
    let ours = reference::decode(reader, reader.root(), &out, &mut 0).unwrap();

    let parse = |json: &Json| apache_avro::Schema::parse_str(&json.to_string()).unwrap();
    let (theirs, read_as) = (
        parse(&case.writer_json),
        parse(&under_old_names(&case.reader_json)),
    );
    let datum = GenericDatumReader::builder(&theirs)
        .reader_schema(&read_as)
        .build()
        .unwrap();
    let read = datum.read_value(&mut case.data.as_slice()).unwrap();
    assert_same(&with_sorted_maps(ours), &from_apache(read));
    true
}

fn reader_unions(schema: &Schema) -> Vec<Vec<NodeId>> {
    let (mut met, mut unions) = (Vec::new(), Vec::new());
    let mut open = vec![schema.root()];
    while let Some(id) = open.pop() {
        if met.contains(&id) {
            continue;
        }
        met.push(id);
        match schema.node(id) {
            Node::Array(inner) | Node::Map(inner) => open.push(*inner),
            Node::Record(record) => open.extend(record.fields.iter().map(|field| field.ty)),
            Node::Union(branches) => {
                open.extend(branches);
                unions.push(branches.clone());
            }
            _ => {}
        }
    }
    unions
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn both_read_the_same(case in arb_case()) {
        check(&case);
    }
}

#[test]
fn all_sorts_of_changes_are_compared() {
    let mut compared = BTreeMap::<Change, usize>::new();
    let mut cases_compared = 0;
    for case in cases(2000).filter(check) {
        cases_compared += 1;
        for change in case.changes {
            *compared.entry(change).or_default() += 1;
        }
    }
    assert!(cases_compared >= 1000, "{cases_compared}");
    for change in Change::ALL {
        // Cases with other changes are not read.
        let refusing = [Change::Mismatch, Change::FieldAddedWithoutDefault];
        let count = compared.get(&change).copied().unwrap_or_default();
        assert!(
            count >= 15 || refusing.contains(&change),
            "{change:?}: {count}"
        );
    }
}
