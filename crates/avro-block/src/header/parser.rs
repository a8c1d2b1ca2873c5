//! The header's parser: it takes each part as soon as the part's bytes are pushed.

use std::mem;

use atds_codec::Codec;
use bytes::Bytes;

use super::{CODEC_KEY, Header, MAGIC, SCHEMA_KEY};
use crate::block::check;
use crate::diagnose::Found;
use crate::error::{ContainerPart, Error, ErrorKind};
use crate::limits::{FILE_LOOKED_AT, Limits, MAX_CODEC_NAME};
use crate::pieces::Pieces;
use crate::sync::SyncMarker;
use crate::varint::{self, Varint};

/// Progress in a header. No byte is parsed twice, whatever the size of the pieces.
#[derive(Debug, Default)]
pub(crate) struct HeaderParser {
    next: NextPart,
    /// Number of entries left in the map block being read.
    left: u64,
    /// Key of the entry being read.
    key: String,
    metadata: Vec<(String, Bytes)>,
    /// File offset of the last value under `avro.schema`, and the value.
    schema: Option<(u64, Bytes)>,
    /// File offset of the last value under `avro.codec`, and the value.
    codec: Option<(u64, Bytes)>,
}

/// The part of the header to be read next.
#[derive(Clone, Copy, Debug, Default)]
enum NextPart {
    #[default]
    Magic,
    Count,
    BlockSize,
    KeyLength,
    Key(u64),
    ValueLength,
    Value(u64),
    Sync,
}

/// Result of a call of the header's parser.
#[derive(Debug)]
pub(crate) enum Progress {
    Done(Header),
    /// At least this many bytes more are needed.
    NeedMore(u64),
}

impl HeaderParser {
    /// Parses as far as the bytes in `pieces` go.
    pub(crate) fn advance(
        &mut self,
        pieces: &mut Pieces,
        limits: &Limits,
    ) -> Result<Progress, Error> {
        loop {
            let (_, needed) = self.part_and_len();
            if let NextPart::Magic = self.next
                && !begins_with_magic(pieces)
            {
                // Wait for more bytes: the error names the file's format, independently of the size
                // of the pieces.
                if pieces.len() < FILE_LOOKED_AT {
                    return Ok(Progress::NeedMore(FILE_LOOKED_AT - pieces.len()));
                }
                return Err(not_avro(pieces));
            }
            if pieces.len() < needed {
                return Ok(Progress::NeedMore(needed - pieces.len()));
            }
            match self.next {
                NextPart::Magic => {
                    pieces.advance(needed);
                    self.next = NextPart::Count;
                }
                NextPart::Count
                | NextPart::BlockSize
                | NextPart::KeyLength
                | NextPart::ValueLength => {
                    let at = pieces.start();
                    let Some(value) = self.long(pieces)? else {
                        return Ok(Progress::NeedMore(1));
                    };
                    self.integer(value, pieces.start(), limits)
                        .map_err(|kind| Error::new(kind, at, None))?;
                }
                NextPart::Key(len) => {
                    let at = pieces.start();
                    let key = Vec::from(pieces.take(len as usize));
                    self.key = String::from_utf8(key)
                        .map_err(|_| Error::new(ErrorKind::KeyNotUtf8, at, None))?;
                    self.next = NextPart::ValueLength;
                }
                NextPart::Value(len) => {
                    let at = pieces.start();
                    // A copy, so that a header does not keep the whole piece alive.
                    let value = Bytes::copy_from_slice(&pieces.take(len as usize));
                    self.entry(at, value);
                }
                NextPart::Sync => {
                    let mut sync = SyncMarker([0; SyncMarker::LEN]);
                    pieces.peek(0, &mut sync.0);
                    pieces.advance(needed);
                    return self.header(sync, pieces.start()).map(Progress::Done);
                }
            }
        }
    }

    /// The error for a file that ends with the bytes in `pieces`.
    #[cold]
    pub(crate) fn truncated(&self, pieces: &Pieces) -> Error {
        if pieces.end() == 0 {
            return Error::new(ErrorKind::Empty, 0, None);
        }
        if let NextPart::Magic = self.next
            && !begins_with_magic(pieces)
        {
            return not_avro(pieces);
        }
        let (part, needed) = self.part_and_len();
        let missing = needed.saturating_sub(pieces.len()).max(1);
        Error::new(ErrorKind::Truncated { part, missing }, pieces.start(), None)
    }

