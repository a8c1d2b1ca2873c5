//! Processor time of the planning thread in µs a record, beside that of the workers: `ads` files, null.
//! Linux only. Arguments: seconds for each line, a text that the line's name must have, and the number of
//! workers.

use std::fs;
use std::time::Instant;

use atds::{Codec, Dataset, Threads};
use atds_benches::SampleFiles;
use atds_generate::{GenerateOptions, Preset};

const RECORDS: u64 = 100_000;

fn main() {
    let mut args = std::env::args().skip(1);
    let seconds = args.next().map_or(2.0, |arg| arg.parse().expect("seconds"));
    let only = args.next().unwrap_or_default();
    let threads = args.next().map_or(1, |arg| arg.parse().expect("workers"));
    println!(
        "| block bytes | files | batch | of | planning thread | workers |\n|---|---|---|---|---|---|"
    );
    for block_bytes in [16_000, 40_000, 1_000_000] {
        let mut options = GenerateOptions::new(Preset::Ads, RECORDS);
        (options.files, options.codec, options.block_bytes) = (4, Codec::Null, block_bytes);
        let files = SampleFiles::generate(&options);
        for mmap in [true, false] {
            for (batch, buffer) in [(1_024, 0), (1_024, 8_192), (64, 8_192), (1_024, 90_000)] {
                let access = if mmap { "mapped" } else { "read" };
                let name = format!("{block_bytes} | {access} | {batch} | {buffer}");
                if !name.contains(&only) {
                    continue;
                }
                let dataset = Dataset::builder(files.folder(), batch)
                    .features(Preset::Ads.features())
                    .shuffle_buffer_size(buffer)
                    .threads(Threads::Fixed(threads))
                    .mmap(mmap)
                    .epochs(1_000_000)
                    .build()
                    .expect("a dataset of the preset");
                let [planner, workers] = times(&dataset, seconds);
                println!("| {name} | {planner:.3} | {workers:.3} |");
            }
        }
    }
}

/// Time of the planning thread and of the workers, in µs a record.
fn times(dataset: &Dataset, seconds: f64) -> [f64; 2] {
    let mut batches = dataset.iter();
    let mut next = || match batches.next() {
        Some(batch) => batch.expect("sound files").rows() as u64,
        None => panic!("the epochs do not end"),
    };
    let mut records = 0;
    // An epoch until everything is measured and warm.
    while records < RECORDS {
        records += next();
    }
    let (start, before) = (Instant::now(), thread_times());
    let mut records = 0;
    while start.elapsed().as_secs_f64() < seconds {
        records += next();
    }
    let after = thread_times();
    [0, 1].map(|thread| (after[thread] - before[thread]) as f64 / 1e3 / records as f64)
}

/// Processor time in ns that the planning thread and the workers have had.
fn thread_times() -> [u64; 2] {
    let mut times = [0; 2];
    for task in fs::read_dir("/proc/self/task").expect("Linux") {
        let folder = task.expect("a thread").path();
        let read = |file| fs::read_to_string(folder.join(file)).unwrap_or_default();
        let at = match read("comm").trim() {
            "atds-planner" => 0,
            "atds-worker" => 1,
            _ => continue,
        };
        let schedstat = read("schedstat");
        let time = schedstat
            .split(' ')
            .next()
            .and_then(|ns| ns.parse::<u64>().ok());
        times[at] += time.unwrap_or(0);
    }
    times
}
