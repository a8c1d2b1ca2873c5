//! Files that are written, read by the data set and by other implementations.

use std::fs;

use atds::error::ErrorKind;
use atds::write::{AvroFile, AvroOptions, Compression, ExampleEncoder, TfRecordFile, Value};
use atds::{Codec, DType, Dataset, Feature, avro};

const SCHEMA: &str = r#"{"type": "record", "name": "Person", "doc": "kept", "fields": [
    {"name": "id", "type": "long"},
    {"name": "name", "type": ["null", "string"]},
    {"name": "scores", "type": {"type": "array", "items": "float"}}]}"#;

fn person(id: i64) -> Value {
    let name = match id % 3 {
        0 => Value::Union(0, Box::new(Value::Null)),
        _ => Value::Union(1, Box::new(Value::String(format!("n{id}")))),
    };
    let scores = (0..id % 4).map(|n| Value::Float(n as f32 / 2.0)).collect();
    Value::Record(vec![Value::Long(id), name, Value::Array(scores)])
}

#[test]
fn every_codec_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    for codec in Codec::ALL {
        let path = folder.path().join(format!("{codec}.avro"));
        let mut options = AvroOptions::default();
        options.codec = codec;
        options.block_bytes = 500;
        options.metadata = vec![("made.by".to_owned(), b"a test".to_vec())];
        let mut file = AvroFile::create(&path, SCHEMA, &options).expect("it works");
        for id in 0..200 {
            file.write(&person(id)).expect("it works");
        }
        assert_eq!(file.finish().expect("it works"), 200);
        let bytes = fs::read(&path).expect("it is there");
        assert!(
            bytes
                .windows(SCHEMA.len())
                .any(|part| part == SCHEMA.as_bytes())
        );
        let records = avro::records::Records::open(&path).expect("it works");
        for (id, record) in records.enumerate() {
            let record = record.expect("a record");
            assert_eq!(record["id"], id);
            assert_eq!(record["scores"].as_array().expect("it works").len(), id % 4);
        }
        let verified = avro::verify::verify(&path).expect("it works");
        assert!(verified.is_well() && verified.records == 200 && verified.blocks > 3);
    }
}

#[test]
fn apache_avro_reads_the_records() {
    use apache_avro::types::Value as Apache;

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.avro");
    let mut options = AvroOptions::default();
    options.codec = Codec::Deflate;
    options.level = Some(9);
    options.metadata = vec![("made.by".to_owned(), b"a test".to_vec())];
    let mut file = AvroFile::create(&path, SCHEMA, &options).expect("it works");
    file.write(&person(6)).expect("it works");
    file.write(&person(7)).expect("it works");
    file.finish().expect("it works");
    let bytes = fs::read(&path).expect("it is there");
    let reader = apache_avro::Reader::new(&bytes[..]).expect("it works");
    assert_eq!(reader.user_metadata()["made.by"], b"a test");
    let records: Vec<Apache> = reader.map(|record| record.expect("a record")).collect();
    let null = Apache::Union(0, Box::new(Apache::Null));
    let text = Apache::Union(1, Box::new(Apache::String("n7".to_owned())));
    let floats = |values: &[f32]| Apache::Array(values.iter().map(|&x| Apache::Float(x)).collect());
    let expected = [
        (6, null, floats(&[0.0, 0.5])),
        (7, text, floats(&[0.0, 0.5, 1.0])),
    ];
    for (record, (id, name, scores)) in records.into_iter().zip(expected) {
        let fields = [("id", Apache::Long(id)), ("name", name), ("scores", scores)];
        let fields = fields.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(record, Apache::Record(fields.to_vec()));
    }
}

#[test]
fn an_example_is_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let compressions = [Compression::None, Compression::Gzip, Compression::Zlib];
    for compression in compressions {
        let path = folder.path().join(format!("{compression}.tfrecord"));
        let mut file = TfRecordFile::create_compressed(&path, compression, 6).expect("it works");
        let mut example = ExampleEncoder::new();
        for n in 0..100 {
            example.int64_list("n", [n]);
            example.float_list("x", [n as f32, 0.5]);
            file.write(&example.take()).expect("it works");
        }
        assert_eq!(file.finish().expect("it works"), 100);
        let features = [
            Feature::fixed_len("n", &[], DType::Int64),
            Feature::fixed_len("x", &[Some(2)], DType::Float32),
        ];
        let dataset = Dataset::builder(&path, 100).features(features).build();
        let batch = dataset
            .expect("it works")
            .iter()
            .next()
            .expect("it works")
            .expect("it works");
        assert_eq!(
            batch.dense::<i64>("n").expect("it works").to_vec(),
            Vec::from_iter(0..100)
        );
        assert_eq!(
            batch.dense::<f32>("x").expect("it works").to_vec()[198..],
            [99.0, 0.5]
        );
    }
}

