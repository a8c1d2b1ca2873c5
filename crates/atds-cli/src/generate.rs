//! `atds generate`: sample files.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use atds::convert::{ConvertOptions, Loss, convert_with};
use atds::{Codec, FileFormat};
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
/// The files are named part-00000.avro, part-00001.avro, .., or .tfrecord, or .btable. Existing files of these names are
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
///
/// TFRecord files and BTables have the records that Avro files would have, as `atds convert --allow-loss
/// --flatten` makes them: doubles are rounded to floats in TFRecord, and of a BTable only fields with one
/// number are columns. The preset `wide` has most of these.
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
    /// Format of the files
    #[arg(long, value_name = "NAME", default_value = "avro", value_parser = options::format())]
    format: FileFormat,
    /// Codec of Avro files
    #[arg(long, value_name = "C", default_value = "deflate", value_parser = options::codec())]
    codec: Codec,
    /// Decompressed size of a block, in Avro files
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
    let signals = Signals::noted()?;
    let made = match args.format {
        FileFormat::Avro => Made::new(&args.dir, &options, &signals)?,
        format => Made::converted(&args.dir, &options, format, &signals)?,
    };
    if args.json {
        writeln!(out, "{}", made.to_json())?;
    } else {
        for loss in &made.losses {
            writeln!(out, "{loss}")?;
        }
        writeln!(out, "{}", made.summary())?;
    }
    Ok(())
}

/// The files that were made, and the time taken.
pub(crate) struct Made {
    generated: Generated,
    seconds: f64,
    /// What has no place in the format of the files.
    losses: Vec<Loss>,
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
        Ok(Made {
            generated,
            seconds,
            losses: Vec::new(),
        })
    }

    /// Makes the files in another format: Avro files in a hidden folder are converted. If a signal comes,
    /// removes what was written.
    fn converted(
        dir: &Path,
        options: &GenerateOptions,
        format: FileFormat,
        signals: &Signals,
    ) -> Result<Self, Failure> {
        let io = |error: io::Error, path: &Path| {
            Failure::Data(format!("{}: {error}", path.display()).into())
        };
        let start = Instant::now();
        fs::create_dir_all(dir).map_err(|error| io(error, dir))?;
        let hidden = tempfile::Builder::new()
            .prefix(".generate.")
            .tempdir_in(dir);
        let hidden = hidden.map_err(|error| io(error, dir))?;
        let mut avro = options.clone();
        avro.codec = Codec::Null;
        let mut made = Made::new(&hidden.path().join("avro"), &avro, signals)?;
        let names = (0..made.files().len()).map(|i| format!("part-{i:05}.{}", format.name()));
        let names: Vec<String> = names.collect();
        check_others(dir, &names).map_err(|error| io(error, dir))??;
        let mut convert = ConvertOptions::default();
        convert.allow_loss = true;
        convert.flatten = true;
        convert.cancelled = Some(signals.came().clone());
        let bar = progress::files(names.len() as u64, "converting");
        made.generated.raw_bytes = 0;
        for (file, name) in made.generated.files.iter().zip(&names) {
            let converted = convert_with(file, hidden.path().join(name), &convert, |_| ());
            signals.check()?;
            let converted = converted?;
            made.generated.raw_bytes += converted.file_bytes;
            add_losses(&mut made.losses, converted.losses);
            bar.inc(1);
        }
        bar.finish_and_clear();
        made.generated.decompressed_bytes = made.generated.raw_bytes;
        made.generated.files = Vec::new();
        for name in names {
            let path = dir.join(&name);
            fs::rename(hidden.path().join(&name), &path).map_err(|error| io(error, &path))?;
            made.generated.files.push(path);
        }
        made.seconds = start.elapsed().as_secs_f64();
        Ok(made)
    }

    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.generated.files
    }

    pub(crate) fn to_json(&self) -> Value {
        let losses = self.losses.iter();
        let losses = losses.map(
            |loss| json!({"field": loss.field, "kind": loss.kind.name(), "values": loss.values}),
        );
        json!({
            "files": self.generated.files.len(),
            "records": self.generated.records,
            "raw_bytes": self.generated.raw_bytes,
            "decompressed_bytes": self.generated.decompressed_bytes,
            "losses": losses.collect::<Vec<_>>(),
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

/// Adds the losses of a file to those of the files before it.
fn add_losses(all: &mut Vec<Loss>, losses: Vec<Loss>) {
    for loss in losses {
        let same = |known: &&mut Loss| (&known.field, known.kind) == (&loss.field, loss.kind);
        match all.iter_mut().find(same) {
            Some(known) => known.values += loss.values,
            None => all.push(loss),
        }
    }
}

/// Checks that the folder has no other row files: readers of the folder would read them too.
fn check_others(dir: &Path, names: &[String]) -> io::Result<Result<(), Failure>> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_hidden = name.starts_with('.');
        if !is_hidden && FileFormat::of_name(&path).is_some() && !names.iter().any(|n| *n == name) {
            let message = format!(
                "{}: the folder has other files, which readers of the folder would read too: give \
                 another folder, or remove them",
                path.display()
            );
            return Ok(Err(Failure::Data(message.into())));
        }
    }
    Ok(Ok(()))
}
