//! Mapped files: kept from epoch to epoch, and looked after while they are read.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::hint::black_box;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use avro_block::{Mapping, SyncMarker};
use avro_decode::prefetch_place;
use bytes::Bytes;

use crate::limits::FOUND_TOGETHER;
use crate::{Error, ErrorKind};

/// Bytes of a mapped file after which it is looked at again.
const CHECK_BYTES: u64 = 256 << 10;

/// Bytes that a fault brings into the page table, on the systems that bring in
/// more than a page.
const FAULT_AROUND: usize = 64 << 10;

/// Bytes between the ends of blocks that are remembered, at least: those of smaller
/// blocks are found without, and would take more memory than it is worth.
const BETWEEN_ENDS: u64 = 4 << 10;

/// The files that a pipeline has mapped. Mapping and unmapping a file costs as
/// much as a third of reading its records, most of it for the page table: files
/// that will be read again stay mapped, as far as `limit` allows.
#[derive(Debug)]
pub(crate) struct Mappings {
    /// The most bytes to keep mapped.
    limit: u64,
    kept: HashMap<PathBuf, KeptFile>,
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
        let is_same = |kept: &KeptFile| kept.id == id && kept.mapping.len() as u64 == found.len();
        let kept = match kept.filter(is_same) {
            Some(kept) => kept,
            None => KeptFile {
                id,
                mapping: Mapping::new(&file).map_err(io)?,
                ends: Arc::default(),
            },
        };
        let mapping = kept.mapping.clone();
        let bytes = mapping.len() as u64;
        let fits = self.kept_bytes.saturating_add(bytes) <= self.limit;
        let mut ends = None;
        if read_again && fits && cfg!(unix) {
            ends = Some(Ends::new(kept.ends.clone()));
            self.kept_bytes += bytes;
            self.kept.insert(path.to_owned(), kept);
        } else {
            self.passing.push(mapping.clone());
        }
        Ok(MappedFile {
            file,
            mapping,
            checked: 0,
            ends,
        })
    }

    /// Bytes of all files that are mapped.
    pub(crate) fn bytes(&self) -> u64 {
        let passing = self.passing.iter().map(|mapping| mapping.len() as u64);
        self.kept_bytes + passing.sum::<u64>()
    }

    /// What was kept of the file at `path`, which is not kept any more.
    fn take(&mut self, path: &Path) -> Option<KeptFile> {
        let kept = self.kept.remove(path)?;
        self.kept_bytes -= kept.mapping.len() as u64;
        Some(kept)
    }
}

/// A file that stays mapped.
#[derive(Debug)]
struct KeptFile {
    id: FileId,
    mapping: Mapping,
    ends: KeptEnds,
}

/// Where blocks of a file ended when it was read last.
type KeptEnds = Arc<Mutex<Vec<u64>>>;

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
    /// Of a file that is kept.
    ends: Option<Ends>,
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

    /// Notes that a block ends at `offset`, and has the processor load where the next ones
    /// ended last time.
    pub(crate) fn passed(&mut self, offset: u64) {
        if let Some(ends) = &mut self.ends {
            ends.passed(offset, self.mapping.as_ref());
        }
    }
}

/// The ends of a file's blocks. Framing reads nothing else, and only then knows the next:
/// for each it waits until the processor has found the page and loaded the line, as long
/// as all else takes that a reader does. Where they were last time tells beforehand; if
/// they are elsewhere by now, nothing is won.
struct Ends {
    /// Those of the last time, in order.
    last: Vec<u64>,
    /// Of these so many have been passed, and so many loaded.
    passed: usize,
    loaded: usize,
    /// Those of this time.
    this: Vec<u64>,
    kept: KeptEnds,
}

impl Ends {
    fn new(kept: KeptEnds) -> Self {
        let last = mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
        Ends {
            // There are likely to be as many.
            this: Vec::with_capacity(last.len()),
            last,
            passed: 0,
            loaded: 0,
            kept,
        }
    }

    fn passed(&mut self, end: u64, bytes: &[u8]) {
        let before = self.this.last();
        if before.is_none_or(|before| end.saturating_sub(*before) >= BETWEEN_ENDS) {
            self.this.push(end);
        }
        let is_passed = |last: &u64| *last <= end;
        while self.last.get(self.passed).is_some_and(is_passed) {
            self.passed += 1;
        }
        self.loaded = self.loaded.max(self.passed);
        if self.loaded < self.passed + FOUND_TOGETHER {
            // Looking up where a page is it waits, but not longer for some than for one.
            let next = self.last.iter().skip(self.loaded).take(FOUND_TOGETHER);
            for &end in next {
                let end = usize::try_from(end).unwrap_or(usize::MAX);
                prefetch_place(bytes, end.saturating_sub(SyncMarker::LEN));
                prefetch_place(bytes, end);
            }
            self.loaded += FOUND_TOGETHER;
        }
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        let [last, this] = [&mut self.last, &mut self.this].map(mem::take);
        // It may not have been read to its end.
        let reached_last = this.last() >= last.last();
        let further = if reached_last { this } else { last };
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = further;
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// A file of 50,000 bytes, read to where each of `ends` is.
    fn read(mappings: &mut Mappings, path: &Path, ends: &[u64]) -> MappedFile {
        let file = File::open(path).expect("it is there");
        let mut file = mappings.map(file, path, true).expect("it can be mapped");
        ends.iter().for_each(|&end| file.passed(end));
        file
    }

    #[test]
    fn the_ends_of_blocks_are_remembered_as_far_as_one_has_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, [7; 50_000]).expect("room");
        let mut mappings = Mappings::new(1 << 20);
        let remembered = |mappings: &Mappings| {
            let ends = mappings.kept[&path].ends.lock();
            ends.expect("no panic").clone()
        };

        let ends = [1_000, 5_096, 9_191, 9_192, 30_000, 49_999];
        drop(read(&mut mappings, &path, &ends));
        let far = [1_000, 5_096, 9_192, 30_000, 49_999];
        assert_eq!(remembered(&mappings), far);

        // In part, and with other blocks than before.
        let file = read(&mut mappings, &path, &[2_000, 20_000]);
        let ends = file.ends.as_ref().expect("it is kept");
        assert_eq!((ends.passed, ends.loaded), (3, 17));
        drop(file);
        assert_eq!(remembered(&mappings), far);

        // To the end, with fewer.
        drop(read(&mut mappings, &path, &[40_000, 50_000]));
        assert_eq!(remembered(&mappings), [40_000, 50_000]);

        // All but one are passed, and none that is passed is loaded.
        let ends = Vec::from_iter((0..=10).map(|i| 5_000 * i));
        drop(read(&mut mappings, &path, &ends));
        let file = read(&mut mappings, &path, &[49_000]);
        let ends = file.ends.as_ref().expect("it is kept");
        assert_eq!((ends.passed, ends.loaded), (10, 18));
        drop(file);

        // A file that has grown is another.
        std::fs::write(&path, [7; 50_001]).expect("room");
        drop(read(&mut mappings, &path, &[]));
        assert!(remembered(&mappings).is_empty());
    }

    #[test]
    fn nothing_is_remembered_of_a_file_that_is_not_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, [7; 50_000]).expect("room");
        let file = read(&mut Mappings::new(49_999), &path, &[10_000, 20_000]);
        assert!(file.ends.is_none());
    }
}
