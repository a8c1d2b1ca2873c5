//! Files of any format that are read from their start on, one record after another.

use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::files::local_path;
use crate::formats::FileFormat;
use crate::source::{Packing, Reading, Stop};
use crate::{Error, ErrorKind};

/// A file that was opened, and its format.
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) format: FileFormat,
    /// The bytes from the start of the file on, unpacked.
    pub(crate) reading: io::Result<Reading>,
    pub(crate) progress: ReadBytes,
}

/// Number of bytes of a file, packed as they are, that were read so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadBytes {
    read: Arc<AtomicU64>,
    told: u64,
}

impl ReadBytes {
    /// The bytes that were read since the last call.
    pub(crate) fn new_bytes(&mut self) -> u64 {
        let read = self.all();
        let new = read - self.told;
        self.told = read;
        new
    }

    pub(crate) fn all(&self) -> u64 {
        self.read.load(Relaxed)
    }
}

/// Fails once, and then has no bytes.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

impl Opened {
    /// Opens a file. It has the format `insisted`, or the one that its name or else its first bytes tell; a
    /// file that tells none is taken for Avro. A fault of reading comes from the reader.
    ///
    /// # Errors
    /// The path is a URL of no local file.
    pub(crate) fn open(
        path: &Path,
        insisted: Option<FileFormat>,
        stop: &Stop,
    ) -> Result<Self, Error> {
        let path = local_path(path)?.into_owned();
        let progress = ReadBytes::default();
        let mut reading = Reading::open_counted(&path, stop, &progress.read);
        let format = insisted.or_else(|| FileFormat::of_name(&path));
        let format = format.unwrap_or_else(|| match &mut reading {
            Ok(reading) => of_first_bytes(reading),
            Err(_) => FileFormat::Avro,
        });
        Ok(Opened {
            path,
            format,
            reading,
            progress,
        })
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(crate) fn into_reading(self) -> Result<Reading, Error> {
        self.reading
            .map_err(|error| Error::reading(error, &self.path))
    }
}

/// The format that the first bytes tell. They are read again.
fn of_first_bytes(reading: &mut Reading) -> FileFormat {
    let mut head = Vec::new();
    let read = { reading.reader.by_ref() }
        .take(FileFormat::HEAD)
        .read_to_end(&mut head);
    let format = FileFormat::of_head(&head).unwrap_or(FileFormat::Avro);
    let rest = std::mem::replace(&mut reading.reader, Box::new(io::empty()));
    let failed = Failing(read.err());
    reading.reader = Box::new(Cursor::new(head).chain(failed).chain(rest));
    format
}

impl Error {
    /// An error of reading the file at `path`.
    #[cold]
    pub(crate) fn reading(error: io::Error, path: &Path) -> Self {
        Error::new(ErrorKind::of_reading(Arc::new(error))).in_file(path)
    }

    /// The error of a record of a file that is read from its start on: `record` counts from 0 in the file.
    #[cold]
    pub(crate) fn at_record(
        kind: ErrorKind,
        (path, packing): (&Path, Option<Packing>),
        offset: Option<u64>,
        record: Option<u64>,
    ) -> Self {
        let mut error = Error::new(kind).in_file(path);
        error.place.unpacked = packing.is_some() && offset.is_some();
        error.place.offset = offset;
        error.place.record = record;
        error
    }
}

/// The next bytes of a reader, at most `size`; none at its end.
pub(crate) fn read_piece(reader: &mut dyn Read, size: usize) -> io::Result<Vec<u8>> {
    let mut piece = vec![0; size];
    loop {
        match reader.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => {
                piece.truncate(read?);
                return Ok(piece);
            }
        }
    }
}
