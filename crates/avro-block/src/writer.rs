//! Writing container files.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::mem;
use std::time::SystemTime;

use atds_codec::{Codec, Compressor};

use crate::block::Block;
use crate::error::{Error, ErrorKind};
use crate::header::{CODEC_KEY, Header, MAGIC, RESERVED_PREFIX, SCHEMA_KEY};
use crate::limits::DEFAULT_BLOCK_BYTES;
use crate::sync::SyncMarker;
use crate::varint;

/// Options of a [`Writer`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriterOptions {
    /// Codec of all payloads. Default [`Codec::Null`].
    pub codec: Codec,
    /// Compression level, within [`Codec::levels`]. `None`, the default, means the codec's default
    /// level.
    pub level: Option<i32>,
    /// Minimum size of a block in decompressed bytes. Only the last block, and a block closed by
    /// [`Writer::flush_block`], may be smaller. Default 16,000.
    pub block_bytes: usize,
    /// The file's sync marker; `None`, the default, for a random one.
    pub sync: Option<SyncMarker>,
    /// User metadata, written in this order after the schema and the codec.
    pub metadata: Vec<(String, Vec<u8>)>,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            codec: Codec::Null,
            level: None,
            block_bytes: DEFAULT_BLOCK_BYTES,
            sync: None,
            metadata: Vec::new(),
        }
    }
}

impl WriterOptions {
    /// The default options, with `codec`.
    pub fn with_codec(codec: Codec) -> Self {
        Self {
            codec,
            ..Self::default()
        }
    }
}

/// Writes a container file of records that are already encoded.
///
/// Give whole records to [`append`](Self::append), or whole blocks to
/// [`write_block`](Self::write_block), and end with [`finish`](Self::finish). A writer that is
/// dropped loses the records of its open block. After an error, do not rely on the file.
#[derive(Debug)]
pub struct Writer<W> {
    writer: W,
    compressor: Compressor,
    sync: SyncMarker,
    block_bytes: usize,
    /// The open block: its encoded records in a row, and their number.
    open: Vec<u8>,
    open_count: u64,
    /// The last written block: its head, payload and marker. Kept to reuse its memory.
    block: Vec<u8>,
    payload: Vec<u8>,
    offset: u64,
    blocks: u64,
}

impl<W: Write> Writer<W> {
    /// Creates a writer and writes the header. `schema` is JSON text and is not checked.
    ///
    /// # Errors
    ///
    /// If a metadata key begins with `avro.`, if the codec is not compiled in or has no such
    /// level, or if writing fails.
    pub fn new(writer: W, schema: &str, options: WriterOptions) -> Result<Self, Error> {
        let fail = |kind| Error::new(kind, 0, None);
        let reserved = options.metadata.iter().map(|(key, _)| key);
        if let Some(key) = reserved
            .clone()
            .find(|key| key.starts_with(RESERVED_PREFIX))
        {
            return Err(fail(ErrorKind::ReservedKey(key.clone())));
        }
        let compressor =
            Compressor::new(options.codec, options.level).map_err(|error| fail(error.into()))?;
        let sync = options.sync.unwrap_or_else(random_marker);
        let own = [
            (SCHEMA_KEY, schema.as_bytes()),
            (CODEC_KEY, options.codec.name().as_bytes()),
        ];
        let users = options.metadata.iter();
        let users = users.map(|(key, value)| (key.as_str(), value.as_slice()));
        let header = header_bytes(own.into_iter().chain(users), sync);
        Self::begin(writer, compressor, sync, header, options.block_bytes)
    }

    /// Creates a writer and writes the header of another file again: the same metadata, with schema
    /// and codec, and the same marker.
    ///
    /// # Errors
    ///
    /// If the codec is not compiled in, or if writing fails.
    pub fn with_header(writer: W, header: &Header) -> Result<Self, Error> {
        let compressor = Compressor::new(header.codec(), None);
        let compressor = compressor.map_err(|error| Error::new(error, 0, None))?;
        let metadata = header.metadata().iter();
        let metadata = metadata.map(|(key, value)| (key.as_str(), &value[..]));
        let sync = header.sync();
        let header = header_bytes(metadata, sync);
        Self::begin(writer, compressor, sync, header, DEFAULT_BLOCK_BYTES)
    }

    fn begin(
        mut writer: W,
        compressor: Compressor,
        sync: SyncMarker,
        header: Vec<u8>,
        block_bytes: usize,
    ) -> Result<Self, Error> {
        writer
            .write_all(&header)
            .map_err(|error| Error::new(error, 0, None))?;
        Ok(Self {
            writer,
            compressor,
            sync,
            block_bytes,
            open: Vec::new(),
            open_count: 0,
            block: Vec::new(),
            payload: Vec::new(),
            offset: header.len() as u64,
            blocks: 0,
        })
    }

