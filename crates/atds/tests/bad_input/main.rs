//! Bad input: each kind gives a clear message. Messages are compared without the test's folder.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod compressed;
mod container;
mod expressions;
mod features;
mod files;
mod made;
mod options;
mod records;
mod schemas;
mod shapes;
mod sparse;
mod truncated;
mod values;

use atds::{DatasetBuilder, Error, Threads};

use common::Folder;

/// The error of building the dataset, or otherwise of reading it.
fn error(dataset: DatasetBuilder) -> Option<Error> {
    match dataset.build() {
        // Batches before the error are ignored.
        Ok(dataset) => dataset.iter().find_map(Result::err),
        Err(error) => Some(error),
    }
}

/// The message. It must be the same with and without a map, with and without shuffling, and for one
/// thread and several, whatever the size of reads.
fn message(folder: &Folder, dataset: DatasetBuilder) -> String {
    let text = |dataset| match error(dataset) {
        Some(error) => folder.message(&error),
        None => "no error".to_owned(),
    };
    let message = text(dataset.clone().threads(Threads::Fixed(1)));
    for mmap in [false, true] {
        for shuffle in [0, 100] {
            // Of a file that is larger than a read, several threads read blocks themselves.
            for (threads, read_size) in [(1, 128 << 10), (3, 128 << 10), (3, 512)] {
                let dataset = dataset.clone().mmap(mmap).shuffle_buffer_size(shuffle);
                let dataset = dataset.reader_buffer_size(read_size);
                let again = text(dataset.threads(Threads::Fixed(threads)));
                assert_eq!(
                    again, message,
                    "mapped: {mmap}, {shuffle}, {threads} threads, {read_size}"
                );
            }
        }
    }
    message
}

/// Compares messages with the expected ones, and fails after all comparisons.
#[derive(Default)]
struct Messages(Vec<String>);

impl Messages {
    fn check(&mut self, what: &str, found: String, expected: &str) {
        if found != expected {
            self.0.push(format!(
                "{what}:\n  found    {found}\n  expected {expected}"
            ));
        }
    }

    /// Checks the message of a folder of one file.
    fn file(&mut self, what: &str, bytes: &[u8], expected: &str) {
        let folder = Folder::new();
        folder.write("x.avro", bytes);
        let found = message(&folder, folder.rows(4));
        self.check(what, found, expected);
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.0.is_empty(), "other messages\n{}", self.0.join("\n"));
        }
    }
}
