//! How long going on takes near the end of an epoch: seconds to count the records and to the first batch.
//! Arguments: the files, and sizes of the shuffle buffer.

use std::error::Error;
use std::time::Instant;

use atds::state::State;
use atds::{Dataset, Threads};

const BATCH: usize = 1_024;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let files = args
        .next()
        .ok_or("give files, and sizes of the shuffle buffer")?;
    println!(
        "| buffer | records | counted in s | batches before | first batch after s | state in µs |\n|---|---|---|---|---|---|"
    );
    for buffer in args {
        let dataset = Dataset::builder(files.as_str(), BATCH)
            .shuffle_buffer_size(buffer.parse()?)
            .threads(Threads::Fixed(2))
            .build()?;
        let start = Instant::now();
        let records = dataset.num_records()?;
        let counted = start.elapsed().as_secs_f64();

        let batches = dataset.iter();
        let mut state = serde_json::to_value(batches.state()?)?;
        let start = Instant::now();
        for _ in 0..1_000 {
            batches.state()?;
        }
        let taken = start.elapsed().as_secs_f64() * 1e3;
        drop(batches);

        let before = records / BATCH as u64 - 2;
        state["batches"] = before.into();
        let state: State = serde_json::from_value(state)?;
        let start = Instant::now();
        let first = dataset.resume(&state)?.next().transpose()?;
        let resumed = start.elapsed().as_secs_f64();
        assert!(first.is_some(), "there is a batch");
        println!("| {buffer} | {records} | {counted:.2} | {before} | {resumed:.2} | {taken:.2} |");
    }
    Ok(())
}