    /// Adds one encoded record to the open block, and closes the block if it is large enough.
    ///
    /// # Errors
    ///
    /// The errors of [`flush_block`](Self::flush_block).
    pub fn append(&mut self, record: &[u8]) -> Result<(), Error> {
        self.open.extend_from_slice(record);
        self.open_count += 1;
        if self.open.len() >= self.block_bytes {
            self.flush_block()?;
        }
        Ok(())
    }

    /// Closes the open block and writes it; does nothing if it has no records.
    ///
    /// # Errors
    ///
    /// If compressing or writing fails.
    pub fn flush_block(&mut self) -> Result<(), Error> {
        if self.open_count == 0 {
            return Ok(());
        }
        let mut records = mem::take(&mut self.open);
        let count = mem::take(&mut self.open_count);
        let result = self.write_whole(count, &records);
        records.clear();
        self.open = records;
        result
    }

    /// Closes the open block, then writes a block of `count` records, encoded in a row in
    /// `decompressed`. A block without records is written too.
    ///
    /// # Errors
    ///
    /// If compressing or writing fails.
    pub fn write_block(&mut self, count: u64, decompressed: &[u8]) -> Result<(), Error> {
        self.flush_block()?;
        self.write_whole(count, decompressed)
    }

    /// Closes the open block, then writes the block of another file with the same codec as it is,
    /// without decompressing it.
    ///
    /// # Errors
    ///
    /// If compressing the open block or writing fails.
    pub fn copy_block(&mut self, block: &Block) -> Result<(), Error> {
        self.flush_block()?;
        self.block.clear();
        varint::encode(block.count as i64, &mut self.block);
        varint::encode(block.payload.len() as i64, &mut self.block);
        // The payload may be large, so it is not copied.
        for part in [&self.block[..], &block.payload, &self.sync.0] {
            let written = self.writer.write_all(part);
            written.map_err(|error| Error::new(error, self.offset, Some(self.blocks)))?;
            self.offset += part.len() as u64;
        }
        self.blocks += 1;
        Ok(())
    }

    /// Closes the open block, flushes the underlying writer and returns it.
    ///
    /// # Errors
    ///
    /// If compressing or writing fails.
    pub fn finish(mut self) -> Result<W, Error> {
        self.flush_block()?;
        self.writer.flush().map_err(|error| self.error(error))?;
        Ok(self.writer)
    }

    /// The file's sync marker.
    pub fn sync(&self) -> SyncMarker {
        self.sync
    }

    /// Number of bytes written so far, without the open block.
    pub fn bytes_written(&self) -> u64 {
        self.offset
    }

    fn write_whole(&mut self, count: u64, decompressed: &[u8]) -> Result<(), Error> {
        self.compressor
            .compress(decompressed, &mut self.payload)
            .map_err(|error| self.error(error))?;
        self.block.clear();
        varint::encode(count as i64, &mut self.block);
        varint::encode(self.payload.len() as i64, &mut self.block);
        self.block.extend_from_slice(&self.payload);
        self.block.extend_from_slice(&self.sync.0);
        self.writer
            .write_all(&self.block)
            .map_err(|error| self.error(error))?;
        self.offset += self.block.len() as u64;
        self.blocks += 1;
        Ok(())
    }

    #[cold]
    fn error(&self, kind: impl Into<ErrorKind>) -> Error {
        Error::new(kind, self.offset, Some(self.blocks))
    }
}

/// The encoded header, with the metadata in one map block.
fn header_bytes<'a>(
    metadata: impl Iterator<Item = (&'a str, &'a [u8])>,
    sync: SyncMarker,
) -> Vec<u8> {
    let metadata: Vec<_> = metadata.collect();
    let mut bytes = MAGIC.to_vec();
    varint::encode(metadata.len() as i64, &mut bytes);
    for (key, value) in metadata {
        varint::encode(key.len() as i64, &mut bytes);
        bytes.extend_from_slice(key.as_bytes());
        varint::encode(value.len() as i64, &mut bytes);
        bytes.extend_from_slice(value);
    }
    bytes.push(0);
    bytes.extend_from_slice(&sync.0);
    bytes
}

/// A marker from the standard library's per-process random keys and the clock. Two files must not
/// share a marker by chance, but no security depends on that.
fn random_marker() -> SyncMarker {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos());
    let word = || {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u128(now);
        hasher.finish().to_le_bytes()
    };
    let mut marker = [0; SyncMarker::LEN];
    marker[..8].copy_from_slice(&word());
    marker[8..].copy_from_slice(&word());
    SyncMarker(marker)
}
