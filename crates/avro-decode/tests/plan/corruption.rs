//! On damaged data the plan is as right as the reference, or fails.

use avro_decode::{DecodeError, DecodeErrorKind};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::harness::{assert_agrees, run};
use crate::made::{Case, case};

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..900)
}

#[derive(Clone, Debug)]
enum Damage {
    Set(Index, u8),
    Flip(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index),
    Cut(Index),
}

fn any_damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        3 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        3 => (any::<Index>(), 0..8u8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        // Small varints and paddings, which make other but good data.
        2 => (any::<Index>(), prop::collection::vec(prop::sample::select(&[0, 1, 2, 128][..]), 1..4))
            .prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        2 => any::<Index>().prop_map(Damage::Remove),
        1 => any::<Index>().prop_map(Damage::Cut),
    ]
}

fn damage(data: &mut Vec<u8>, damages: &[Damage]) {
    for damage in damages {
        if data.is_empty() {
            return;
        }
        let len = data.len();
        match damage {
            Damage::Set(at, byte) => data[at.index(len)] = *byte,
            Damage::Flip(at, bit) => data[at.index(len)] ^= 1 << bit,
            Damage::Insert(at, bytes) => {
                let at = at.index(len);
                data.splice(at..at, bytes.iter().copied());
            }
            Damage::Remove(at) => drop(data.remove(at.index(len))),
            Damage::Cut(at) => data.truncate(at.index(len)),
        }
    }
}

/// Whether a feature of the case has the reference's error in it, or is in a
/// record around that is at fault itself.
fn is_read(case: &Case, error: &DecodeError) -> bool {
    let field = error.field.as_deref().unwrap_or_default();
    let is_inside = |inner: &str, outer: &str| {
        let rest = inner.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut names = case.spec.columns().iter().map(|column| &*column.name);
    names.any(|name| is_inside(field, name) || is_inside(name, field))
}

fn is_feature_error(kind: &DecodeErrorKind) -> bool {
    matches!(
        kind,
        DecodeErrorKind::Null
            | DecodeErrorKind::ArrayLength { .. }
            | DecodeErrorKind::SparseLengths { .. }
            | DecodeErrorKind::IndexOutOfBounds { .. }
    )
}

fn check(case: &Case, data: &[u8]) {
    let (records, end, decode_error) = case.decode(data);
    let tensors = case.tensors(&records);
    let ran = run(&case.plan(), data, &case.run_rows, case.call_records);
    match (ran, tensors, decode_error) {
        (Ok(ran), Ok(expected), None) => {
            assert_agrees(&expected, &ran);
            assert_eq!(ran.position, end);
        }
        (Ok(_), Ok(_), Some(error)) => {
            assert!(!is_read(case, &error), "the plan has read over: {error}");
        }
        (Err(error), Err(expected), _) => {
            // With more than one fault in a field, either may be seen first.
            assert!(is_feature_error(&error.kind), "{error}; {expected}");
            assert_eq!(
                error.record,
                Some(expected.record as u64),
                "{error}; {expected}"
            );
            assert_eq!(error.field, Some(expected.field));
        }
        (Err(error), Ok(_), Some(expected)) => {
            let here = Some(records.len() as u64);
            assert!(error.record >= here, "{error}; {expected}");
            // Skipping may run over the damage, and come out somewhere else.
            let is_skipped = !is_read(case, &expected);
            assert!(error.record == here || is_skipped, "{error}; {expected}");
            assert!(error.field.is_some() && error.offset <= data.len());
        }
        (ran, expected, error) => panic!("{expected:?}, {error:?}, but {ran:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn damaged_data_never_makes_other_values(
        bytes in any_bytes(),
        damages in prop::collection::vec(any_damage(), 1..4),
    ) {
        let case = case(bytes, None);
        let mut data = case.data.clone();
        damage(&mut data, &damages);
        check(&case, &data);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in any_bytes(), data in any_bytes()) {
        check(&case(bytes, None), &data);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_cut_is_an_error_with_its_place(bytes in any_bytes()) {
        let case = case(bytes, None);
        let plan = case.plan();
        for cut in 0..case.data.len() {
            let data = &case.data[..cut];
            let error = run(&plan, data, &case.run_rows, case.call_records)
                .expect_err("a record is not whole");
            let (records, _, expected) = case.decode(data);
            let expected = expected.expect("a record is not whole");
            prop_assert_eq!(error.record, Some(records.len() as u64));
            prop_assert!(error.offset <= cut, "{} at a cut at {}", error, cut);
            let field = error.field.as_deref().expect("a field");
            if is_read(&case, &expected) {
                let inner = expected.field.as_deref().unwrap_or_default();
                prop_assert!(inner.starts_with(field), "{} in {}", field, inner);
            }
        }
    }
}
