//! The records of a file one after another, for what reads files whole.

use std::path::PathBuf;
use std::sync::Arc;

use atds_tfrecord::{Block, ErrorKind as RecordErrorKind, Example, Frame, Framer, Records};
use bytes::Bytes;

use super::framing;
use crate::avro::records::RecordOptions;
use crate::opened::{Opened, read_piece};
use crate::source::Reading;
use crate::stats::Tolerated;
use crate::{Error, ErrorKind};

/// Reads the records of a file.
pub(crate) struct RawRecords {
    pub(crate) path: PathBuf,
    pub(crate) reading: Reading,
    buffer_size: usize,
    tolerates_checksums: bool,
    framer: Framer,
    /// The block of the next record, and the offset of that record in it.
    block: Option<Block>,
    at: usize,
    /// Number of records that were read.
    pub(crate) read: u64,
    pub(crate) tolerated: Tolerated,
    /// Whether they were logged.
    is_told: bool,
}

/// A record.
pub(crate) struct RawRecord {
    /// Its number in the file, from 0.
    pub(crate) number: u64,
    /// Offset in the file of its first byte.
    pub(crate) offset: u64,
    pub(crate) data: Bytes,
}

impl RawRecords {
    pub(crate) fn new(opened: Opened, options: &RecordOptions) -> Result<Self, Error> {
        Ok(RawRecords {
            path: opened.path.clone(),
            reading: opened.into_reading()?,
            buffer_size: options.buffer_size,
            tolerates_checksums: options.tolerate.checksum,
            framer: Framer::new(framing(options)),
            block: None,
            at: 0,
            read: 0,
            tolerated: Tolerated::default(),
            is_told: false,
        })
    }

    /// The next record; `None` at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read, or the record is damaged. After a wrong checksum of the data, the next call
    /// goes on with the record after it.
    pub(crate) fn next(&mut self) -> Result<Option<RawRecord>, Error> {
        let block = loop {
            match &self.block {
                Some(block) if self.at < block.payload.len() => break block,
                _ => {}
            }
            match self.framer.next() {
                Ok(Frame::Block(block)) => (self.block, self.at) = (Some(block), 0),
                Ok(Frame::NeedMore(_)) => self.push()?,
                Ok(Frame::End) => {
                    self.tell();
                    return Ok(None);
                }
                Ok(_) => {}
                Err(error) => return Err(self.error(error.kind, error.offset, error.record)),
            }
        };
        let number = self.read;
        let mut records = Records::starting_at(&block.payload, self.at, number);
        let offset = block.offset + self.at as u64;
        let found = records.next_record().map_err(|error| error.kind);
        let found = found.map(|record| (record.end(), record.verify(), record.data));
        let (end, verified, data) = found.map_err(|kind| self.error(kind, offset, number))?;
        let data = block.payload.slice_ref(data);
        (self.at, self.read) = (end, number + 1);
        match verified {
            Err(_) if self.tolerates_checksums => self.tolerated.bad_checksums += 1,
            Err(kind) => return Err(self.error(kind, offset, number)),
            Ok(()) => {}
        }
        Ok(Some(RawRecord {
            number,
            offset,
            data,
        }))
    }

    /// Logs the tolerated faults, once, at the end of the file.
    fn tell(&mut self) {
        if !std::mem::replace(&mut self.is_told, true) && !self.tolerated.is_empty() {
            log::warn!("{}: passed over: {}", self.path.display(), self.tolerated);
        }
    }

    /// The message that a record is.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn parse(&self, record: &RawRecord) -> Result<Example, Error> {
        Example::parse(&record.data).map_err(|kind| {
            let kind = ErrorKind::Format(Arc::new(kind));
            self.locate(kind, record.offset, record.number)
        })
    }

    fn push(&mut self) -> Result<(), Error> {
        let piece = read_piece(&mut self.reading.reader, self.buffer_size);
        let piece = piece.map_err(|error| {
            let error = Error::reading(error, &self.path);
            self.locate(error.kind, self.framer.end_offset(), self.read)
        })?;
        match piece.is_empty() {
            true => self.framer.end(),
            false => self.framer.push(piece.into()),
        }
        Ok(())
    }

    #[cold]
    fn error(&self, kind: RecordErrorKind, offset: u64, record: u64) -> Error {
        self.locate(ErrorKind::Format(Arc::new(kind)), offset, record)
    }

    #[cold]
    pub(crate) fn locate(&self, kind: ErrorKind, offset: u64, record: u64) -> Error {
        let file = (&*self.path, self.reading.packing);
        Error::at_record(kind, file, Some(offset), Some(record))
    }
}
