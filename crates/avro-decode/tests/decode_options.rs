//! Options for text that is not UTF-8, and for depth.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use avro_decode::limits::DEEPEST;
use avro_decode::{
    Convert, DecodeError, DecodeErrorKind, DecodeOptions, Feature, Features, Plan, PlanOptions,
    Resolution, Schema, Skipper, Transcoder, Value, Vocabulary, reference, replaced_texts, to_json,
};
use tensor_batch::{Batch, BatchBuilder, Column, DType, Layout};

fn long(value: i64) -> Vec<u8> {
    let mut out = Vec::new();
    avro_decode::encode::write_long(&mut out, value);
    out
}

fn text(bytes: &[u8]) -> Vec<u8> {
    [long(bytes.len() as i64), bytes.to_vec()].concat()
}

fn list(items: &[&[u8]]) -> Vec<u8> {
    let items: Vec<u8> = items.iter().flat_map(|item| text(item)).collect();
    [long(2), items, vec![0]].concat()
}

const SCHEMA: &str = r#"{"type": "record", "name": "r", "fields": [
    {"name": "s", "type": "string"},
    {"name": "n", "type": ["null", "string"]},
    {"name": "a", "type": {"type": "array", "items": "string"}},
    {"name": "b", "type": "bytes"},
    {"name": "skipped", "type": "string"}
]}"#;

/// Every text is invalid, and long enough for the check of whole blocks.
fn record() -> Vec<u8> {
    let long_text = [vec![b'x'; 100], b"\xe2\x82".to_vec()].concat();
    [
        text(b"gr\xfcn"),
        [long(1), text(&long_text)].concat(),
        list(&["größe".as_bytes(), b"\xff\xff."]),
        text(b"\xff"),
        text(b"\xc0"),
    ]
    .concat()
}

fn run(features: Vec<Feature>, options: &PlanOptions) -> Result<(Batch, u64), DecodeError> {
    let schema = Arc::new(Schema::parse(SCHEMA).unwrap());
    let features = Features::new(features).unwrap();
    let plan = Plan::compile(&schema, &features, options).unwrap();
    let data = [record(), record()].concat();
    let mut builder = BatchBuilder::new(features.spec().clone());
    let mut replaced = 0;
    for mut slots in builder.slots(&[2]) {
        let done = plan.execute(&data, 0, 2, &mut slots)?;
        assert_eq!(done.position, data.len());
        replaced += done.replaced;
    }
    builder
        .gather()
        .into_iter()
        .for_each(tensor_batch::GatherTask::run);
    Ok((builder.finish(), replaced))
}

fn strings(batch: &Batch, name: &str) -> Vec<Vec<u8>> {
    let values = match batch.column(name).unwrap() {
        Column::Dense(dense) => dense.values,
        Column::Sparse(sparse) => sparse.values,
        Column::Ragged(ragged) => ragged.values,
        other => panic!("{other:?}"),
    };
    values
        .as_strings()
        .unwrap()
        .iter()
        .map(<[u8]>::to_vec)
        .collect()
}

fn replacing() -> PlanOptions {
    let mut options = PlanOptions::default();
    options.decode.replace_invalid_utf8 = true;
    options
}

#[test]
fn text_is_replaced_by_choice() {
    let lists = |layout| Feature::varlen("a", &[-1], DType::String).with_layout(layout);
    for a in [
        Feature::dense("a", &[2], DType::String),
        lists(Layout::Coo),
        lists(Layout::Ragged),
    ] {
        let features = vec![
            Feature::dense("s", &[], DType::String),
            Feature::dense("n", &[], DType::String),
            a,
            Feature::dense("b", &[], DType::String),
        ];
        let error = run(features.clone(), &PlanOptions::default()).unwrap_err();
        assert_eq!(
            (error.kind, error.record),
            (DecodeErrorKind::InvalidUtf8, Some(0))
        );
        let before = replaced_texts();
        let (batch, replaced) = run(features, &replacing()).unwrap();
        // Each record has three replaced texts. Bytes and skipped texts do not count.
        assert_eq!((replaced, replaced_texts() - before), (6, 6));
        let long_text = format!("{}\u{fffd}", "x".repeat(100));
        let [s, n, a, b] = ["s", "n", "a", "b"].map(|name| strings(&batch, name));
        assert_eq!(s, ["gr\u{fffd}n".as_bytes(); 2]);
        assert_eq!(n, [long_text.as_bytes(); 2]);
        let row = ["größe".as_bytes(), "\u{fffd}\u{fffd}.".as_bytes()];
        assert_eq!(a, [row, row].concat());
        assert_eq!(b, [b"\xff"; 2]);
    }
}

