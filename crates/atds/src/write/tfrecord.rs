//! TFRecord files.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

#[cfg(feature = "deflate")]
use atds_tfrecord::Compression;
use atds_tfrecord::Writer;

use crate::Error;
use crate::files::local_path;
use crate::limits::FILE_BUFFER;
use crate::new_file::NewFile;

/// A TFRecord file that is written. An [`ExampleEncoder`](super::ExampleEncoder) makes its records, an
/// [`Example`](super::Example) those of sequences, or they are any bytes.
#[derive(Debug)]
pub struct TfRecordFile {
    writer: Writer<BufWriter<File>>,
    new: NewFile,
}

impl TfRecordFile {
    /// Makes a file without compression.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::with(path.as_ref(), Writer::new)
    }

    /// Makes a file that is compressed as a whole. `level` is deflate's, from 0 (none) to 9; TensorFlow's is
    /// 6.
    ///
    /// # Errors
    /// The file cannot be made.
    #[cfg(feature = "deflate")]
    pub fn create_compressed(
        path: impl AsRef<Path>,
        compression: Compression,
        level: u32,
    ) -> Result<Self, Error> {
        Self::with(path.as_ref(), |file| {
            Writer::compressed(file, compression, level)
        })
    }

    fn with(
        path: &Path,
        writer: impl FnOnce(BufWriter<File>) -> Writer<BufWriter<File>>,
    ) -> Result<Self, Error> {
        let new = NewFile::replacing(&local_path(path)?)?;
        let file = BufWriter::with_capacity(FILE_BUFFER, new.file()?);
        Ok(TfRecordFile {
            writer: writer(file),
            new,
        })
    }

    /// Number of records written.
    pub fn records(&self) -> u64 {
        self.writer.records()
    }

    /// Writes a record with these data.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, data: &[u8]) -> Result<(), Error> {
        let written = self.writer.write(data);
        written.map_err(|error| self.io(error))
    }

    /// Completes the file, and returns the number of records.
    ///
    /// # Errors
    /// The file cannot be written or renamed.
    pub fn finish(self) -> Result<u64, Error> {
        let records = self.records();
        let finished = self.writer.finish();
        finished.map_err(|error| Error::io(error, self.new.path()))?;
        self.new.publish()?;
        Ok(records)
    }

    #[cold]
    fn io(&self, error: io::Error) -> Error {
        Error::io(error, self.new.path())
    }
}
