//! A record with lists of any length ends where there is no room for them.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use avro_decode::{DecodeErrorKind, Feature, Features, Fill, Plan, PlanOptions, Schema};
use tensor_batch::{BatchBuilder, DType, Layout, Scalar};

/// Bytes that columns may take, and the items of the lists: at least a hundred times as many bytes.
const ROOM: usize = 100 << 10;
const ITEMS: usize = 2 << 20;

/// Encodes a number as Avro's `long`.
fn long(mut number: usize) -> Vec<u8> {
    number *= 2;
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// An array of `count` items of these bytes, in blocks of `block` items.
fn array(count: usize, block: usize, item: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    for _ in 0..count / block {
        data.extend(long(block));
        data.extend(item.repeat(block));
    }
    data.push(0);
    data
}

#[test]
fn long_lists_end_where_there_is_no_room() {
    let list = |items: &str| format!(r#"{{"type": "array", "items": {items}}}"#);
    let (text, number) = (list(r#""string""#), list(r#""long""#));
    let sparse = r#"{"type": "record", "name": "S", "fields": [
        {"name": "indices0", "type": {"type": "array", "items": "long"}},
        {"name": "values", "type": {"type": "array", "items": "float"}}]}"#;
    let varlen = |dtype| Feature::varlen("x", &[-1], dtype);
    let nested = Feature::varlen("x", &[-1, -1], DType::Int64);
    let mut indices = array(ITEMS, ITEMS, &[2]);
    indices.extend(array(ITEMS, ITEMS, &[0; 4]));
    let one = |item: &[u8]| array(ITEMS, ITEMS, item);
    let many = |item: &[u8]| array(ITEMS, 64, item);
    let coo = |feature: Feature| feature.with_layout(Layout::Coo);
    let ragged = |feature: Feature| feature.with_layout(Layout::Ragged);
    let cases = [
        (text.clone(), ragged(varlen(DType::String)), one(&[0])),
        (text.clone(), ragged(varlen(DType::String)), many(&[0])),
        (text, coo(varlen(DType::String)), one(&[0])),
        (number.clone(), ragged(varlen(DType::Int64)), one(&[2])),
        (number.clone(), coo(varlen(DType::Int64)), many(&[2])),
        (list(&number), ragged(nested.clone()), one(&[0])),
        (list(&number), ragged(nested.clone()), many(&[2, 2, 0])),
        (list(&number), coo(nested), many(&[2, 2, 0])),
        (
            sparse.to_owned(),
            coo(Feature::sparse("x", &[-1], DType::Float32)),
            indices.clone(),
        ),
        (
            sparse.to_owned(),
            ragged(Feature::sparse("x", &[-1], DType::Float32)),
            indices,
        ),
    ];
    // Strings that the items do not count, and entries that are written when the row ends.
    let symbol = "s".repeat(1_000);
    let long_enum = format!(r#"{{"type": "enum", "name": "E", "symbols": ["{symbol}"]}}"#);
    let default = Fill::Scalar(Scalar::String(symbol.into_bytes()));
    let few = |item: &[u8]| array(20_000, 20_000, item);
    let short = [&long(16)[..], &[b's'; 16]].concat();
    let large = [long(50 * ROOM), vec![b's'; 50 * ROOM]].concat();
    let large_ones = [
        long(100),
        [long(ROOM), vec![b's'; ROOM]].concat().repeat(100),
        vec![0],
    ];
    let fixed = r#"{"type": "fixed", "name": "F", "size": 16, "logicalType": "uuid"}"#;
    let text = list(r#""string""#);
    let dense = |shape: &[usize]| Feature::dense("x", shape, DType::String);
    let entries = list(
        r#"{"type": "record", "name": "S", "fields": [
            {"name": "i", "type": "long"}, {"name": "v", "type": "boolean"}]}"#,
    );
    let keys = Feature::sparse_keys("x", &["i"], "v", &[-1], DType::Bool);
    let cases = cases.into_iter().chain([
        (r#""string""#.to_owned(), dense(&[]), large.clone()),
        (
            r#"["null", "string"]"#.to_owned(),
            dense(&[]).with_default(default.clone()),
            [vec![2], large].concat(),
        ),
        (text.clone(), dense(&[100]), large_ones.concat()),
        (
            text.clone(),
            ragged(varlen(DType::String)),
            large_ones.concat(),
        ),
        (text.clone(), ragged(varlen(DType::String)), one(&short)),
        (text, coo(varlen(DType::String)), many(&short)),
        (list(fixed), ragged(varlen(DType::String)), one(&[7; 16])),
        (list(&long_enum), ragged(varlen(DType::String)), few(&[0])),
        (
            list(r#"["null", "string"]"#),
            ragged(varlen(DType::String)).with_default(default),
            few(&[0]),
        ),
        (entries, keys, one(&[2, 0])),
    ]);
    for (kind, feature, data) in cases {
        let schema = format!(
            r#"{{"type": "record", "name": "R", "fields": [{{"name": "x", "type": {kind}}}]}}"#
        );
        let schema = Arc::new(Schema::parse(&schema).unwrap());
        let of = format!("{feature:?} of {kind}");
        let features = Features::new([feature]).unwrap();
        let plan = Plan::compile(&schema, &features, &PlanOptions::default()).unwrap();
        for is_limited in [false, true] {
            let mut builder = BatchBuilder::new(plan.spec().clone());
            let mut slots = builder.slots(&[1]);
            let slots = &mut slots[0];
            if !is_limited {
                plan.execute(&data, 0, 1, slots).expect(&of);
                assert!(slots.segment_bytes() > 50 * ROOM, "{of}");
                continue;
            }
            slots.set_room(ROOM);
            let error = plan.execute(&data, 0, 1, slots).expect_err(&of);
            assert!(
                matches!(error.kind, DecodeErrorKind::NoRoom { .. }),
                "{error}: {of}"
            );
            // What is written between two looks is a few times 16,384 items.
            let bytes = slots.segment_bytes();
            assert!(bytes <= ROOM + (2 << 20), "{bytes} bytes: {of}");
        }
    }
}

/// Many records, or many values of one record, of which each has room: what all take is looked at.
#[test]
fn values_that_have_room_alone_end_where_there_is_none_for_all() {
    let record = |fields: usize| {
        let fields = (0..fields).map(|i| format!(r#"{{"name": "f{i}", "type": "string"}}"#));
        let fields: Vec<_> = fields.collect();
        let schema = format!(
            r#"{{"type": "record", "name": "R", "fields": [{}]}}"#,
            fields.join(", ")
        );
        Arc::new(Schema::parse(&schema).unwrap())
    };
    let string = [long(70_000), vec![b's'; 70_000]].concat();
    for (fields, records) in [(1, 1_000), (100, 10)] {
        let features = (0..fields).map(|i| Feature::dense(format!("f{i}"), &[], DType::String));
        let features = Features::new(features).unwrap();
        let plan = Plan::compile(&record(fields), &features, &PlanOptions::default()).unwrap();
        let mut builder = BatchBuilder::new(plan.spec().clone());
        let mut slots = builder.slots(&[records]);
        let slots = &mut slots[0];
        slots.set_room(ROOM);
        let data = string.repeat(fields * records);
        let error = plan.execute(&data, 0, records, slots).unwrap_err();
        assert!(
            matches!(error.kind, DecodeErrorKind::NoRoom { .. }),
            "{error}"
        );
        let bytes = slots.segment_bytes();
        assert!(bytes <= 2 * ROOM, "{bytes} bytes");
    }
}
