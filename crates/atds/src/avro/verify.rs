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
pub(crate) mod evidence;
mod scan;
mod taken;

use std::path::{Path, PathBuf};

pub use crate::verify::{Cause, Damage, Lost, Verified, VerifyOptions};
use crate::{Error, FileFormat, verify};
pub(crate) use scan::Scan;
#[cfg(any(feature = "btable", feature = "tfrecord"))]
pub(crate) use scan::of_unpacking;

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
    verify::verify_with(path, &of_avro(options))
}

/// Verifies files side by side, as [`verify_files`](crate::verify::verify_files).
///
/// # Errors
/// As [`verify_with`]; if the caller cancels, after the results of the files that are complete.
pub fn verify_files(
    files: &[PathBuf],
    options: &VerifyOptions,
    on_read: impl Fn(u64) + Sync,
    on_file: impl FnMut(Verified),
) -> Result<(), Error> {
    verify::verify_files(files, &of_avro(options), on_read, on_file)
}

fn of_avro(options: &VerifyOptions) -> VerifyOptions {
    VerifyOptions {
        format: Some(FileFormat::Avro),
        ..options.clone()
    }
}
