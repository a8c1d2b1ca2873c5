//! `atds demo`: makes sample files and reads them to tensors.

use std::io::Write;

use atds::{Codec, Dataset};
use atds_generate::{GenerateOptions, Preset};
use serde_json::json;

use crate::example::Example;
use crate::failure::Failure;
use crate::generate::Made;
use crate::signals::Signals;
use crate::trace::TraceArgs;
use crate::units::count;
use crate::waits::Waits;
use crate::{figures, progress};

/// Make sample files in a temporary folder, read them shuffled, print figures and one example.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of records that are made and read
    #[arg(long, value_name = "N", default_value_t = 40_960)]
    records: u64,
    #[command(flatten)]
    trace: TraceArgs,
    /// Print the figures and the example as JSON
    #[arg(long)]
    json: bool,
}

const FILES: usize = 8;
const BATCH_SIZE: usize = 1_024;
const SHUFFLE_BUFFER: usize = 8_192;

pub(crate) fn run(args: &Args, waits: &Waits, out: &mut dyn Write) -> Result<(), Failure> {
    let trace = args.trace.open()?;
    let signals = Signals::noted()?;
    let dir = tempfile::tempdir()
        .map_err(|error| Failure::Data(format!("temporary folder: {error}").into()))?;
    let mut options = GenerateOptions::new(Preset::Ads, args.records);
    options.files = FILES;
    if Codec::Deflate.is_enabled() {
        options.codec = Codec::Deflate;
    }
    let made = Made::new(dir.path(), &options, &signals)?;

    let builder = Dataset::builder(made.files(), BATCH_SIZE)
        .features(Preset::Ads.features())
        .shuffle_buffer_size(SHUFFLE_BUFFER)
        .shuffle_files(true);
    let dataset = trace.apply(builder).build()?;
    let bar = progress::bytes(dataset.total_bytes()?, "reading");
    let mut batches = dataset.iter();
    waits.tell(&batches);
    let mut example = None;
    while let Some(batch) = batches.next() {
        let batch = batch?;
        signals.check()?;
        example.get_or_insert_with(|| Example::of_row(&batch, 0));
        bar.set_position(batches.stats().raw_bytes);
    }
    bar.finish_and_clear();
    let stats = batches.stats();
    drop(batches);
    let traced = trace.finish();

    if args.json {
        let example = example.as_ref().map(Example::to_json);
        let mut made = made.to_json();
        made["preset"] = Preset::Ads.name().into();
        made["codec"] = options.codec.name().into();
        let mut read = figures::to_json(&stats);
        read["batch_size"] = BATCH_SIZE.into();
        read["shuffle_buffer"] = SHUFFLE_BUFFER.into();
        writeln!(
            out,
            "{}",
            json!({"generated": made, "read": read, "example": example})
        )?;
        return traced;
    }
    writeln!(
        out,
        "Made {} {}: {}",
        Preset::Ads,
        options.codec,
        made.summary()
    )?;
    writeln!(
        out,
        "\nRead shuffled, {} records at a time from a window of {} more:\n",
        count(BATCH_SIZE as u64),
        count(SHUFFLE_BUFFER as u64)
    )?;
    figures::print(&stats, out)?;
    if let Some(example) = example {
        writeln!(out, "\nThe first record of the first batch:\n")?;
        example.print(out)?;
    }
    traced
}
