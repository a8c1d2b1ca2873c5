//! The order is a promise: it is that of `order/golden.txt`, in all versions, on all platforms, for any
//! number of threads. Saved positions and runs that are to be repeated depend on it. So a change of this
//! file is a breaking change.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::io;
use std::sync::Arc;

use atds_format::{ByteSource, Format, Location};
use atds_pipeline::{Files, Layer, LayerPart, Options, Pipeline, Rest, Slice, Stream};
use atds_test_formats::{InMemory, Row, TestFormat, ToyFiles};
use bytes::Bytes;

const GOLDEN: &str = include_str!("order/golden.txt");

/// Number of records of the blocks of each file.
const FILES: [&[usize]; 4] = [&[7, 3, 9, 1], &[12], &[], &[4, 4, 0, 8, 2, 5]];

const EPOCHS: u64 = 3;

#[derive(Debug)]
struct ToyPipe {
    files: Vec<Bytes>,
    format: Arc<dyn Format>,
}

impl Files for ToyPipe {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn location(&self, file: usize) -> Location {
        Location::Path(file.to_string().into())
    }

    fn source(&self, file: usize) -> io::Result<Arc<dyn ByteSource>> {
        let name = file.to_string();
        Ok(Arc::new(InMemory::new(&name, self.files[file].clone())))
    }

    fn format(&self, _: usize) -> Arc<dyn Format> {
        self.format.clone()
    }
}

fn files(toy: &ToyFiles) -> Arc<ToyPipe> {
    let mut labels = 0..;
    let mut row = || Row {
        label: labels.next().unwrap(),
        numbers: Vec::new(),
    };
    let blocks = FILES.map(|blocks| {
        let blocks = blocks.iter();
        let blocks = blocks.map(|&records| (0..records).map(|_| row()).collect());
        toy.write(&blocks.collect::<Vec<Vec<Row>>>()).into()
    });
    Arc::new(ToyPipe {
        files: blocks.into(),
        format: toy.format(),
    })
}

fn cases() -> Vec<(String, Options)> {
    let options = |change: fn(&mut Options)| {
        let mut options = Options::new(8);
        options.seed = 7;
        change(&mut options);
        options
    };
    let all: fn(&mut Options) = |options| {
        (options.shuffle_files, options.shuffle_blocks) = (true, true);
        options.shuffle_buffer_size = 10;
    };
    let mut cases: Vec<_> = [
        ("in order", options(|_| {})),
        ("whole batches", options(|o| o.drop_remainder = true)),
        ("files", options(|o| o.shuffle_files = true)),
        ("blocks", options(|o| o.shuffle_blocks = true)),
        ("window of 1", options(|o| o.shuffle_buffer_size = 1)),
        ("window of 20", options(|o| o.shuffle_buffer_size = 20)),
        ("window of all", options(|o| o.shuffle_buffer_size = 1_000)),
        ("all", options(all)),
        ("another seed", {
            let mut options = options(all);
            options.seed = u64::MAX;
            options
        }),
        ("layer 1", {
            let mut options = options(all);
            options.stream.layer = 1;
            options
        }),
    ]
    .map(|(name, options)| (name.to_owned(), options))
    .into();
    let file_records: Arc<[u64]> = FILES
        .map(|blocks| blocks.iter().sum::<usize>() as u64)
        .into();
    let records: u64 = file_records.iter().sum();
    for part in 0..6 {
        let (rank, worker) = (part / 2, part % 2);
        let mut options = options(all);
        options.batch_size = 4;
        options.slice = Some(Slice {
            records: records * part / 6..records * (part + 1) / 6,
            file_records: file_records.clone(),
        });
        options.stream = Stream {
            layer: 0,
            rank,
            worker,
        };
        cases.push((format!("rank {rank} of 3, worker {worker} of 2"), options));
    }
    // In epoch 1 these have read a batch each before.
    let parts = (0..6).map(|part| LayerPart {
        rank: part / 2,
        worker: part % 2,
        records: records * part / 6..records * (part + 1) / 6,
        batches: 1,
    });
    let layer = Layer {
        batch_size: 4,
        parts: parts.collect(),
    };
    let left = records - 6 * 4;
    for rank in 0..2 {
        let mut options = options(all);
        options.rest = Some(Arc::new(Rest {
            epoch: 1,
            layers: vec![layer.clone()],
            records: left * rank / 2..left * (rank + 1) / 2,
            file_records: file_records.clone(),
        }));
        options.stream.rank = rank;
        cases.push((format!("rank {rank} of 2 after a layer"), options));
    }
    // Of one block, of some blocks, and of whole files.
    for bytes in [1, 100, 1 << 20] {
        let mut options = options(|o| o.shuffle_runs = true);
        options.run_bytes = bytes;
        cases.push((format!("runs of {bytes} bytes"), options.clone()));
        options.shuffle_buffer_size = 10;
        options.batch_size = 4;
        options.slice = Some(Slice {
            records: records / 3..2 * records / 3,
            file_records: file_records.clone(),
        });
        options.stream.rank = 1;
        cases.push((format!("runs of {bytes} bytes, rank 1 of 3"), options));
    }
    cases
}

/// The labels of the records, a line for each batch.
fn order(threads: usize) -> String {
    let toy = ToyFiles { is_packed: true };
    let files = files(&toy);
    let mut text = String::new();
    for (name, mut options) in cases() {
        options.threads = threads;
        let pipeline = Pipeline::new(toy.spec(), files.clone(), options);
        for epoch in 0..EPOCHS {
            writeln!(text, "# {name}, epoch {epoch}").unwrap();
            for batch in pipeline.iter(epoch..epoch + 1) {
                let rows = toy.rows(&batch.unwrap());
                let labels = rows.iter().map(|row| row.label.to_string());
                writeln!(text, "{}", labels.collect::<Vec<_>>().join(" ")).unwrap();
            }
        }
    }
    text
}

#[test]
fn the_order_is_that_of_all_versions() {
    for threads in [1, 2, 5] {
        let found = order(threads);
        let lines = GOLDEN.lines().zip(found.lines()).enumerate();
        for (line, (golden, found)) in lines {
            assert_eq!(
                golden, found,
                "line {line}, {threads} threads: another order is a breaking change"
            );
        }
        assert_eq!(
            GOLDEN.lines().count(),
            found.lines().count(),
            "{threads} threads"
        );
    }
}

/// Prints the order, for a new file: `cargo test --test order -- --ignored --nocapture`.
#[test]
#[ignore = "prints the golden file"]
fn print_order() {
    print!("{}", order(1));
}
