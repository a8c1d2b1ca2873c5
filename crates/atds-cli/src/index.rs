//! `atds index`: the record counts of files, counted once for many processes.

use std::io::Write;
use std::path::{Path, PathBuf};

use atds::index::{IndexOptions, Indexed, write_index_with};
use atds::interface::printable;
use atds::{FileFormat, Files, Threads, Tolerate};
use clap::ValueHint;
use serde_json::json;

use crate::failure::Failure;
use crate::json_text::json_text;
use crate::signals::Signals;
use crate::units::{bytes, counted};
use crate::{inputs, options, progress, units};

/// Count the records of files, and write the counts to an index.
///
/// Data sets with the option `index` take the counts from there, for their length, their shards, and
/// to go on after a stop: one process counts, and all others read 8 KiB of each file, by which they see
/// that it is the file that was counted. Of packed files, which are unpacked to count them, that saves
/// most. It also says where blocks begin, so that data sets that read some blocks of TFRecord files or BTables,
/// such as a split by block, read nothing else. Paths of files in the folder of the index, and in folders inside it, are relative to that
/// folder, so that all can be moved together.
///
/// An index that is there is replaced; any other file is not. The exit code is 1 if a file is damaged.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files, folders (their row files), patterns, or file:// URLs
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The index to write
    #[arg(short, long, value_name = "INDEX", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// Also search the folders inside the folders
    #[arg(long)]
    recursive: bool,
    /// The format of the files, such as avro [default: what their names tell, or else their first bytes]
    #[arg(long, value_name = "NAME", value_parser = options::format(), hide_possible_values = true)]
    format: Option<FileFormat>,
    /// Number of files that are read side by side; auto for the number of cores
    #[arg(long, value_name = "N|auto", default_value = "auto", value_parser = options::threads)]
    threads: Threads,
    /// Faults to tolerate: trailing-file-bytes; others do not matter here
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true, value_parser = options::tolerate)]
    tolerate: Tolerate,
    /// Maximum size of a block in the file [default: 1GiB]
    #[arg(long, value_name = "BYTES", value_parser = units::parse_bytes)]
    max_block_bytes: Option<u64>,
    /// Also store a hash of this field of each record, for data sets with split_by
    ///
    /// In Avro it is a field or a path such as context.user_id, in TFRecord a key, in BTable a label. Records
    /// are decoded for it, and take 8 bytes each in the index.
    #[arg(long, value_name = "FIELD")]
    split_by: Option<String>,
    /// Print the totals as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Failure> {
    if args.output == Path::new("-") {
        let message = "--output must be a file: it gets its name only when it is complete";
        return Err(Failure::conflict(message));
    }
    let given = args.files.iter().map(|file| inputs::data_file(file));
    let files = Files::from(given.collect::<Vec<_>>());
    let files = files
        .recursive(args.recursive)
        .format(args.format)
        .resolve()?;
    let signals = Signals::noted()?;
    let mut options = IndexOptions::default();
    options.format = args.format;
    options.threads = args.threads;
    options.tolerate = args.tolerate;
    if let Some(bytes) = args.max_block_bytes {
        options.max_block_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    }
    options.split_by = args.split_by.clone();
    options.cancelled = Some(signals.came().clone());
    let bar = progress::files(files.len() as u64, "indexing");
    let indexed = write_index_with(&files, &args.output, &options, |_| bar.inc(1));
    bar.finish_and_clear();
    signals.check()?;
    show(&indexed?, args, out)
}

fn show(indexed: &Indexed, args: &Args, out: &mut dyn Write) -> Result<(), Failure> {
    let path = args.output.display().to_string();
    if args.json {
        let object = json!({
            "index": path,
            "files": indexed.files,
            "blocks": indexed.blocks,
            "records": indexed.records,
            "file_bytes": indexed.bytes,
        });
        writeln!(out, "{}", json_text(&object))?;
        return Ok(());
    }
    writeln!(
        out,
        "{}: {} in {} of {}, {}",
        printable(&path),
        counted(indexed.records, "record"),
        counted(indexed.blocks, "block"),
        counted(indexed.files, "file"),
        bytes(indexed.bytes),
    )?;
    Ok(())
}
