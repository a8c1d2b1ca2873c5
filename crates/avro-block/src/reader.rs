//! Iterators over a file's blocks: a framer joined with a source of bytes.

use std::io::{Read, Seek, SeekFrom};

use bytes::Bytes;

use crate::after_block::TrailingBytes;
use crate::block::Block;
use crate::error::{Error, ErrorKind};
use crate::framer::{Frame, Framer};
use crate::header::Header;
use crate::limits::{DEFAULT_BUFFER_SIZE, Limits};
use crate::source::{BytesSource, ReadSource, Source};
use crate::sync::SyncMarker;

/// The blocks of a file, in file order, from any [`Source`].
///
/// After an error the iteration ends, unless [`resync`](Self::resync) is called.
#[derive(Debug)]
pub struct Blocks<S> {
    source: S,
    framer: Framer,
    header: Header,
    standing: Standing,
}

/// State of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Going,
    /// Stopped at an error in the file; `resync` can continue after it.
    Stopped,
    /// At the end of the file, or at an I/O error.
    Over,
}

/// The blocks of a file that is read through [`Read`].
pub type BlockReader<R> = Blocks<ReadSource<R>>;

/// The blocks of a file whose bytes are all in memory, such as the bytes of
/// [`map_file`](crate::map_file).
pub type MappedBlocks = Blocks<BytesSource>;

impl<R: Read> Blocks<ReadSource<R>> {
    /// Reads the header, in pieces of 128 KiB.
    ///
    /// # Errors
    ///
    /// As [`Blocks::from_source`].
    pub fn new(reader: R) -> Result<Self, Error> {
        Self::with_buffer_size(reader, DEFAULT_BUFFER_SIZE)
    }

    /// Reads the header, in pieces of `buffer_size` bytes.
    ///
    /// # Errors
    ///
    /// As [`Blocks::from_source`].
    pub fn with_buffer_size(reader: R, buffer_size: usize) -> Result<Self, Error> {
        let source = ReadSource::new(reader, buffer_size);
        Self::from_source(source, Limits::default())
    }
}

impl Blocks<BytesSource> {
    /// Reads the header of a file whose whole contents are `bytes`.
    ///
    /// # Errors
    ///
    /// As [`Blocks::from_source`].
    pub fn from_bytes(bytes: Bytes) -> Result<Self, Error> {
        Self::from_source(BytesSource::new(bytes), Limits::default())
    }
}

impl<S: Source> Blocks<S> {
    /// Reads the header of the file that `source` begins.
    ///
    /// # Errors
    ///
    /// If the file is empty, is not Avro, ends inside its header, or has a header that cannot be
    /// read; if reading fails.
    pub fn from_source(mut source: S, limits: Limits) -> Result<Self, Error> {
        let mut framer = Framer::with_limits(limits);
        match step(&mut framer, &mut source)? {
            Some(Frame::Header(header)) => Ok(Self::going_on(source, framer, header)),
            _ => unreachable!("a framer gives the header first, or an error"),
        }
    }

    /// Continues in the middle of a file with a known `header`. `source` begins at file offset
    /// `offset`, where block `index` begins.
    pub fn at_block(source: S, header: Header, offset: u64, index: u64, limits: Limits) -> Self {
        let framer = Framer::at_block(header.sync(), offset, index, limits);
        Self::going_on(source, framer, header)
    }

    fn going_on(source: S, framer: Framer, header: Header) -> Self {
        Self {
            source,
            framer,
            header,
            standing: Standing::Going,
        }
    }

    /// The file's header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// After an error in a block, makes the iteration continue after the next sync marker, as
    /// [`Framer::resync`] does.
    ///
    /// Returns `false` and changes nothing at the end of the file and after an I/O error.
    pub fn resync(&mut self) -> bool {
        if self.standing == Standing::Over || !self.framer.resync() {
            return false;
        }
        self.standing = Standing::Going;
        true
    }

    /// Sets the marker of the blocks that follow, for a file whose header has a damaged marker. Also
    /// changes the marker of [`header`](Self::header).
    pub fn set_sync(&mut self, sync: SyncMarker) {
        self.header.sync = sync;
        self.framer.set_sync(sync);
    }

