//! The checker accepts the bytes that the reference decoder reads.
#![allow(clippy::unwrap_used)]

mod common;

use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::{Checker, DecodeErrorKind, DecodeOptions, Schema, reference};
use common::arb_case;
use proptest::prelude::*;

/// The end of the value by the checker and by the reference decoder, and the fields of their errors.
type Found = Result<usize, Option<String>>;

fn both(schema: &Schema, data: &[u8], options: &DecodeOptions) -> [Found; 2] {
    let mut position = 0;
    let checked = Checker::new(schema, options).check(data, &mut position);
    let checked = checked.map(|()| position).map_err(|error| error.field);
    let mut position = 0;
    let read = reference::decode_with(schema, schema.root(), data, &mut position, options);
    let read = read.map(|_| position).map_err(|error| error.field);
    [checked, read]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn it_accepts_what_the_reference_reads(
        case in arb_case(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        cut in prop::option::of(any::<prop::sample::Index>()),
        replace in any::<bool>(),
        max_depth in prop_oneof![Just(100), 1..4usize],
    ) {
        let mut data = Vec::new();
        encode(&case.schema, case.schema.root(), &case.value, &mut data, &EncodeOptions::default()).unwrap();
        for (at, byte) in flips {
            if !data.is_empty() {
                let at = at.index(data.len());
                data[at] = byte;
            }
        }
        if let Some(cut) = cut {
            data.truncate(cut.index(data.len() + 1));
        }
        let mut options = DecodeOptions::default();
        options.replace_invalid_utf8 = replace;
        options.max_depth = max_depth;
        let [checked, read] = both(&case.schema, &data, &options);
        // Records without bytes are not entered.
        if checked != read {
            prop_assert!(max_depth < 100, "{:?} {:?}", checked, read);
        }
    }

    #[test]
    fn any_bytes_are_read_alike(case in arb_case(), data in prop::collection::vec(any::<u8>(), 0..60)) {
        let [checked, read] = both(&case.schema, &data, &DecodeOptions::default());
        prop_assert_eq!(checked, read);
    }
}

#[test]
fn an_error_has_its_place() {
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "list", "type": {"type": "array", "items": {"type": "record", "name": "P", "fields": [
            {"name": "text", "type": "string"}]}}}]}"#;
    let schema = Schema::parse(schema).unwrap();
    let checker = Checker::new(&schema, &DecodeOptions::default());
    let mut position = 1;
    let error = checker.check(&[9, 4, 2, b'a', 2, 0xff, 0], &mut position);
    let error = error.unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::InvalidUtf8);
    assert_eq!(
        (error.offset, error.field.as_deref()),
        (4, Some("list.text"))
    );
    assert_eq!(position, 1);
}

/// Each block of three bytes claims a million items, and each record has many fields without bytes.
#[test]
fn values_without_bytes_take_no_time() {
    let nulls = Schema::parse(r#"{"type": "array", "items": "null"}"#).unwrap();
    let block = [0x80, 0x80, 0x80, 0x01];
    let data = [block.repeat(1 << 16), vec![0]].concat();
    let mut position = 0;
    let checker = Checker::new(&nulls, &DecodeOptions::default());
    checker.check(&data, &mut position).unwrap();
    assert_eq!(position, data.len());
    let fields = (0..5_000).map(|i| format!(r#"{{"name": "n{i}", "type": "null"}}"#));
    let fields = fields.collect::<Vec<_>>().join(",");
    let wide = format!(
        r#"{{"type": "array", "items": {{"type": "record", "name": "R", "fields": [
            {fields}, {{"name": "x", "type": "boolean"}}]}}}}"#
    );
    let wide = Schema::parse(&wide).unwrap();
    let data = [&[0x80, 0x80, 0x80, 0x01][..], &vec![1; 1 << 20], &[0]].concat();
    let (mut position, start) = (0, std::time::Instant::now());
    let checker = Checker::new(&wide, &DecodeOptions::default());
    checker.check(&data, &mut position).unwrap();
    // Five thousand million steps would take longer.
    assert!(start.elapsed().as_secs() < 20);
}
