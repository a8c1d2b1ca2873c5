//! Files as blocks: read plainly or mapped, in file order or by their index.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use avro_block::{
    Block, BlockIndex, BlockReader, Blocks, BytesSource, Header, IndexEntry, Limits, MappedBlocks,
    block_at, map_file,
};
use bytes::{Bytes, BytesMut};

use crate::{Error, ErrorKind};

/// How files are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadOptions {
    pub(crate) mmap: bool,
    pub(crate) buffer_size: usize,
}

/// The blocks of an open file, in file order.
pub(crate) struct FileBlocks {
    path: PathBuf,
    header: Header,
    blocks: Box<dyn Iterator<Item = Result<Block, avro_block::Error>> + Send>,
    guard: Option<MapGuard>,
}

impl FileBlocks {
    /// Opens the file and reads its header.
    pub(crate) fn open(path: &Path, options: ReadOptions) -> Result<Self, Error> {
        let container = |error| Error::container(error, path);
        let file = File::open(path).map_err(|error| Error::io(error, path))?;
        if !options.mmap {
            let blocks =
                BlockReader::with_buffer_size(file, options.buffer_size).map_err(container)?;
            return Ok(FileBlocks {
                path: path.to_owned(),
                header: blocks.header().clone(),
                blocks: Box::new(blocks),
                guard: None,
            });
        }
        let (bytes, guard) = MapGuard::map(file, path)?;
        let blocks = MappedBlocks::from_bytes(bytes).map_err(container)?;
        Ok(FileBlocks {
            path: path.to_owned(),
            header: blocks.header().clone(),
            blocks: Box::new(blocks),
            guard: Some(guard),
        })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }
}

impl Iterator for FileBlocks {
    type Item = Result<Block, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(Err(error)) = self.guard.as_ref().map(|guard| guard.check(&self.path)) {
            return Some(Err(error));
        }
        let block = self.blocks.next()?;
        Some(block.map_err(|error| Error::container(error, &self.path)))
    }
}

/// Looks after a mapped file that others may cut short.
struct MapGuard {
    file: File,
    mapped: u64,
}

impl MapGuard {
    fn map(file: File, path: &Path) -> Result<(Bytes, Self), Error> {
        let bytes = map_file(&file).map_err(|error| Error::io(error, path))?;
        let mapped = bytes.len() as u64;
        Ok((bytes, MapGuard { file, mapped }))
    }

    /// An error if the file is shorter than what is mapped. That leaves only a
    /// short time in which a read behind the new end would end the process.
    fn check(&self, path: &Path) -> Result<(), Error> {
        let found = self.file.metadata();
        let now = found.map_err(|error| Error::io(error, path))?.len();
        if now < self.mapped {
            let mapped = self.mapped;
            return Err(Error::new(ErrorKind::FileShrank { mapped, now }).in_file(path));
        }
        Ok(())
    }
}

/// The blocks of a file in any order: those before the first damaged one.
pub(crate) struct IndexedBlocks {
    path: PathBuf,
    index: BlockIndex,
    damage: Option<Error>,
    bytes: IndexedBytes,
}

enum IndexedBytes {
    Mapped(Bytes, MapGuard),
    File(File),
}

impl IndexedBlocks {
    /// Opens the file and indexes its blocks, which inflates none. An index of
    /// a large file takes a while: `stopped` ends it early, with an error.
    pub(crate) fn open(
        path: &Path,
        options: ReadOptions,
        stopped: impl Fn() -> bool,
    ) -> Result<Self, Error> {
        let mut file = File::open(path).map_err(|error| Error::io(error, path))?;
        let (index, bytes) = if options.mmap {
            let (bytes, guard) = MapGuard::map(file, path)?;
            guard.check(path)?;
            let reader = Stoppable {
                reader: Cursor::new(&bytes),
                stopped,
            };
            let index = BlockIndex::before_damage(reader, Limits::default());
            (index, IndexedBytes::Mapped(bytes, guard))
        } else {
            let reader = Stoppable {
                reader: &mut file,
                stopped,
            };
            let index = BlockIndex::before_damage(reader, Limits::default());
            (index, IndexedBytes::File(file))
        };
        let container = |error| Error::container(error, path);
        let (index, damage) = index.map_err(container)?;
        Ok(IndexedBlocks {
            path: path.to_owned(),
            index,
            damage: damage.map(container),
            bytes,
        })
    }

    /// What is wrong with the first block that is not among these.
    pub(crate) fn damage(&mut self) -> Option<Error> {
        self.damage.take()
    }

    pub(crate) fn header(&self) -> &Header {
        &self.index.header
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// Reads block `i`.
    pub(crate) fn block(&mut self, i: usize) -> Result<Block, Error> {
        let entry = self.index.entries[i];
        let container = |error| Error::container(error, &self.path);
        let (header, index) = (&self.index.header, i as u64);
        match &mut self.bytes {
            IndexedBytes::Mapped(bytes, guard) => {
                guard.check(&self.path)?;
                block_at(bytes, header, entry.offset, index).map_err(container)
            }
            IndexedBytes::File(file) => read_range(file, entry)
                .map_err(|error| avro_block::Error::new(error, entry.offset, Some(index)))
                .and_then(|bytes| framed(bytes, header, entry, index))
                .map_err(container),
        }
    }
}

/// A reader that fails once it is told to stop.
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

fn read_range(file: &mut File, entry: IndexEntry) -> io::Result<Bytes> {
    file.seek(SeekFrom::Start(entry.offset))?;
    // The index has seen this many bytes, so they are no made-up size.
    let mut bytes = BytesMut::zeroed(entry.len as usize);
    file.read_exact(&mut bytes)?;
    Ok(bytes.freeze())
}

/// The block that is all of `bytes`.
fn framed(
    bytes: Bytes,
    header: &Header,
    entry: IndexEntry,
    index: u64,
) -> Result<Block, avro_block::Error> {
    let source = BytesSource::new(bytes);
    let header = header.clone();
    let mut blocks = Blocks::at_block(source, header, entry.offset, index, Limits::default());
    blocks.next().unwrap_or_else(|| {
        // Only a file that has changed since it was indexed has no block there.
        let error = io::Error::from(io::ErrorKind::UnexpectedEof);
        Err(avro_block::Error::new(error, entry.offset, Some(index)))
    })
}
