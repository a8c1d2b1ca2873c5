//! On any data of any schema, the plan agrees with the reference.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::made::case;
use crate::properties::agree;

pub(crate) fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..1500)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn good_values_make_the_same_tensors(bytes in any_bytes()) {
        prop_assert_eq!(agree(&case(bytes, None)), None);
    }

    #[test]
    fn one_bad_value_makes_the_same_error(bytes in any_bytes(), fault in 0..60usize) {
        agree(&case(bytes, Some(fault)));
    }
}

/// Checks that the tests above cover fields that a schema lacks.
#[test]
fn cases_ask_for_what_the_schema_lacks() {
    let mut runner = TestRunner::deterministic();
    let lacking = (0..500).filter(|_| {
        let bytes = any_bytes().new_tree(&mut runner).expect("bytes").current();
        !case(bytes, None).plan().absent().is_empty()
    });
    assert!(lacking.count() > 25);
}
