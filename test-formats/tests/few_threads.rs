//! Threads start when there is work for them.

#![allow(clippy::unwrap_used)]

use std::io;
use std::sync::Arc;

use atds_format::{ByteSource, Format, Location};
use atds_pipeline::{Files, Options, Pipeline};
use atds_test_formats::{InMemory, Row, TestFormat, ToyFiles};
use bytes::Bytes;

#[derive(Debug)]
struct OneFile {
    bytes: Bytes,
    format: Arc<dyn Format>,
}

impl Files for OneFile {
    fn len(&self) -> usize {
        1
    }

    fn location(&self, _: usize) -> Location {
        Location::Path("toy".into())
    }

    fn source(&self, _: usize) -> io::Result<Arc<dyn ByteSource>> {
        Ok(Arc::new(InMemory::new("toy", self.bytes.clone())))
    }

    fn format(&self, _: usize) -> Arc<dyn Format> {
        self.format.clone()
    }
}

fn pipeline(batch: usize, rows: usize, threads: usize) -> Pipeline {
    let toy = ToyFiles { is_packed: true };
    let row = |i: usize| Row {
        label: (i % 10) as i64,
        numbers: Vec::new(),
    };
    let all: Vec<Row> = (0..rows).map(row).collect();
    let blocks: Vec<Vec<Row>> = all.chunks(100).map(<[Row]>::to_vec).collect();
    let files = OneFile {
        bytes: toy.write(&blocks).into(),
        format: toy.format(),
    };
    let mut options = Options::new(batch);
    options.threads = threads;
    Pipeline::new(toy.spec(), Arc::new(files), options)
}

#[test]
fn few_batches_start_few_threads() {
    let mut batches = pipeline(64, 64 * 8, 128).iter(0..1);
    for batch in batches.by_ref() {
        batch.unwrap();
    }
    let rows = batches.stats().thread_records;
    assert_eq!(rows.iter().sum::<u64>(), 8 * 64);
    assert!(rows.len() <= 16, "{rows:?}");
}
