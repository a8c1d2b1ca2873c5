//! `atds shuffle-report`: how well settings of the shuffling mix records, side by side.

mod layout;
mod measure;
mod page;
mod rules;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::task::Poll;
use std::time::Duration;

use atds::{Dataset, DatasetBuilder, ErrorKind, Feature, Features, FileFormat, Files, Shuffle};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::json_text::json_text;
use crate::signals::Signals;
use crate::units::{count, counted};
use crate::waits::Waits;
use crate::{inputs, options, progress};

use layout::Layout;
use measure::{Measured, Measuring};

/// Measure how well settings of the shuffling mix records, side by side.
///
/// An epoch of each setting is drawn, from files that are read as they would be for training. The
/// report says how far records travel from their place in the files to their place in the epoch, in
/// parts of the data set, and from how many files and blocks a batch has its records. A perfect
/// shuffle, and the rule of LinkedIn's ATDS, stand beside them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files, folders (their row files), patterns or file:// URLs
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Also search the folders inside the folders
    #[arg(long)]
    recursive: bool,
    /// The format of the files, such as avro [default: what their names tell, or else their first bytes]
    #[arg(long, value_name = "NAME", value_parser = options::format(), hide_possible_values = true)]
    format: Option<FileFormat>,
    /// Number of records in a batch
    #[arg(long, value_name = "N", default_value_t = 1_024, value_parser = options::above_zero)]
    batch_size: usize,
    /// Numbers of records in the shuffle buffer, one or several; 0 for no buffer
    #[arg(long, value_name = "N,..", default_values_t = [1_024, 16_384], value_delimiter = ',')]
    shuffle_buffer: Vec<usize>,
    /// Seed of the shuffled order
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// The epoch that is drawn
    #[arg(long, value_name = "E", default_value_t = 0)]
    epoch: u64,
    /// Write the report as one HTML page with pictures
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the report as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// How records are shuffled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// In file order but for the shuffle buffer.
    Files,
    ShuffledFiles,
    FilesAndBlocks,
    AllBlocks,
    /// The rule of LinkedIn's ATDS, simulated.
    Original,
    /// A uniformly random permutation, computed.
    Perfect,
}

impl Order {
    /// Those that are measured for each size of the shuffle buffer.
    const EACH: [Order; 5] = [
        Order::Files,
        Order::ShuffledFiles,
        Order::FilesAndBlocks,
        Order::AllBlocks,
        Order::Original,
    ];

    fn name(self) -> &'static str {
        match self {
            Order::Files => "files in order",
            Order::ShuffledFiles => "shuffle_files",
            Order::FilesAndBlocks => "shuffle_files, shuffle_blocks",
            Order::AllBlocks => "shuffle=\"blocks\"",
            Order::Original => "original ATDS",
            Order::Perfect => "perfect shuffle",
        }
    }

    fn apply(self, builder: DatasetBuilder) -> DatasetBuilder {
        match self {
            Order::ShuffledFiles => builder.shuffle_files(true),
            Order::FilesAndBlocks => builder.shuffle_files(true).shuffle_blocks(true),
            Order::AllBlocks => builder.shuffle(Shuffle::Blocks),
            Order::Files | Order::Original | Order::Perfect => builder,
        }
    }
}

/// What was measured of a setting.
struct Row {
    order: Order,
    /// Size of the shuffle buffer; `None` for a perfect shuffle.
    buffer: Option<usize>,
    measured: Measured,
}

/// The report.
struct Report {
    files: Vec<PathBuf>,
    layout: Layout,
    batch_size: usize,
    seed: u64,
    epoch: u64,
    rows: Vec<Row>,
}

pub(crate) fn run(args: &Args, waits: &Waits, out: &mut dyn Write) -> Result<(), Failure> {
    let files: Vec<_> = args
        .files
        .iter()
        .map(|file| inputs::data_file(file))
        .collect();
    let files = Files::from(files).recursive(args.recursive);
    let files = files.format(args.format);
    let feature = cheapest(Dataset::builder(files.clone(), 1))?;
    let builder = Dataset::builder(files, args.batch_size)
        .features([feature])
        .seed(args.seed)
        .provenance(PLACE.to_owned());
    let dataset = progress::build(builder.clone())?;
    let layout = Layout::new(&dataset.block_records()?);
    let mut report = Report {
        files: dataset.files().to_vec(),
        batch_size: args.batch_size,
        seed: args.seed,
        epoch: args.epoch,
        rows: Vec::new(),
        layout,
    };
    let signals = Signals::noted()?;
    let settings = args.shuffle_buffer.len() * (Order::EACH.len() - 1);
    let bar = progress::records(report.layout.records() * settings as u64, "drawing");
    let measured = report.measure(args, &builder, (waits, &signals), &bar);
    bar.finish_and_clear();
    measured?;
    report.print(out)?;
    if let Some(path) = &args.json {
        write(path, &(json_text(&report.to_json()) + "\n"))?;
    }
    if let Some(path) = &args.html {
        write(path, &page::page(&report))?;
    }
    Ok(())
}

