//! Messages as trees of values, compared with what `prost` reads.

#[path = "common/odd.rs"]
mod odd;
#[path = "common/twin.rs"]
mod twin;

use std::collections::HashMap;

use atds_tfrecord::{DecodeErrorKind, Example, FeatureValues};
use odd::Entropy;
use proptest::prelude::*;
use prost::Message;
use twin::{Kind, ProtoFeature, SequenceExample};

/// The values by their bits: NaNs are compared too.
#[derive(Debug, PartialEq)]
enum Bits {
    Bytes(Vec<Vec<u8>>),
    Float(Vec<u32>),
    Int64(Vec<i64>),
}

fn of_prost(feature: &ProtoFeature) -> Option<Bits> {
    Some(match feature.kind.as_ref()? {
        Kind::Bytes(list) => Bits::Bytes(list.value.clone()),
        Kind::Float(list) => Bits::Float(list.value.iter().map(|v| v.to_bits()).collect()),
        Kind::Int64(list) => Bits::Int64(list.value.clone()),
    })
}

fn of_tree(values: &FeatureValues) -> Bits {
    match values {
        FeatureValues::Bytes(values) => Bits::Bytes(values.clone()),
        FeatureValues::Float(values) => Bits::Float(values.iter().map(|v| v.to_bits()).collect()),
        FeatureValues::Int64(values) => Bits::Int64(values.clone()),
    }
}

type Features = HashMap<String, Bits>;
type Lists = HashMap<String, Vec<Option<Bits>>>;

fn prost_maps(record: &[u8]) -> Option<(Features, Option<Lists>)> {
    let message = SequenceExample::decode(record).ok()?;
    let features = message.context.unwrap_or_default().feature.into_iter();
    let features = features.filter_map(|(key, feature)| Some((key, of_prost(&feature)?)));
    let lists = message.feature_lists.map(|lists| {
        let lists = lists.feature_list.into_iter();
        let lists = lists.map(|(key, list)| (key, list.feature.iter().map(of_prost).collect()));
        lists.collect()
    });
    Some((features.collect(), lists))
}

fn tree_maps(example: &Example) -> (Features, Option<Lists>) {
    let features = example.features.iter();
    let features = features.map(|(key, values)| (key.clone(), of_tree(values)));
    let lists = example.feature_lists.as_ref().map(|lists| {
        let of_step = |step: &Option<FeatureValues>| step.as_ref().map(of_tree);
        let lists = lists.iter();
        let lists = lists.map(|(key, steps)| (key.clone(), steps.iter().map(of_step).collect()));
        lists.collect()
    });
    (features.collect(), lists)
}

/// Whether both read the record. What `prost` refuses is not compared: it refuses fields of another wire
/// type, which are unknown ones here.
fn agree(record: &[u8]) -> bool {
    let Some(expected) = prost_maps(record) else {
        return false;
    };
    let example = match Example::parse(record) {
        Err(DecodeErrorKind::NoExample) => {
            assert!(expected.0.is_empty() && expected.1.is_none());
            return false;
        }
        parsed => parsed.unwrap_or_else(|error| panic!("{error}: {record:02x?}")),
    };
    assert_eq!(tree_maps(&example), expected, "{record:02x?}");
    // What is written is read again, here and there.
    let mut encoded = Vec::new();
    example.encode(&mut encoded);
    assert_eq!(prost_maps(&encoded), Some(expected), "{record:02x?}");
    assert_eq!(
        tree_maps(&Example::parse(&encoded).expect("it was written here")),
        tree_maps(&example)
    );
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn messages_are_those_of_prost(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let entropy = &mut Entropy(&bytes);
        agree(&odd::example(entropy));
        agree(&odd::sequence_example(entropy));
        agree(&bytes);
    }
}

#[test]
fn most_cases_are_compared() {
    let mut compared = 0;
    for case in 0..500u64 {
        let mut state = case;
        let bytes: Vec<u8> = std::iter::repeat_with(|| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .take(300)
        .collect();
        compared += u32::from(agree(&odd::example(&mut Entropy(&bytes))));
        compared += u32::from(agree(&odd::sequence_example(&mut Entropy(&bytes))));
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn what_is_no_message_is_said_to_be_none() {
    let no_example = Example::parse(b"\x50\x01");
    assert!(matches!(no_example, Err(DecodeErrorKind::NoExample)));
    let no_text = Example::parse(b"\x0a\x05\x0a\x03\x0a\x01\xff");
    assert!(matches!(no_text, Err(DecodeErrorKind::KeyNotText)));
    assert!(Example::parse(b"GIF89a").is_err());
    assert_eq!(Example::parse(b"").ok(), Some(Example::default()));
}
