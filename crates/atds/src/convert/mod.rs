//! Conversion of files between Avro, TFRecord and BTable, one record at a time.
//!
//! A record is a list of named fields: fields of Avro, keys of TFRecord, columns of BTable.
//!
//! | Avro | TFRecord | BTable |
//! |---|---|---|
//! | `boolean`, `int`, `long` | int64 | a column |
//! | `float`, `double` | float | a column |
//! | `bytes`, `fixed`, `string`, `enum` | bytes | – |
//! | `array` of these | a list | – |
//! | `array` of `array` | a feature list | – |
//! | null | a missing key | – |
//!
//! A value that has no place in the other format, or is rounded there, is an error that names record and
//! field, or, with [`allow_loss`](ConvertOptions::allow_loss), left out or rounded, and counted. `docs/convert.md`
//! has all cases.
//!
//! ```
//! use atds::convert::convert;
//! use atds::records::Records;
//!
//! # let folder = tempfile::tempdir()?;
//! # let table = folder.path().join("a.btable");
//! # let mut file = atds_btable::FileWriter::create(&table, &["a", "b"])?;
//! # file.writer().write_dense_row(&[0.0, 2.0])?;
//! # file.finish()?;
//! let avro = folder.path().join("a.avro");
//! let converted = convert(&table, &avro)?;
//! assert_eq!((converted.records, converted.losses.len()), (1, 0));
//! let mut records = Records::open(&avro)?;
//! assert_eq!(records.next().expect("a record")?.to_string(), r#"{"a":0.0,"b":2.0}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod losses;
mod names;
mod sink;
mod source;
#[cfg(feature = "tfrecord")]
mod to_avro;
#[cfg(feature = "btable")]
mod to_btable;
#[cfg(feature = "tfrecord")]
mod to_tfrecord;
mod types;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use avro_block::Codec;

use crate::avro::records::RecordOptions;
use crate::files::local_path;
use crate::new_file::NewFile;
use crate::opened::Opened;
use crate::source::{Stop, file_id};
use crate::{Error, ErrorKind, FileFormat};

pub use error::ConvertError;
use losses::Losses;
pub use losses::{Loss, LossKind};
use sink::Sink;
use source::Source;

/// Options of a conversion.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConvertOptions {
    /// The format that is read; `None`, the default, for the one that the name of the file or else its first
    /// bytes tell.
    pub from: Option<FileFormat>,
    /// The format that is written; `None`, the default, for the one that the name of the new file tells.
    pub to: Option<FileFormat>,
    /// Whether values that have no place in the new format are left out or rounded, and counted; false by
    /// default.
    pub allow_loss: bool,
    /// Whether the fields of nested records become fields with a dot in their names; false by default. They
    /// have no place in TFRecord and BTable otherwise.
    pub flatten: bool,
    /// Whether a file that has the name of the new one is replaced; false by default. What is no ordinary file,
    /// such as a device, never is.
    pub force: bool,
    /// The schema, as JSON, of an Avro file that is made of a TFRecord file. `None`, the default, for one that fits the
    /// keys of all records, for which the file is read twice.
    pub schema: Option<Arc<str>>,
    /// The codec of an Avro file; deflate by default, if it is compiled in.
    pub codec: Codec,
    /// Options of reading.
    pub records: RecordOptions,
    /// A flag that cancels: soon after it becomes true, the conversion fails with
    /// [`ErrorKind::Cancelled`], and no file is written.
    pub cancelled: Option<Arc<AtomicBool>>,
}

impl Default for ConvertOptions {
    fn default() -> Self {
        let codec = Codec::Deflate;
        ConvertOptions {
            from: None,
            to: None,
            allow_loss: false,
            flatten: false,
            force: false,
            schema: None,
            codec: if codec.is_enabled() {
                codec
            } else {
                Codec::Null
            },
            records: RecordOptions::default(),
            cancelled: None,
        }
    }
}

impl ConvertOptions {
    fn check_cancelled(&self) -> Result<(), Error> {
        match &self.cancelled {
            Some(cancelled) if cancelled.load(Relaxed) => Err(Error::new(ErrorKind::Cancelled)),
            _ => Ok(()),
        }
    }

