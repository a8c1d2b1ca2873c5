//! Where bytes come from: files that are read or mapped, and inputs that can be read only once.

mod local;
mod once;
pub(crate) mod stream;
pub(crate) mod unpack;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use atds_format::ByteSource;

use crate::lock::lock;
pub(crate) use local::{Mappings, read_full};
pub(crate) use once::{OnceInputs, OnceReader, Stop, file_id, open_input};
pub use unpack::Packing;

use local::LocalFile;
use stream::Stream;
use unpack::{HEAD, unpack};

/// The bytes of the file at `path`, for the pipeline. Nothing is read but the first bytes, which tell
/// whether the whole file is packed: then it is unpacked while it is read.
pub(crate) fn open(
    path: &Path,
    mappings: Option<&Arc<Mappings>>,
    inputs: &OnceInputs,
) -> io::Result<Arc<dyn ByteSource>> {
    if let Some(stream) = inputs.take(path)? {
        return Ok(stream);
    }
    let (file, packing) = open_local(path)?;
    inputs.packed.note(path, packing);
    Ok(match packing {
        Some(_) => Arc::new(Stream::new(path, &inputs.packed, &inputs.stop)),
        None => Arc::new(LocalFile::new(file, path, mappings)?),
    })
}

/// Opens a file in which any place can be read, unless the whole file is packed.
pub(crate) fn open_local(path: &Path) -> io::Result<(File, Option<Packing>)> {
    let (file, _) = open_input(path)?;
    let mut head = [0; HEAD];
    let len = read_full(&file, &mut head, 0)?;
    Ok((file, Packing::of_head(&head[..len])))
}

/// The files that are packed as a whole, among those that were opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct PackedFiles(Arc<Mutex<BTreeMap<PathBuf, Packing>>>);

impl PackedFiles {
    /// Registers the file at `path`, if it is packed.
    pub(crate) fn note(&self, path: &Path, packing: Option<Packing>) {
        if let Some(packing) = packing {
            lock(&self.0).insert(path.to_owned(), packing);
        }
    }

    /// The first of the files by name.
    pub(crate) fn first(&self) -> Option<(PathBuf, Packing)> {
        let first = |(path, packing): (&PathBuf, &Packing)| (path.clone(), *packing);
        lock(&self.0).first_key_value().map(first)
    }

    pub(crate) fn packing(&self, path: &Path) -> Option<Packing> {
        lock(&self.0).get(path).copied()
    }
}

/// Counts the bytes that are read.
struct CountedReader(OnceReader, Arc<AtomicU64>);

impl Read for CountedReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        self.1.fetch_add(read as u64, Relaxed);
        Ok(read)
    }
}

/// The bytes of a file from its start on, unpacked.
pub(crate) struct Reading {
    pub(crate) reader: Box<dyn Read + Send>,
    pub(crate) packing: Option<Packing>,
}

impl Reading {
    /// Opens the file at `path`. An input that can be read only once gives up at `stop`.
    pub(crate) fn open(path: &Path, stop: &Stop) -> io::Result<Self> {
        Self::open_counted(path, stop, &Arc::default())
    }

    /// As [`open`](Self::open). `read` counts the bytes of the file that are read, packed as they are.
    pub(crate) fn open_counted(
        path: &Path,
        stop: &Stop,
        read: &Arc<AtomicU64>,
    ) -> io::Result<Self> {
        let (file, _) = open_input(path)?;
        let reader = OnceReader::new(file, path, stop);
        let mut reader = CountedReader(reader, read.clone());
        let mut head = Vec::with_capacity(HEAD);
        reader.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
        let packing = Packing::of_head(&head);
        // A pipe cannot go back to its start.
        let reader = Cursor::new(head).chain(reader);
        Ok(Reading {
            reader: match packing {
                Some(packing) => unpack(packing, reader)?,
                None => Box::new(reader),
            },
            packing,
        })
    }
}
