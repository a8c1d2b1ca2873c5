//! `atds generate`: sample files.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use atds::Codec;
use atds_generate::{
    GenerateOptions, Generated, MAX_FILES, MAX_MEAN_LENGTH, Preset, generate_with_progress,
};
use clap::ValueHint;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::signals::Signals;
use crate::units::{bytes, counted, per};
use crate::{inputs, options, progress, units};

/// Make sample files: records of a known shape with random values.
///
/// The files are named part-00000.avro, part-00001.avro, .. Existing files of these names are
/// replaced. The seed fixes every byte. The records do not depend on the number of files, the codec
/// or the block size.
///
/// The presets: `ads` has 6 scalars, 8 dense and 5 sparse vectors, as records of advertising have;
/// `ads-nullable` has the same fields with 5 % nulls; `wide` has 210 scalars; `varlen` has arrays
/// of varying length, up to rank 3; `strings` has strings and bytes of all kinds; `people` has
/// nested records, arrays and maps, for path expressions.
///
/// With --features, the records have a field for each feature of the file. A list whose length the
/// feature leaves open varies in length. A feature with a default or a mask is null in 5 % of the
/// records.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder to write to; created if missing
    #[arg(value_hint = ValueHint::DirPath)]
    dir: PathBuf,
    /// Number of records in all files together
    #[arg(long, value_name = "N", default_value_t = 40_960)]
    records: u64,
    /// Number of files to split the records over
    #[arg(long, value_name = "K", default_value_t = 8, value_parser = files)]
    files: usize,
    /// Codec of the files
    #[arg(long, value_name = "C", default_value = "deflate", value_parser = options::codec())]
    codec: Codec,
    /// Decompressed size of a block
    #[arg(long, value_name = "BYTES", default_value = "16kB", value_parser = block_bytes)]
    block_bytes: usize,
    /// Write arrays with their size in bytes, so that readers can skip them
    #[arg(long)]
    byte_sizes: bool,
    /// Seed of the values
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Preset shape of the records
    #[arg(long, default_value = "ads", value_parser = options::preset())]
    preset: Preset,
    /// Make records for the features in this file (- for standard input), not a preset
    #[arg(long, value_name = "F.json", conflicts_with = "preset")]
    features: Option<PathBuf>,
    /// Mean length of sparse features, and of lists whose length the features leave open
    #[arg(long, value_name = "L", default_value_t = 16.0, value_parser = mean_length)]
    #[arg(requires = "features")]
    mean_length: f64,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

fn files(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=MAX_FILES) => Ok(n),
        _ => Err(format!("must be 1 to {MAX_FILES}")),
    }
}

fn block_bytes(text: &str) -> Result<usize, String> {
    match usize::try_from(units::parse_bytes(text)?) {
        Ok(0) => Err("must be above 0".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(_) => Err("is too large".to_owned()),
    }
}

fn mean_length(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(mean) if mean > 0.0 && mean <= MAX_MEAN_LENGTH => Ok(mean),
        _ => Err(format!("must be above 0, at most {MAX_MEAN_LENGTH}")),
    }
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Failure> {
    let shape = match &args.features {
        None => args.preset.into(),
        Some(path) => inputs::record_shape(path, args.mean_length)?,
    };
    let mut options = GenerateOptions::new(shape, args.records);
    options.files = args.files;
    options.codec = args.codec;
    options.block_bytes = args.block_bytes;
    options.byte_sizes = args.byte_sizes;
    options.seed = args.seed;
    let made = Made::new(&args.dir, &options, &Signals::noted()?)?;
    if args.json {
        writeln!(out, "{}", made.to_json())?;
    } else {
        writeln!(out, "{}", made.summary())?;
    }
    Ok(())
}

/// The files that were made, and the time taken.
pub(crate) struct Made {
    generated: Generated,
    seconds: f64,
}

impl Made {
    /// Makes the files. If a signal comes, removes what was written.
    pub(crate) fn new(
        dir: &Path,
        options: &GenerateOptions,
        signals: &Signals,
    ) -> Result<Self, Failure> {
        let mut options = options.clone();
        options.cancelled = Some(signals.came().clone());
        let bar = progress::records(options.records, "generating");
        let start = Instant::now();
        let generated = generate_with_progress(dir, &options, |records| bar.set_position(records));
        let seconds = start.elapsed().as_secs_f64();
        bar.finish_and_clear();
        signals.check()?;
        let generated = generated?;
        Ok(Made { generated, seconds })
    }

    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.generated.files
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "files": self.generated.files.len(),
            "records": self.generated.records,
            "raw_bytes": self.generated.raw_bytes,
            "decompressed_bytes": self.generated.decompressed_bytes,
            "seconds": self.seconds,
            "decompressed_bytes_per_s": per(self.generated.decompressed_bytes as f64, self.seconds),
        })
    }

    pub(crate) fn summary(&self) -> String {
        let Generated {
            files,
            records,
            raw_bytes,
            decompressed_bytes,
            ..
        } = &self.generated;
        format!(
            "{} in {}, {} ({} decompressed), in {:.2} s ({:.1} MB/s decompressed)",
            counted(*records, "record"),
            counted(files.len() as u64, "file"),
            bytes(*raw_bytes),
            bytes(*decompressed_bytes),
            self.seconds,
            per(*decompressed_bytes as f64 / 1e6, self.seconds),
        )
    }
}
