//! What features ask for: keys, errors with their place, and features that TFRecord does not have.

#[path = "common/twin.rs"]
mod twin;

use std::sync::Arc;

use atds_features::{Convert, Feature, Features, Fill, TimeUnit, Vocabulary};
use atds_tfrecord::{Inference, Plan, PlanOptions, Scratch, Writer, with_dimensions};
use prost::Message;
use tensor_batch::{BatchBuilder, DType, Layout, Scalar};
use twin::{
    BytesList, Example, FeatureList, FeatureLists, FloatList, Int64List, Kind, ProtoFeature,
    ProtoFeatures, SequenceExample,
};

fn ints(values: &[i64]) -> ProtoFeature {
    let value = values.to_vec();
    let kind = Some(Kind::Int64(Int64List { value }));
    ProtoFeature { kind }
}

fn floats(values: &[f32]) -> ProtoFeature {
    let value = values.to_vec();
    let kind = Some(Kind::Float(FloatList { value }));
    ProtoFeature { kind }
}

fn texts(values: &[&str]) -> ProtoFeature {
    let value = values.iter().map(|text| text.as_bytes().to_vec()).collect();
    let kind = Some(Kind::Bytes(BytesList { value }));
    ProtoFeature { kind }
}

fn map(entries: &[(&str, ProtoFeature)]) -> Option<ProtoFeatures> {
    let entries = entries.iter().cloned();
    let feature = entries
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
    Some(ProtoFeatures { feature })
}

fn example(entries: &[(&str, ProtoFeature)]) -> Vec<u8> {
    let features = map(entries);
    Example { features }.encode_to_vec()
}

/// A person, as the examples below ask for.
fn person() -> Vec<u8> {
    example(&[
        ("age", ints(&[7])),
        ("image/shape", ints(&[2, 3])),
        ("image.format", texts(&["png"])),
        ("weight", floats(&[1.5])),
        ("names", texts(&["Ann", "Lee"])),
        ("empty", ints(&[])),
        ("nothing", ProtoFeature::default()),
    ])
}

fn read(feature: Feature) -> Result<String, String> {
    let name = feature.name.clone();
    let rows = twin::decode(&[feature], &[person()]).map_err(|error| error.to_string())?;
    let (_, rows) = rows
        .into_iter()
        .find(|row| row.0 == name)
        .expect("the column is there");
    Ok(rows.concat())
}

#[test]
fn a_name_or_an_expression_is_the_key() {
    let int = |name: &str| Feature::fixed_len(name, &[], DType::Int64);
    let shape = |name: &str| Feature::fixed_len(name, &[Some(2)], DType::Int64);
    assert_eq!(read(int("age")).as_deref(), Ok("[] [Int64(7)]"));
    assert_eq!(read(int("a").at("age")).as_deref(), Ok("[] [Int64(7)]"));
    assert_eq!(
        read(shape("image/shape")).as_deref(),
        Ok("[2] [Int64(2), Int64(3)]")
    );
    let quoted = shape("shape").at("'image/shape'");
    assert_eq!(read(quoted).as_deref(), Ok("[2] [Int64(2), Int64(3)]"));
    let format = Feature::fixed_len("image.format", &[], DType::String);
    assert_eq!(read(format).as_deref(), Ok("[] [png]"));
    let listed = Feature::var_len("names[*]", DType::String);
    assert_eq!(read(listed).as_deref(), Ok("[2] [[0], [1]] [Ann, Lee]"));
    let scalar = Feature::var_len("age", DType::Int64);
    assert_eq!(read(scalar).as_deref(), Ok("[] [[]] [Int64(7)]"));
}

#[test]
fn a_vocabulary_has_ids_for_words_and_numbers() {
    let words = Vocabulary::new(["Lee", "7"].map(Vec::from), -1).expect("two words");
    let ids = |name: &str, dtype| {
        let vocabulary = Convert::Vocabulary(Arc::new(words.clone()));
        Feature::var_len_of_rank(name, dtype, 1).with_convert(vocabulary)
    };
    let names = read(ids("names", DType::Int16));
    assert_eq!(names.as_deref(), Ok("[2] [[0], [1]] [Int16(-1), Int16(0)]"));
    assert_eq!(
        read(ids("age", DType::Int8)).as_deref(),
        Ok("[1] [[0]] [Int8(1)]")
    );
}

