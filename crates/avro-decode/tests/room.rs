//! A record with lists of any length ends where there is no room for them.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use avro_decode::{DecodeErrorKind, Feature, Features, Plan, PlanOptions, Schema};
use tensor_batch::{BatchBuilder, DType, Layout};

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
                matches!(error.kind, DecodeErrorKind::NoRoom),
                "{error}: {of}"
            );
            // What is written between two looks is a few times 16,384 items.
            let bytes = slots.segment_bytes();
            assert!(bytes <= ROOM + (2 << 20), "{bytes} bytes: {of}");
        }
    }
}
