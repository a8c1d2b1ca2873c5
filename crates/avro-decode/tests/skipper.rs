//! Skipping a value ends where reading it ends.
#![allow(clippy::unwrap_used)]

mod common;

use avro_decode::encode::{EncodeOptions, encode};
use avro_decode::{DecodeError, DecodeErrorKind, Schema, Skipper, reference};
use common::arb_case;
use proptest::prelude::*;

proptest! {
    #[test]
    fn skipping_ends_where_reading_does(case in arb_case(), before in 0..4usize, records in 0..5u64) {
        let mut record = Vec::new();
        encode(&case.schema, case.schema.root(), &case.value, &mut record, &EncodeOptions::default()).unwrap();
        let mut data = vec![0xff; before];
        (0..=records).for_each(|_| data.extend(&record));
        let mut end = before;
        for _ in 0..records {
            reference::decode(&case.schema, case.schema.root(), &data, &mut end).unwrap();
        }
        let skipper = Skipper::new(&case.schema);
        prop_assert_eq!(skipper.skip(&data, before, records), Ok(end));
    }

    #[test]
    fn damage_is_found_where_reading_one_by_one_finds_it(
        case in arb_case(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let mut data = Vec::new();
        for _ in 0..4 {
            encode(&case.schema, case.schema.root(), &case.value, &mut data, &EncodeOptions::default()).unwrap();
        }
        for (at, byte) in flips {
            if !data.is_empty() {
                let at = at.index(data.len());
                data[at] = byte;
            }
        }
        // So small a limit of depth leaves no room for what skips faster.
        let slow = Skipper::with_max_depth(&case.schema, 3).skip(&data, 0, 4);
        let is_deep = |error: &DecodeError| matches!(error.kind, DecodeErrorKind::TooDeep { .. });
        if !slow.as_ref().is_err_and(is_deep) {
            prop_assert_eq!(Skipper::new(&case.schema).skip(&data, 0, 4), slow);
        }
    }

    #[test]
    fn any_bytes_are_an_end_or_an_error(case in arb_case(), data in prop::collection::vec(any::<u8>(), 0..100)) {
        if let Ok(end) = Skipper::new(&case.schema).skip(&data, 3, 1000) {
            prop_assert!(end <= data.len());
        }
    }
}

#[test]
fn an_error_says_which_record() {
    let schema =
        r#"{"type": "record", "name": "R", "fields": [{"name": "text", "type": "string"}]}"#;
    let skipper = Skipper::new(&Schema::parse(schema).unwrap());
    let data = [2, b'a', 4, b'b', b'c', 8, b'd'];
    assert_eq!(skipper.skip(&data, 0, 2), Ok(5));
    let error = skipper.skip(&data, 0, 3).unwrap_err();
    assert!(
        matches!(error.kind, DecodeErrorKind::LengthBeyondEnd { .. }),
        "{error}"
    );
    assert_eq!(error.record, Some(2));
    let error = skipper.skip(&data, 2, 2).unwrap_err();
    assert_eq!(error.record, Some(1));
}

#[test]
fn records_without_bytes_are_got_past_at_once() {
    let schema = r#"{"type": "record", "name": "R", "fields": [{"name": "n", "type": "null"}]}"#;
    let skipper = Skipper::new(&Schema::parse(schema).unwrap());
    assert_eq!(skipper.skip(&[], 0, u64::MAX), Ok(0));
}
