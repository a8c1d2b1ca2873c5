//! The memory limit: its message, and Avro files that would take memory out of proportion. What all
//! formats share is in the conformance suite.

use atds::{Codec, Column, DType, Error, ErrorKind, Feature, Fill, Scalar, Threads};
use avro_decode::encode::write_long;

use crate::common::{CODECS, Folder, container, read};

fn is_memory_limit(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::MemoryLimit { .. })
}

#[test]
fn the_error_names_the_limit_and_what_to_change() {
    let folder = Folder::of_rows(1, 200, 10, Codec::Null);
    let dataset = folder.rows(100).memory_limit(100).build().unwrap();
    let (ids, error) = read(dataset.iter());
    assert_eq!(ids.len(), 0);
    let error = error.unwrap();
    let ErrorKind::MemoryLimit {
        limit: 100, needed, ..
    } = error.kind
    else {
        panic!("{error}");
    };
    assert!(needed > 100);
    assert_eq!(
        folder.message(&error),
        format!(
            "00.avro: `memory_limit` is 100 bytes, but the window and a batch need {needed} or more: raise \
             it, or lower `shuffle_buffer_size` or `batch_size`"
        )
    );
}

/// A block decompresses to far more bytes than it takes in the file.
#[test]
fn a_bomb_is_an_error_and_not_memory() {
    let schema = r#"{"type": "record", "name": "R", "fields": [{"name": "b", "type": "bytes"}]}"#;
    for codec in &CODECS[1..] {
        let folder = Folder::new();
        let mut record = Vec::new();
        avro_decode::encode::write_bytes(&mut record, &vec![0; 8 << 20]);
        let bytes = container(schema, *codec, [(1, record)]);
        let path = folder.write("bomb.avro", &bytes);
        let column = atds::ColumnSpec::dense("b", &[], DType::String);
        let dataset = atds::Dataset::builder(path, 1).features([column]);
        let dataset = dataset.memory_limit(1 << 20).build().unwrap();
        let mut batches = dataset.iter();
        let error = batches.next().unwrap().unwrap_err();
        assert!(is_memory_limit(&error), "{codec}: {error}");
        assert!(batches.stats().memory_peak <= 1 << 20);
    }
}

/// A list of `lists` lists. The first has `items` zeros, the others are empty.
fn list_of_lists(lists: usize, items: usize) -> Vec<u8> {
    let mut record = Vec::new();
    write_long(&mut record, lists as i64);
    write_long(&mut record, items as i64);
    record.resize(record.len() + items, 0);
    // The end of each inner list, and of the outer list.
    record.resize(record.len() + lists + 1, 0);
    record
}

/// One long list pads all rows. The padded size is checked against the limit before it is
/// allocated.
#[test]
fn padding_out_of_proportion_is_an_error_and_not_memory() {
    let schema = r#"{"type": "record", "name": "R", "fields": [{"name": "x", "type":
        {"type": "array", "items": {"type": "array", "items": "long"}}}]}"#;
    let feature = Feature::fixed_len("x", &[None, None], DType::Int64)
        .with_default(Fill::Scalar(Scalar::Int64(-1)));
    let dataset = |folder: &Folder, longest: usize| {
        // Each record is a block, so several threads get some.
        let blocks = (0..10).map(|record| {
            let longest = if record == 6 { longest } else { 1 };
            (1, list_of_lists(longest, longest))
        });
        let path = folder.write("x.avro", &container(schema, Codec::Null, blocks));
        let dataset = atds::Dataset::builder(path, 10).features([feature.clone()]);
        dataset.memory_limit(64 << 20)
    };
    let folder = Folder::new();
    for threads in [1, 3] {
        let threads = Threads::Fixed(threads);
        let fits = dataset(&folder, 100).threads(threads).build().unwrap();
        let batch = fits.iter().next().unwrap().unwrap();
        let Some(Column::Dense(padded)) = batch.column("x") else {
            panic!("not dense");
        };
        assert_eq!(padded.shape, [10, 100, 100]);

        // The padded lists would take 80 TB.
        let longest = 1 << 20;
        let limited = dataset(&folder, longest).threads(threads).build().unwrap();
        let mut batches = limited.iter();
        let error = batches.next().unwrap().unwrap_err();
        let ErrorKind::MemoryLimit { limit, needed, .. } = error.kind else {
            panic!("{error}");
        };
        assert_eq!(limit, 64 << 20);
        assert!(needed > (10 * 8) << 40, "{needed}");
        assert!(batches.next().is_none());
        assert!(batches.stats().memory_peak <= limit);
    }
}
