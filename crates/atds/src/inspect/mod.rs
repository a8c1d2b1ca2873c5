//! Inspection of files of any format: the contents of a file, found by reading all of it.
//!
//! ```
//! use atds::inspect::{Inspected, inspect};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("a.btable");
//! # let mut file = atds_btable::FileWriter::create(&path, &["a", "b"])?;
//! # file.writer().write_dense_row(&[0.0, 2.0])?;
//! # file.finish()?;
//! let Inspected::BTable(found) = inspect(&path)? else {
//!     unreachable!("its name says what it is");
//! };
//! assert_eq!((found.rows, found.non_zeros), (1, 1));
//! assert_eq!(found.column_non_zeros, [0, 1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "btable")]
mod btable;
#[cfg(feature = "tfrecord")]
mod tfrecord;

use std::path::Path;

use atds_features::Feature;

use crate::avro::inspect::{self, InspectOptions, Inspection};
use crate::opened::Opened;
use crate::{Error, FileFormat, Files};

#[cfg(feature = "btable")]
pub use btable::BTableInspection;
#[cfg(feature = "tfrecord")]
pub use tfrecord::TfRecordInspection;

/// The contents of a file, by its format.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Inspected {
    /// An Avro file.
    Avro(Box<Inspection>),
    /// A TFRecord file.
    #[cfg(feature = "tfrecord")]
    TfRecord(Box<TfRecordInspection>),
    /// A BTable.
    #[cfg(feature = "btable")]
    BTable(Box<BTableInspection>),
}

impl Inspected {
    /// The format of the file.
    pub fn format(&self) -> FileFormat {
        match self {
            Inspected::Avro(_) => FileFormat::Avro,
            #[cfg(feature = "tfrecord")]
            Inspected::TfRecord(_) => FileFormat::TfRecord,
            #[cfg(feature = "btable")]
            Inspected::BTable(_) => FileFormat::BTable,
        }
    }

    /// Features that read all records of the file.
    pub fn features(&self) -> &[Feature] {
        match self {
            Inspected::Avro(found) => &found.features,
            #[cfg(feature = "tfrecord")]
            Inspected::TfRecord(found) => &found.features,
            #[cfg(feature = "btable")]
            Inspected::BTable(found) => &found.features,
        }
    }
}

/// Inspects a file of the format that its name or else its first bytes tell.
///
/// # Errors
/// As [`inspect_with`].
pub fn inspect(path: impl AsRef<Path>) -> Result<Inspected, Error> {
    inspect_with(path, None, &InspectOptions::default())
}

/// Inspects a file of `format`, or of the one that it tells, with options, by reading all of it. An input that
/// can be read only once, such as a pipe, is first copied to a temporary file.
///
/// # Errors
/// Any fault of the file.
pub fn inspect_with(
    path: impl AsRef<Path>,
    format: Option<FileFormat>,
    options: &InspectOptions,
) -> Result<Inspected, Error> {
    // The copy of a pipe has another name.
    let format = format.or_else(|| FileFormat::of_name(path.as_ref()));
    let open = |file: &Path| Opened::open(file, format, &options.stop());
    let check = |copy: &Path| match open(copy)?.format {
        FileFormat::Avro => inspect::check_begun(copy, options),
        #[cfg(any(feature = "btable", feature = "tfrecord"))]
        _ => Ok(()),
    };
    let (path, mut found) = inspect::on_disk(path.as_ref(), options, check, |file| {
        let opened = open(file)?;
        Ok(match opened.format {
            FileFormat::Avro => {
                drop(opened);
                Inspected::Avro(Box::new(inspect::inspect_file(file, options)?))
            }
            #[cfg(feature = "tfrecord")]
            FileFormat::TfRecord => {
                Inspected::TfRecord(Box::new(tfrecord::inspect(opened, options)?))
            }
            #[cfg(feature = "btable")]
            FileFormat::BTable => Inspected::BTable(Box::new(btable::inspect(opened, options)?)),
        })
    })?;
    match &mut found {
        Inspected::Avro(found) => found.path = path,
        #[cfg(feature = "tfrecord")]
        Inspected::TfRecord(found) => found.path = path,
        #[cfg(feature = "btable")]
        Inspected::BTable(found) => found.path = path,
    }
    Ok(found)
}

/// Reads all of several files of one format and returns the features that fit the records of all of them.
///
/// # Errors
/// As [`Files::resolve`] and [`inspect`](fn@inspect); files whose records have no features that fit all.
pub fn inspect_features(
    files: impl Into<Files>,
    options: &InspectOptions,
) -> Result<Vec<Feature>, Error> {
    let files = files.into().looked_up()?;
    let found = files.resolve()?;
    match files.format_of(&found)? {
        FileFormat::Avro => inspect::inspect_features(files, options),
        #[cfg(feature = "tfrecord")]
        FileFormat::TfRecord => tfrecord::features(&found, options),
        #[cfg(feature = "btable")]
        FileFormat::BTable => btable::features(&found, options),
    }
}

/// Size of a file in bytes.
#[cfg(any(feature = "btable", feature = "tfrecord"))]
fn size_of(path: &Path) -> Result<u64, Error> {
    let metadata = std::fs::metadata(path);
    Ok(metadata.map_err(|error| Error::io(error, path))?.len())
}
