//! `atds head`: the first records of a file.

use std::io::Write;
use std::path::PathBuf;

use atds::Records;

use crate::failure::Failure;

/// Print the first records of a file as JSON lines.
///
/// Records of every Avro type: unions are their value alone, enums their symbol, bytes and fixed
/// text with a character of U+0000 to U+00FF for each byte. NaN and the infinities are the strings
/// "NaN", "Infinity" and "-Infinity". Logical types stand as the type underneath.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file
    file: PathBuf,
    /// Records to print
    #[arg(short = 'n', long = "records", value_name = "N", default_value_t = 10)]
    records: usize,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Failure> {
    for record in Records::open(&args.file)?.take(args.records) {
        writeln!(out, "{}", record?)?;
    }
    Ok(())
}
