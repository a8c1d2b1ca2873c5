//! Local files, read or mapped. Mapped files stay mapped between epochs, and are checked while they are
//! read.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use atds_format::{Access, ByteSource, Completion, Location, ReadBuffer};
use avro_block::map_file;
use bytes::Bytes;

use super::once::{FileId, file_id};
use crate::ErrorKind;
use crate::lock::lock;

/// Number of bytes of a mapped file between two checks of its length.
const CHECK_BYTES: u64 = 256 << 10;

/// A file of the local file system, which another process may truncate.
#[derive(Debug)]
pub(crate) struct LocalFile {
    location: Location,
    file: File,
    size: u64,
    /// Its bytes, if it is mapped.
    mapped: Option<Arc<Mapped>>,
    /// The offset at which the length of a mapped file is checked again.
    checked: AtomicU64,
}

impl LocalFile {
    /// The file at `path`, mapped if there are `mappings`.
    pub(crate) fn new(
        file: File,
        path: &Path,
        mappings: Option<&Arc<Mappings>>,
    ) -> io::Result<Self> {
        let mapped = mappings.map(|mappings| mappings.map(&file, path));
        let mapped = mapped.transpose()?;
        Ok(LocalFile {
            location: path.into(),
            size: match &mapped {
                Some(mapped) => mapped.len(),
                None => file.metadata()?.len(),
            },
            file,
            mapped,
            checked: AtomicU64::new(0),
        })
    }

    fn read_some(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match read_at(&self.file, buffer, offset)? {
            0 if !buffer.is_empty() => {
                let now = self.file.metadata()?.len();
                Err(self.shrank(now.min(self.size)))
            }
            read => Ok(read),
        }
    }

    /// Checks that the file is not shorter than its mapping. Between two checks, or in blocks that
    /// were framed before, a read after the new end of the file would end the process.
    fn check_now(&self) -> io::Result<()> {
        match self.file.metadata()?.len() {
            now if now < self.size => Err(self.shrank(now)),
            _ => Ok(()),
        }
    }

    #[cold]
    fn shrank(&self, now: u64) -> io::Error {
        let before = self.size;
        io::Error::other(ErrorKind::FileShrank { before, now })
    }
}

impl ByteSource for LocalFile {
    fn location(&self) -> &Location {
        &self.location
    }

    fn size(&self) -> io::Result<Option<u64>> {
        Ok(Some(self.size))
    }

    fn access(&self) -> Access {
        match self.mapped {
            Some(_) => Access::Immediate,
            None => Access::Blocking,
        }
    }

    fn read(&self, range: Range<u64>, mut buffer: ReadBuffer, done: Completion) {
        let [start, end] = [range.start, range.end].map(|at| at.min(self.size));
        done.complete(match &self.mapped {
            Some(mapped) => {
                let slice = |()| mapped.bytes.slice(start as usize..end as usize);
                self.check_now().map(slice)
            }
            None => {
                let read = self.read_some(start, buffer.space((end - start) as usize));
                read.map(|len| buffer.freeze(len))
            }
        });
    }

    fn read_few(&self, offset: u64, buffer: &mut [u8]) -> Option<io::Result<usize>> {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = buffer.len().min(left);
        let is_read = self.mapped.is_none();
        is_read.then(|| self.read_some(offset, &mut buffer[..len]))
    }

    #[cfg(target_os = "linux")]
    fn will_need(&self, range: Range<u64>) -> bool {
        use rustix::fs::{Advice, fadvise};

        let len = std::num::NonZeroU64::new(range.end.saturating_sub(range.start));
        self.mapped.is_none() && fadvise(&self.file, range.start, len, Advice::WillNeed).is_ok()
    }

    fn check(&self, offset: u64) -> io::Result<()> {
        let checked = self.checked.load(Relaxed);
        // Runs of blocks come in any order.
        if (checked.saturating_sub(CHECK_BYTES)..checked).contains(&offset) {
            return Ok(());
        }
        self.checked.store(offset + CHECK_BYTES, Relaxed);
        self.check_now()
    }
}

/// Fills a buffer from `offset` on. The answer is short only if the file is.
pub(crate) fn read_full(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match read_at(file, &mut buffer[filled..], offset + filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// Reads from `offset` on; the answer may be short. A read that a signal interrupts is done again.
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    loop {
        match read_once_at(file, buffer, offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

#[cfg(unix)]
fn read_once_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_once_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// The files that a data set has mapped. Mapping and unmapping a file takes up to a third of the time
/// to read its records, mostly for the page table. So files stay mapped for the next epoch, up to
/// `limit` bytes.
#[derive(Debug)]
pub(crate) struct Mappings {
    limit: u64,
    kept: Mutex<HashMap<PathBuf, Arc<Mapped>>>,
    /// Size in bytes of all mapped files.
    bytes: Arc<AtomicU64>,
}

/// A mapping, counted as long as it is used.
#[derive(Debug)]
struct Mapped {
    /// Together with the length, this identifies the file. Changed content needs no check, since a
    /// mapping shows the current content.
    id: FileId,
    bytes: Bytes,
    /// The size of all mapped files, which this is part of.
    total: Arc<AtomicU64>,
}

impl Mapped {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
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
        if let Some(mapped) = kept.get(path)
            && mapped.id == id
            && mapped.len() == found.len()
        {
            return Ok(mapped.clone());
        }
        kept.remove(path);
        let mapped = Arc::new(Mapped {
            id,
            bytes: map_file(file)?,
            total: self.bytes.clone(),
        });
        let total = self.bytes.fetch_add(mapped.len(), Relaxed) + mapped.len();
        if cfg!(unix) && total <= self.limit {
            kept.insert(path.to_owned(), mapped.clone());
        }
        Ok(mapped)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn few_bytes_are_those_of_the_file() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("file");
        fs::write(&path, "0123456789")?;
        let source = LocalFile::new(File::open(&path)?, &path, None)?;
        let mut buffer = [0; 4];
        assert_eq!(source.read_few(3, &mut buffer).transpose()?, Some(4));
        assert_eq!(&buffer, b"3456");
        assert_eq!(source.read_few(8, &mut buffer).transpose()?, Some(2));
        assert_eq!(&buffer, b"8956");
        assert_eq!(source.read_few(11, &mut buffer).transpose()?, Some(0));
        File::options().write(true).open(&path)?.set_len(5)?;
        assert_eq!(source.read_few(4, &mut buffer).transpose()?, Some(1));
        let error = source.read_few(5, &mut buffer).transpose();
        assert!(
            error.is_err_and(|error| error.to_string().contains("10")),
            "the file has become shorter"
        );
        let mappings = Arc::new(Mappings::new(1 << 20));
        let mapped = LocalFile::new(File::open(&path)?, &path, Some(&mappings))?;
        assert!(mapped.read_few(0, &mut buffer).is_none());
        Ok(())
    }
}
