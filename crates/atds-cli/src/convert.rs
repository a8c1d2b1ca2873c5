//! `atds convert`: a file in another format.

use std::io::Write;
use std::path::{Path, PathBuf};

use atds::convert::{ConvertOptions, Converted, convert_with};
use atds::interface::printable;
use atds::{Codec, FileFormat};
use clap::ValueHint;
use serde_json::json;

use crate::failure::Failure;
use crate::json_text::json_text;
use crate::lenience::Lenience;
use crate::signals::Signals;
use crate::units::{bytes, counted};
use crate::{inputs, options, progress};

/// Write the records of a file to a new file of another format: Avro, TFRecord or BTable.
///
/// Fields become keys and columns of the same names, and back. A value that has no place in the new format,
/// such as a nested record, a map, or a number that would be rounded, is an error that names record and
/// field. With --allow-loss it is left out or rounded, and counted. The records are converted one by one, in
/// memory that does not grow with the file. The new file gets its name when it is complete and on the disk.
///
/// A TFRecord file has no schema: without --schema it is read twice, first for the keys of all records.
///
/// The exit code is 0 if the file was written, even with losses that are allowed. It is 1 if a value has no
/// place, the file to convert is damaged, or OUT exists.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file to convert, or - for standard input
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The file to write; ended in .gz or .zlib (TFRecord), or .gz or .zst (BTable), it is compressed
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// The format of IN, such as avro [default: what its name tells, or else its first bytes]
    #[arg(long, value_name = "NAME", value_parser = options::format(), hide_possible_values = true)]
    from: Option<FileFormat>,
    /// The format of OUT [default: what its name tells]
    #[arg(long, value_name = "NAME", value_parser = options::format())]
    to: Option<FileFormat>,
    /// Leave out or round what has no place in the new format, and count it
    #[arg(long)]
    allow_loss: bool,
    /// Make fields of the fields of nested records, with a dot in their names: user.age
    #[arg(long)]
    flatten: bool,
    /// Replace OUT if it exists
    #[arg(long)]
    force: bool,
    /// The schema of an Avro file that is made of a TFRecord file, or - for standard input
    #[arg(long, value_name = "S.avsc")]
    schema: Option<PathBuf>,
    /// Codec of an Avro file
    #[arg(long, value_name = "C", default_value = "deflate", value_parser = options::codec())]
    codec: Codec,
    #[command(flatten)]
    lenience: Lenience,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Failure> {
    if args.output == Path::new("-") {
        let message = "OUT must be a file: it gets its name only when it is complete";
        return Err(Failure::conflict(message));
    }
    let given = [("IN", args.input.as_path())].into_iter();
    inputs::check_stdin(given.chain(inputs::named("--schema", &args.schema)))?;
    let signals = Signals::noted()?;
    let mut options = ConvertOptions::default();
    options.from = args.from;
    options.to = args.to;
    options.allow_loss = args.allow_loss;
    options.flatten = args.flatten;
    options.force = args.force;
    options.codec = args.codec;
    if let Some(path) = &args.schema {
        options.schema = Some(inputs::schema("schema", path)?.1.into());
    }
    let records = &mut options.records;
    records.tolerate = args.lenience.tolerate;
    if let Some(bytes) = args.lenience.max_block_bytes() {
        records.max_block_bytes = bytes;
    }
    records.max_depth = args.lenience.max_depth.unwrap_or(records.max_depth);
    options.cancelled = Some(signals.came().clone());
    let input = inputs::data_file(&args.input);
    let size = input.metadata().ok().filter(std::fs::Metadata::is_file);
    let bar = progress::bytes(size.map(|found| found.len()), "converting");
    let converted = convert_with(&input, &args.output, &options, |progress| {
        if let Some(total) = progress.total {
            bar.set_length(total);
        }
        bar.set_position(progress.read);
    });
    bar.finish_and_clear();
    signals.check()?;
    show(&converted?, args.json, out)
}

fn show(converted: &Converted, is_json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let path = converted.path.display().to_string();
    if is_json {
        let losses = converted.losses.iter();
        let losses = losses.map(|loss| {
            json!({
                "field": loss.field,
                "kind": loss.kind.name(),
                "values": loss.values,
                "first_record": loss.first_record,
            })
        });
        let object = json!({
            "file": path,
            "from": converted.from.name(),
            "to": converted.to.name(),
            "records": converted.records,
            "file_bytes": converted.file_bytes,
            "losses": losses.collect::<Vec<_>>(),
        });
        writeln!(out, "{}", json_text(&object))?;
        return Ok(());
    }
    for loss in &converted.losses {
        writeln!(out, "{loss}")?;
    }
    writeln!(
        out,
        "{}: written: {}, {}",
        printable(&path),
        counted(converted.records, "record"),
        bytes(converted.file_bytes),
    )?;
    Ok(())
}
