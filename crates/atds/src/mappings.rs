//! Mapped files. They stay mapped between epochs, and are checked while they are read.

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

/// Number of bytes of a mapped file between two checks of its length.
const CHECK_BYTES: u64 = 256 << 10;

/// Number of bytes that a page fault adds to the page table, on systems that add more than a page.
const FAULT_AROUND: usize = 64 << 10;

/// Minimum distance in bytes between two remembered ends of blocks. The ends of smaller blocks are
/// found quickly, and would take too much memory.
const BETWEEN_ENDS: u64 = 4 << 10;

/// The files that a pipeline has mapped. Mapping and unmapping a file takes up to a third of the
/// time to read its records, mostly for the page table. So files that will be read again stay
/// mapped, up to `limit` bytes.
#[derive(Debug)]
pub(crate) struct Mappings {
    /// Maximum number of bytes that stay mapped.
    limit: u64,
    kept: HashMap<PathBuf, KeptFile>,
    kept_bytes: u64,
    /// Files that will not be read again. The reader unmaps them once the engine has dropped their
    /// blocks, so that the engine need not.
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

    /// Maps `file`, the current file at `path`. Keeps it mapped if it is to be `read_again`.
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

    /// Total size in bytes of all mapped files.
    pub(crate) fn bytes(&self) -> u64 {
        let passing = self.passing.iter().map(|mapping| mapping.len() as u64);
        self.kept_bytes + passing.sum::<u64>()
    }

    /// Removes and returns the kept mapping of the file at `path`.
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

/// The ends of a file's blocks when it was last read.
type KeptEnds = Arc<Mutex<Vec<u64>>>;

/// Identifies, together with its length, the file that was mapped from a path. Changed content
/// needs no check, since a mapping shows the current content.
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

    /// Files of other systems have no such numbers, and do not stay mapped.
    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Self {
        let (device, inode) = (0, 0);
        FileId { device, inode }
    }
}

/// A mapped file that another process may truncate.
pub(crate) struct MappedFile {
    file: File,
    mapping: Mapping,
    /// The offset at which the length is checked again.
    checked: u64,
    /// The ends of blocks, if the file stays mapped.
    ends: Option<Ends>,
}

impl MappedFile {
    pub(crate) fn bytes(&self) -> Bytes {
        self.mapping.bytes()
    }

    /// Checks that the file is not shorter than its mapping, before data from `offset` on is read.
    /// Between two checks, or in blocks that were framed before, a read after the new end of the
    /// file would end the process.
    pub(crate) fn check(&mut self, offset: u64, path: &Path) -> Result<(), Error> {
        if offset < self.checked {
            return Ok(());
        }
        self.checked = offset + CHECK_BYTES;
        self.check_now(path)
    }

    /// Like [`check`](Self::check), but checks the length every time.
    pub(crate) fn check_now(&self, path: &Path) -> Result<(), Error> {
        let found = self.file.metadata();
        let now = found.map_err(|error| Error::io(error, path))?.len();
        let mapped = self.mapping.len() as u64;
        if now < mapped {
            return Err(Error::new(ErrorKind::FileShrank { mapped, now }).in_file(path));
        }
        Ok(())
    }

    /// Notes that a block ends at `offset`, and prefetches the next ends of the last epoch.
    pub(crate) fn passed(&mut self, offset: u64) {
        if let Some(ends) = &mut self.ends {
            ends.passed(offset, self.mapping.as_ref());
        }
    }
}

/// The ends of a file's blocks. Framing reads only these places, and learns of the next end only
/// when it has read one. Each read waits for the page and the cache line, which takes as long as
/// all other work of the reader. So the ends of the last epoch are prefetched. If the blocks have
/// moved, prefetching has no effect.
struct Ends {
    /// The ends of the last epoch, in order.
    last: Vec<u64>,
    /// Numbers of ends in `last` that were passed, and that were prefetched.
    passed: usize,
    loaded: usize,
    /// The ends of this epoch so far.
    this: Vec<u64>,
    kept: KeptEnds,
}

impl Ends {
    fn new(kept: KeptEnds) -> Self {
        let last = mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
        Ends {
            // This epoch probably has as many ends.
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
            // A prefetch waits for the address of the page. The waits of several prefetches
            // overlap.
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
        // The file may not have been read to its end.
        let reached_last = this.last() >= last.last();
        let further = if reached_last { this } else { last };
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = further;
    }
}

/// Adds mapped bytes to the page table, so that reading them causes no page faults.
pub(crate) fn prefault(bytes: &[u8]) {
    // Framing has already read the ends of the block.
    let inner = bytes.iter().skip(FAULT_AROUND).step_by(FAULT_AROUND);
    inner.for_each(|byte| {
        black_box(*byte);
    });
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Maps a file of 50,000 bytes, and passes each of `ends`.
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

        // The file is read in part, and has other blocks than before.
        let file = read(&mut mappings, &path, &[2_000, 20_000]);
        let ends = file.ends.as_ref().expect("it is kept");
        assert_eq!((ends.passed, ends.loaded), (3, 17));
        drop(file);
        assert_eq!(remembered(&mappings), far);

        // The file is read to its end, and has fewer blocks.
        drop(read(&mut mappings, &path, &[40_000, 50_000]));
        assert_eq!(remembered(&mappings), [40_000, 50_000]);

        // All ends but one are passed, and no passed end is prefetched.
        let ends = Vec::from_iter((0..=10).map(|i| 5_000 * i));
        drop(read(&mut mappings, &path, &ends));
        let file = read(&mut mappings, &path, &[49_000]);
        let ends = file.ends.as_ref().expect("it is kept");
        assert_eq!((ends.passed, ends.loaded), (10, 18));
        drop(file);

        // A file with another length counts as another file.
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
