//! Files that are mapped. They stay mapped between epochs, and are checked while they are read.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use atds_format::{Access, ByteSource, Completion, Location, ReadBuffer};
use avro_block::Mapping;
use bytes::Bytes;

use super::once::{FileId, file_id};
use crate::ErrorKind;
use crate::lock::lock;

/// Number of bytes of a mapped file between two checks of its length.
const CHECK_BYTES: u64 = 256 << 10;

/// The files that a data set has mapped. Mapping and unmapping a file takes up to a third of the time
/// to read its records, mostly for the page table. So files stay mapped for the next epoch, up to
/// `limit` bytes.
#[derive(Debug)]
pub(crate) struct Mappings {
    limit: u64,
    kept: Mutex<Kept>,
    /// Size in bytes of all mapped files.
    bytes: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct Kept {
    files: HashMap<PathBuf, Arc<Mapped>>,
    bytes: u64,
}

/// A mapping, counted as long as it is used.
#[derive(Debug)]
struct Mapped {
    /// Together with the length, this identifies the file. Changed content needs no check, since a
    /// mapping shows the current content.
    id: FileId,
    mapping: Mapping,
    /// The size of all mapped files, which this is part of.
    total: Arc<AtomicU64>,
}

impl Mapped {
    fn len(&self) -> u64 {
        self.mapping.len() as u64
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        self.total.fetch_sub(self.len(), Relaxed);
    }
}

impl Mappings {
    pub(crate) fn new(limit: u64) -> Self {
        Mappings {
            limit,
            kept: Mutex::default(),
            bytes: Arc::default(),
        }
    }

    /// Size in bytes of all mapped files.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Maps `file`, the current file at `path`.
    fn map(&self, file: &File, path: &Path) -> io::Result<Arc<Mapped>> {
        let found = file.metadata()?;
        let id = file_id(path, &found);
        let mut kept = lock(&self.kept);
        match kept.files.get(path) {
            Some(kept) if kept.id == id && kept.len() == found.len() => return Ok(kept.clone()),
            _ => {}
        }
        let mapping = Mapping::new(file)?;
        self.bytes.fetch_add(mapping.len() as u64, Relaxed);
        let mapped = Arc::new(Mapped {
            id,
            mapping,
            total: self.bytes.clone(),
        });
        let before = kept.files.remove(path);
        kept.bytes -= before.map_or(0, |mapped| mapped.len());
        if cfg!(unix) && kept.bytes.saturating_add(mapped.len()) <= self.limit {
            kept.bytes += mapped.len();
            kept.files.insert(path.to_owned(), mapped.clone());
        }
        Ok(mapped)
    }
}

/// A mapped file that another process may truncate.
#[derive(Debug)]
pub(crate) struct MappedFile {
    location: Location,
    file: File,
    bytes: Bytes,
    mapped: Arc<Mapped>,
    /// The offset at which the length is checked again.
    checked: AtomicU64,
}

impl MappedFile {
    pub(crate) fn new(file: File, path: &Path, mappings: &Arc<Mappings>) -> io::Result<Self> {
        let mapped = mappings.map(&file, path)?;
        Ok(MappedFile {
            location: path.into(),
            file,
            bytes: mapped.mapping.bytes(),
            mapped,
            checked: AtomicU64::new(0),
        })
    }

    /// Checks that the file is not shorter than its mapping. Between two checks, or in blocks that
    /// were framed before, a read after the new end of the file would end the process.
    fn check_now(&self) -> io::Result<()> {
        let now = self.file.metadata()?.len();
        let before = self.mapped.len();
        if now < before {
            return Err(io::Error::other(ErrorKind::FileShrank { before, now }));
        }
        Ok(())
    }
}

impl ByteSource for MappedFile {
    fn location(&self) -> &Location {
        &self.location
    }

    fn size(&self) -> io::Result<Option<u64>> {
        Ok(Some(self.mapped.len()))
    }

    fn access(&self) -> Access {
        Access::Immediate
    }

    fn read(&self, range: Range<u64>, _: ReadBuffer, done: Completion) {
        let len = self.bytes.len() as u64;
        let slice = |()| {
            let [start, end] = [range.start, range.end].map(|at| at.min(len) as usize);
            self.bytes.slice(start..end)
        };
        done.complete(self.check_now().map(slice));
    }

    fn check(&self, offset: u64) -> io::Result<()> {
        if offset < self.checked.load(Relaxed) {
            return Ok(());
        }
        self.checked.store(offset + CHECK_BYTES, Relaxed);
        self.check_now()
    }
}