#[test]
fn what_a_record_lacks_is_an_error_with_key_and_counts() {
    let int = |name: &str| Feature::fixed_len(name, &[], DType::Int64);
    let list = |name: &str, dtype| Feature::var_len_of_rank(name, dtype, 1);
    let default = |feature: Feature| feature.with_default(Fill::Scalar(Scalar::Int64(1)));
    let cases = [
        (
            int("missing"),
            "key 'missing', byte 0: is required but could not be found; a `default` or a `mask` \
             allows it to be missing",
        ),
        (
            int("nothing"),
            "key 'nothing', byte 0: is required but could not be found; a `default` or a `mask` \
             allows it to be missing",
        ),
        (
            int("empty"),
            "has 0 values, but the feature's shape takes 1",
        ),
        (
            default(int("empty")),
            "has 0 values, but the feature's shape takes 1",
        ),
        (
            int("image/shape"),
            "has 2 values, but the feature's shape takes 1",
        ),
        (
            int("weight"),
            "has float values, which a feature of int64 does not read",
        ),
        (
            list("names", DType::Float32),
            "has bytes values, which a feature of float32 does not read",
        ),
        (
            list("age", DType::Float32),
            "has int64 values, which a feature of float32 does not read; `cast` does",
        ),
        (
            Feature::varlen("names", &[1], DType::String),
            "has 2 values, more than the dimension of 1; `truncate` drops the rest",
        ),
        (
            Feature::fixed_len_sequence("names", &[None, Some(3)], DType::String, None, true)
                .at("names[*][*]"),
            "has 2 values, which is not a multiple of 3, the size of a step",
        ),
        (
            Feature::sparse_keys("s", &["@'image/shape'"], "@names", &[3], DType::String),
            "the index 3 is outside dimension 0 of size 3",
        ),
        (
            Feature::sparse_keys("s", &["@age"], "@names", &[9], DType::String),
            "has 1 index of dimension 0 but 2 values",
        ),
        (
            Feature::sparse_keys("s", &["@names"], "@names", &[9], DType::String),
            "has bytes values, which a feature of int64 does not read",
        ),
        (
            Feature::dense("names", &[2], DType::UInt8),
            "has 2 values, but the feature's shape takes 1",
        ),
    ];
    for (feature, expected) in cases {
        let error = read(feature.clone()).expect_err(expected);
        assert!(error.starts_with("record 0, key '"), "{error}");
        assert!(
            error.ends_with(expected),
            "{error} and not {expected}: {feature:?}"
        );
    }
}

#[test]
fn truncation_is_counted() {
    let features = [
        Feature::varlen("names", &[1], DType::String).with_truncate(),
        Feature::dense("first", &[1], DType::Int64)
            .at("'image/shape'")
            .with_truncate(),
        Feature::sparse_keys("s", &["@'image/shape'"], "@names", &[3], DType::String)
            .with_truncate(),
    ];
    let features = Features::new(features).expect("the features are right");
    let plan = Plan::of(&features).expect("they are of TFRecord");
    let mut writer = Writer::new(Vec::new());
    writer.write(&person()).expect("memory takes bytes");
    let payload = writer.finish().expect("memory takes bytes");
    let mut builder = BatchBuilder::new(features.spec().clone());
    let mut slots = builder.slots(&[1]);
    let done = plan.execute(&mut Scratch::default(), &payload, (0, 0), 1, &mut slots[0]);
    let done = done.expect("the record is right");
    assert_eq!((done.truncated, done.dropped), (2, 1));
    drop(slots);
    builder.gather().into_iter().for_each(|task| task.run());
    let batch = builder.finish();
    let first = batch.dense::<i64>("first").expect("a dense column");
    assert_eq!(first, [2]);
}

