//! The memory limit: a sufficient limit gives all batches, a smaller one an error. Neither depends
//! on the number of threads.

use std::time::Duration;

use atds::{
    Batches, Codec, Column, DType, DatasetBuilder, Error, ErrorKind, Feature, Fill, Scalar, Threads,
};
use avro_decode::encode::write_long;

use crate::common::{CODECS, Folder, container, read, read_all};

/// The smallest limit that suffices, to within one percent.
fn least(dataset: &DatasetBuilder) -> u64 {
    let works = |limit| {
        read(dataset.clone().memory_limit(limit).build().unwrap().iter())
            .1
            .is_none()
    };
    let (mut low, mut high) = (0, 1 << 24);
    assert!(works(high) && !works(low));
    while high - low > high / 100 {
        let middle = low + (high - low) / 2;
        if works(middle) {
            high = middle
        } else {
            low = middle
        }
    }
    high
}

fn is_memory_limit(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::MemoryLimit { .. })
}

/// An upper bound on the bytes of the window and a batch, for batches of ten and a window of sixty.
/// The test files are far larger.
const WINDOW: u64 = 32_000;

#[test]
fn just_enough_is_enough_and_less_an_error_on_every_number_of_threads() {
    for codec in [Codec::Null, Codec::Deflate] {
        let folder = Folder::of_rows(3, 200, 10, codec);
        let dataset = folder.rows(10).shuffle_buffer_size(50);
        let expected = read_all(dataset.clone().build().unwrap().iter());
        let one = dataset.clone().threads(Threads::Fixed(1));
        let enough = least(&one);
        assert!(enough < WINDOW, "{codec}: {enough}");

        let mut batches_before = None;
        for threads in [1, 2, 3, 4, 8] {
            let dataset = dataset.clone().threads(Threads::Fixed(threads));
            for prefetch in [0, 3] {
                let just = dataset.clone().memory_limit(enough).prefetch(prefetch);
                let mut batches = just.build().unwrap().iter();
                assert_eq!(read_all(&mut batches), expected);
                assert!(batches.stats().memory_peak <= enough);
            }
            let less = dataset.memory_limit(enough * 98 / 100).build().unwrap();
            let (ids, error) = read(less.iter());
            assert!(
                is_memory_limit(&error.unwrap()),
                "{codec}, {threads} threads"
            );
            assert_eq!(ids, expected[..ids.len()]);
            // The same batches come before the error.
            assert_eq!(*batches_before.get_or_insert(ids.len()), ids.len());
        }
    }
}

#[test]
fn the_error_names_the_limit_and_what_to_change() {
    let folder = Folder::of_rows(1, 200, 10, Codec::Null);
    let dataset = folder.rows(100).memory_limit(100).build().unwrap();
    let (ids, error) = read(dataset.iter());
    assert_eq!(ids.len(), 0);
    let error = error.unwrap();
    let ErrorKind::MemoryLimit { limit: 100, needed } = error.kind else {
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

#[test]
fn the_limit_that_the_error_names_leads_to_one_that_does() {
    let folder = Folder::of_rows(2, 300, 10, Codec::Deflate);
    for threads in [1, 3] {
        let dataset = folder.rows(100).shuffle_buffer_size(200);
        let dataset = dataset.threads(Threads::Fixed(threads));
        let enough = least(&dataset);
        let mut limit = 1;
        let (mut tries, mut error) = (0, None);
        while tries == 0 || error.is_some() {
            error = read(dataset.clone().memory_limit(limit).build().unwrap().iter()).1;
            if let Some(error) = &error {
                let ErrorKind::MemoryLimit { needed, .. } = error.kind else {
                    panic!("{error}");
                };
                assert!(needed > limit);
                limit = needed;
            }
            tries += 1;
        }
        assert!(
            tries > 1 && limit < 2 * enough,
            "{limit}, {enough} is enough"
        );
    }
}

/// Takes each batch after a pause, in which the pipeline can run ahead. The limit must hold for any
/// pause; a pause only makes a fault likely to show.
fn slowly(batches: &mut Batches) -> u64 {
    let mut records = 0;
    loop {
        std::thread::sleep(Duration::from_millis(1));
        match batches.next() {
            Some(batch) => records += batch.unwrap().rows() as u64,
            None => return records,
        }
    }
}

#[test]
fn a_slow_consumer_does_not_raise_the_peak_above_the_limit() {
    for codec in CODECS {
        let folder = Folder::of_rows(3, 400, 10, codec);
        let dataset = folder.rows(20).shuffle_buffer_size(50).prefetch(1_000);
        let limit = 2 * least(&dataset);
        for threads in [1, 3] {
            let dataset = dataset.clone().threads(Threads::Fixed(threads));
            let mut batches = dataset.memory_limit(limit).build().unwrap().iter();
            let records = slowly(&mut batches);
            let peak = batches.stats().memory_peak;
            assert!(peak <= limit, "{codec}: {peak} of {limit}");
            assert_eq!(records, 400 + 401 + 402);
        }
    }
}

#[test]
fn prefetch_is_bounded_by_the_limit_and_not_by_its_number() {
    let folder = Folder::of_rows(3, 500, 10, Codec::Deflate);
    let limit = 30_000;
    let dataset = folder.rows(20).prefetch(1_024).memory_limit(limit);
    let mut batches = dataset.build().unwrap().iter();
    assert_eq!(slowly(&mut batches), 500 + 501 + 502);
    let peak = batches.stats().memory_peak;
    assert!((limit / 2..=limit).contains(&peak), "{peak} of {limit}");
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
        let ErrorKind::MemoryLimit { limit, needed } = error.kind else {
            panic!("{error}");
        };
        assert_eq!(limit, 64 << 20);
        assert!(needed > (10 * 8) << 40, "{needed}");
        assert!(batches.next().is_none());
        assert!(batches.stats().memory_peak <= limit);
    }
}
