//! The records of the file that is read, each of one schema.

use std::cell::Cell;
use std::path::Path;

use avro_decode::Value;
#[cfg(feature = "btable")]
use serde_json::json;

#[cfg(feature = "tfrecord")]
use super::ConvertError;
use super::losses::Losses;
use super::names::Table;
#[cfg(feature = "tfrecord")]
use super::to_avro::{FromExample, Keys};
use super::{ConvertOptions, Progress};
#[cfg(feature = "tfrecord")]
use crate::avro::Schema;
use crate::avro::records::Records;
#[cfg(feature = "btable")]
use crate::formats::btable::rows::FileRows;
#[cfg(feature = "tfrecord")]
use crate::formats::tfrecord::records::RawRecords;
use crate::opened::{Opened, ReadBytes};
use crate::{Error, FileFormat};

/// Reads records.
pub(super) struct Source<'a> {
    input: Input,
    table: Table,
    read: u64,
    progress: Watch<'a>,
}

enum Input {
    Avro(Box<Records>, std::path::PathBuf),
    #[cfg(feature = "tfrecord")]
    TfRecord(Box<RawRecords>, FromExample),
    #[cfg(feature = "btable")]
    BTable(Box<FileRows>),
}

/// Tells how far the reading is.
struct Watch<'a> {
    on_progress: &'a dyn Fn(Progress),
    bytes: ReadBytes,
    /// Bytes of passes before.
    before: u64,
    total: Option<u64>,
    told: Cell<u64>,
}

/// Number of records after which progress is told.
const PROGRESS_RECORDS: u64 = 256;

impl Watch<'_> {
    fn tell(&self, records: u64) {
        let read = self.before + self.bytes.all();
        if records.is_multiple_of(PROGRESS_RECORDS) && read > self.told.replace(read) {
            let total = self.total;
            (self.on_progress)(Progress { read, total });
        }
    }
}

impl<'a> Source<'a> {
    /// Reads what tells the fields: a header, or the keys of all records.
    ///
    /// # Errors
    /// A fault of the file; an input that can be read only once would be read twice; the caller has
    /// cancelled.
    pub(super) fn new(
        opened: Opened,
        options: &ConvertOptions,
        on_progress: &'a dyn Fn(Progress),
    ) -> Result<Self, Error> {
        let metadata = std::fs::metadata(&opened.path).ok();
        let size = metadata.filter(std::fs::Metadata::is_file);
        let mut progress = Watch {
            on_progress,
            bytes: opened.progress.clone(),
            before: 0,
            total: size.map(|found| found.len()),
            told: Cell::default(),
        };
        let path = opened.path.clone();
        let (input, table) = match opened.format {
            FileFormat::Avro => {
                let records = Records::of_reading(&path, opened.reading, &options.records)?;
                let text = records.schema_text().to_owned();
                let table = Table::new(records.schema().clone(), text);
                let table = table.map_err(|error| error.in_file(&path))?;
                (Input::Avro(Box::new(records), path), table)
            }
            #[cfg(feature = "btable")]
            FileFormat::BTable => {
                let rows = FileRows::new(opened)?;
                let labels = rows.labels().iter();
                let fields = labels.map(|label| (label.clone(), json!("double"), false));
                let table = Table::of_fields("Row", &fields.collect::<Vec<_>>());
                let table = table.map_err(|error| error.in_file(&path))?;
                (Input::BTable(Box::new(rows)), table)
            }
            #[cfg(feature = "tfrecord")]
            FileFormat::TfRecord => match &options.schema {
                Some(text) => {
                    let schema = Schema::parse(text).map_err(ConvertError::Schema);
                    let table = schema
                        .map_err(Error::from)
                        .and_then(|schema| Table::new(schema, text.to_string()));
                    let table = table.map_err(|error| error.in_file(&path))?;
                    let fields = FromExample::new(&table, None);
                    let records = RawRecords::new(opened, &options.records)?;
                    (Input::TfRecord(Box::new(records), fields), table)
                }
                None => Self::of_keys(opened, options, &mut progress)?,
            },
        };
        Ok(Source {
            input,
            table,
            read: 0,
            progress,
        })
    }

    /// Reads a file of messages for their keys, and opens it again.
    #[cfg(feature = "tfrecord")]
    fn of_keys(
        opened: Opened,
        options: &ConvertOptions,
        progress: &mut Watch<'_>,
    ) -> Result<(Input, Table), Error> {
        let path = opened.path.clone();
        let (_, once) =
            crate::source::open_input(&path).map_err(|error| Error::io(error, &path))?;
        if let Some(input) = once {
            let reason = "the keys of a TFRecord file are found by reading it once before; give `schema`, \
                          or write it to a file";
            return Err(Error::new(crate::ErrorKind::ReadOnce { input, reason }).in_file(&path));
        }
        progress.total = progress.total.map(|total| 2 * total);
        let mut keys = Keys::default();
        let mut records = RawRecords::new(opened, &options.records)?;
        while let Some(record) = records.next()? {
            options.check_cancelled()?;
            let example = records.parse(&record)?;
            keys.add(&example)
                .map_err(|error| Error::from(error).in_file(&path))?;
            progress.tell(record.number);
        }
        progress.before = progress.bytes.all();
        let opened = Opened::open(&path, Some(FileFormat::TfRecord), &options.stop())?;
        progress.bytes = opened.progress.clone();
        let table = keys.table().map_err(|error| error.in_file(&path))?;
        let fields = FromExample::new(&table, Some(&keys));
        let records = RawRecords::new(opened, &options.records)?;
        Ok((Input::TfRecord(Box::new(records), fields), table))
    }

    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    pub(super) fn path(&self) -> &Path {
        match &self.input {
            Input::Avro(_, path) => path,
            #[cfg(feature = "tfrecord")]
            Input::TfRecord(records, _) => &records.path,
            #[cfg(feature = "btable")]
            Input::BTable(rows) => &rows.path,
        }
    }

    /// Number of records that were read.
    pub(super) fn read(&self) -> u64 {
        self.read
    }

    /// The next record; `None` at the end of the file.
    ///
    /// # Errors
    /// A fault of the file; a value does not fit the schema, or has no place in it.
    pub(super) fn next(&mut self, losses: &mut Losses) -> Result<Option<Value>, Error> {
        self.progress.tell(self.read);
        let record = match &mut self.input {
            Input::Avro(records, _) => records.next_value()?,
            #[cfg(feature = "tfrecord")]
            Input::TfRecord(records, fields) => match records.next()? {
                None => None,
                Some(record) => {
                    let example = records.parse(&record)?;
                    Some(fields.record(&self.table, example, losses)?)
                }
            },
            #[cfg(feature = "btable")]
            Input::BTable(rows) => {
                let columns = rows.labels().len();
                rows.next()?.map(|row| {
                    let mut values = vec![Value::Double(0.0); columns];
                    for (column, value) in row {
                        values[column as usize] = Value::Double(value);
                    }
                    Value::Record(values)
                })
            }
        };
        self.read += u64::from(record.is_some());
        Ok(record)
    }
}
