//! The contents of a TFRecord file.

use std::path::PathBuf;
use std::sync::Arc;

use atds_features::Feature;
use atds_tfrecord::{Inference, Message};

use super::size_of;
use crate::avro::inspect::InspectOptions;
use crate::files::Packing;
use crate::formats::tfrecord::records::{RawRecord, RawRecords};
use crate::opened::Opened;
use crate::stats::Tolerated;
use crate::{Error, ErrorKind, FileFormat};

/// Size in bytes of what a record has around its data.
const AROUND: u64 = 16;

/// The contents of a TFRecord file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TfRecordInspection {
    /// The file.
    pub path: PathBuf,
    /// The format that the whole file is packed with, if it is packed.
    pub packing: Option<Packing>,
    /// Size of the file in bytes.
    pub file_bytes: u64,
    /// Size of the file in bytes, unpacked.
    pub unpacked_bytes: u64,
    /// Number of records.
    pub records: u64,
    /// Bytes of the records' data.
    pub data_bytes: u64,
    /// Size in bytes of the smallest and of the largest record's data; `None` without records.
    pub record_bytes: Option<(u64, u64)>,
    /// The message that the records are; `None` if one of them is none, or there are no records.
    pub message: Option<Message>,
    /// The first record that is no message, and why.
    pub no_message: Option<Error>,
    /// Features that read all keys of all records. Empty if a record is no message.
    pub features: Vec<Feature>,
    /// For each feature, what the records have of it.
    pub seen: Vec<String>,
    /// Keys that no feature reads, each with the reason.
    pub left_out: Vec<(String, &'static str)>,
    /// Faults that [`InspectOptions::tolerate`] allows.
    pub tolerated: Tolerated,
}

/// Inspects a file by reading all of it.
///
/// # Errors
/// A record is damaged, or the file cannot be read; the caller has cancelled.
pub(super) fn inspect(
    opened: Opened,
    options: &InspectOptions,
) -> Result<TfRecordInspection, Error> {
    let mut records = RawRecords::new(opened, &options.records())?;
    let mut inference = Inference::default();
    let mut found = TfRecordInspection {
        path: records.path.clone(),
        packing: records.reading.packing,
        file_bytes: size_of(&records.path)?,
        unpacked_bytes: 0,
        records: 0,
        data_bytes: 0,
        record_bytes: None,
        message: None,
        no_message: None,
        features: Vec::new(),
        seen: Vec::new(),
        left_out: Vec::new(),
        tolerated: Tolerated::default(),
    };
    while let Some(record) = records.next()? {
        options.check_cancelled()?;
        let bytes = record.data.len() as u64;
        found.records += 1;
        found.data_bytes += bytes;
        let (least, most) = found.record_bytes.unwrap_or((bytes, bytes));
        found.record_bytes = Some((least.min(bytes), most.max(bytes)));
        if found.no_message.is_none() {
            found.no_message = add(&mut inference, &records, &record).err();
        }
    }
    found.unpacked_bytes = found.data_bytes + AROUND * found.records;
    found.tolerated = records.tolerated;
    if found.no_message.is_none() && found.records > 0 {
        let inferred = inference.features();
        found.message = Some(inference.message());
        found.features = inferred.features;
        found.seen = inferred.seen;
        found.left_out = inferred.left_out;
    }
    Ok(found)
}

/// Adds a record to what the records have.
///
/// # Errors
/// It is no message.
fn add(inference: &mut Inference, records: &RawRecords, record: &RawRecord) -> Result<(), Error> {
    inference.add(&record.data).map_err(|kind| {
        let kind = ErrorKind::Format(Arc::new(kind));
        records.locate(kind, record.offset, record.number)
    })?;
    // What has no keys may be anything.
    match record.number {
        0 => records.parse(record).map(drop),
        _ => Ok(()),
    }
}

/// Features that read all keys of all records of files.
///
/// # Errors
/// A file cannot be read, a record is damaged or no message; the caller has cancelled.
pub(super) fn features(files: &[PathBuf], options: &InspectOptions) -> Result<Vec<Feature>, Error> {
    let mut inference = Inference::default();
    for path in files {
        let opened = Opened::open(path, Some(FileFormat::TfRecord), &options.stop())?;
        let mut records = RawRecords::new(opened, &options.records())?;
        while let Some(record) = records.next()? {
            options.check_cancelled()?;
            add(&mut inference, &records, &record)?;
        }
    }
    Ok(inference.features().features)
}
