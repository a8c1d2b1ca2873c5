//! On any data of any schema, the plan gives what the reference gives.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tensor_batch::{ColumnKind, Layout};

use crate::made::case;
use crate::properties::agree;

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..900)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn good_values_make_the_same_tensors(bytes in any_bytes()) {
        prop_assert_eq!(agree(&case(bytes, None)), None);
    }

    #[test]
    fn one_bad_value_makes_the_same_error(bytes in any_bytes(), fault in 0..60usize) {
        agree(&case(bytes, Some(fault)));
    }
}

/// The cases above are worth little if they are all alike.
#[test]
fn the_cases_are_of_every_sort() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut runner = TestRunner::deterministic();
    for fault in 0..1000 {
        let bytes = any_bytes().new_tree(&mut runner).expect("bytes").current();
        let case = case(bytes, Some(fault % 20));
        let mut count = |sort: &str| *seen.entry(sort.to_owned()).or_default() += 1;
        if let Some(error) = agree(&case) {
            count(&error);
        } else if case.tensors(&case.records).is_ok_and(|t| t.dropped > 0) {
            count("dropped");
        }
        for column in case.spec.columns() {
            match &column.kind {
                ColumnKind::Dense { .. } => count("dense"),
                ColumnKind::Sparse {
                    layout: Layout::Coo,
                    ..
                } => count("sparse"),
                ColumnKind::Sparse { .. } => count("ragged sparse"),
                ColumnKind::Varlen {
                    layout: Layout::Coo,
                    ..
                } => count("varlen"),
                _ => count("ragged"),
            }
            let inside = format!("{}.", column.name);
            let mut others = case.spec.columns().iter();
            if others.any(|other| other.name.starts_with(&inside)) {
                count("read twice");
            }
        }
    }
    for sort in [
        "dense",
        "sparse",
        "ragged sparse",
        "varlen",
        "ragged",
        "read twice",
        "dropped",
        "Null",
        "ArrayLength",
        "SparseLengths",
        "IndexOutOfBounds",
    ] {
        assert!(seen.get(sort).is_some_and(|&n| n >= 10), "{sort}: {seen:?}");
    }
}
