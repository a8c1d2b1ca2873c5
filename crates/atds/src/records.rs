//! The records of a file of any format one by one, as JSON: for looking at data.
//!
//! | format | a record as JSON |
//! |---|---|
//! | Avro | as in [`avro::records`](crate::avro::records::Records) |
//! | TFRecord, `Example` | an object of its keys, each with the list of its values |
//! | TFRecord, `SequenceExample` | `{"context": {..}, "feature_lists": {..}}`; a feature list is a list of steps, and a step that has no kind `null` |
//! | TFRecord, other records | `{"@": ".."}`, the record as bytes |
//! | BTable | an object of the labels of the row's cells, with their values; where labels are the same, `label[number]` |
//!
//! Bytes are strings of a character of U+0000 to U+00FF for each byte; NaN and infinities are strings.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("a.btable");
//! # let mut file = atds_btable::FileWriter::create(&path, &["a", "b"])?;
//! # file.writer().write_dense_row(&[0.0, 2.0])?;
//! # file.finish()?;
//! let mut records = atds::records::Records::open(&path)?;
//! assert_eq!(records.next().expect("a row")?.to_string(), r#"{"b":2.0}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::Path;

use serde_json::Value as Json;
#[cfg(feature = "tfrecord")]
use serde_json::{Map, json};

use crate::avro::records::{RecordOptions, Records as AvroRecords};
#[cfg(feature = "btable")]
use crate::formats::btable::rows::FileRows;
#[cfg(feature = "tfrecord")]
use crate::formats::tfrecord::records::{RawRecord, RawRecords};
use crate::opened::Opened;
use crate::source::Stop;
use crate::{Error, FileFormat};

/// The records of a file as JSON values, in file order. The first error is the last item.
pub struct Records {
    inner: Inner,
    format: FileFormat,
    is_over: bool,
}

enum Inner {
    Avro(Box<AvroRecords>),
    #[cfg(feature = "tfrecord")]
    TfRecord(Box<RawRecords>, Option<Error>),
    #[cfg(feature = "btable")]
    BTable(Box<FileRows>, Vec<String>),
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records")
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

impl Records {
    /// Opens a file of the format that its name or else its first bytes tell.
    ///
    /// # Errors
    /// As [`open_with`](Records::open_with).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path, None, &RecordOptions::default())
    }

    /// Opens a file of `format`, or of the one that it tells, with options. `strict` and `max_depth` are for
    /// Avro.
    ///
    /// # Errors
    /// The file cannot be read, or does not begin as files of the format do; an option out of its range.
    pub fn open_with(
        path: impl AsRef<Path>,
        format: Option<FileFormat>,
        options: &RecordOptions,
    ) -> Result<Self, Error> {
        options.check()?;
        let opened = Opened::open(path.as_ref(), format, &Stop::default())?;
        let format = opened.format;
        let inner = match format {
            FileFormat::Avro => {
                let records = AvroRecords::of_reading(&opened.path, opened.reading, options);
                Inner::Avro(Box::new(records?))
            }
            #[cfg(feature = "tfrecord")]
            FileFormat::TfRecord => {
                Inner::TfRecord(Box::new(RawRecords::new(opened, options)?), None)
            }
            #[cfg(feature = "btable")]
            FileFormat::BTable => {
                let rows = FileRows::new(opened)?;
                let names = distinct(rows.labels());
                Inner::BTable(Box::new(rows), names)
            }
        };
        Ok(Records {
            inner,
            format,
            is_over: false,
        })
    }

    /// The format of the file.
    pub fn format(&self) -> FileFormat {
        self.format
    }

    /// Why the first record that was given as bytes is none of the messages that are read; `None` if there
    /// was none, and in other formats than TFRecord.
    pub fn no_message(&self) -> Option<&Error> {
        match &self.inner {
            #[cfg(feature = "tfrecord")]
            Inner::TfRecord(_, no_message) => no_message.as_ref(),
            _ => None,
        }
    }

    fn next_record(&mut self) -> Result<Option<Json>, Error> {
        match &mut self.inner {
            Inner::Avro(records) => records.next().transpose(),
            #[cfg(feature = "tfrecord")]
            Inner::TfRecord(records, no_message) => {
                let Some(record) = records.next()? else {
                    return Ok(None);
                };
                let json = message_to_json(records, &record);
                Ok(Some(json.unwrap_or_else(|error| {
                    no_message.get_or_insert(error);
                    json!({"@": bytes_to_json(&record.data)})
                })))
            }
            #[cfg(feature = "btable")]
            Inner::BTable(rows, names) => {
                let row = rows.next()?;
                Ok(row.map(|row| {
                    let cells = row.iter().map(|(column, value)| {
                        let value = avro_decode::double_to_json(value);
                        (names[column as usize].clone(), value)
                    });
                    Json::Object(cells.collect())
                }))
            }
        }
    }
}

impl Iterator for Records {
    type Item = Result<Json, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = self.next_record().transpose();
        self.is_over = !matches!(next, Some(Ok(_)));
        next
    }
}

/// The labels, each once: a label that is there before has the number of its column.
#[cfg(feature = "btable")]
pub(crate) fn distinct(labels: &[String]) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    let names = labels.iter().enumerate();
    let names = names.map(|(column, label)| {
        let mut name = label.clone();
        while !seen.insert(name.clone()) {
            name += &format!("[{column}]");
        }
        name
    });
    names.collect()
}

#[cfg(feature = "tfrecord")]
fn message_to_json(records: &RawRecords, record: &RawRecord) -> Result<Json, Error> {
    let example = records.parse(record)?;
    let features = example.features.iter();
    let features = features.map(|(key, values)| (key.clone(), values_to_json(values)));
    let features = Json::Object(features.collect());
    let Some(lists) = &example.feature_lists else {
        return Ok(features);
    };
    let lists = lists.iter().map(|(key, steps)| {
        let steps = steps.iter().map(|step| step.as_ref().map(values_to_json));
        (key.clone(), json!(steps.collect::<Vec<_>>()))
    });
    let lists: Map<String, Json> = lists.collect();
    Ok(json!({"context": features, "feature_lists": lists}))
}

#[cfg(feature = "tfrecord")]
fn values_to_json(values: &atds_tfrecord::FeatureValues) -> Json {
    use atds_tfrecord::FeatureValues;
    match values {
        FeatureValues::Bytes(values) => values.iter().map(|value| bytes_to_json(value)).collect(),
        FeatureValues::Float(values) => {
            let values = values.iter().copied();
            values.map(avro_decode::float_to_json).collect()
        }
        FeatureValues::Int64(values) => json!(values),
    }
}

/// A character for each byte, as in Avro's JSON encoding.
#[cfg(feature = "tfrecord")]
fn bytes_to_json(bytes: &[u8]) -> Json {
    bytes
        .iter()
        .copied()
        .map(char::from)
        .collect::<String>()
        .into()
}
