//! A file that is verified from its start to its end.

use std::fs;

use bytes::Bytes;

use super::{Cause, Damage, Verified, VerifyOptions};
use crate::avro::verify::{evidence, of_unpacking};
use crate::opened::{Opened, ReadBytes, read_piece};
use crate::source::{Reading, open_local, read_full};
use crate::{Error, ErrorKind};

/// Maximum number of bytes of a damaged part that are looked at for its cause.
const EVIDENCE: u64 = 64 << 10;

/// Number of damaged parts of a file after which no more are looked at.
const MANY: u64 = 1_000;

/// A file that is being read, and what was found of it.
pub(super) struct Stream<'a> {
    pub(super) found: Verified,
    reading: Reading,
    progress: ReadBytes,
    options: &'a VerifyOptions,
    on_read: &'a dyn Fn(u64),
    is_once: bool,
    /// Number of bytes, unpacked, that were given out.
    pub(super) end: u64,
}

/// The next bytes of a file.
pub(super) enum Piece {
    Bytes(Bytes),
    End,
    /// The file cannot be read further.
    Failed(Error),
}

impl<'a> Stream<'a> {
    /// What is found if the file cannot be opened is the error.
    pub(super) fn new(
        opened: Opened,
        options: &'a VerifyOptions,
        on_read: &'a dyn Fn(u64),
    ) -> Result<Self, Box<Verified>> {
        let metadata = fs::metadata(&opened.path).ok();
        let size = metadata.as_ref().filter(|found| found.is_file());
        let mut found = Verified::new(opened.path.clone(), opened.format);
        found.file_bytes = size.map_or(0, fs::Metadata::len);
        match opened.reading {
            Ok(reading) => {
                found.packing = reading.packing;
                Ok(Stream {
                    is_once: metadata.is_some_and(|found| !found.is_file() && !found.is_dir()),
                    found,
                    reading,
                    progress: opened.progress,
                    options,
                    on_read,
                    end: 0,
                })
            }
            Err(error) => {
                let bytes = found.file_bytes;
                found.add(Damage {
                    error: Error::reading(error, &opened.path),
                    cause: Cause::Unreadable,
                    offset: 0,
                    bytes,
                    records: None,
                });
                on_read(bytes);
                Err(Box::new(found))
            }
        }
    }

    /// Reads on.
    ///
    /// # Errors
    /// The caller has cancelled.
    pub(super) fn piece(&mut self) -> Result<Piece, Error> {
        self.options.check_cancelled()?;
        let size = self.options.records().buffer_size;
        let piece = read_piece(&mut self.reading.reader, size);
        (self.on_read)(self.progress.new_bytes());
        match piece {
            Ok(piece) if piece.is_empty() => Ok(Piece::End),
            Ok(piece) => {
                self.end += piece.len() as u64;
                Ok(Piece::Bytes(piece.into()))
            }
            Err(error) => {
                self.options.check_cancelled()?;
                Ok(Piece::Failed(Error::reading(error, &self.found.path)))
            }
        }
    }

    /// Adds the rest of a file that cannot be read, from `position` on.
    pub(super) fn fail(&mut self, error: Error, position: u64) {
        let cause = match &error.kind {
            ErrorKind::Unpack { message, .. } => of_unpacking(message),
            _ => Cause::Unreadable,
        };
        let bytes = match (&cause, self.found.packing) {
            // How many bytes are packed in the rest is not known.
            (Cause::Unreadable, None) => self.found.file_bytes.saturating_sub(position),
            _ => self.end - position,
        };
        self.found.add(Damage {
            error: self.locate(error.kind, Some(self.end), None),
            cause,
            offset: position,
            bytes,
            records: None,
        });
    }

    /// Reads what is left, and returns where the file ends. A fault of reading ends it, too.
    ///
    /// # Errors
    /// The caller has cancelled.
    #[cfg(feature = "btable")]
    pub(super) fn drain(&mut self) -> Result<u64, Error> {
        loop {
            self.options.check_cancelled()?;
            match read_piece(&mut self.reading.reader, 64 << 10) {
                Ok(piece) if !piece.is_empty() => self.end += piece.len() as u64,
                _ => return Ok(self.end),
            }
            (self.on_read)(self.progress.new_bytes());
        }
    }

    /// The error of a record, or of the file.
    pub(super) fn locate(
        &self,
        kind: ErrorKind,
        offset: Option<u64>,
        record: Option<u64>,
    ) -> Error {
        let file = (&*self.found.path, self.found.packing);
        Error::at_record(kind, file, offset, record)
    }

    /// What the bytes of a damaged part tell about the cause. Those of a packed file, and of a pipe, cannot be
    /// read again.
    pub(super) fn cause_by_bytes(&self, offset: u64, bytes: u64) -> Option<Cause> {
        if self.is_once || self.found.packing.is_some() || self.found.lost.parts > MANY {
            return None;
        }
        let (file, _) = open_local(&self.found.path).ok()?;
        let mut part = vec![0; bytes.min(EVIDENCE) as usize];
        let read = read_full(&file, &mut part, offset).ok()?;
        let cause = evidence::of_bytes(&part[..read], avro_block::Codec::Null, None)?;
        Some(shifted(cause, offset))
    }

    /// The figures at the end of the file.
    pub(super) fn finish(mut self) -> Verified {
        (self.on_read)(self.progress.new_bytes());
        if self.is_once {
            self.found.file_bytes = self.progress.all();
        }
        self.found
    }
}

/// A cause that bytes from `offset` on tell, by its place in the file.
pub(super) fn shifted(cause: Cause, offset: u64) -> Cause {
    match cause {
        Cause::ZeroFilled { offset: at, bytes } => Cause::ZeroFilled {
            offset: offset + at,
            bytes,
        },
        cause => cause,
    }
}