/// The name of the column of places.
const PLACE: &str = "(file, record)";

/// The maximum wait for a batch before signals are checked.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// The feature that takes the least to read: which record a row is does not depend on it.
fn cheapest(builder: DatasetBuilder) -> Result<Feature, Failure> {
    // Of the schemas alone.
    let features = builder.sample_records(0).infer()?.features;
    let bytes = |feature: &Feature| {
        let features = Features::new([feature.clone()]).ok()?;
        let bytes = features.spec().fixed_row_bytes();
        (bytes > 0).then_some(bytes)
    };
    let found = features.into_iter();
    let found = found.min_by_key(|feature| bytes(feature).unwrap_or(u64::MAX));
    found.ok_or_else(|| Failure::Data("the files have no field that can be a tensor".into()))
}

impl Report {
    fn measure(
        &mut self,
        args: &Args,
        builder: &DatasetBuilder,
        (waits, signals): (&Waits, &Signals),
        bar: &ProgressBar,
    ) -> Result<(), Failure> {
        let mut buffers = args.shuffle_buffer.clone();
        buffers.sort_unstable();
        buffers.dedup();
        for &buffer in &buffers {
            for order in Order::EACH {
                let mut measuring = Measuring::new(&self.layout, self.batch_size);
                if order == Order::Original {
                    rules::original(&self.layout, self.batch_size, buffer, self.seed, |batch| {
                        measuring.add(batch.iter().copied());
                    });
                } else {
                    let builder = order.apply(builder.clone()).shuffle_buffer_size(buffer);
                    let dataset = match progress::build(builder) {
                        // Its blocks are not shuffled.
                        Err(error) if matches!(error.kind, ErrorKind::Packed { .. }) => continue,
                        built => built?,
                    };
                    let mut batches = dataset.epoch(self.epoch);
                    waits.tell(&batches);
                    loop {
                        signals.check()?;
                        let batch = match batches.next_within(SIGNAL_INTERVAL) {
                            Poll::Pending => continue,
                            Poll::Ready(None) => break,
                            Poll::Ready(Some(batch)) => batch?,
                        };
                        bar.inc(batch.rows() as u64);
                        let places = batch.dense::<i64>(PLACE).unwrap_or_default();
                        let places = places.chunks_exact(2);
                        let layout = &self.layout;
                        measuring.add(places.map(|place| layout.number(place[0], place[1])));
                    }
                }
                self.rows.push(Row {
                    order,
                    buffer: Some(buffer),
                    measured: measuring.finish(),
                });
            }
        }
        self.rows.push(Row {
            order: Order::Perfect,
            buffer: None,
            measured: rules::perfect(&self.layout, self.batch_size, self.seed),
        });
        Ok(())
    }

    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let layout = &self.layout;
        writeln!(
            out,
            "{} in {}, {}; batches of {}",
            counted(layout.records(), "record"),
            counted(self.files.len() as u64, "file"),
            counted(layout.blocks(), "block"),
            count(self.batch_size as u64),
        )?;
        writeln!(
            out,
            "{:<32} {:>8}  {:>17}  {:>11}  {:>12}",
            "order", "buffer", "travel (median)", "files/batch", "blocks/batch"
        )?;
        for Row {
            order,
            buffer,
            measured,
        } in &self.rows
        {
            let buffer = buffer.map_or_else(|| "-".to_owned(), |buffer| count(buffer as u64));
            writeln!(
                out,
                "{:<32} {buffer:>8}  {:>15.2} %  {:>11.1}  {:>12.1}",
                order.name(),
                100.0 * measured.quantile(0.5),
                measured.files,
                measured.blocks,
            )?;
        }
        Ok(())
    }

    fn to_json(&self) -> Value {
        let settings = self.rows.iter().map(|row| {
            let Row {
                order,
                buffer,
                measured,
            } = row;
            let quantiles = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99];
            let quantiles =
                quantiles.map(|part| (part.to_string(), measured.quantile(part).into()));
            json!({
                "order": order.name(),
                "shuffle_buffer_size": buffer,
                "is_simulated": matches!(order, Order::Original),
                "is_computed": matches!(order, Order::Perfect),
                "travel": {
                    "mean": measured.mean,
                    "quantiles": Value::Object(quantiles.into_iter().collect()),
                },
                "files_per_batch": measured.files,
                "blocks_per_batch": measured.blocks,
            })
        });
        json!({
            "files": self.files.len(),
            "blocks": self.layout.blocks(),
            "records": self.layout.records(),
            "batch_size": self.batch_size,
            "seed": self.seed,
            "epoch": self.epoch,
            "settings": settings.collect::<Vec<_>>(),
        })
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error| Failure::Data(format!("{}: {error}", path.display()).into());
    fs::write(path, text).map_err(failed)
}
