//! What the encoder writes is what `prost` writes.

#[path = "common/twin.rs"]
mod twin;

use std::collections::HashMap;

use atds_tfrecord::ExampleEncoder;
use proptest::prelude::*;
use prost::Message;
use twin::{BytesList, Example, FloatList, Int64List, Kind, ProtoFeature, ProtoFeatures};

fn kind() -> impl Strategy<Value = Option<Kind>> {
    let bytes = prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..4);
    let floats = prop::collection::vec(any::<f32>().prop_filter("NaN", |x| !x.is_nan()), 0..70);
    let ints = prop::collection::vec(prop_oneof![any::<i64>(), -2..300i64], 0..70);
    prop_oneof![
        Just(None),
        bytes.prop_map(|value| Some(Kind::Bytes(BytesList { value }))),
        floats.prop_map(|value| Some(Kind::Float(FloatList { value }))),
        ints.prop_map(|value| Some(Kind::Int64(Int64List { value }))),
    ]
}

fn add(example: &mut ExampleEncoder, key: &str, kind: &Option<Kind>) {
    match kind {
        None => example.no_values(key),
        Some(Kind::Bytes(list)) => example.bytes_list(key, &list.value),
        Some(Kind::Float(list)) => example.float_list(key, list.value.iter().copied()),
        Some(Kind::Int64(list)) => example.int64_list(key, list.value.iter().copied()),
    }
}

fn of(feature: HashMap<String, ProtoFeature>) -> Example {
    let features = Some(ProtoFeatures { feature });
    Example { features }
}

proptest! {
    #[test]
    fn a_key_is_written_as_prost_writes_it(key in ".{1,150}", kind in kind()) {
        // `prost` leaves out a value that has no kind.
        prop_assume!(kind.is_some());
        let mut example = ExampleEncoder::new();
        add(&mut example, &key, &kind);
        let feature = ProtoFeature { kind };
        prop_assert_eq!(example.take(), of([(key, feature)].into()).encode_to_vec());
    }

    #[test]
    fn prost_reads_all_keys(keys in prop::collection::hash_map(".{0,10}", kind(), 0..6)) {
        let mut example = ExampleEncoder::new();
        for _ in 0..2 {
            for (key, kind) in &keys {
                add(&mut example, key, kind);
            }
            let read = Example::decode(&example.take()[..]);
            let keys = keys.iter().map(|(key, kind)| (key.clone(), ProtoFeature { kind: kind.clone() }));
            prop_assert_eq!(read, Ok(of(keys.collect())));
        }
    }
}

/// TensorFlow writes a list without values with its kind, which `VarLenFeature` checks.
#[test]
fn an_empty_list_keeps_its_kind() {
    let mut example = ExampleEncoder::new();
    example.int64_list("a", []);
    assert_eq!(example.take(), b"\x0a\x09\x0a\x07\x0a\x01a\x12\x02\x1a\x00");
    assert_eq!(example.take(), b"\x0a\x00", "the encoder is empty");
}
