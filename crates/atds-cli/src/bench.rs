//! `atds bench`: reads all records and prints the speed.

use std::io::{self, Write};
use std::path::PathBuf;
use std::task::Poll;
use std::time::Duration;

use atds::stats::Stats;

use atds::{Dataset, FileFormat, Files, Layout, OutOfBounds, Shuffle, Threads};
use serde_json::Value;

use crate::failure::Failure;
use crate::lenience::Lenience;
use crate::on_error::OnErrorArgs;
use crate::signals::Signals;
use crate::split::SplitArgs;
use crate::trace::{CommandTrace, TraceArgs};
use crate::units::{count, counted};
use crate::waits::Waits;
use crate::{figures, inputs, options, progress, units};

/// Read files to batches of tensors, and print the speed and where the time was spent.
///
/// `atds inspect --features` prints a features file to start from. The time of threads is summed
/// over all threads, and its percentages add up to 100. If an error or Ctrl-C ends the run, the
/// figures cover the batches before it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files, folders (their row files), patterns, file:// URLs, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Also search the folders inside the folders
    #[arg(long)]
    recursive: bool,
    /// The format of the files, such as avro [default: what their names tell, or else their first bytes]
    #[arg(long, value_name = "NAME", value_parser = options::format(), hide_possible_values = true)]
    format: Option<FileFormat>,
    /// A features file, or - for standard input [default: all fields of the first file's schema]
    #[arg(long, value_name = "F.json")]
    features: Option<PathBuf>,
    /// Read the records as the schema in this file, or - for standard input [default: each file's own]
    #[arg(long, value_name = "S.avsc")]
    reader_schema: Option<PathBuf>,
    /// Number of records in a batch
    #[arg(long, value_name = "N", default_value_t = 1_024, value_parser = options::above_zero)]
    batch_size: usize,
    /// Leave out the last batch of an epoch if it has fewer records
    #[arg(long)]
    drop_remainder: bool,
    /// Number of records in the shuffle buffer, besides those of the batch; 0 keeps the order of
    /// the files
    #[arg(long, value_name = "N", default_value_t = 0)]
    shuffle_buffer: usize,
    /// Shuffle the order of the files each epoch
    #[arg(long)]
    shuffle_files: bool,
    /// Shuffle the order of the blocks in each file each epoch
    #[arg(long)]
    shuffle_blocks: bool,
    /// Shuffle runs of blocks (1 MiB or more) of all files together each epoch
    #[arg(long, value_name = "WHAT", default_value = "none", value_parser = options::shuffle())]
    shuffle: Shuffle,
    /// Files take turns: so many files are open at once, and each gives N records in its turn
    #[arg(long, value_name = "FILES,N", value_parser = options::interleave)]
    interleave: Option<(usize, u64)>,
    /// Seed of the shuffled order
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Number of epochs, in each of which the files are read once
    #[arg(long, value_name = "E", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    epochs: u64,
    /// Number of threads that decompress and decode; auto to choose by load
    #[arg(long, value_name = "N|auto", default_value = "auto", value_parser = options::threads)]
    threads: Threads,
    /// Maximum number of prefetched batches [default: 2]
    #[arg(long, value_name = "N")]
    prefetch: Option<usize>,
    /// Layout of all sparse and varlen columns [default: as the features say, else coo]
    #[arg(long, value_parser = options::layout())]
    layout: Option<Layout>,
    /// Maximum memory of blocks and batches, such as 512MiB or 2GB [default: 4GiB]
    #[arg(long, value_name = "BYTES", value_parser = units::parse_bytes)]
    memory_limit: Option<u64>,
    /// Size of a read from a file, such as 1MiB [default: 128KiB]
    #[arg(long, value_name = "BYTES", value_parser = units::parse_bytes)]
    reader_buffer: Option<u64>,
    /// Map the files into memory rather than read them; they must not be written to meanwhile
    #[arg(long)]
    mmap: bool,
    /// Drop sparse entries with an index outside their dimension, rather than fail
    #[arg(long)]
    drop_out_of_bounds: bool,
    /// Refuse files whose schema breaks the Avro specification, rather than read them
    #[arg(long)]
    strict: bool,
    /// Read the header of each file when the file is opened, not all headers at the start
    #[arg(long)]
    no_check_files: bool,
    #[command(flatten)]
    split: SplitArgs,
    #[command(flatten)]
    lenience: Lenience,
    #[command(flatten)]
    on_error: OnErrorArgs,
    #[command(flatten)]
    trace: TraceArgs,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, waits: &Waits, out: &mut dyn Write) -> Result<(), Failure> {
    let trace = args.trace.open()?;
    let dataset = dataset(args, &trace)?;
    let run = Run::new(&dataset, args.epochs, waits)?;
    let traced = trace.finish();
    // A run that failed before its first batch has no figures.
    let is_good = matches!(run.failure, None | Some(Failure::Signal(_)));
    if is_good || run.stats.steps > 0 {
        figures::report_dropped(&run.stats);
        if args.json {
            writeln!(out, "{}", run.to_json(&dataset, args))?
        } else {
            run.print(&dataset, args, out)?
        }
    }
    run.failure.map_or(traced, Err)
}

