//! The plan decodes what the twin decodes, by way of `prost`.

#[path = "common/odd.rs"]
mod odd;
#[path = "common/twin.rs"]
mod twin;

use atds_features::Feature;
use atds_features::feature::Partition;
use atds_tfrecord::ExampleEncoder;
use odd::Entropy;
use proptest::prelude::*;

/// Whether the plan and the twin agree on records. What `prost` refuses, the plan may decode: it does
/// not look at what no feature asks for, and takes a field of another wire type for an unknown one.
/// Returns whether they were decoded.
fn agree(features: &[Feature], records: &[Vec<u8>]) -> Option<bool> {
    let decoded = twin::decode(features, records);
    let expected = twin::twin(features, records)?;
    match (decoded, expected) {
        (Ok(found), Ok(expected)) => {
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found, expected, "{records:02x?}");
            }
            assert_eq!(found.len(), expected.len());
            Some(true)
        }
        (Err(error), Err(record)) => {
            assert_eq!(error.record, record as u64, "{error}");
            Some(false)
        }
        (Ok(_), Err(record)) => panic!("record {record} is wrong: {records:02x?}"),
        (Err(error), Ok(_)) => panic!("{error}: {records:02x?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn examples(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let entropy = &mut Entropy(&bytes);
        let records: Vec<_> = (0..1 + entropy.below(3)).map(|_| odd::example(entropy)).collect();
        let features = twin::example_features();
        agree(&features, &records);
        for feature in features {
            agree(&[feature], &records);
        }
    }

    #[test]
    fn sequence_examples(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let entropy = &mut Entropy(&bytes);
        let records: Vec<_> =
            (0..1 + entropy.below(3)).map(|_| odd::sequence_example(entropy)).collect();
        let features = twin::sequence_features();
        agree(&features, &records);
        let id = features[0].clone();
        for feature in features.into_iter().skip(1) {
            agree(&[id.clone(), feature], &records);
        }
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        agree(&twin::example_features(), std::slice::from_ref(&bytes));
        agree(&twin::sequence_features(), std::slice::from_ref(&bytes));
    }
}

/// The partitions of one feature, over the keys `i` and `j`.
fn partitions() -> Vec<Feature> {
    let mut all = Vec::new();
    for (name, with_key) in Partition::WITH_KEY {
        let of = |key: &str| with_key(key.to_owned());
        all.push(twin::divided(name, "f", [of("i")]));
        let pairs = Partition::UniformRowLength(2);
        all.push(twin::divided(
            &format!("{name}, pairs"),
            "f",
            [of("i"), pairs.clone()],
        ));
        all.push(twin::divided(
            &format!("pairs, {name}"),
            "f",
            [pairs, of("i")],
        ));
        for (second, second_with_key) in Partition::WITH_KEY {
            let inner = second_with_key("j".to_owned());
            all.push(twin::divided(
                &format!("{name}, {second}"),
                "f",
                [of("i"), inner],
            ));
        }
    }
    all
}

/// A few numbers below a small one, now and then sorted.
fn few() -> impl Strategy<Value = Vec<i64>> {
    let numbers = prop::collection::vec(-1..5i64, 0..5);
    (numbers, 0..4u8).prop_map(|(mut numbers, form)| {
        if form > 0 {
            numbers.iter_mut().for_each(|n| *n = (*n).max(0));
        }
        if form > 1 {
            numbers.sort_unstable();
        }
        if form > 2 {
            numbers.insert(0, 0);
        }
        numbers
    })
}

/// All partitions agree with the twin, and are right and wrong often enough.
#[test]
fn values_are_divided() {
    let seen = std::cell::RefCell::new(std::collections::BTreeMap::new());
    let record = |f: usize, i: &[i64], j: &[i64]| {
        let mut encoder = ExampleEncoder::new();
        let floats: Vec<f32> = (0..f).map(|n| n as f32).collect();
        encoder.float_list("f", floats);
        encoder.int64_list("i", i.iter().copied());
        encoder.int64_list("j", j.iter().copied());
        encoder.take()
    };
    let config = ProptestConfig::with_cases(2000);
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let features = partitions();
    let cases = (0..7usize, few(), few(), 0..7usize, few(), few());
    let result = runner.run(&cases, |(f, i, j, g, k, l)| {
        let records = [record(f, &i, &j), record(g, &k, &l)];
        for feature in &features {
            let name = feature.name.clone();
            for records in [&records[..1], &records[..]] {
                let is_right = agree(std::slice::from_ref(feature), records).expect("few lists");
                let mut seen = seen.borrow_mut();
                *seen.entry((name.clone(), is_right)).or_insert(0) += 1;
            }
        }
        Ok(())
    });
    result.expect("the plan and the twin agree");
    let seen = seen.into_inner();
    assert_eq!(seen.len(), 2 * features.len());
    assert!(seen.values().all(|&n| n > 10), "{seen:?}");
}

/// The generators give records that are decoded, and records that are not.
#[test]
fn cases_are_right_and_wrong() {
    let mut seen = [0; 3];
    let mut bytes: Vec<u8> = Vec::new();
    for case in 0..2000u64 {
        let mut state = case;
        bytes.clear();
        for _ in 0..300 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            bytes.push((state >> 56) as u8);
        }
        let entropy = &mut Entropy(&bytes);
        let record = odd::example(entropy);
        for feature in twin::example_features() {
            let decoded = agree(&[feature], std::slice::from_ref(&record));
            seen[match decoded {
                Some(true) => 0,
                Some(false) => 1,
                None => 2,
            }] += 1;
        }
    }
    assert!(seen.iter().all(|&n| n > 100), "{seen:?}");
}
