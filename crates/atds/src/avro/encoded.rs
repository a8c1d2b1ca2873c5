//! A file's records one by one, as bytes.

use std::path::Path;
use std::sync::Arc;

use avro_decode::{Resolution, Schema, Transcoder};

use crate::avro::record_reader::RecordReader;
use crate::avro::records::RecordOptions;
use crate::{Error, avro};

/// The records of a file as bytes, in file order: encoded by the file's own
/// schema, or re-encoded by a reader's, by Avro's schema resolution. What
/// [`MessageDecoder`](crate::avro::messages::MessageDecoder) makes batches of.
///
/// ```
/// use atds::avro::records::EncodedRecords;
/// # use atds_generate::{generate, GenerateOptions, Preset};
/// # let folder = tempfile::tempdir()?;
/// # let mut options = GenerateOptions::new(Preset::Ads, 100);
/// # options.files = 1;
/// # let file = generate(folder.path(), &options)?.files.remove(0);
///
/// let mut records = EncodedRecords::open(file, None)?;
/// let (mut bytes, mut count) = (Vec::new(), 0);
/// while records.next_into(&mut bytes)? {
///     count += 1;
/// }
/// assert_eq!(count, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EncodedRecords {
    records: RecordReader,
    transcoder: Transcoder,
}

impl std::fmt::Debug for EncodedRecords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EncodedRecords")
            .field("path", &self.records.blocks.path)
            .field("read", &self.records.read)
            .finish_non_exhaustive()
    }
}

impl EncodedRecords {
    /// Opens a file, whose records are encoded by the schema `reader`, or by
    /// their own.
    ///
    /// # Errors
    /// A file that cannot be read, is not Avro, or has a schema that is none or
    /// cannot become the reader's.
    pub fn open(path: impl AsRef<Path>, reader: Option<Arc<Schema>>) -> Result<Self, Error> {
        Self::open_with(path, reader, &RecordOptions::default())
    }

    /// [`open`](EncodedRecords::open), with options.
    ///
    /// # Errors
    /// As [`open`](EncodedRecords::open); an option out of its range.
    pub fn open_with(
        path: impl AsRef<Path>,
        reader: Option<Arc<Schema>>,
        options: &RecordOptions,
    ) -> Result<Self, Error> {
        let records = RecordReader::open(path.as_ref(), options)?;
        let reader = reader.unwrap_or_else(|| records.schema.clone());
        let resolution = Resolution::new(records.schema.clone(), reader).map_err(|error| {
            Error::new(avro::ErrorKind::Resolve(Box::new(error))).in_file(&records.blocks.path)
        })?;
        Ok(EncodedRecords {
            transcoder: Transcoder::with_options(&resolution, &options.decode()),
            records,
        })
    }

    /// The schema that the records were written with.
    pub fn schema(&self) -> &Schema {
        &self.records.schema
    }

    /// Appends the next record to `out`; false where there is none.
    ///
    /// # Errors
    /// A damaged file or record; `out` is as before, and there are no records
    /// after it.
    pub fn next_into(&mut self, out: &mut Vec<u8>) -> Result<bool, Error> {
        let transcoder = &self.transcoder;
        let next = self.records.next(|_, bytes, position| {
            let start = *position;
            let read = transcoder.transcode(&bytes[start..], out);
            let read = read.map_err(|mut error| {
                error.offset += start;
                error
            })?;
            *position += read;
            Ok(())
        });
        Ok(next?.is_some())
    }
}
