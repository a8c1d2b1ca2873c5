//! `atds repair`: the blocks of a damaged file that are well, in a new file.

use std::io::Write;
use std::path::{Path, PathBuf};

use atds::avro::repair::{RepairOptions, repair_with};
use atds::interface::printable;
use clap::ValueHint;
use serde_json::json;

use crate::damage::{self, Sums};
use crate::failure::Failure;
use crate::json_text::json_text;
use crate::signals::Signals;
use crate::units::bytes;
use crate::{inputs, progress, units};

/// Write the blocks of a damaged file that are well to a new file, and list what is left out.
///
/// Schema, codec, metadata and sync marker stay, and blocks are copied as they are. A block with a
/// damaged record is left out as a whole. The damaged file is not changed, and no file is
/// overwritten. The new file gets its name when it is complete and on the disk.
///
/// The exit code is 0 if the file was written, even if blocks were left out. It is 1 if the header or
/// the schema cannot be read, or OUT exists.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The damaged file, or - for standard input
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The file to write
    #[arg(value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: PathBuf,
    /// Maximum size of a block, compressed and decompressed; larger ones are left out [default: 1GiB]
    #[arg(long, value_name = "BYTES", value_parser = units::parse_bytes)]
    max_block_bytes: Option<u64>,
    /// Maximum nesting depth of a value, up to 300; blocks with deeper ones are left out [default: 100]
    #[arg(long, value_name = "N")]
    max_depth: Option<usize>,
    /// Print what was written and left out as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Failure> {
    if args.output == Path::new("-") {
        let message = "OUT must be a file: it gets its name only when it is complete";
        return Err(Failure::conflict(message));
    }
    let signals = Signals::noted()?;
    let mut options = RepairOptions::default();
    if let Some(bytes) = args.max_block_bytes {
        options.max_block_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    }
    options.max_depth = args.max_depth.unwrap_or(options.max_depth);
    options.cancelled = Some(signals.came().clone());
    let input = inputs::data_file(&args.input);
    let size = input.metadata().ok().filter(std::fs::Metadata::is_file);
    let bar = progress::bytes(size.map(|found| found.len()), "repairing");
    let repaired = repair_with(&input, &args.output, &options, |read| bar.inc(read));
    bar.finish_and_clear();
    signals.check()?;
    let repaired = repaired?;
    let found = &repaired.found;
    if args.json {
        let mut object = damage::file_to_json(found);
        object["written"] = json!(repaired.path.display().to_string());
        object["written_bytes"] = json!(repaired.file_bytes);
        writeln!(out, "{}", json_text(&object))?;
        return Ok(());
    }
    damage::print(found, out)?;
    let sums = Sums::of(found);
    let left_out = match found.is_well() {
        true => "nothing".to_owned(),
        false => sums.lost(),
    };
    let (path, size) = (name(&repaired.path), bytes(repaired.file_bytes));
    writeln!(
        out,
        "{path}: written: {}, {size}; left out: {left_out}",
        sums.healthy()
    )?;
    Ok(())
}

fn name(path: &Path) -> String {
    printable(&path.display().to_string()).into_owned()
}
