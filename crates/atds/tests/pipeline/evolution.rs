//! Files of different schemas in one dataset.

use atds::avro::Schema;
use atds::{Codec, Convert, DType, Feature, Fill, Scalar, Threads};
use avro_decode::encode::{write_long, write_string};

use crate::common::{Folder, container};

/// Records of three days. Each day has a schema of its own for the same data: a number, its text,
/// and a third of the number as a rating if the day has ratings.
struct Day {
    schema: &'static str,
    encode: fn(&mut Vec<u8>, i64),
}

const DAYS: [Day; 3] = [
    Day {
        schema: r#"{"type": "record", "name": "Row", "fields": [
            {"name": "number", "type": "int"},
            {"name": "text", "type": "string"}]}"#,
        encode: |out, n| {
            write_long(out, n);
            write_string(out, &n.to_string());
        },
    },
    Day {
        schema: r#"{"type": "record", "name": "Row", "fields": [
            {"name": "text", "type": ["null", "string"]},
            {"name": "rating", "type": "float"},
            {"name": "dropped", "type": {"type": "map", "values": "long"}},
            {"name": "number", "type": "int"}]}"#,
        encode: |out, n| {
            write_long(out, 1);
            write_string(out, &n.to_string());
            out.extend((n as f32 / 3.0).to_le_bytes());
            write_long(out, 1);
            write_string(out, "key");
            write_long(out, n);
            write_long(out, 0);
            write_long(out, n);
        },
    },
    Day {
        schema: r#"{"type": "record", "name": "Row", "fields": [
            {"name": "label", "type": "bytes"},
            {"name": "id", "type": "long"},
            {"name": "rating", "type": "double"}]}"#,
        encode: |out, n| {
            write_string(out, &n.to_string());
            write_long(out, n);
            out.extend((n as f64 / 3.0).to_le_bytes());
        },
    },
];

const READER: &str = r#"{"type": "record", "name": "Row", "fields": [
    {"name": "id", "type": "long", "aliases": ["number"]},
    {"name": "rating", "type": "double", "default": -1},
    {"name": "text", "type": ["string", "null"], "aliases": ["label"]}]}"#;

/// A folder with `per_day` records of each day, in blocks of 7. The numbers continue from day to
/// day.
fn folder(per_day: i64) -> Folder {
    let folder = Folder::new();
    for (day, Day { schema, encode }) in DAYS.iter().enumerate() {
        let ids: Vec<i64> = (0..per_day).map(|i| day as i64 * per_day + i).collect();
        let blocks = ids.chunks(7).map(|ids| {
            let mut block = Vec::new();
            ids.iter().for_each(|&id| encode(&mut block, id));
            (ids.len() as u64, block)
        });
        let bytes = container(schema, Codec::Deflate, blocks);
        folder.write(&format!("day{day}.avro"), &bytes);
    }
    folder
}

#[test]
fn files_of_different_schemas_mix_in_one_batch() {
    let per_day = 100;
    let folder = folder(per_day);
    let read = |threads: usize, shuffle: usize| {
        let dataset = atds::Dataset::builder(folder.path(), 64)
            .features([
                Feature::dense("id", &[], DType::Int64),
                Feature::dense("rating", &[], DType::Float64),
                Feature::dense("text", &[], DType::String),
            ])
            .reader_schema(Schema::parse(READER).unwrap())
            .shuffle_buffer_size(shuffle)
            .threads(Threads::Fixed(threads))
            .build()
            .unwrap();
        let mut ids = Vec::new();
        let mut days_in_a_batch = 0;
        for batch in &dataset {
            let batch = batch.unwrap();
            let id = batch.dense::<i64>("id").unwrap();
            let rating = batch.dense::<f64>("rating").unwrap();
            let text = batch.strings("text").unwrap();
            for (row, &id) in id.iter().enumerate() {
                let expected = match id / per_day {
                    0 => -1.0,
                    1 => f64::from(id as f32 / 3.0),
                    _ => id as f64 / 3.0,
                };
                assert_eq!(rating[row], expected, "record {id}");
                assert_eq!(text.get(row).unwrap(), id.to_string().as_bytes());
            }
            let days: std::collections::BTreeSet<_> = id.iter().map(|id| id / per_day).collect();
            days_in_a_batch = days_in_a_batch.max(days.len());
            ids.extend_from_slice(id);
        }
        (ids, days_in_a_batch)
    };
    let (in_order, days) = read(1, 0);
    assert!(in_order.iter().copied().eq(0..3 * per_day));
    assert_eq!(days, 2);
    let (shuffled, days) = read(1, 300);
    assert_eq!(days, 3);
    assert_ne!(shuffled, in_order);
    for threads in 2..=3 {
        assert_eq!(read(threads, 300).0, shuffled);
        assert_eq!(read(threads, 0).0, in_order);
    }
    let mut sorted = shuffled;
    sorted.sort_unstable();
    assert_eq!(sorted, in_order);
}

/// Without a reader's schema, features find fields by name in each file. The order of fields and
/// additional fields do not matter.
#[test]
fn features_are_found_in_each_files_own_schema() {
    let folder = folder(10);
    std::fs::remove_file(folder.join("day2.avro")).unwrap();
    let feature = Feature::dense("number", &[], DType::Int32);
    let text = Feature::dense("text", &[], DType::Int64)
        .with_convert(Convert::HashBuckets(1 << 40))
        .with_default(Fill::Scalar(Scalar::Int64(-1)));
    let dataset = atds::Dataset::builder(folder.path(), 20)
        .features([feature, text])
        .build()
        .unwrap();
    let batch = dataset.iter().next().unwrap().unwrap();
    let number = batch.dense::<i32>("number").unwrap();
    assert!(number.iter().copied().eq(0..20));
    let ids = batch.dense::<i64>("text").unwrap();
    let different: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(different.len(), 20);
}

#[test]
fn a_file_that_cannot_become_the_readers_names_itself() {
    let folder = folder(10);
    let narrow = READER.replace("\"double\"", "\"float\"");
    let build = |files: std::path::PathBuf| {
        atds::Dataset::builder(files, 20)
            .features([Feature::dense("rating", &[], DType::Float32)])
            .reader_schema(Schema::parse(&narrow).unwrap())
    };
    for files in [folder.join("day2.avro"), folder.path().to_owned()] {
        let error = build(files).build().unwrap_err();
        assert_eq!(
            folder.message(&error),
            "day2.avro: field 'rating': double cannot be read as float"
        );
    }
    // Without the check, the error comes when the file is opened.
    let dataset = build(folder.path().to_owned()).check_files(false).build();
    let dataset = dataset.unwrap();
    let mut batches = dataset.iter();
    assert_eq!(batches.next().unwrap().unwrap().rows(), 20);
    let error = batches.next().unwrap().unwrap_err();
    assert!(
        folder
            .message(&error)
            .starts_with("day2.avro: field 'rating'")
    );
    assert!(batches.next().is_none());
}
