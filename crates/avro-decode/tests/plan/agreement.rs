//! On any data of any schema, the plan gives what the reference gives.

use std::collections::BTreeMap;

use avro_decode::feature::{Extents, FeatureKind, SparseKeys};
use avro_decode::path::{Constant, Filter, Operand, Path, Step};
use avro_decode::{Convert, Feature, Fill};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tensor_batch::Layout;

use crate::made::{Case, case};
use crate::properties::agree;

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..900)
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

/// The cases above are worth little if they are all alike.
#[test]
fn the_cases_are_of_every_sort() {
    let mut seen = Seen::default();
    let mut runner = TestRunner::deterministic();
    for fault in 0..3000 {
        let bytes = any_bytes().new_tree(&mut runner).expect("bytes").current();
        let case = case(bytes, Some(fault % 20));
        if let Some(error) = agree(&case) {
            seen.count(&error);
        } else if is_dropping(&case) {
            seen.count("dropped");
        }
        seen.case(&case);
    }
    for sort in SORTS {
        assert!(
            seen.0.get(sort).is_some_and(|&n| n >= 10),
            "{sort}: {seen:?}"
        );
    }
}

const SORTS: [&str; 68] = [
    "field",
    "namespace",
    "[2]",
    "[*]",
    "[*] within [*]",
    "['key']",
    ":type",
    "filter",
    "two filters",
    "element = constant",
    "element = element",
    "element = root",
    "root = constant",
    "string constant",
    "integer constant",
    "float constant",
    "boolean constant",
    "trailing array",
    "dense",
    "scalar",
    "padded",
    "reshaped",
    "batch dimension",
    "varlen by values",
    "varlen by lengths",
    "varlen of one value",
    "varlen of known length",
    "ragged varlen",
    "sparse record",
    "ragged sparse record",
    "sparse with keys",
    "ragged sparse with keys",
    "keys after lists",
    "several index keys",
    "root key beside others",
    "root keys",
    "list in a key",
    "already sorted",
    "no missing",
    "default",
    "default of places",
    "mask",
    "row mask",
    "exact",
    "cast",
    "hash",
    "vocabulary",
    "unit",
    "duration",
    "float16",
    "bfloat16",
    "reader schema",
    "reader default",
    "reader alias",
    "dropped",
    "read twice",
    "no rows",
    "several runs",
    "Null",
    "NoItem",
    "NoKey",
    "OtherBranch",
    "ArrayLength",
    "SparseLengths",
    "IndexOutOfBounds",
    "CastOverflow",
    "missing list",
    "nothing kept",
];
