//! `atds head`: the first records of a file.

use std::io::Write;
use std::path::{Path, PathBuf};

use atds::avro::records::RecordOptions;

use atds::records::Records;

use atds::tensors::batch_to_json;

use atds::interface::Interface;

use atds::{Dataset, Error, ErrorKind, FileFormat, Files};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::json_text::json_text;
use crate::lenience::Lenience;
use crate::waits::Waits;
use crate::{inputs, options, progress, units};

/// Print the first records of a file as JSON, one record a line, or as tensors.
///
/// A union is printed as its value alone, an enum as its symbol. Bytes and fixed are text with a
/// character of U+0000 to U+00FF for each byte. NaN and the infinities are the strings "NaN",
/// "Infinity" and "-Infinity". Logical types are printed as the type they annotate.
///
/// An Example of a TFRecord file is printed as an object of its keys with the lists of their values, a
/// SequenceExample as an object with "context" and "feature_lists". A record that is neither is printed as
/// an object with its bytes in "@", and a note says so. A row of a BTable is printed as an object of the
/// labels of its non-zero cells with their values.
///
/// With --features, the tensors of these features are printed, one line for each. Dense tensors
/// have "shape" and "values", sparse ones "dense_shape", "indices" and "values", ragged ones
/// "row_splits" and "values".
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file, or - for standard input
    file: PathBuf,
    /// The format of the file, such as avro [default: what its name tells, or else its first bytes]
    #[arg(long, value_name = "NAME", value_parser = options::format(), hide_possible_values = true)]
    format: Option<FileFormat>,
    /// Number of records to print
    #[arg(short = 'n', long = "records", value_name = "N", default_value_t = 10)]
    records: usize,
    /// Number of records to pass over first, which are read all the same
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        conflicts_with = "features"
    )]
    skip: usize,
    /// Print the tensors of the features in this file (- for standard input), not records
    #[arg(long, value_name = "F.json")]
    features: Option<PathBuf>,
    /// Read the records as the schema in this file, or - for standard input
    #[arg(long, value_name = "S.avsc", requires = "features")]
    reader_schema: Option<PathBuf>,
    /// Refuse files whose schema breaks the Avro specification, rather than read them
    #[arg(long)]
    strict: bool,
    /// Read the header of each file when the file is opened, not all headers at the start
    #[arg(long, requires = "features")]
    no_check_files: bool,
    /// Maximum memory of blocks and tensors, such as 512MiB or 2GB [default: 4GiB]
    #[arg(long, value_name = "BYTES", value_parser = units::parse_bytes, requires = "features")]
    memory_limit: Option<u64>,
    #[command(flatten)]
    lenience: Lenience,
}

pub(crate) fn run(args: &Args, waits: &Waits, out: &mut dyn Write) -> Result<(), Failure> {
    let data = [("FILE", args.file.as_path())].into_iter();
    let features = inputs::named("--features", &args.features);
    let reader_schema = inputs::named("--reader-schema", &args.reader_schema);
    inputs::check_stdin(data.chain(features).chain(reader_schema))?;
    let file = inputs::data_file(&args.file);
    if args.features.is_some() {
        return print_tensors(&file, args, waits, out);
    }
    let mut options = RecordOptions::default();
    options.strict = args.strict;
    let lenience = &args.lenience;
    options.tolerate = lenience.tolerate;
    options.max_block_bytes = lenience
        .max_block_bytes()
        .unwrap_or(options.max_block_bytes);
    options.max_depth = lenience.max_depth.unwrap_or(options.max_depth);
    let mut records = Records::open_with(&file, args.format, &options)?;
    for skipped in records.by_ref().take(args.skip) {
        skipped?;
    }
    let mut result = Ok(());
    for record in records.by_ref().take(args.records) {
        match record {
            Ok(record) => writeln!(out, "{}", json_text(&record))?,
            Err(error) => result = Err(error.into()),
        }
    }
    if let Some(error) = records.no_message() {
        out.flush()?;
        let said = Interface::Command.message(error);
        eprintln!("atds: note: {said}: printed as bytes");
    }
    result
}

/// Prints an object with a line for each column. An error after the first records is returned after
/// that.
fn print_tensors(
    file: &Path,
    args: &Args,
    waits: &Waits,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    // A batch has at least one record.
    let files = Files::from(file).format(args.format);
    let mut builder = Dataset::builder(files, args.records.max(1))
        .strict(args.strict)
        .check_files(!args.no_check_files);
    if let Some(path) = &args.features {
        builder = builder.features(inputs::features(path)?);
    }
    if let Some(path) = &args.reader_schema {
        builder = builder.reader_schema(inputs::reader_schema(path)?);
    }
    if let Some(bytes) = args.memory_limit {
        builder = builder.memory_limit(bytes);
    }
    builder = args.lenience.apply(builder);
    let mut batches = progress::build(builder)?.iter();
    waits.tell(&batches);
    let first = match args.records {
        0 => None,
        _ => batches.next().transpose().map_err(of_head)?,
    };
    let Some(batch) = first else {
        writeln!(out, "{{}}")?;
        return Ok(());
    };
    print_columns(&batch_to_json(&batch), out)?;
    if batch.rows() < args.records {
        batches.next().transpose().map_err(of_head)?;
    }
    Ok(())
}

/// Renames the option in a memory error: the batch here is `records`.
fn of_head(error: Error) -> Failure {
    let ErrorKind::MemoryLimit { limit, needed, .. } = error.kind else {
        return error.into();
    };
    let message = format!(
        "`memory_limit` is {limit} byte{}, but the records need {needed} or more: raise it, or \
         lower `records`",
        if limit == 1 { "" } else { "s" }
    );
    Failure::Data(message.into())
}

fn print_columns(tensors: &Value, out: &mut dyn Write) -> Result<(), Failure> {
    let columns = tensors.as_object().into_iter().flatten();
    let lines: Vec<String> = columns
        .map(|(name, column)| format!("  {}: {}", json_text(&json!(name)), json_text(column)))
        .collect();
    writeln!(out, "{{\n{}\n}}", lines.join(",\n"))?;
    Ok(())
}
