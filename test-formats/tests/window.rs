//! The payloads of a window count for the batch that is drawn from it, also where they are decoded as they are.

#![allow(clippy::unwrap_used)]

use std::io;
use std::sync::Arc;

use atds_format::{ByteSource, Format, Location};
use atds_pipeline::{Error, ErrorKind, Files, Options, Pipeline};
use atds_test_formats::{InMemory, Row, TestFormat, ToyFiles};
use bytes::Bytes;

const TOY: ToyFiles = ToyFiles { is_packed: false };

const ROWS: usize = 1000;

#[derive(Debug)]
struct OneFile(Bytes);

impl Files for OneFile {
    fn len(&self) -> usize {
        1
    }

    fn location(&self, _: usize) -> Location {
        Location::Path("rows".into())
    }

    fn source(&self, _: usize) -> io::Result<Arc<dyn ByteSource>> {
        Ok(Arc::new(InMemory::new("rows", self.0.clone())))
    }

    fn format(&self, _: usize) -> Arc<dyn Format> {
        TOY.format()
    }
}

/// Blocks of ten rows, each of a hundred numbers of eight digits.
fn file() -> Bytes {
    let row = |label: usize| Row {
        label: label as i64,
        numbers: (0..100).map(|n| 10_000_000 + n).collect(),
    };
    let rows: Vec<Row> = (0..ROWS).map(row).collect();
    let blocks: Vec<Vec<Row>> = rows.chunks(10).map(<[Row]>::to_vec).collect();
    TOY.write(&blocks).into()
}

/// All batches, drawn from all rows of the file.
fn read(file: &Bytes, batch_size: usize, limit: u64, threads: usize) -> Result<usize, Error> {
    let mut options = Options::new(batch_size);
    options.shuffle_buffer_size = ROWS;
    (options.memory_limit, options.threads) = (limit, threads);
    let pipeline = Pipeline::new(TOY.spec(), Arc::new(OneFile(file.clone())), options);
    let batches: Result<Vec<_>, _> = pipeline.iter(0..1).collect();
    batches.map(|batches| batches.iter().map(|batch| batch.rows()).sum())
}

#[test]
fn a_batch_does_not_fit_beside_the_payloads_of_its_window() {
    let file = file();
    // Payloads take 0.7 of the limit, and a batch has what is left of 0.75.
    let limit = file.len() as u64 * 10 / 7;
    for threads in [1, 2, 16] {
        assert_eq!(read(&file, 1, limit, threads).unwrap(), ROWS);
        // It takes some 0.1, which is there: whether it is must not depend on what else is held.
        let error = read(&file, ROWS / 17, limit, threads).unwrap_err();
        let ErrorKind::MemoryLimit { needed, .. } = error.kind else {
            panic!("another error: {error}");
        };
        assert!(limit < needed && needed < 2 * limit, "{needed} of {limit}");
        assert_eq!(read(&file, ROWS / 17, needed, threads).unwrap(), ROWS);
    }
}
