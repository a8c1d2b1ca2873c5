//! Reads files as blocks: with plain reads or mapped, in file order or by an index.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use avro_block::{
    Block, BlockIndex, Blocks, BytesSource, Header, IndexEntry, Limits, ReadBuffers, ReadSource,
    Source, TrailingBytes,
};
use avro_decode::limits::DEEPEST;
use bytes::Bytes;

use crate::limits::{HEADER_BUFFER_SIZE, MAX_BLOCK_BYTES, MAX_READER_BUFFER_SIZE};
use crate::mappings::{MappedFile, Mappings, prefault};
use crate::once::{self, OnceInputs, OnceReader, Stop};
use crate::unpack::{Packing, read_head, unpack};
use crate::{Error, ErrorKind, Tolerate, avro};

/// Options for reading files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadOptions {
    pub(crate) mmap: bool,
    pub(crate) buffer_size: usize,
    pub(crate) lenience: Lenience,
}

impl ReadOptions {
    /// Checks that each option is in its range.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.buffer_size == 0 {
            return Err(Error::option("reader_buffer_size", "above 0"));
        }
        if self.buffer_size > MAX_READER_BUFFER_SIZE {
            return Err(Error::option("reader_buffer_size", "at most 1 GiB"));
        }
        if !(1..=isize::MAX as usize / 2).contains(&self.lenience.max_block_bytes) {
            let must = "above 0, and no more than memory can have";
            return Err(Error::option("max_block_bytes", must));
        }
        Ok(())
    }
}

/// Checks that `max_depth` is in its range.
pub(crate) fn check_depth(max_depth: usize) -> Result<(), Error> {
    const { assert!(DEEPEST == 300) };
    match max_depth {
        1..=DEEPEST => Ok(()),
        _ => Err(Error::option("max_depth", "from 1 to 300")),
    }
}

/// The faults of files that are tolerated, and the maximum size of their blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lenience {
    pub(crate) tolerate: Tolerate,
    /// Maximum size of a block in bytes, compressed and decompressed.
    pub(crate) max_block_bytes: usize,
}

impl Default for Lenience {
    fn default() -> Self {
        Lenience {
            tolerate: Tolerate::nothing(),
            max_block_bytes: MAX_BLOCK_BYTES,
        }
    }
}

impl Lenience {
    /// The options of the framer.
    pub(crate) fn framing(&self) -> (Limits, TrailingBytes) {
        let mut limits = Limits::default();
        limits.max_block_bytes = self.max_block_bytes as u64;
        let trailing = if self.tolerate.trailing_file_bytes {
            TrailingBytes::LeaveOut
        } else {
            TrailingBytes::Error
        };
        (limits, trailing)
    }
}

/// The blocks of a file, found without decompressing any.
pub(crate) enum WholeIndex {
    Index(BlockIndex),
    /// The whole file is packed, so it has no index.
    Packed(Packing),
}

/// The index of a file's blocks. A damaged block is an error.
pub(crate) fn whole_index(path: &Path, lenience: &Lenience) -> Result<WholeIndex, Error> {
    let file = File::open(path).map_err(|error| Error::io(error, path))?;
    let (limits, trailing) = lenience.framing();
    match BlockIndex::before_damage(file, limits, trailing) {
        Ok((index, None)) => Ok(WholeIndex::Index(index)),
        Ok((_, Some(error))) | Err(error) => {
            let error = Error::container(error, path);
            let packed = unpacked_instead(&error, path)?;
            packed.map_or(Err(error), |(packing, _)| Ok(WholeIndex::Packed(packing)))
        }
    }
}

/// Counts the records of a packed file by unpacking all of it.
pub(crate) fn count_packed(path: &Path, options: ReadOptions) -> Result<u64, Error> {
    let blocks = FileBlocks::open(path, &mut Opener::once(options), &Stop::default())?;
    let mut records = 0u64;
    for block in blocks {
        records = records.saturating_add(block?.count);
    }
    Ok(records)
}

/// Reads the headers of a data set's files.
#[derive(Debug)]
pub(crate) struct Headers<'a> {
    /// Options for reading the files later.
    pub(crate) options: ReadOptions,
    pub(crate) inputs: &'a OnceInputs,
}

