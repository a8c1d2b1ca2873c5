//! `atds verify`: reads everything, and lists all damage.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use atds::interface::printable;
use atds::verify::{Cause, Verified, VerifyOptions, verify_files};
use atds::{FileFormat, Files, Threads};
use serde_json::json;

use crate::damage::{self, Sums};
use crate::failure::Failure;
use crate::json_text::json_text;
use crate::lenience::Lenience;
use crate::signals::Signals;
use crate::units::{bytes, counted};
use crate::{inputs, options, progress};

/// Read everything in files, and list all damage with its place and probable cause.
///
/// Of Avro, checks the header and the schema, the sync marker and the checksum of each block, and each
/// record by the schema. After damage it goes on at the next sync marker. Of TFRecord, checks the checksums
/// of lengths and data, and goes on at the next length that fits its checksum. Of BTable, checks the
/// header, and the number and order of the cells of each row. The exit code is 1 if anything is wrong.
///
/// Not all damage can be seen. A file that was cut between two blocks, or two records of a TFRecord file or
/// a BTable, is a shorter file: no count of all records is in it. Avro's codecs null and deflate have no
/// checksum, zstandard has one only if the writer wants it, and a BTable has none.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files, folders (their row files), patterns, file:// URLs, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Also search the folders inside the folders
    #[arg(long)]
    recursive: bool,
    /// The format of the files, such as avro [default: what the name of each tells, or else its first bytes]
    #[arg(long, value_name = "NAME", value_parser = options::format(), hide_possible_values = true)]
    format: Option<FileFormat>,
    /// Count a schema that breaks the Avro specification as damage
    #[arg(long)]
    strict: bool,
    /// Number of files that are read side by side; auto for the number of cores
    #[arg(long, value_name = "N|auto", default_value = "auto", value_parser = options::threads)]
    threads: Threads,
    #[command(flatten)]
    lenience: Lenience,
    /// Print one JSON object a line for each file, and one for the totals of several files
    #[arg(long)]
    json: bool,
}

/// Runs the command. After a file that is not found it continues with the next one.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Failure> {
    inputs::check_stdin(inputs::named("FILE", &args.files))?;
    let (mut files, mut totals) = (Vec::new(), Totals::default());
    let mut missing = Ok(());
    for path in args.files.iter().map(|file| inputs::data_file(file)) {
        let given = Files::from(path).recursive(args.recursive);
        match given.format(args.format).resolve() {
            Ok(mut found) => files.append(&mut found),
            Err(error) => {
                totals.failed += 1;
                if let Err(before) = std::mem::replace(&mut missing, Err(Failure::from(error))) {
                    before.report("verify");
                }
            }
        }
    }
    let is_several = files.len() as u64 + totals.failed > 1;
    let signals = Signals::noted()?;
    let mut options = VerifyOptions::default();
    options.format = args.format;
    options.strict = args.strict;
    options.threads = args.threads;
    options.tolerate = args.lenience.tolerate;
    options.max_block_bytes = args
        .lenience
        .max_block_bytes()
        .unwrap_or(options.max_block_bytes);
    options.max_depth = args.lenience.max_depth.unwrap_or(options.max_depth);
    options.cancelled = Some(signals.came().clone());

    let bar = progress::bytes(size(&files), "verifying");
    let mut printed = Ok(());
    let result = verify_files(
        &files,
        &options,
        |read| bar.inc(read),
        |found| {
            totals.add(&found);
            if printed.is_ok() {
                // A file is shown at once, in the order of the files.
                printed = bar.suspend(|| show(&found, args.json, out).and_then(|()| out.flush()));
            }
            if printed.is_err() {
                // Nobody reads what else would be found.
                signals.came().store(true, Ordering::Relaxed);
            }
        },
    );
    bar.finish_and_clear();
    printed?;
    let stopped = signals.check();
    if is_several {
        totals.show(stopped.as_ref().err(), args.json, out)?;
    }
    stopped?;
    result?;
    let Some(faults) = totals.faults() else {
        return missing;
    };
    if let Err(missing) = missing {
        missing.report("verify");
    }
    Err(Failure::Data(faults.into()))
}