    /// Sets the limits of the blocks that follow.
    pub fn set_limits(&mut self, limits: Limits) {
        self.framer.set_limits(limits);
    }

    /// Sets how bytes after the last block are treated, as [`Framer::set_trailing_bytes`] does.
    pub fn set_trailing_bytes(&mut self, choice: TrailingBytes) {
        self.framer.set_trailing_bytes(choice);
    }

    /// Number of bytes left out after the last block, once the iteration is over.
    pub fn trailing_bytes(&self) -> u64 {
        self.framer.trailing_bytes()
    }

    /// Number of bytes skipped so far by all calls of [`resync`](Self::resync).
    pub fn skipped_bytes(&self) -> u64 {
        self.framer.skipped_bytes()
    }

    /// The bytes held, as [`Framer::held`] has them: after an error those of the damaged part.
    pub fn held(&self) -> impl Iterator<Item = &[u8]> {
        self.framer.held()
    }

    /// The source, at its current position.
    pub fn into_source(self) -> S {
        self.source
    }
}

impl<S: Source> Iterator for Blocks<S> {
    type Item = Result<Block, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.standing == Standing::Going {
            match step(&mut self.framer, &mut self.source) {
                Ok(Some(Frame::Block(block))) => return Some(Ok(block)),
                Ok(Some(_)) => {}
                Ok(None) => self.standing = Standing::Over,
                Err(error) => {
                    self.standing = match error.kind {
                        ErrorKind::Io(_) => Standing::Over,
                        _ => Standing::Stopped,
                    };
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

/// Reads the block at byte `offset` of a file with a known `header`, as block `index`.
///
/// The offset comes from a [`BlockIndex`](crate::BlockIndex). The reader's position afterwards is
/// somewhere after the block.
///
/// # Errors
///
/// The errors of a framer that begins at `offset`, and the errors of the reader.
pub fn read_block_at(
    mut reader: impl Read + Seek,
    header: &Header,
    offset: u64,
    index: u64,
) -> Result<Block, Error> {
    reader
        .seek(SeekFrom::Start(offset))
        .map_err(|error| Error::new(error, offset, Some(index)))?;
    let source = ReadSource::new(reader, DEFAULT_BUFFER_SIZE);
    one_block(source, header, offset, index)
}

/// The block at byte `offset` of the file whose whole contents are `bytes`, as block `index`.
///
/// # Errors
///
/// The errors of a framer that begins at `offset`.
pub fn block_at(bytes: &Bytes, header: &Header, offset: u64, index: u64) -> Result<Block, Error> {
    let from = usize::try_from(offset).map_or(bytes.len(), |offset| offset.min(bytes.len()));
    let source = BytesSource::new(bytes.slice(from..));
    one_block(source, header, offset, index)
}

fn one_block(
    mut source: impl Source,
    header: &Header,
    offset: u64,
    index: u64,
) -> Result<Block, Error> {
    let mut framer = Framer::at_block(header.sync(), offset, index, Limits::default());
    match step(&mut framer, &mut source)? {
        Some(Frame::Block(block)) => Ok(block),
        // A framer accepts the end of the file here, but a caller that asks for a block expects
        // one.
        _ => Err(framer.truncated_block()),
    }
}

/// The next frame that is not "need more"; `None` at the end of the file.
fn step(framer: &mut Framer, source: &mut impl Source) -> Result<Option<Frame>, Error> {
    loop {
        let wanted = match framer.next()? {
            Frame::NeedMore(wanted) => wanted,
            frame => return Ok(Some(frame)),
        };
        let (end, block) = (framer.end_offset(), framer.block());
        let rest = framer.take_rest();
        let held = rest.len();
        let piece = source
            .next_piece(rest, wanted)
            .map_err(|error| Error::new(error, end, block))?;
        let is_end = piece.len() == held;
        framer.push(piece);
        if is_end {
            return framer.finish().map(|()| None);
        }
    }
}