#[test]
fn bytes_and_ids_are_never_checked() {
    let vocabulary = Vocabulary::new([b"gr\xfcn".to_vec()], -1).unwrap();
    let features = || {
        vec![
            Feature::dense("s", &[], DType::String).with_any_bytes(),
            Feature::dense("a", &[2], DType::String).with_any_bytes(),
            Feature::dense("hash", &[], DType::Int64)
                .at("s")
                .with_convert(Convert::HashBuckets(1 << 40)),
            Feature::dense("word", &[], DType::Int64)
                .at("s")
                .with_convert(Convert::Vocabulary(Arc::new(vocabulary.clone()))),
        ]
    };
    for options in [PlanOptions::default(), replacing()] {
        let (batch, replaced) = run(features(), &options).unwrap();
        assert_eq!(replaced, 0);
        assert_eq!(strings(&batch, "s"), [b"gr\xfcn"; 2]);
        assert_eq!(strings(&batch, "a")[1], b"\xff\xff.");
        let Some(Column::Dense(word)) = batch.column("word") else {
            panic!("a dense column");
        };
        assert_eq!(word.values.as_slice::<i64>(), Some(&[0, 0][..]));
    }
}

#[test]
fn the_reference_and_the_transcoder_replace_alike() {
    let schema = Arc::new(Schema::parse(SCHEMA).unwrap());
    let mut options = DecodeOptions::default();
    let data = record();
    let decode = |options: &DecodeOptions| {
        reference::decode_with(&schema, schema.root(), &data, &mut 0, options)
    };
    assert_eq!(
        decode(&options).unwrap_err().kind,
        DecodeErrorKind::InvalidUtf8
    );
    options.replace_invalid_utf8 = true;
    let value = decode(&options).unwrap();
    let Value::Record(fields) = &value else {
        panic!("a record");
    };
    assert_eq!(fields[0], Value::String("gr\u{fffd}n".to_owned()));
    let resolution = Resolution::identity(schema.clone());
    let mut out = Vec::new();
    let strict = Transcoder::new(&resolution);
    assert!(strict.transcode(&data, &mut out).is_err());
    let transcoder = Transcoder::with_options(&resolution, &options);
    transcoder.transcode(&data, &mut out).unwrap();
    let written = reference::decode(&schema, schema.root(), &out, &mut 0).unwrap();
    assert_eq!(written, value);
}

const CHAIN: &str = r#"{"type": "record", "name": "r", "fields": [
    {"name": "next", "type": ["null", "r"]},
    {"name": "x", "type": "int"}
]}"#;

/// Nested records, each in a union.
fn chain(records: usize) -> Vec<u8> {
    let mut data: Vec<u8> = vec![2; records - 1];
    data.push(0);
    data.extend(vec![4; records]);
    data
}

/// Runs all recursive code with three quarters of a spawned thread's stack.
#[test]
fn depth_is_an_option_and_never_overflows() {
    let check = || {
        let schema = Arc::new(Schema::parse(CHAIN).unwrap());
        for limit in [3, 100, 101, DEEPEST, DEEPEST + 1, usize::MAX] {
            let mut options = DecodeOptions::default();
            options.max_depth = limit;
            let limit = limit.min(DEEPEST);
            // Each record but the last takes two levels.
            let deepest = limit / 2;
            for (records, fits) in [(deepest, true), (deepest + 1, false), (100_000, false)] {
                let data = chain(records);
                let kind = DecodeErrorKind::TooDeep { limit };
                let decoded =
                    reference::decode_with(&schema, schema.root(), &data, &mut 0, &options);
                assert_eq!(decoded.is_ok(), fits, "{limit} {records}");
                match decoded {
                    Ok(value) => {
                        let json = to_json(&schema, schema.root(), &value).unwrap();
                        assert!(json.to_string().len() > records);
                    }
                    Err(error) => assert_eq!(error.kind, kind),
                }
                let skipper = Skipper::with_max_depth(&schema, options.max_depth);
                let skipped = skipper.skip(&data, 0, 1);
                assert_eq!(skipped.is_ok(), fits, "{limit} {records}");
                let mut plan = PlanOptions::default();
                plan.decode = options;
                let feature = Feature::dense("x", &[], DType::Int32);
                let features = Features::new([feature]).unwrap();
                let plan = Plan::compile(&schema, &features, &plan).unwrap();
                let mut builder = BatchBuilder::new(features.spec().clone());
                for mut slots in builder.slots(&[1]) {
                    let read = plan.execute(&data, 0, 1, &mut slots);
                    match read {
                        Ok(_) => assert!(fits || records == deepest + 1, "{limit} {records}"),
                        Err(error) => {
                            assert!(!fits);
                            let remedy = if limit < DEEPEST {
                                "raise `max_depth`"
                            } else {
                                "deeper than 300, the maximum"
                            };
                            assert!(error.to_string().contains(remedy), "{error}");
                        }
                    }
                }
                let transcoder =
                    Transcoder::with_options(&Resolution::identity(schema.clone()), &options);
                let written = transcoder.transcode(&data, &mut Vec::new());
                assert_eq!(written.is_ok(), fits, "{limit} {records}");
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(3 << 19).spawn(check);
    thread.unwrap().join().unwrap();
}
