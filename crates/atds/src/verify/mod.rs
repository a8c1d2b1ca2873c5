//! Verification of files of any format: reads everything, and lists all damage with its place and probable
//! cause.
//!
//! | format | what is checked | after damage |
//! |---|---|---|
//! | Avro | see [`avro::verify`](mod@crate::avro::verify) | the next sync marker |
//! | TFRecord | the checksums of lengths and of data | the next record, by its length, or the next length that fits its checksum |
//! | BTable | the header, the number of cells of each row, the order of its columns | the next row; after a wrong number of cells, none |
//!
//! Not all damage can be seen. A file of any of these formats that was cut between two records, or blocks, is
//! a shorter file. A BTable has no checksums.
//!
//! ```
//! use atds::verify::{Cause, verify};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("a.tfrecord");
//! let mut writer = atds_tfrecord::Writer::new(Vec::new());
//! writer.write(b"one")?;
//! writer.write(b"two")?;
//! let mut file = writer.finish()?;
//! file[12] = b'O';
//! std::fs::write(&path, file)?;
//!
//! let found = verify(&path)?;
//! assert_eq!((found.records, found.lost.records), (1, 1));
//! assert_eq!(found.damages[0].cause, Cause::Overwritten);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "btable")]
mod btable;
mod cause;
mod report;
#[cfg(any(feature = "btable", feature = "tfrecord"))]
mod stream;
#[cfg(feature = "tfrecord")]
mod tfrecord;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use atds_sched::Threads;
use avro_decode::limits::MAX_DECODE_DEPTH;

use crate::avro::records::RecordOptions;
use crate::avro::verify::Scan;
use crate::limits::MAX_BLOCK_BYTES;
use crate::opened::Opened;
use crate::side_by_side::in_order;
use crate::source::Stop;
use crate::{Error, ErrorKind, FileFormat, Tolerate};

pub use cause::Cause;
pub use report::{Damage, Lost, Verified};

/// Options of a verification.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VerifyOptions {
    /// The format of the files; `None`, the default, for the one that the name of a file or else its first
    /// bytes tell.
    pub format: Option<FileFormat>,
    /// Faults that are counted, and are no damage; none by default. With `utf8`, text is not checked.
    pub tolerate: Tolerate,
    /// Maximum size of a block in bytes, compressed and decompressed; 1 GiB by default. One block of
    /// more than 64 MiB is decompressed at a time. In TFRecord, of a record.
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
            format: None,
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

/// Verifies a file with options. A file that cannot be read, or has another format, is damage, not an error.
///
/// # Errors
/// An option out of its range, a URL that is no local file, or the caller has cancelled.
pub fn verify_with(path: impl AsRef<Path>, options: &VerifyOptions) -> Result<Verified, Error> {
    options.records().check()?;
    verify_one(path.as_ref(), options, &|_| (), &Mutex::default())
}

/// Verifies files side by side; each may have another format. `on_file` gets each file's result, in the order
/// of the files. `on_read` gets the number of bytes that were read since its last call, from any thread.
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
    let large = Mutex::default();
    let work = |path: &PathBuf| verify_one(path, options, &on_read, &large);
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

fn verify_one(
    path: &Path,
    options: &VerifyOptions,
    on_read: &dyn Fn(u64),
    large: &Mutex<()>,
) -> Result<Verified, Error> {
    let opened = Opened::open(path, options.format, &options.stop())?;
    match opened.format {
        FileFormat::Avro => {
            let scan = Scan::new(&opened.path, options, on_read).sharing(large);
            Ok(scan.opened(opened.reading).run(&mut |_, _| Ok(()))?.found)
        }
        #[cfg(feature = "btable")]
        FileFormat::BTable => btable::verify(opened, options, on_read),
        #[cfg(feature = "tfrecord")]
        FileFormat::TfRecord => tfrecord::verify(opened, options, on_read),
    }
}
