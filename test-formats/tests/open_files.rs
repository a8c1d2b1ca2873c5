//! Shuffled runs of blocks of many files keep few of them open.
#![allow(clippy::unwrap_used)]

use std::io;
use std::sync::{Arc, Mutex, Weak};

use atds_format::{ByteSource, Format, Location};
use atds_pipeline::{Files, Options, Pipeline};
use atds_test_formats::{InMemory, Row, TestFormat, ToyFiles};
use bytes::Bytes;

const FILES: usize = 300;

#[derive(Debug)]
struct Opened {
    files: Vec<Bytes>,
    format: Arc<dyn Format>,
    opened: Mutex<Vec<Weak<dyn ByteSource>>>,
}

impl Opened {
    /// Number of files that are open.
    fn now(&self) -> usize {
        let mut opened = self.opened.lock().unwrap();
        opened.retain(|source| source.strong_count() > 0);
        opened.len()
    }
}

impl Files for Opened {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn location(&self, file: usize) -> Location {
        Location::Path(file.to_string().into())
    }

    fn source(&self, file: usize) -> io::Result<Arc<dyn ByteSource>> {
        let source = InMemory::new(&file.to_string(), self.files[file].clone());
        let source: Arc<dyn ByteSource> = Arc::new(source.as_blocking());
        self.opened.lock().unwrap().push(Arc::downgrade(&source));
        Ok(source)
    }

    fn format(&self, _: usize) -> Arc<dyn Format> {
        self.format.clone()
    }
}

#[test]
fn few_files_are_open_at_a_time() {
    let toy = ToyFiles { is_packed: false };
    let block = |file: usize, block: usize| -> Vec<Row> {
        let label = |row| (100 * file + 10 * block + row) as i64;
        let row = |row| Row {
            label: label(row),
            numbers: Vec::new(),
        };
        (0..5).map(row).collect()
    };
    let file = |number| {
        let blocks: Vec<_> = (0..4).map(|at| block(number, at)).collect();
        toy.write(&blocks).into()
    };
    let files = Arc::new(Opened {
        files: (0..FILES).map(file).collect(),
        format: toy.format(),
        opened: Mutex::default(),
    });
    for threads in [1, 3] {
        let mut options = Options::new(8);
        (options.threads, options.shuffle_runs, options.run_bytes) = (threads, true, 1);
        let mut most = 0;
        let mut labels = Vec::new();
        for batch in Pipeline::new(toy.spec(), files.clone(), options).iter(0..2) {
            labels.extend(toy.rows(&batch.unwrap()).iter().map(|row| row.label));
            most = most.max(files.now());
        }
        assert_eq!(labels.len(), 2 * FILES * 20);
        // Those that are kept, and those of reads that are under way.
        assert!((2..=64 + 2 * threads + 2).contains(&most), "{most}");
        assert_eq!(files.now(), 0);
    }
}