    /// The part to be read next and the fewest bytes it takes.
    fn part_and_len(&self) -> (ContainerPart, u64) {
        match self.next {
            NextPart::Magic => (ContainerPart::Magic, MAGIC.len() as u64),
            NextPart::Count => (ContainerPart::MetadataCount, 1),
            NextPart::BlockSize => (ContainerPart::MetadataBlockSize, 1),
            NextPart::KeyLength => (ContainerPart::MetadataKeyLength, 1),
            NextPart::Key(len) => (ContainerPart::MetadataKey, len),
            NextPart::ValueLength => (ContainerPart::MetadataValueLength, 1),
            NextPart::Value(len) => (ContainerPart::MetadataValue, len),
            NextPart::Sync => (ContainerPart::SyncMarker, SyncMarker::LEN as u64),
        }
    }

    /// Takes an integer; `None` if the bytes end inside it.
    fn long(&self, pieces: &mut Pieces) -> Result<Option<i64>, Error> {
        let mut bytes = [0; varint::MAX_LEN];
        let n = pieces.peek(0, &mut bytes);
        match varint::decode(&bytes[..n]) {
            Varint::Value(value, len) => {
                pieces.advance(len as u64);
                Ok(Some(value))
            }
            Varint::Incomplete => Ok(None),
            Varint::Overlong => {
                let (part, _) = self.part_and_len();
                let kind = ErrorKind::BadVarint { part };
                Err(Error::new(kind, pieces.start(), None))
            }
        }
    }

    /// Continues after an integer that ends at file offset `at`.
    fn integer(&mut self, value: i64, at: u64, limits: &Limits) -> Result<(), ErrorKind> {
        let (part, _) = self.part_and_len();
        let check_end = |len: u64| {
            let limit = limits.max_header_bytes.min(isize::MAX as u64);
            check(ContainerPart::Header, len.saturating_add(at), limit)
        };
        if let NextPart::Count = self.next {
            self.left = value.unsigned_abs();
            let entries = self.left.saturating_add(self.metadata.len() as u64);
            check(part, entries, limits.max_metadata_entries)?;
            self.next = match value {
                0 => {
                    check_end(SyncMarker::LEN as u64)?;
                    NextPart::Sync
                }
                ..0 => NextPart::BlockSize,
                _ => NextPart::KeyLength,
            };
            return Ok(());
        }

        let len = u64::try_from(value).map_err(|_| ErrorKind::NegativeSize { part, value })?;
        check_end(len)?;
        self.next = match self.next {
            // The size lets a reader skip the block; this parser reads the entries and ignores it.
            NextPart::BlockSize => NextPart::KeyLength,
            NextPart::KeyLength => NextPart::Key(len),
            _ => NextPart::Value(len),
        };
        Ok(())
    }

    /// Continues after a whole entry whose value is at file offset `at`.
    fn entry(&mut self, at: u64, value: Bytes) {
        let key = mem::take(&mut self.key);
        match key.as_str() {
            SCHEMA_KEY => self.schema = Some((at, value.clone())),
            CODEC_KEY => self.codec = Some((at, value.clone())),
            _ => {}
        }
        self.metadata.push((key, value));
        self.left -= 1;
        self.next = match self.left {
            0 => NextPart::Count,
            _ => NextPart::KeyLength,
        };
    }

    /// The header, once all of its `len` bytes are read.
    fn header(&mut self, sync: SyncMarker, len: u64) -> Result<Header, Error> {
        let (at, schema) = self
            .schema
            .take()
            .ok_or_else(|| Error::new(ErrorKind::MissingSchema, MAGIC.len() as u64, None))?;
        let schema = String::from_utf8(schema.into())
            .map_err(|_| Error::new(ErrorKind::SchemaNotUtf8, at, None))?;
        let codec = match self.codec.take() {
            None => Codec::Null,
            Some((at, name)) => codec(&name).map_err(|kind| Error::new(kind, at, None))?,
        };
        Ok(Header {
            schema,
            codec,
            sync,
            metadata: mem::take(&mut self.metadata),
            len,
        })
    }
}

/// Whether the first bytes agree with the magic, as far as there are bytes.
fn begins_with_magic(pieces: &Pieces) -> bool {
    let mut found = MAGIC;
    let n = pieces.peek(0, &mut found);
    found[..n] == MAGIC[..n]
}

/// The error for a file that does not begin with the magic.
#[cold]
fn not_avro(pieces: &Pieces) -> Error {
    let mut first = [0; FILE_LOOKED_AT as usize];
    let n = pieces.peek(0, &mut first);
    let found = Found::in_file(&first[..n]);
    Error::new(ErrorKind::NotAvro { found }, 0, None)
}

/// The codec with this name in the header.
fn codec(name: &[u8]) -> Result<Codec, ErrorKind> {
    std::str::from_utf8(name)
        .ok()
        .and_then(Codec::from_name)
        .ok_or_else(|| {
            let name = &name[..name.len().min(MAX_CODEC_NAME)];
            ErrorKind::UnknownCodec(String::from_utf8_lossy(name).into_owned())
        })
}