impl Headers<'_> {
    /// Reads the header of the file at `path`, and little more. An input that can be read only once
    /// stays open for the first iteration.
    ///
    /// # Errors
    /// As [`FileBlocks::open`].
    pub(crate) fn read(&self, path: &Path) -> Result<Header, Error> {
        let look = |blocks: &FileBlocks| {
            if let Some(packing) = blocks.packing {
                self.inputs.note_packed(path, packing);
            }
            blocks.header.clone()
        };
        if self.inputs.has(path) {
            let mut opener = Opener::once(self.options);
            let begin = || FileBlocks::open(path, &mut opener, self.inputs.stop());
            return self.inputs.begun(path, begin, look);
        }
        Ok(look(&FileBlocks::open(
            path,
            &mut header_opener(),
            &Stop::default(),
        )?))
    }
}

/// Reads the header of a file that can be read again, and little more.
pub(crate) fn read_header(path: &Path) -> Result<Header, Error> {
    let blocks = FileBlocks::open(path, &mut header_opener(), &Stop::default())?;
    Ok(blocks.header)
}

fn header_opener() -> Opener {
    Opener::once(ReadOptions {
        mmap: false,
        buffer_size: HEADER_BUFFER_SIZE,
        lenience: Lenience::default(),
    })
}

#[cold]
pub(crate) fn no_shuffling(packing: Packing, path: &Path) -> Error {
    let reason = "leave `shuffle_blocks` out, or unpack the file";
    Error::new(ErrorKind::Packed { packing, reason }).in_file(path)
}

/// The packing of the whole file at `path`, and the file at its start. `error` says that the first
/// bytes are not Avro's. `None` if the file is not packed, so that the error stands.
#[cold]
fn unpacked_instead(error: &Error, path: &Path) -> Result<Option<(Packing, File)>, Error> {
    use avro_block::ErrorKind::{NotAvro, Truncated};
    if !matches!(
        error.kind.avro(),
        Some(avro::ErrorKind::Container(
            NotAvro { .. } | Truncated { .. }
        ))
    ) {
        return Ok(None);
    }
    let open = || {
        let mut file = File::open(path)?;
        let packing = Packing::of_head(&read_head(&mut file)?);
        file.rewind()?;
        Ok(packing.map(|packing| (packing, file)))
    };
    open().map_err(|error| Error::io(error, path))
}

/// Opens files one after another, and reuses memory for them.
#[derive(Debug)]
pub(crate) struct Opener {
    options: ReadOptions,
    buffers: ReadBuffers,
    pub(crate) mappings: Mappings,
    /// Whether files may be opened again later.
    again: bool,
}

impl Opener {
    /// An opener that keeps at most `keep` bytes of files mapped.
    pub(crate) fn new(options: ReadOptions, keep: u64) -> Self {
        Opener {
            options,
            buffers: ReadBuffers::default(),
            mappings: Mappings::new(keep),
            again: true,
        }
    }

    /// An opener for one file.
    pub(crate) fn once(options: ReadOptions) -> Self {
        Opener {
            again: false,
            ..Self::new(options, 0)
        }
    }

    pub(crate) fn lenience(&self) -> Lenience {
        self.options.lenience
    }

    fn map(&mut self, file: File, path: &Path) -> Result<MappedFile, Error> {
        self.mappings.map(file, path, self.again)
    }
}

/// Blocks from any source of bytes.
trait BlockStream: Iterator<Item = Result<Block, avro_block::Error>> + Send {
    /// Number of bytes after the last block that were left out; known once there are no more
    /// blocks.
    fn trailing_bytes(&self) -> u64;

    fn set_lenience(&mut self, lenience: &Lenience);
}

impl<S: Source + Send> BlockStream for Blocks<S> {
    fn trailing_bytes(&self) -> u64 {
        Blocks::trailing_bytes(self)
    }

    fn set_lenience(&mut self, lenience: &Lenience) {
        let (limits, trailing) = lenience.framing();
        self.set_limits(limits);
        self.set_trailing_bytes(trailing);
    }
}

/// The blocks of an open file, in file order.
pub(crate) struct FileBlocks {
    path: PathBuf,
    header: Header,
    blocks: Box<dyn BlockStream>,
    /// Blocks that [`peek`](Self::peek) has read ahead.
    ahead: VecDeque<Result<Block, Error>>,
    /// The offset of the next block.
    offset: u64,
    mapped: Option<MappedFile>,
    packing: Option<Packing>,
}

