//! `atds bench`: reads everything and tells how fast.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use atds::{Dataset, Layout, OutOfBounds, Stats, Threads};
use serde_json::Value;

use crate::failure::Failure;
use crate::lenience::Lenience;
use crate::units::{count, counted};
use crate::{figures, inputs, options, progress};

/// Read files to batches of tensors, and print how fast that went and where the time was spent.
///
/// `atds inspect --features` prints a features file to start from. The times inflating and decoding
/// are those of all threads together.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files, folders (their *.avro), patterns, file:// URLs, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Search folders with all folders below them
    #[arg(long)]
    recursive: bool,
    /// A features file, or - for standard input [default: all that the first file's schema has]
    #[arg(long, value_name = "F.json")]
    features: Option<PathBuf>,
    /// Read the records as this schema, by Avro's schema resolution [default: each file's own]
    #[arg(long, value_name = "S.avsc")]
    reader_schema: Option<PathBuf>,
    /// Records in a batch
    #[arg(long, value_name = "N", default_value_t = 1_024, value_parser = options::above_zero)]
    batch_size: usize,
    /// Leave out the last batch of an epoch if it has fewer records
    #[arg(long)]
    drop_remainder: bool,
    /// Records to shuffle among, besides those of the batch; 0 keeps the order of the files
    #[arg(long, value_name = "N", default_value_t = 0)]
    shuffle_buffer: usize,
    /// Shuffle the order of the files each epoch
    #[arg(long)]
    shuffle_files: bool,
    /// Shuffle the order of the blocks in each file each epoch
    #[arg(long)]
    shuffle_blocks: bool,
    /// Fixes the shuffled order
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Times to read the files
    #[arg(long, value_name = "E", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    epochs: u64,
    /// Threads to inflate and decode with: a number, or auto for as many as pay
    #[arg(long, value_name = "N|auto", default_value = "auto", value_parser = options::threads)]
    threads: Threads,
    /// Batches that wait ready at most [default: 2]
    #[arg(long, value_name = "N")]
    prefetch: Option<usize>,
    /// Layout of all sparse and varlen columns [default: as the features say, else coo]
    #[arg(long, value_parser = options::layout())]
    layout: Option<Layout>,
    /// Bytes of blocks and ready batches to hold at most, such as 512MiB [default: 4GiB]
    #[arg(long, value_name = "BYTES", value_parser = options::byte_size)]
    memory_limit: Option<u64>,
    /// Bytes to read from a file at a time [default: 128KiB]
    #[arg(long, value_name = "BYTES", value_parser = options::byte_size)]
    reader_buffer: Option<u64>,
    /// Map the files into memory rather than read them; no one may write to them meanwhile
    #[arg(long)]
    mmap: bool,
    /// Drop sparse entries with an index outside their dimension, rather than fail
    #[arg(long)]
    drop_out_of_bounds: bool,
    /// Refuse files whose schema is not by the specification, rather than read them
    #[arg(long)]
    strict: bool,
    /// Read the header of each file when the file is opened, not those of all files first
    #[arg(long)]
    no_check_files: bool,
    #[command(flatten)]
    lenience: Lenience,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Failure> {
    let dataset = dataset(args)?;
    let (stats, steps) = read_all(&dataset, args.epochs)?;
    figures::report_dropped(&stats);
    if args.json {
        let mut figures = figures::to_json(&stats);
        figures["epoch_seconds"] = epoch_seconds(&steps, args.epochs).into();
        writeln!(out, "{figures}")?;
    } else {
        let files = counted(dataset.files().len() as u64, "file");
        let columns = counted(dataset.spec().columns().len() as u64, "column");
        let batch_size = count(args.batch_size as u64);
        writeln!(out, "{files}, {columns}, batches of {batch_size}")?;
        figures::print(&stats, out)?;
    }
    Ok(())
}

fn dataset(args: &Args) -> Result<Dataset, Failure> {
    let files = inputs::data_files(&args.files, args.features.as_deref())?;
    let mut builder = Dataset::builder(files, args.batch_size)
        .recursive(args.recursive)
        .drop_remainder(args.drop_remainder)
        .shuffle_buffer_size(args.shuffle_buffer)
        .shuffle_files(args.shuffle_files)
        .shuffle_blocks(args.shuffle_blocks)
        .seed(args.seed)
        .epochs(args.epochs)
        .threads(args.threads)
        .strict(args.strict)
        .mmap(args.mmap)
        .check_files(!args.no_check_files);
    if let Some(path) = &args.features {
        builder = builder.features(inputs::features(path)?);
    }
    if let Some(path) = &args.reader_schema {
        builder = builder.reader_schema(inputs::reader_schema(path)?);
    }
    if let Some(batches) = args.prefetch {
        builder = builder.prefetch(batches);
    }
    if let Some(layout) = args.layout {
        builder = builder.layout(layout);
    }
    if let Some(bytes) = args.memory_limit {
        builder = builder.memory_limit(bytes);
    }
    if let Some(bytes) = args.reader_buffer {
        builder = builder.reader_buffer_size(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
    builder = args.lenience.apply(builder);
    if args.drop_out_of_bounds {
        builder = builder.out_of_bounds(OutOfBounds::Drop);
    }
    Ok(progress::build(builder)?)
}

/// Reads all batches, with a progress bar; also gives the time from the start to each batch.
fn read_all(dataset: &Dataset, epochs: u64) -> Result<(Stats, Vec<Duration>), Failure> {
    let total = dataset.total_bytes()?;
    let total = total.map(|bytes| bytes.saturating_mul(epochs));
    let bar = progress::bytes(total, "reading");
    let mut steps = Vec::new();
    let mut batches = dataset.iter();
    while let Some(batch) = batches.next() {
        batch?;
        let stats = batches.stats();
        steps.push(stats.elapsed);
        bar.set_position(stats.raw_bytes);
    }
    bar.finish_and_clear();
    Ok((batches.stats(), steps))
}

/// Seconds between the last batches of epochs, which all have the same number of them. The
/// pipeline does not stop between epochs, so only the first has the start in it.
fn epoch_seconds(steps: &[Duration], epochs: u64) -> Vec<Value> {
    let steps_per_epoch = (steps.len() as u64 / epochs).max(1) as usize;
    let ends = steps
        .chunks_exact(steps_per_epoch)
        .map(|epoch| epoch[epoch.len() - 1]);
    ends.scan(Duration::ZERO, |before, end| {
        let took = end - std::mem::replace(before, end);
        Some(took.as_secs_f64().into())
    })
    .collect()
}
