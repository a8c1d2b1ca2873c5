//! Files that are read.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use atds_format::{Access, ByteSource, Completion, Location, ReadBuffer};

use crate::ErrorKind;

/// A file of the local file system.
#[derive(Debug)]
pub(crate) struct LocalFile {
    location: Location,
    file: File,
    size: u64,
}

impl LocalFile {
    pub(crate) fn new(file: File, path: &Path) -> io::Result<Self> {
        Ok(LocalFile {
            location: path.into(),
            size: file.metadata()?.len(),
            file,
        })
    }

    fn read_some(&self, range: &Range<u64>, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match read_at(&self.file, buffer, range.start) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) if !buffer.is_empty() => return Err(self.shrank()),
                read => return read,
            }
        }
    }

    /// The error of a file that ends before it should.
    #[cold]
    fn shrank(&self) -> io::Error {
        match self.file.metadata() {
            Ok(found) => io::Error::other(ErrorKind::FileShrank {
                before: self.size,
                now: found.len().min(self.size),
            }),
            Err(error) => error,
        }
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
        Access::Blocking
    }

    fn read(&self, range: Range<u64>, mut buffer: ReadBuffer, done: Completion) {
        let end = range.end.min(self.size);
        let len = end.saturating_sub(range.start) as usize;
        let read = self.read_some(&range, buffer.space(len));
        done.complete(read.map(|len| buffer.freeze(len)));
    }
}

/// Reads from `offset` on; the answer may be short.
#[cfg(unix)]
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

/// Reads from `offset` on; the answer may be short.
#[cfg(windows)]
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}