impl std::fmt::Debug for FileBlocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileBlocks")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl FileBlocks {
    /// Opens the file and reads its header. A packed file is unpacked while it is read. An input
    /// that can be read only once gives up at `stop`.
    pub(crate) fn open(path: &Path, opener: &mut Opener, stop: &Stop) -> Result<Self, Error> {
        let io = |error| Error::io(error, path);
        let (file, once) = once::open(path).map_err(io)?;
        if once.is_some() {
            let mut reader = OnceReader::new(file, path, stop);
            let head = read_head(&mut reader).map_err(io)?;
            let packing = Packing::of_head(&head);
            let reader = Cursor::new(head).chain(reader);
            return match packing {
                Some(packing) => Self::unpack(packing, reader, path, opener),
                None => Self::read(reader, path, opener),
            };
        }
        let opened = if opener.options.mmap {
            Self::map(file, path, opener)
        } else {
            Self::read(file, path, opener)
        };
        opened.or_else(|error| match unpacked_instead(&error, path)? {
            Some((packing, file)) => Self::unpack(packing, file, path, opener),
            None => Err(error),
        })
    }

    fn read(
        reader: impl Read + Send + 'static,
        path: &Path,
        opener: &Opener,
    ) -> Result<Self, Error> {
        let (size, buffers) = (opener.options.buffer_size, opener.buffers.clone());
        let source = ReadSource::with_buffers(reader, size, buffers);
        Self::of_source(source, path, opener)
    }

    fn unpack(
        packing: Packing,
        reader: impl Read + Send + 'static,
        path: &Path,
        opener: &Opener,
    ) -> Result<Self, Error> {
        let unpacked = unpack(packing, reader).map_err(|error| Error::io(error, path))?;
        let mut blocks =
            Self::read(unpacked, path, opener).map_err(|error| error.unpacked(true))?;
        blocks.packing = Some(packing);
        Ok(blocks)
    }

    fn map(file: File, path: &Path, opener: &mut Opener) -> Result<Self, Error> {
        let mapped = opener.map(file, path)?;
        let mut blocks = Self::of_source(BytesSource::new(mapped.bytes()), path, opener)?;
        blocks.mapped = Some(mapped);
        Ok(blocks)
    }

    fn of_source(
        source: impl Source + Send + 'static,
        path: &Path,
        opener: &Opener,
    ) -> Result<Self, Error> {
        let (limits, trailing) = opener.options.lenience.framing();
        let mut blocks =
            Blocks::from_source(source, limits).map_err(|error| Error::container(error, path))?;
        blocks.set_trailing_bytes(trailing);
        Ok(FileBlocks {
            path: path.to_owned(),
            header: blocks.header().clone(),
            blocks: Box::new(blocks),
            ahead: VecDeque::new(),
            offset: 0,
            mapped: None,
            packing: None,
        })
    }

    /// The block after the next `before` blocks. All of them are still read later.
    pub(crate) fn peek(&mut self, before: usize) -> Option<&Block> {
        while self.ahead.len() <= before {
            let block = self.next_block()?;
            self.ahead.push_back(block);
        }
        self.ahead[before].as_ref().ok()
    }

    fn next_block(&mut self) -> Option<Result<Block, Error>> {
        if let Some(mapped) = &mut self.mapped
            && let Err(error) = mapped.check(self.offset, &self.path)
        {
            return Some(Err(error));
        }
        let block = self.blocks.next()?;
        if let (Ok(block), Some(mapped)) = (&block, &mut self.mapped) {
            self.offset = block.offset + block.len;
            mapped.passed(self.offset);
            prefault(&block.payload);
        }
        Some(
            block.map_err(|error| {
                Error::container(error, &self.path).unpacked(self.packing.is_some())
            }),
        )
    }

    /// Sets the tolerated faults for the remaining blocks. Reading may have begun with other
    /// options.
    pub(crate) fn set_lenience(&mut self, lenience: &Lenience) {
        self.blocks.set_lenience(lenience);
    }

    /// The packing of the whole file.
    pub(crate) fn packing(&self) -> Option<Packing> {
        self.packing
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// Number of bytes after the last block that were left out; known once there are no more
    /// blocks.
    pub(crate) fn trailing_bytes(&self) -> u64 {
        self.blocks.trailing_bytes()
    }
}

