//! How much one worker does for a consumer that takes a batch every 10 ms.

use std::error::Error;
use std::iter;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use atds_pipeline::{Options, Pipeline};
use atds_test_formats::{TestFormat, ToyFiles};

use crate::Args;
use crate::case::{Case, Kind};
use crate::format::{Sleeping, Sleeps};
use crate::measure::{SleepingFiles, file_of};

/// The least share of the records that the busiest worker decodes.
const LEAST: f64 = 0.9;

/// Time in ns that a record sleeps when it is decoded, and again when it is prepared: a batch takes a fifth of
/// the time after which it is taken.
const RECORD_NS: u64 = 1_000;

/// Number of batches. The first quarter does not count: until the pace of the consumer is known, many workers begin.
const BATCHES: usize = 200;

/// Measures all numbers of threads. Returns whether all hold, where that is asked for.
pub(crate) fn compare(args: &Args) -> Result<bool, Box<dyn Error>> {
    println!("| threads, a batch every 10 ms | of the busiest worker | least | |");
    println!("|---|---:|---:|---|");
    let mut failed = 0;
    for &threads in &args.threads {
        let mut share = 0.0;
        for _ in 0..=args.again {
            share = busiest_share(threads)?;
            let verdict = if share < LEAST { "below" } else { "" };
            println!("| {threads} | {share:.3} | {LEAST} | {verdict} |");
            if share >= LEAST {
                break;
            }
        }
        failed += usize::from(share < LEAST);
    }
    println!("{failed} of {} are below {LEAST}.", args.threads.len());
    Ok(!args.check || failed == 0)
}

/// The share of the records that the busiest worker decodes.
fn busiest_share(threads: usize) -> Result<f64, Box<dyn Error>> {
    let toy = ToyFiles { is_packed: true };
    let case = Case {
        threads,
        is_shuffled: false,
        batch: 1_024,
        block: 100,
        kind: Kind::Even,
    };
    let files = SleepingFiles {
        bytes: file_of(&toy, case.block, BATCHES * case.batch).into(),
        is_late: false,
        format: Arc::new(Sleeping {
            inner: toy.format(),
            sleeps: Sleeps::new(case, RECORD_NS),
        }),
    };
    let mut options = Options::new(case.batch);
    options.threads = threads;
    let mut batches = Pipeline::new(toy.spec(), Arc::new(files), options).iter(0..1);
    let mut begun = Vec::new();
    for taken in 0..BATCHES {
        if taken == BATCHES / 4 {
            begun = batches.stats().thread_records;
        }
        batches.next().ok_or("the iteration ended")??;
        thread::sleep(Duration::from_millis(10));
    }
    let records = batches.stats().thread_records.into_iter();
    let begun = begun.into_iter().chain(iter::repeat(0));
    let records: Vec<u64> = records.zip(begun).map(|(all, begun)| all - begun).collect();
    let most = records.iter().max().copied().unwrap_or(0);
    Ok(most as f64 / records.iter().sum::<u64>() as f64)
}
