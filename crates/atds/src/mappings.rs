//! Mapped files: kept from epoch to epoch, and looked after while they are read.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::hint::black_box;
use std::path::{Path, PathBuf};

use avro_block::Mapping;
use bytes::Bytes;

use crate::{Error, ErrorKind};

/// Bytes of a mapped file after which it is looked at again.
const CHECK_BYTES: u64 = 256 << 10;

/// Bytes that a fault brings into the page table, on the systems that bring in
/// more than a page.
const FAULT_AROUND: usize = 64 << 10;

/// The files that a pipeline has mapped. Mapping and unmapping a file costs as
/// much as a third of reading its records, most of it for the page table: files
/// that will be read again stay mapped, as far as `limit` allows.
#[derive(Debug)]
pub(crate) struct Mappings {
    /// The most bytes to keep mapped.
    limit: u64,
    kept: HashMap<PathBuf, (FileId, Mapping)>,
    kept_bytes: u64,
    /// Files that will not be read again. They are unmapped here, once the
    /// engine is through with their blocks, rather than by the engine.
    passing: Vec<Mapping>,
}

impl Mappings {
    pub(crate) fn new(limit: u64) -> Self {
        Mappings {
            limit,
            kept: HashMap::new(),
            kept_bytes: 0,
            passing: Vec::new(),
        }
    }

    /// Maps `file`, which is the one at `path` now, and keeps it mapped if it is
    /// to be `read_again`.
    pub(crate) fn map(
        &mut self,
        file: File,
        path: &Path,
        read_again: bool,
    ) -> Result<MappedFile, Error> {
        self.passing.retain(|mapping| !mapping.is_unique());
        let io = |error| Error::io(error, path);
        let found = file.metadata().map_err(io)?;
        let id = FileId::of(&found);
        let kept = self.take(path);
        let mapping = match kept {
            Some((kept, mapping)) if kept == id && mapping.len() as u64 == found.len() => mapping,
            _ => Mapping::new(&file).map_err(io)?,
        };
        let bytes = mapping.len() as u64;
        let fits = self.kept_bytes.saturating_add(bytes) <= self.limit;
        if read_again && fits && cfg!(unix) {
            self.kept_bytes += bytes;
            let entry = (id, mapping.clone());
            self.kept.insert(path.to_owned(), entry);
        } else {
            self.passing.push(mapping.clone());
        }
        Ok(MappedFile {
            file,
            mapping,
            checked: 0,
        })
    }

    /// Bytes of all files that are mapped.
    pub(crate) fn bytes(&self) -> u64 {
        let passing = self.passing.iter().map(|mapping| mapping.len() as u64);
        self.kept_bytes + passing.sum::<u64>()
    }

    /// What was kept of the file at `path`, which is not kept any more.
    fn take(&mut self, path: &Path) -> Option<(FileId, Mapping)> {
        let (id, mapping) = self.kept.remove(path)?;
        self.kept_bytes -= mapping.len() as u64;
        Some((id, mapping))
    }
}

/// What tells, with its length, whether the file at a path is still the one that
/// was mapped there. Changes within it need no telling: a mapping shows the file
/// as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    #[cfg(unix)]
    fn of(found: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let (device, inode) = (found.dev(), found.ino());
        FileId { device, inode }
    }

    /// Other systems' files have no such numbers, and are not kept.
    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Self {
        let (device, inode) = (0, 0);
        FileId { device, inode }
    }
}

/// A mapped file that others may cut short.
pub(crate) struct MappedFile {
    file: File,
    mapping: Mapping,
    /// How far it was read when it was looked at last, and some bytes more.
    checked: u64,
}

impl MappedFile {
    pub(crate) fn bytes(&self) -> Bytes {
        self.mapping.bytes()
    }

    /// An error if the file has become shorter than what is mapped, to be seen
    /// before what begins at `offset` is read. Between two checks, and for what
    /// has been framed, a read behind the new end would end the process.
    pub(crate) fn check(&mut self, offset: u64, path: &Path) -> Result<(), Error> {
        if offset < self.checked {
            return Ok(());
        }
        self.checked = offset + CHECK_BYTES;
        self.check_now(path)
    }

    /// The same whenever it was checked last.
    pub(crate) fn check_now(&self, path: &Path) -> Result<(), Error> {
        let found = self.file.metadata();
        let now = found.map_err(|error| Error::io(error, path))?.len();
        let mapped = self.mapping.len() as u64;
        if now < mapped {
            return Err(Error::new(ErrorKind::FileShrank { mapped, now }).in_file(path));
        }
        Ok(())
    }
}

/// Brings mapped bytes into the page table, so that whoever reads them is spared
/// the faults.
pub(crate) fn touch(bytes: &[u8]) {
    // What was read of a block to frame it has brought in its ends.
    let inner = bytes.iter().skip(FAULT_AROUND).step_by(FAULT_AROUND);
    inner.for_each(|byte| {
        black_box(*byte);
    });
}