impl Iterator for FileBlocks {
    type Item = Result<Block, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.ahead.pop_front() {
            Some(block) => Some(block),
            None => self.next_block(),
        }
    }
}

/// The blocks of a file in any order, up to the first damaged block.
pub(crate) struct IndexedBlocks {
    path: PathBuf,
    index: BlockIndex,
    damage: Option<Error>,
    bytes: IndexedBytes,
}

enum IndexedBytes {
    Mapped(Bytes, MappedFile),
    File(File, ReadBuffers),
}

impl IndexedBlocks {
    /// Opens the file and indexes its blocks without decompressing any. `None` for a packed file,
    /// which has no index. Indexing a large file takes a while; `stopped` ends it early with an
    /// error.
    pub(crate) fn open(
        path: &Path,
        opener: &mut Opener,
        stopped: impl Fn() -> bool,
    ) -> Result<Option<Self>, Error> {
        let (limits, trailing) = opener.options.lenience.framing();
        let mut file = File::open(path).map_err(|error| Error::io(error, path))?;
        let (index, bytes) = if opener.options.mmap {
            let mapped = opener.map(file, path)?;
            mapped.check_now(path)?;
            let bytes = mapped.bytes();
            let reader = Stoppable {
                reader: Cursor::new(&bytes),
                stopped,
            };
            let index = BlockIndex::before_damage(reader, limits, trailing);
            (index, IndexedBytes::Mapped(bytes, mapped))
        } else {
            let reader = Stoppable {
                reader: &mut file,
                stopped,
            };
            let index = BlockIndex::before_damage(reader, limits, trailing);
            (index, IndexedBytes::File(file, opener.buffers.clone()))
        };
        let container = |error| Error::container(error, path);
        let (index, damage) = match index.map_err(container) {
            Ok(found) => found,
            Err(error) => {
                let packed = unpacked_instead(&error, path)?;
                return packed.map_or(Err(error), |_| Ok(None));
            }
        };
        Ok(Some(IndexedBlocks {
            path: path.to_owned(),
            index,
            damage: damage.map(container),
            bytes,
        }))
    }

    /// The error of the first block after the indexed ones.
    pub(crate) fn damage(&mut self) -> Option<Error> {
        self.damage.take()
    }

    pub(crate) fn header(&self) -> &Header {
        &self.index.header
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// Number of bytes after the last block that are left out.
    pub(crate) fn trailing_bytes(&self) -> u64 {
        self.index.trailing_bytes
    }

    /// Number of records in all blocks.
    pub(crate) fn records(&self) -> u64 {
        self.index.records()
    }

    /// Number of records in block `i`.
    pub(crate) fn count(&self, i: usize) -> u64 {
        self.index.entries[i].count
    }

    /// Reads block `i`.
    pub(crate) fn block(&mut self, i: usize) -> Result<Block, Error> {
        let entry = self.index.entries[i];
        let bytes = match &mut self.bytes {
            IndexedBytes::Mapped(bytes, mapped) => {
                mapped.check_now(&self.path)?;
                let start = entry.offset as usize;
                Ok(bytes.slice(start..start + entry.len as usize))
            }
            IndexedBytes::File(file, buffers) => read_range(file, entry, buffers),
        };
        let sync = self.index.header.sync();
        bytes
            .map_err(|error| avro_block::Error::new(error, entry.offset, Some(i as u64)))
            .and_then(|bytes| entry.frame(bytes, sync, i as u64))
            .map_err(|error| Error::container(error, &self.path))
    }
}

/// A reader that fails once it was stopped.
struct Stoppable<R, F> {
    reader: R,
    stopped: F,
}

impl<R: Read, F: Fn() -> bool> Read for Stoppable<R, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.stopped)() {
            return Err(io::Error::other("stopped"));
        }
        self.reader.read(buffer)
    }
}

impl<R: Seek, F> Seek for Stoppable<R, F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.reader.seek(to)
    }
}

fn read_range(file: &mut File, entry: IndexEntry, buffers: &ReadBuffers) -> io::Result<Bytes> {
    file.seek(SeekFrom::Start(entry.offset))?;
    // The index has read this many bytes, so the size is real.
    buffers.read_exact(file, entry.len as usize)
}
