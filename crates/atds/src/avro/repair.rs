//! Repair of damaged files: the blocks without damage, written to a new file.
//!
//! A block is the unit: one with a damaged record is left out as a whole, since what is left of it cannot
//! be told from what it was. Schema, codec, metadata and sync marker are those of the damaged file, and
//! the blocks are copied as they are. What is found and left out is what
//! [`verify`](mod@crate::avro::verify) finds.
//!
//! ```
//! use atds::avro::{repair::repair, verify::verify};
//! # use atds_generate::{generate, GenerateOptions, Preset};
//! # let folder = tempfile::tempdir()?;
//! # let mut options = GenerateOptions::new(Preset::Ads, 100);
//! # options.block_bytes = 20_000;
//! # let damaged = generate(folder.path(), &options)?.files.remove(0);
//! # let mut bytes = std::fs::read(&damaged)?;
//! # let middle = bytes.len() / 2;
//! # bytes[middle..middle + 600].fill(0);
//! # std::fs::write(&damaged, bytes)?;
//! # let new = folder.path().join("new.avro");
//!
//! let repaired = repair(&damaged, &new)?;
//! assert_eq!(repaired.found.lost.parts, 1);
//! assert!(verify(&new)?.is_well());
//! assert_eq!(verify(&new)?.records, repaired.found.records);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use avro_block::{Block, Header, Writer};
use avro_decode::limits::MAX_DECODE_DEPTH;

use crate::avro::verify::{Scan, Verified, VerifyOptions};
use crate::files::local_path;
use crate::limits::{FILE_BUFFER, MAX_BLOCK_BYTES};
use crate::new_file;
use crate::source::file_id;
use crate::write::container_error;
use crate::{Error, ErrorKind};

/// Options of a repair.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RepairOptions {
    /// Maximum size of a block in bytes, compressed and decompressed; 1 GiB by default. A larger block
    /// is left out.
    pub max_block_bytes: usize,
    /// Maximum nesting of records, arrays, maps and unions in a value; 100 by default, at most
    /// [`DEEPEST`](avro_decode::limits::DEEPEST). A block with a deeper value is left out.
    pub max_depth: usize,
    /// A flag that cancels: soon after it becomes true, the repair fails with
    /// [`ErrorKind::Cancelled`], and no file is written.
    pub cancelled: Option<Arc<AtomicBool>>,
}

impl Default for RepairOptions {
    fn default() -> Self {
        RepairOptions {
            max_block_bytes: MAX_BLOCK_BYTES,
            max_depth: MAX_DECODE_DEPTH,
            cancelled: None,
        }
    }
}

/// A file that was written by a repair.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Repaired {
    /// The new file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub file_bytes: u64,
    /// What was found in the damaged file. Its blocks and records without damage are those of the new
    /// file; all damage was left out.
    pub found: Verified,
}

/// Writes the blocks of `input` without damage to the new file `output`.
///
/// # Errors
/// As [`repair_with`].
pub fn repair(input: impl AsRef<Path>, output: impl AsRef<Path>) -> Result<Repaired, Error> {
    repair_with(input, output, &RepairOptions::default(), |_| ())
}

/// Writes the blocks of `input` without damage to the new file `output`, with options. `on_read` gets
/// the number of bytes that were read since its last call.
///
/// The file is written beside `output` under a hidden name, and gets its name when it is complete and on
/// the disk. After an error there is no file at `output`.
///
/// # Errors
/// `output` exists, or is `input`; the header or the schema of `input` cannot be read, or the system
/// cannot read or write; an option out of its range; the caller has cancelled.
pub fn repair_with(
    input: impl AsRef<Path>,
    output: impl AsRef<Path>,
    options: &RepairOptions,
    on_read: impl Fn(u64),
) -> Result<Repaired, Error> {
    let verify = VerifyOptions {
        max_block_bytes: options.max_block_bytes,
        max_depth: options.max_depth,
        cancelled: options.cancelled.clone(),
        ..VerifyOptions::default()
    };
    verify.records().check()?;
    let (input, output) = (local_path(input.as_ref())?, local_path(output.as_ref())?);
    check_new(&output, &input)?;
    let temporary = new_file::temporary(&output).map_err(|error| Error::io(error, &output))?;

    let mut copy = BlockCopy {
        file: temporary.as_file(),
        output: &output,
        writer: None,
    };
    let scan = Scan::new(&input, &verify, &on_read);
    let scanned = scan.run(&mut |header, block| copy.block(header, block))?;
    let (header, found) = match (scanned.header, scanned.fault) {
        (Some(header), None) => (header, scanned.found),
        (_, fault) => {
            let first = || {
                scanned
                    .found
                    .damages
                    .into_iter()
                    .next()
                    .map(|damage| damage.error)
            };
            let fault = fault.or_else(first);
            return Err(fault.unwrap_or_else(|| Error::new(ErrorKind::NoFiles)));
        }
    };
    let file_bytes = copy.finish(&header)?;
    new_file::publish(temporary, &output, false)?;
    Ok(Repaired {
        path: output.into_owned(),
        file_bytes,
        found,
    })
}

/// Checks that there is no file at `output`.
fn check_new(output: &Path, input: &Path) -> Result<(), Error> {
    // A link that leads nowhere is there, too.
    if fs::symlink_metadata(output).is_err() {
        return Ok(());
    }
    let id = |path: &Path| {
        Some(file_id(
            &fs::canonicalize(path).ok()?,
            &fs::metadata(path).ok()?,
        ))
    };
    let kind = match (id(output), id(input)) {
        (Some(output), Some(input)) if output == input => ErrorKind::InPlace,
        _ => ErrorKind::Exists,
    };
    Err(Error::new(kind).in_file(output))
}

/// Copies blocks to the new file.
struct BlockCopy<'f> {
    file: &'f File,
    output: &'f Path,
    /// The writer, once there is a block.
    writer: Option<Writer<BufWriter<&'f File>>>,
}

impl<'f> BlockCopy<'f> {
    fn block(&mut self, header: &Header, block: &Block) -> Result<(), Error> {
        let output = self.output;
        self.begin(header)?
            .copy_block(block)
            .map_err(|error| container_error(error, output))
    }

    fn begin(&mut self, header: &Header) -> Result<&mut Writer<BufWriter<&'f File>>, Error> {
        if self.writer.is_none() {
            let file = BufWriter::with_capacity(FILE_BUFFER, self.file);
            let writer = Writer::with_header(file, header);
            self.writer = Some(writer.map_err(|error| container_error(error, self.output))?);
        }
        Ok(self.writer.as_mut().expect("set above"))
    }

    /// Completes the file, and returns its size.
    fn finish(mut self, header: &Header) -> Result<u64, Error> {
        self.begin(header)?;
        let writer = self.writer.expect("begun above");
        let bytes = writer.bytes_written();
        let finished = writer.finish();
        finished.map_err(|error| container_error(error, self.output))?;
        Ok(bytes)
    }
}
