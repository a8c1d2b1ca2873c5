//! Time to go on after 10^8 records whose counts are known: the batches are drawn again. Blocks have 100
//! records, and there is no file behind them: the first read fails, which ends the measurement. Argument:
//! millions of records.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use atds_format::{ByteSource, Format, Location};
use atds_pipeline::{Files, Options, Pipeline};
use atds_test_formats::{TestFormat, ToyFiles};

const RECORDS_OF_BLOCK: u64 = 100;

fn main() {
    let millions: u64 = std::env::args()
        .nth(1)
        .map_or(100, |arg| arg.parse().expect("millions"));
    let records = millions * 1_000_000;
    let blocks = vec![RECORDS_OF_BLOCK; (records / RECORDS_OF_BLOCK) as usize];
    let toy = ToyFiles { is_packed: false };
    let files = Arc::new(Counts {
        blocks: blocks.into(),
        format: toy.format(),
    });
    println!("| batch | buffer | seconds |\n|---|---|---|");
    for (batch, buffer) in [
        (1_024, 0),
        (1_024, 8_192),
        (64, 8_192),
        (1_024, 100_000),
        (65_536, 1_000_000),
    ] {
        let mut options = Options::new(batch);
        options.shuffle_buffer_size = buffer;
        let pipeline = Pipeline::new(toy.spec(), files.clone(), options);
        let given = (records - 2 * buffer as u64) / batch as u64 - 2;
        let start = Instant::now();
        let mut batches = pipeline.iter_after(given, 0..1);
        assert!(matches!(batches.next(), Some(Err(_))));
        println!(
            "| {batch} | {buffer} | {:.2} |",
            start.elapsed().as_secs_f64()
        );
    }
}

/// A file of which only the counts are known.
#[derive(Debug)]
struct Counts {
    blocks: Arc<[u64]>,
    format: Arc<dyn Format>,
}

impl Files for Counts {
    fn len(&self) -> usize {
        1
    }

    fn location(&self, _: usize) -> Location {
        Location::Path("counts".into())
    }

    fn source(&self, _: usize) -> io::Result<Arc<dyn ByteSource>> {
        Err(io::Error::other("there is no file"))
    }

    fn format(&self, _: usize) -> Arc<dyn Format> {
        self.format.clone()
    }

    fn block_records(&self, _: usize) -> Option<Arc<[u64]>> {
        Some(self.blocks.clone())
    }
}