#[test]
fn a_file_has_its_name_when_it_is_complete() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.avro");
    fs::write(&path, "before").expect("it works");
    let names = || fs::read_dir(folder.path()).expect("it works").count();

    let mut file = AvroFile::create(&path, SCHEMA, &AvroOptions::default()).expect("it works");
    file.write(&person(1)).expect("it works");
    assert_eq!(
        (fs::read(&path).expect("it is there"), names()),
        (b"before".to_vec(), 2)
    );
    drop(file);
    assert_eq!(
        (fs::read(&path).expect("it is there"), names()),
        (b"before".to_vec(), 1)
    );

    let mut file = AvroFile::create(&path, SCHEMA, &AvroOptions::default()).expect("it works");
    file.write(&person(1)).expect("it works");
    let error = file
        .write(&Value::Record(vec![Value::Int(2)]))
        .expect_err("refused");
    assert!(
        error.to_string().contains("the schema has 3 fields"),
        "{error}"
    );
    let error = file
        .write(&Value::Record(vec![
            Value::Long(2),
            Value::Union(0, Box::new(Value::Null)),
            Value::Array(vec![Value::Double(0.5)]),
        ]))
        .expect_err("refused");
    assert_eq!(
        (error.place.record, error.place.field.as_deref()),
        (Some(1), Some("scores"))
    );
    file.write(&person(2)).expect("it works");
    assert_eq!((file.finish().expect("it works"), names()), (2, 1));
    assert_eq!(avro::verify::verify(&path).expect("it works").records, 2);
}

#[cfg(unix)]
#[test]
fn a_link_stays_and_what_is_no_file_is_not_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let (target, link) = (folder.path().join("a.tfrecord"), folder.path().join("b"));
    fs::write(&target, "before").expect("it works");
    std::os::unix::fs::symlink(&target, &link).expect("it works");
    TfRecordFile::create(&link)
        .expect("it works")
        .finish()
        .expect("it works");
    assert!(fs::symlink_metadata(&link).expect("it works").is_symlink());
    assert_eq!(fs::read(&target).expect("it works"), b"");

    let error = TfRecordFile::create("/dev/null").expect_err("refused");
    assert!(matches!(error.kind, ErrorKind::NotReplaced), "{error}");
    let error = TfRecordFile::create(folder.path()).expect_err("refused");
    assert!(error.to_string().contains("it is a folder"), "{error}");
}

#[cfg(unix)]
#[test]
fn permissions_of_what_is_replaced_stay() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.tfrecord");
    fs::write(&path, "before").expect("it works");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it works");
    let file = TfRecordFile::create(&path).expect("it works");
    file.finish().expect("it works");
    let mode = fs::metadata(&path).expect("it works").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn names_may_be_as_long_as_the_system_allows() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("n".repeat(255));
    let file = TfRecordFile::create(&path).expect("it works");
    assert_eq!(file.finish().expect("it works"), 0);
    assert!(path.exists());

    let missing = folder.path().join("no").join("a.tfrecord");
    let error = TfRecordFile::create(&missing).expect_err("there is no folder");
    assert!(!error.to_string().contains(".a.tfrecord"), "{error}");
}

#[test]
fn a_schema_to_write_is_strict() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.avro");
    for (schema, said) in [
        ("{", "not JSON"),
        (
            r#"{"type": "record", "name": "R", "fields": [{"name": "a-b", "type": "int"}]}"#,
            "a-b",
        ),
        (
            r#"{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "default": "x"}]}"#,
            "default",
        ),
    ] {
        let error = AvroFile::create(&path, schema, &AvroOptions::default()).expect_err("refused");
        assert!(error.to_string().contains(said), "{error}");
    }
    let mut options = AvroOptions::default();
    options.level = Some(3);
    let error = AvroFile::create(&path, SCHEMA, &options).expect_err("refused");
    assert!(error.to_string().contains("level"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).expect("it works").count(), 0);
}
