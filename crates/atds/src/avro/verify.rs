//! Verification of files: reads everything, and lists all damage with its place and probable cause.
//!
//! Each block is framed, decompressed, its checksum compared if its codec has one, and each of its
//! records walked by the schema of the file. After damage, reading goes on at the next sync marker.
//!
//! A file does not say how many records it has, so a file that was cut between two blocks is a shorter
//! file, and well. The codecs null and deflate have no checksum: a changed byte in a number is a number.
//!
//! ```
//! use atds::avro::verify::{Cause, verify};
//! # use atds_generate::{generate, GenerateOptions, Preset};
//! # let folder = tempfile::tempdir()?;
//! # let mut options = GenerateOptions::new(Preset::Ads, 100);
//! # options.block_bytes = 20_000;
//! # let file = generate(folder.path(), &options)?.files.remove(0);
//!
//! let found = verify(&file)?;
//! assert!(found.is_well() && found.records == 100);
//!
//! let mut bytes = std::fs::read(&file)?;
//! bytes.truncate(bytes.len() - 1);
//! std::fs::write(&file, bytes)?;
//! let found = verify(&file)?;
//! assert!(matches!(found.damages[0].cause, Cause::Cut { missing: 1 }));
//! assert_eq!(found.damages[0].records, Some(100 - found.records));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod block;
mod cause;
mod evidence;
mod report;
mod scan;
mod taken;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use atds_sched::Threads;
use avro_decode::limits::MAX_DECODE_DEPTH;

use crate::avro::records::RecordOptions;
use crate::files::local_path;
use crate::limits::MAX_BLOCK_BYTES;
use crate::side_by_side::in_order;
use crate::source::Stop;
use crate::{Error, ErrorKind, Tolerate};

pub use cause::Cause;
pub use report::{Damage, Lost, Verified};
pub(crate) use scan::Scan;

/// Options of a verification.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VerifyOptions {
    /// Faults that are counted, and are no damage; none by default. With `utf8`, text is not checked.
    pub tolerate: Tolerate,
    /// Maximum size of a block in bytes, compressed and decompressed; 1 GiB by default. One block of
    /// more than 64 MiB is decompressed at a time.
    pub max_block_bytes: usize,
    /// Maximum nesting of records, arrays, maps and unions in a value; 100 by default, at most
    /// [`DEEPEST`](avro_decode::limits::DEEPEST).
    pub max_depth: usize,
    /// Whether a schema that breaks the specification is damage, see
    /// [`DatasetBuilder::strict`](crate::DatasetBuilder::strict); false by default.
    pub strict: bool,
    /// Number of files that are read side by side; that of the cores by default.
    pub threads: Threads,
    /// A flag that cancels: soon after it becomes true, the verification fails with
    /// [`ErrorKind::Cancelled`].
    pub cancelled: Option<Arc<AtomicBool>>,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        VerifyOptions {
            tolerate: Tolerate::nothing(),
            max_block_bytes: MAX_BLOCK_BYTES,
            max_depth: MAX_DECODE_DEPTH,
            strict: false,
            threads: Threads::Auto,
            cancelled: None,
        }
    }
}

impl VerifyOptions {
    /// An error if the caller has cancelled.
    pub(crate) fn check_cancelled(&self) -> Result<(), Error> {
        match &self.cancelled {
            Some(cancelled) if cancelled.load(Relaxed) => Err(Error::new(ErrorKind::Cancelled)),
            _ => Ok(()),
        }
    }

    pub(crate) fn stop(&self) -> Stop {
        self.cancelled
            .clone()
            .map_or_else(Stop::default, Stop::when)
    }

    pub(crate) fn records(&self) -> RecordOptions {
        let mut tolerate = self.tolerate;
        // The framer keeps the bytes of damage, which tell its cause, only without this.
        tolerate.trailing_file_bytes = false;
        RecordOptions {
            tolerate,
            max_block_bytes: self.max_block_bytes,
            max_depth: self.max_depth,
            ..RecordOptions::default()
        }
    }
}

/// Verifies a file.
///
/// # Errors
/// As [`verify_with`].
pub fn verify(path: impl AsRef<Path>) -> Result<Verified, Error> {
    verify_with(path, &VerifyOptions::default())
}

/// Verifies a file with options. A file that cannot be read, or is not Avro, is damage, not an error.
///
/// # Errors
/// An option out of its range, a URL that is no local file, or the caller has cancelled.
pub fn verify_with(path: impl AsRef<Path>, options: &VerifyOptions) -> Result<Verified, Error> {
    options.records().check()?;
    let path = local_path(path.as_ref())?;
    let scan = Scan::new(&path, options, &|_| ());
    Ok(scan.run(&mut |_, _| Ok(()))?.found)
}

/// Verifies files side by side. `on_file` gets each file's result, in the order of the files. `on_read`
/// gets the number of bytes that were read since its last call, from any thread.
///
/// # Errors
/// As [`verify_with`]; if the caller cancels, after the results of the files that are complete.
pub fn verify_files(
    files: &[PathBuf],
    options: &VerifyOptions,
    on_read: impl Fn(u64) + Sync,
    mut on_file: impl FnMut(Verified),
) -> Result<(), Error> {
    options.records().check()?;
    let large = Default::default();
    let work = |path: &PathBuf| {
        let path = local_path(path)?;
        let scan = Scan::new(&path, options, &on_read).sharing(&large);
        Ok(scan.run(&mut |_, _| Ok(()))?.found)
    };
    in_order(
        files,
        options.threads,
        "atds-verify",
        work,
        |found: Result<_, Error>| {
            on_file(found?);
            Ok(())
        },
    )
}
