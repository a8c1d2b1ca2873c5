//! A batch of messages equals the batch of a file with the same records.

use atds::avro::Schema;
use atds::avro::messages::MessageDecoder;
use atds::{Codec, ColumnSpec, DType, Dataset, Feature, Fill, OutOfBounds, Scalar};
use avro_decode::encode::write_long;

use crate::common::{Folder, LAYOUTS, Row, SCHEMA, container, features, rows, rows_file};
use crate::{everything, messages, rows_decoder};

#[test]
fn the_batches_of_a_file_in_every_layout() {
    let folder = Folder::new();
    folder.write("x.avro", &rows_file(0..57, 5, Codec::Null));
    for layout in LAYOUTS {
        let dataset = folder.rows(10).layout(layout).build().unwrap();
        let features = features().map(|feature| Feature::from(feature).with_layout(layout));
        let schema = Schema::parse(SCHEMA).unwrap();
        let mut decoder = MessageDecoder::builder(schema, features).build().unwrap();
        assert_eq!(decoder.spec(), dataset.spec());

        let messages = messages(0..57);
        let mut batches = dataset.iter();
        for messages in messages.chunks(10) {
            let expected = batches.next().unwrap().unwrap();
            let found = decoder.decode(messages).unwrap();
            assert_eq!(found.rows(), messages.len());
            assert_eq!(everything(&found), everything(&expected));
        }
        assert!(batches.next().is_none());
    }
}

/// Nulls, unions, maps, filters, padding, masks and sparse features with keys.
#[test]
fn the_batches_of_a_file_for_every_kind_of_feature() {
    let schema = r#"{"type": "record", "name": "R", "fields": [
        {"name": "n", "type": ["null", "long"]},
        {"name": "m", "type": {"type": "map", "values": "int"}},
        {"name": "e", "type": {"type": "array", "items": {"type": "record", "name": "E",
            "fields": [{"name": "i", "type": "int"}, {"name": "v", "type": "double"}]}}}]}"#;
    let features = [
        Feature::fixed_len("n", &[], DType::Int64).with_mask("n.mask"),
        Feature::fixed_len("k", &[], DType::Int32)
            .at("m['k']")
            .with_default(Fill::Scalar(Scalar::Int32(-1))),
        Feature::fixed_len("padded", &[None], DType::Float64)
            .at("e[*].v")
            .with_default(Fill::Scalar(Scalar::Float64(0.5))),
        Feature::var_len("filtered", DType::Float64).at("e[i=3].v"),
        Feature::sparse_keys("sparse", &["i"], "v", &[10], DType::Float64).at("e"),
    ];
    let record = |id: i64| {
        let mut out = Vec::new();
        match id % 3 {
            0 => out.push(0),
            _ => {
                out.push(2);
                write_long(&mut out, id);
            }
        }
        // Half of the maps have the key.
        if id % 2 == 0 {
            out.extend([2, 2, b'k', 8]);
        }
        out.push(0);
        for item in 0..id % 5 {
            out.push(2);
            write_long(&mut out, (item + id) % 5);
            out.extend((item as f64).to_le_bytes());
        }
        out.push(0);
        out
    };
    let records: Vec<Vec<u8>> = (0..40).map(record).collect();
    let folder = Folder::new();
    let block = (40, records.concat());
    let path = folder.write("x.avro", &container(schema, Codec::Null, [block]));
    let dataset = Dataset::builder(path, 7).features(features.clone());
    let dataset = dataset.build().unwrap();
    let schema = Schema::parse(schema).unwrap();
    let mut decoder = MessageDecoder::builder(schema, features).build().unwrap();
    let mut batches = records.chunks(7);
    for expected in &dataset {
        let found = decoder.decode(batches.next().unwrap()).unwrap();
        assert_eq!(everything(&found), everything(&expected.unwrap()));
    }
    assert!(batches.next().is_none());
}

#[test]
fn many_messages() {
    let mut decoder = rows_decoder().build().unwrap();
    let count = 20_000;
    let messages = messages(0..count);
    let bytes: usize = messages.iter().map(Vec::len).sum();
    assert!(bytes > 512 << 10, "more than is counted together");
    let batch = decoder.decode(&messages).unwrap();
    assert_eq!(rows(&batch), (0..count).map(Row::new).collect::<Vec<_>>());
}

#[test]
fn no_messages_and_messages_of_no_bytes() {
    let mut decoder = rows_decoder().build().unwrap();
    let batch = decoder.decode(&[] as &[&[u8]]).unwrap();
    assert_eq!(batch.rows(), 0);
    assert_eq!(rows(&batch), []);

    let nothing = Schema::parse(r#"{"type": "record", "name": "R", "fields": []}"#).unwrap();
    let reader = Schema::parse(
        r#"{"type": "record", "name": "R", "fields": [
            {"name": "x", "type": "int", "default": 7}]}"#,
    );
    let features = [ColumnSpec::dense("x", &[], DType::Int32)];
    let decoder = MessageDecoder::builder(nothing, features).reader_schema(reader.unwrap());
    let batch = decoder.build().unwrap().decode(&[b"", b"", b""]).unwrap();
    assert_eq!(batch.dense::<i32>("x").unwrap(), [7, 7, 7]);
}

#[test]
fn a_readers_schema() {
    let reader = SCHEMA
        .replace(
            r#""name": "pair","#,
            r#""name": "couple", "aliases": ["pair"],"#,
        )
        .replace(r#""items": "float""#, r#""items": "double""#)
        .replace(
            r#"{"name": "text", "type": "string"}"#,
            r#"{"name": "added", "type": "string", "default": "none"}"#,
        );
    let features = [
        ColumnSpec::dense("couple", &[2], DType::Float64),
        ColumnSpec::dense("added", &[], DType::String),
    ];
    let decoder = MessageDecoder::builder(Schema::parse(SCHEMA).unwrap(), features)
        .reader_schema(Schema::parse(&reader).unwrap());
    let batch = decoder.build().unwrap().decode(&messages(3..5)).unwrap();
    assert_eq!(
        batch.dense::<f64>("couple").unwrap(),
        [3.0, -1.5, 4.0, -2.0]
    );
    let added: Vec<&[u8]> = batch.strings("added").unwrap().iter().collect();
    assert_eq!(added, [b"none", b"none"]);
}

#[test]
fn dropped_entries_are_counted_of_batches_that_came_to_be() {
    let features = [ColumnSpec::sparse("cells", &[99], DType::Float64)];
    let schema = Schema::parse(SCHEMA).unwrap();
    let decoder = MessageDecoder::builder(schema, features).out_of_bounds(OutOfBounds::Drop);
    let mut decoder = decoder.build().unwrap();
    // Two of three rows have an entry with the index 99.
    let messages = messages(0..9);
    for round in 1..=2 {
        decoder.decode(&messages).unwrap();
        assert_eq!(decoder.dropped_entries(), 6 * round);
    }
    let mut bad = messages.clone();
    bad[8].pop();
    decoder.decode(&bad).unwrap_err();
    assert_eq!(decoder.dropped_entries(), 12);
}

#[test]
fn a_clone_is_a_decoder_of_its_own() {
    let mut decoder = rows_decoder().build().unwrap();
    let mut clone = decoder.clone();
    let thread = std::thread::spawn(move || rows(&clone.decode(&messages(0..10)).unwrap()));
    let found = rows(&decoder.decode(&messages(10..20)).unwrap());
    assert_eq!(found, (10..20).map(Row::new).collect::<Vec<_>>());
    let found = thread.join().unwrap();
    assert_eq!(found, (0..10).map(Row::new).collect::<Vec<_>>());
}
