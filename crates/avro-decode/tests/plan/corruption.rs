//! On damaged data, the plan gives the values of the reference, or an error.

use proptest::prelude::*;
use proptest::sample::Index;

use crate::agreement::any_bytes;
use crate::harness::run;
use crate::made::case;
use crate::properties::agree_on;

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
        // Small varints and padding bytes often give other, but valid data.
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
        agree_on(&case, &data);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in any_bytes(), data in any_bytes()) {
        agree_on(&case(bytes, None), &data);
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
            prop_assert!(expected.is_some(), "a record is not whole");
            prop_assert_eq!(error.record, Some(records.len() as u64));
            prop_assert!(error.offset <= cut, "{} at a cut at {}", error, cut);
            prop_assert!(error.field.is_some());
        }
    }
}
