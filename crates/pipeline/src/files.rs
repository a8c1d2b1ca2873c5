//! The files of a pipeline, as the composing crate names them.

use std::fmt;
use std::io;
use std::sync::Arc;

use atds_format::{ByteSource, Format, Layout, Location};

/// The files of a data set, in the order in which an unshuffled epoch reads them.
pub trait Files: Send + Sync + fmt::Debug {
    /// Number of files.
    fn len(&self) -> usize;

    /// Whether there are no files.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where file `file` is.
    fn location(&self, file: usize) -> Location;

    /// The bytes of file `file`. Called by the planning thread when the file's turn comes, or to
    /// frame it for its record counts.
    ///
    /// # Errors
    /// The file cannot be read, or not again.
    fn source(&self, file: usize) -> io::Result<Arc<dyn ByteSource>>;

    /// The format of file `file`.
    fn format(&self, file: usize) -> Arc<dyn Format>;

    /// Number of records of each block of file `file`, in file order and of the split that is read, if that
    /// is known. An iteration that
    /// goes on after some batches needs them; otherwise it frames the file for them.
    fn block_records(&self, _file: usize) -> Option<Arc<[u64]>> {
        None
    }

    /// Where the blocks of file `file` are, if that is known of the file as it is now. Asked for where not all
    /// payloads are read in file order, and damage is an error.
    fn layout(&self, _file: usize) -> Option<Layout> {
        None
    }

    /// A number that is another once file `file` has changed; `None` if that is not known, so that an
    /// iteration frames the file although one before has.
    fn version(&self, _file: usize) -> Option<u64> {
        None
    }

    /// Number of bytes that the sources have mapped now.
    fn mapped_bytes(&self) -> u64 {
        0
    }

    /// Called when bytes after the last block of file `file` were left out.
    fn left_out(&self, _file: usize, _trailing_bytes: u64) {}
}