#[test]
fn features_that_tfrecord_does_not_have_are_refused() {
    let int = |name: &str| Feature::dense(name, &[], DType::Int64);
    let cases = [
        (
            vec![int("a").at("b.c")],
            "feature 'a': an Example has no 'b.c': write the key",
        ),
        (
            vec![int("a").at("b[0]")],
            "feature 'a': an Example has no 'b[0]'",
        ),
        (
            vec![int("a").at("context.a"), int("b")],
            "feature 'b': is of Example, but other features are of SequenceExample: the records \
             of a data set are all of one kind",
        ),
        (
            vec![Feature::dense("a", &[], DType::Int32)],
            "feature 'a': values are int64, float32 or string; int32 needs `cast`",
        ),
        (
            vec![int("a").with_convert(Convert::Unit(TimeUnit::Days))],
            "feature 'a': records have no times, so they have no unit",
        ),
        (
            vec![int("a").with_convert(Convert::HashBuckets(0))],
            "feature 'a': ids by a hash are int64, from 1 bucket to 2^63 - 1",
        ),
        (
            vec![int("a").at("@")],
            "feature 'a': the whole record, '@', is one string",
        ),
        (
            vec![Feature::varlen("a", &[-1, -1], DType::Int64)],
            "feature 'a': a key has one list of values, so a varlen feature of it has one \
             dimension",
        ),
        (
            vec![Feature::varlen("a", &[-1], DType::Int64).at("feature_lists.a")],
            "feature 'a': a feature list has steps and their values, so a varlen feature of it \
             has two dimensions",
        ),
        (
            vec![Feature::fixed_len("a", &[Some(2), None], DType::Int64)],
            "feature 'a': only the first dimension of a key's values can vary",
        ),
        (
            vec![Feature::dense("a", &[2], DType::Int64).at("feature_lists.a")],
            "feature 'a': the first dimension of a feature list is its number of steps",
        ),
        (
            vec![Feature::sparse("a", &[2], DType::Int64)],
            "feature 'a': a sparse feature needs an index key and a value key",
        ),
        (
            vec![Feature::dense("a", &[2, 2], DType::Int64).with_truncate()],
            "feature 'a': only a list of one dimension is truncated",
        ),
    ];
    for (features, expected) in cases {
        let features = Features::new(features).expect("the features are right without a schema");
        let error = Plan::compile(&features, PlanOptions::default()).expect_err(expected);
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}

#[test]
fn steps_of_another_length_are_an_error_of_their_key() {
    let feature = |n: usize| FeatureList {
        feature: vec![ints(&[1, 2]), ints(&vec![3; n])],
    };
    let record = |n| SequenceExample {
        context: map(&[("id", ints(&[5]))]),
        feature_lists: Some(FeatureLists {
            feature_list: [("t".to_owned(), feature(n))].into(),
        }),
    };
    let padded = Feature::fixed_len_sequence("t", &[None, Some(2)], DType::Int64, None, false)
        .at("feature_lists.t[*][*]");
    let records = [record(2).encode_to_vec(), record(3).encode_to_vec()];
    let rows = twin::decode(std::slice::from_ref(&padded), &records[..1]).expect("it is right");
    assert_eq!(
        rows[0].1,
        ["[2, 2] [Int64(1), Int64(2), Int64(3), Int64(3)]"]
    );
    let error = twin::decode(std::slice::from_ref(&padded), &records).expect_err("3 values");
    assert_eq!(
        (error.record, error.field.as_deref()),
        (1, Some("feature_lists.t[*][*]"))
    );
    assert!(
        error
            .to_string()
            .ends_with("has 3 values, but the feature's shape takes 2")
    );
    let missing = padded.clone().at("feature_lists.u[*][*]");
    let error = twin::decode(&[missing], &records).expect_err("it is missing");
    assert!(
        error
            .to_string()
            .contains("is required but could not be found"),
        "{error}"
    );
    let ragged = Feature::var_len_of_rank("t", DType::Int64, 2)
        .at("feature_lists.t")
        .with_layout(Layout::Ragged);
    let rows = twin::decode(&[ragged], &records).expect("any length");
    assert_eq!(
        rows[0].1[1],
        "[[2], [2, 3]] [Int64(1), Int64(2), Int64(3), Int64(3), Int64(3)]"
    );
}

/// An error in the bytes names the very byte; the rows before it are there.
#[test]
fn damage_is_an_error_at_its_byte_after_whole_rows() {
    let features = Features::new([Feature::var_len_of_rank("a", DType::Int64, 1)]);
    let features = features.expect("the feature is right");
    let plan = Plan::of(&features).expect("it is of TFRecord");
    let good = example(&[("a", ints(&[1, 300]))]);
    let mut bad = good.clone();
    let last = bad.len() - 1;
    bad[last] |= 0x80;
    let mut writer = Writer::new(Vec::new());
    writer.write(&good).expect("memory takes bytes");
    writer.write(&bad).expect("memory takes bytes");
    let mut payload = writer.finish().expect("memory takes bytes");
    let mut builder = BatchBuilder::new(features.spec().clone());
    let mut slots = builder.slots(&[2]);
    let error = plan.execute(&mut Scratch::default(), &payload, (0, 5), 2, &mut slots[0]);
    let error = error.expect_err("the last varint does not end");
    assert_eq!(
        error.to_string(),
        format!(
            "record 6, key 'a', byte {}: the message ends inside a value",
            16 + good.len() + 12 + good.len() - 3
        )
    );
    assert_eq!(slots[0].row(), 1);
    drop(slots);
    // The checksum is verified before anything else.
    let len = payload.len();
    payload[len - 5] ^= 0x80;
    let mut slots = builder.slots(&[2]);
    let error = plan.execute(&mut Scratch::default(), &payload, (0, 0), 2, &mut slots[0]);
    let error = error
        .expect_err("the checksum is that of the damaged data")
        .to_string();
    let place = format!(
        "record 1, byte {}: the data has the checksum 0x",
        16 + good.len()
    );
    assert!(error.starts_with(&place), "{error}");
    assert_eq!(
        plan.skip(&payload, (0, 0), 2).expect("two records"),
        payload.len()
    );
    plan.skip(&payload, (0, 0), 3).expect_err("no third record");
}

/// A record that needs more memory than there is room for says so before it takes it.
#[test]
fn a_record_larger_than_its_room_is_refused() {
    for feature in [
        Feature::var_len_of_rank("a", DType::Int64, 1),
        Feature::var_len_of_rank("a", DType::Int64, 1).with_layout(Layout::Ragged),
        Feature::fixed_len_sequence("a[*]", &[None], DType::Int64, None, true),
        Feature::sparse_keys("s", &["@a"], "@a", &[-1], DType::Int64),
        Feature::fixed_len("whole", &[], DType::String).at("@"),
    ] {
        let features = Features::new([feature]).expect("the feature is right");
        let plan = Plan::of(&features).expect("it is of TFRecord");
        let mut writer = Writer::new(Vec::new());
        writer
            .write(&example(&[("a", ints(&[1; 1000]))]))
            .expect("memory takes bytes");
        let payload = writer.finish().expect("memory takes bytes");
        let mut builder = BatchBuilder::new(features.spec().clone());
        for (room, is_enough) in [(500, false), (100_000, true)] {
            let mut slots = builder.slots(&[1]);
            slots[0].set_room(room);
            let done = plan.execute(&mut Scratch::default(), &payload, (0, 0), 1, &mut slots[0]);
            assert_eq!(done.is_ok(), is_enough, "{features:?}");
            if let Err(error) = done {
                assert!(
                    error.to_string().contains("more than there is room for"),
                    "{error}"
                );
                assert!(slots[0].segment_bytes() < 1000);
            }
        }
    }
}

/// What only `@` reads need not be a message.
#[test]
fn a_record_of_any_bytes_is_read_whole() {
    let features = Features::new([Feature::fixed_len("raw", &[], DType::String).at("@")]);
    let features = features.expect("the feature is right");
    let plan = Plan::of(&features).expect("it is of TFRecord");
    let mut writer = Writer::new(Vec::new());
    for record in ["one", "", "\u{1}\u{2}"] {
        writer.write(record.as_bytes()).expect("memory takes bytes");
    }
    let payload = writer.finish().expect("memory takes bytes");
    let mut builder = BatchBuilder::new(features.spec().clone());
    let mut slots = builder.slots(&[3]);
    plan.execute(&mut Scratch::default(), &payload, (0, 0), 3, &mut slots[0])
        .expect("records are not looked into");
    drop(slots);
    builder.gather().into_iter().for_each(|task| task.run());
    let batch = builder.finish();
    let raw = batch.strings("raw").expect("there is the column");
    assert_eq!(
        raw.iter().collect::<Vec<_>>(),
        [&b"one"[..], b"", b"\x01\x02"]
    );
}

#[test]
fn features_are_inferred_from_what_records_have() {
    let mut inference = Inference::default();
    let records = [
        person(),
        example(&[
            ("age", ints(&[8])),
            ("image/shape", ints(&[4, 5])),
            ("names", texts(&[])),
            ("weight", texts(&["heavy"])),
            ("late", floats(&[2.5])),
        ]),
    ];
    for record in &records {
        inference.add(record).expect("the record is right");
    }
    let inferred = inference.features();
    assert_eq!(
        inferred.seen,
        [
            "'age': 1 int64 value in each of 2 records",
            "'empty': 0 int64 values in 1 of 2 records",
            "'image.format': 1 bytes value in 1 of 2 records",
            "'image/shape': 2 int64 values in each of 2 records",
            "'late': 1 float value in 1 of 2 records",
            "'names': 0 to 2 bytes values in each of 2 records",
        ]
    );
    assert_eq!(inferred.fixed, ["age", "image/shape"]);
    let mut left_out = inferred.left_out;
    left_out.sort();
    let several = ("weight".to_owned(), "has values of several kinds");
    assert_eq!(left_out, [("nothing".to_owned(), "has no values"), several]);
    let rows = twin::decode(&inferred.features, &records).expect("they read all records");
    assert_eq!(rows.len(), 6);

    let record = SequenceExample {
        context: map(&[("id", ints(&[5])), ("t", ints(&[1, 2]))]),
        feature_lists: Some(FeatureLists {
            feature_list: [(
                "t".to_owned(),
                FeatureList {
                    feature: vec![floats(&[1.0]), floats(&[2.0, 3.0])],
                },
            )]
            .into(),
        }),
    };
    let records = [record.encode_to_vec()];
    let mut inference = Inference::default();
    inference.add(&records[0]).expect("the record is right");
    assert_eq!(inference.message(), atds_tfrecord::Message::SequenceExample);
    let inferred = inference.features();
    assert_eq!(
        inferred.seen[0],
        "'t': 2 steps of 1 to 2 float values in each of 1 record"
    );
    let names: Vec<&str> = inferred
        .features
        .iter()
        .map(|feature| &*feature.name)
        .collect();
    assert_eq!(names, ["feature_lists.t", "id", "t"]);
    let rows = twin::decode(&inferred.features, &records).expect("they read all records");
    assert_eq!(
        rows[0].1,
        ["[[2], [1, 2]] [0x3f800000, 0x40000000, 0x40400000]"]
    );

    inference
        .add(b"\x0a\x05")
        .expect_err("the message ends inside a value");
    // An Example whose int64 `age` is a varint of eleven bytes.
    let long = b"\x0a\x18\x0a\x16\x0a\x03age\x12\x0f\x1a\x0d\x0a\x0b\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    let error = Inference::default().add(long);
    let error = error.expect_err("the value has more than 64 bits");
    assert!(error.to_string().contains("64 bits"), "{error}");
}

#[test]
fn lists_have_their_dimensions_without_being_asked() {
    let sequence = |name: &str, shape: &[Option<usize>]| {
        Feature::fixed_len_sequence(name, shape, DType::Int64, None, true)
    };
    let cases = [
        (
            Feature::var_len("names", DType::String),
            "[2] [[0], [1]] [Ann, Lee]",
        ),
        (
            Feature::var_len("image/shape", DType::Int64),
            "[2] [[0], [1]] [Int64(2), Int64(3)]",
        ),
        (sequence("image/shape", &[None]), "[2] [Int64(2), Int64(3)]"),
        (
            sequence("image/shape", &[None, Some(2)]),
            "[1, 2] [Int64(2), Int64(3)]",
        ),
        (
            sequence("s", &[None]).at("'image/shape'"),
            "[2] [Int64(2), Int64(3)]",
        ),
        (
            Feature::fixed_len("age", &[], DType::Int64),
            "[] [Int64(7)]",
        ),
    ];
    for (feature, expected) in cases {
        assert_eq!(read(with_dimensions(feature)).as_deref(), Ok(expected));
    }
    let list = with_dimensions(Feature::var_len("feature_lists.t", DType::Int64));
    let features = Features::new([list]).expect("the feature is right");
    assert_eq!(features.spec().columns()[0].rank(), 2);
}