    fn stop(&self) -> Stop {
        let cancelled = self.cancelled.clone();
        cancelled.map_or_else(Stop::default, Stop::when)
    }
}

/// How far a conversion is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Number of bytes of the file that were read, of both times if it is read twice.
    pub read: u64,
    /// Number of bytes that will have been read; `None` for a pipe.
    pub total: Option<u64>,
}

/// A file that was converted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Converted {
    /// The new file.
    pub path: PathBuf,
    /// The format that was read.
    pub from: FileFormat,
    /// The format of the new file.
    pub to: FileFormat,
    /// Number of records.
    pub records: u64,
    /// Size of the new file in bytes.
    pub file_bytes: u64,
    /// What was left out or rounded, by field and kind.
    pub losses: Vec<Loss>,
}

/// Writes the records of `input` to the new file `output`, whose name tells its format.
///
/// # Errors
/// As [`convert_with`].
pub fn convert(input: impl AsRef<Path>, output: impl AsRef<Path>) -> Result<Converted, Error> {
    convert_with(input, output, &ConvertOptions::default(), |_| ())
}

/// Writes the records of `input` to the new file `output`, with options, in memory that does not grow with the
/// file. `on_progress` is called now and then.
///
/// The file is written beside `output` under a hidden name, and gets its name when it is complete and on the
/// disk. After an error, what was at `output` before is there. With `force`, a link stays, and the file that it
/// leads to is replaced.
///
/// # Errors
/// Any fault of `input`; a value that has no place in the new format, unless `allow_loss`; `output` exists,
/// unless `force`, or is `input`, or, in spite of `force`, a folder, a pipe, a device or a link that leads
/// nowhere; its name tells no format, or the one that is read; the system cannot read or
/// write; an option out of its range; the caller has cancelled.
pub fn convert_with(
    input: impl AsRef<Path>,
    output: impl AsRef<Path>,
    options: &ConvertOptions,
    on_progress: impl Fn(Progress),
) -> Result<Converted, Error> {
    options.records.check()?;
    let (input, output) = (input.as_ref(), local_path(output.as_ref())?);
    let to = options.to.or_else(|| FileFormat::of_name(&output));
    let fault = |error: ConvertError| Error::from(error).in_file(&output);
    let to = to.ok_or_else(|| fault(ConvertError::UnknownFormat))?;
    check_output(&output, input, options.force)?;
    let opened = Opened::open(input, options.from, &options.stop())?;
    let from = opened.format;
    if from == to {
        return Err(fault(ConvertError::SameFormat { format: to }));
    }
    if options.schema.is_some() && to != FileFormat::Avro {
        return Err(fault(ConvertError::SchemaNotTaken));
    }
    let new = match options.force {
        true => NewFile::replacing(&output)?,
        false => NewFile::only(&output)?,
    };

    let mut source = Source::new(opened, options, &on_progress)?;
    let mut losses = Losses::new(options.allow_loss, to, source.path());
    let mut sink = Sink::new(new.file()?, &output, to, source.table(), options)?;
    loop {
        options.check_cancelled()?;
        losses.record = source.read();
        let Some(record) = source.next(&mut losses)? else {
            break;
        };
        sink.write(&record, &mut losses)?;
    }
    let records = source.read();
    sink.finish()?;
    let written = new.file()?.metadata();
    let file_bytes = written.map_err(|error| Error::io(error, &output))?.len();
    new.publish()?;
    Ok(Converted {
        path: output.into_owned(),
        from,
        to,
        records,
        file_bytes,
        losses: losses.into_all(),
    })
}

/// Checks that there is no file at `output`, or one that may be replaced.
fn check_output(output: &Path, input: &Path, force: bool) -> Result<(), Error> {
    // A link that leads nowhere is there, too.
    if fs::symlink_metadata(output).is_err() {
        return Ok(());
    }
    let id = |path: &Path| {
        let canonical = fs::canonicalize(path).ok()?;
        Some(file_id(&canonical, &fs::metadata(path).ok()?))
    };
    let input = local_path(input)?;
    if id(output).is_some_and(|output| Some(output) == id(&input)) {
        return Err(Error::from(ConvertError::InPlace).in_file(output));
    }
    match force {
        true => Ok(()),
        false => Err(Error::from(ConvertError::Exists).in_file(output)),
    }
}