/// The size of all files; `None` if one is a pipe.
fn size(files: &[PathBuf]) -> Option<u64> {
    let size = |file: &PathBuf| {
        let found = file.metadata().ok()?;
        found.is_file().then_some(found.len())
    };
    files.iter().map(size).sum()
}

/// Prints what was found in a file.
fn show(found: &Verified, is_json: bool, out: &mut dyn Write) -> io::Result<()> {
    if is_json {
        return writeln!(out, "{}", json_text(&damage::file_to_json(found)));
    }
    damage::print(found, out)?;
    let sums = Sums::of(found);
    let tolerated = match found.tolerated.is_empty() {
        true => String::new(),
        false => format!("; passed over: {}", found.tolerated),
    };
    let path = name(&found.path);
    if found.is_well() {
        let size = bytes(found.file_bytes);
        writeln!(out, "{path}: well: {}, {size}{tolerated}", sums.healthy())
    } else {
        let what = match is_unread(found) {
            true => "cannot be read",
            false => "damaged",
        };
        writeln!(out, "{path}: {what}: {sums}{tolerated}")
    }
}

/// Whether the file is known to be no more than unreadable: its bytes may be well.
fn is_unread(found: &Verified) -> bool {
    let mut damages = found.damages.iter();
    !found.is_well() && damages.all(|damage| matches!(damage.cause, Cause::Unreadable))
}

fn name(path: &Path) -> String {
    printable(&path.display().to_string()).into_owned()
}

/// The sums over all files.
#[derive(Default)]
struct Totals {
    well: u64,
    damaged: u64,
    /// Number of files that cannot be read.
    unread: u64,
    /// Number of arguments that name no file.
    failed: u64,
    file_bytes: u64,
    sums: Sums,
}

impl Totals {
    fn add(&mut self, found: &Verified) {
        match found.is_well() {
            true => self.well += 1,
            false if is_unread(found) => self.unread += 1,
            false => self.damaged += 1,
        }
        self.file_bytes += found.file_bytes;
        self.sums.add(&Sums::of(found));
    }

    fn files(&self) -> u64 {
        self.well + self.damaged + self.unread
    }

    /// What is wrong with files; `None` if all are well.
    fn faults(&self) -> Option<String> {
        let all = counted(self.files(), "file");
        let are = if self.damaged == 1 { "is" } else { "are" };
        match (self.damaged, self.unread) {
            (0, 0) => None,
            (0, unread) => Some(format!("{unread} of {all} cannot be read")),
            (damaged, 0) => Some(format!("{damaged} of {all} {are} damaged")),
            (damaged, unread) => Some(format!(
                "{damaged} of {all} {are} damaged, and {unread} cannot be read"
            )),
        }
    }

    fn show(
        &self,
        stopped: Option<&Failure>,
        is_json: bool,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let stopped = stopped.map(Failure::reason);
        if is_json {
            let mut total = json!({
                "files": self.files(),
                "well": self.well,
                "damaged": self.damaged,
                "unread": self.unread,
                "failed": self.failed,
                "file_bytes": self.file_bytes,
            });
            self.sums.add_to_json(&mut total);
            total["stopped_early"] = json!(stopped);
            return writeln!(out, "{}", json_text(&json!({ "total": total })));
        }
        let files = counted(self.files(), "file");
        let unread = match self.unread {
            0 => String::new(),
            unread => format!(", {unread} cannot be read"),
        };
        let failed = match self.failed {
            0 => String::new(),
            failed => format!(", {failed} not found"),
        };
        let (well, damaged) = (self.well, self.damaged);
        writeln!(
            out,
            "total of {files}: {well} well, {damaged} damaged{unread}{failed}; {}",
            self.sums
        )?;
        match stopped {
            Some(reason) => writeln!(out, "stopped early by {reason}"),
            None => Ok(()),
        }
    }
}