fn dataset(args: &Args, trace: &CommandTrace<'_>) -> Result<Dataset, Failure> {
    let data = inputs::named("FILE", &args.files);
    let features = inputs::named("--features", &args.features);
    let reader_schema = inputs::named("--reader-schema", &args.reader_schema);
    inputs::check_stdin(data.chain(features).chain(reader_schema))?;
    let files: Vec<_> = args
        .files
        .iter()
        .map(|file| inputs::data_file(file))
        .collect();
    let files = Files::from(files).recursive(args.recursive);
    let mut builder = Dataset::builder(files.format(args.format), args.batch_size)
        .drop_remainder(args.drop_remainder)
        .shuffle_buffer_size(args.shuffle_buffer)
        .shuffle_files(args.shuffle_files)
        .shuffle_blocks(args.shuffle_blocks)
        .shuffle(args.shuffle)
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
    if let Some((files, records)) = args.interleave {
        builder = builder.interleave(files, records);
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
    builder = args.split.apply(args.lenience.apply(builder));
    builder = trace.apply(args.on_error.apply(builder));
    if args.drop_out_of_bounds {
        builder = builder.out_of_bounds(OutOfBounds::Drop);
    }
    Ok(progress::build(builder)?)
}

/// The maximum wait for a batch before signals are checked.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// A run over all batches, or until it failed.
struct Run {
    stats: Stats,
    /// The time from the start to each batch.
    steps: Vec<Duration>,
    /// The reason why the run ended early.
    failure: Option<Failure>,
}

impl Run {
    /// Reads all batches, with a progress bar, until an error or a signal.
    fn new(dataset: &Dataset, epochs: u64, waits: &Waits) -> Result<Self, Failure> {
        let total = dataset.total_bytes()?;
        let total = total.map(|bytes| bytes.saturating_mul(epochs));
        let signals = Signals::noted()?;
        let bar = progress::bytes(total, "reading");
        let mut batches = dataset.iter();
        waits.tell(&batches);
        let mut steps = Vec::new();
        let failure = loop {
            if let Err(failure) = signals.check() {
                break Some(failure);
            }
            match batches.next_within(SIGNAL_INTERVAL) {
                Poll::Pending => continue,
                Poll::Ready(None) => break None,
                Poll::Ready(Some(Err(error))) => break Some(error.into()),
                Poll::Ready(Some(Ok(_))) => {}
            }
            let stats = batches.stats();
            steps.push(stats.elapsed);
            bar.set_position(stats.raw_bytes);
        };
        bar.finish_and_clear();
        Ok(Run {
            stats: batches.stats(),
            steps,
            failure,
        })
    }

    /// The figures as the JSON object that `--json` prints.
    fn to_json(&self, dataset: &Dataset, args: &Args) -> Value {
        let mut figures = figures::to_json(&self.stats);
        figures["epoch_seconds"] = match self.failure {
            None => epoch_seconds(&self.steps, args.epochs).into(),
            // The ends of epochs are known for a whole run only.
            Some(_) => Value::Array(Vec::new()),
        };
        figures["files"] = dataset.files().len().into();
        figures["columns"] = dataset.spec().columns().len().into();
        figures["batch_size"] = args.batch_size.into();
        figures["stopped_early"] = self.failure.as_ref().map(Failure::reason).into();
        figures
    }

    /// The figures as a table.
    fn print(&self, dataset: &Dataset, args: &Args, out: &mut dyn Write) -> io::Result<()> {
        let files = counted(dataset.files().len() as u64, "file");
        let columns = counted(dataset.spec().columns().len() as u64, "column");
        let batch_size = count(args.batch_size as u64);
        writeln!(out, "{files}, {columns}, batches of {batch_size}")?;
        match &self.failure {
            None => {}
            Some(Failure::Signal(number)) => {
                writeln!(out, "stopped early       by signal {number}")?;
            }
            Some(_) => writeln!(out, "stopped early       by an error")?,
        }
        figures::print(&self.stats, out)
    }
}

/// Seconds between the last batches of epochs. All epochs have the same number of batches. The
/// pipeline does not stop between epochs, so only the first epoch includes the start.
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
