//! The files of a pipeline, as the composing crate names them.

use std::fmt;
use std::io;
use std::sync::Arc;

use atds_format::{ByteSource, Format, Layout, Location};
use twox_hash::XxHash3_64;

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

    /// Where the blocks of file `file` are, if that is known of the file as it is now. Asked for where damage is an
    /// error, unless all payloads are read in file order by one thread, of a format that does not frame by it.
    fn layout(&self, _file: usize) -> Option<Layout> {
        None
    }

    /// Called with the numbers of records of all blocks of file `file` once they were framed, unless damage is
    /// left out.
    ///
    /// # Errors
    /// [`block_records`](Self::block_records) may have others.
    fn check_blocks(&self, _file: usize, _found: BlockCounts) -> io::Result<()> {
        Ok(())
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

/// The number of records of each block of a file, in file order, as a hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts(u64);

impl BlockCounts {
    /// Adds the next block, which has `records` records.
    pub(crate) fn add(&mut self, records: u64) {
        // So the order counts, and a block without records, too.
        let mut both = [0; 16];
        both[..8].copy_from_slice(&self.0.to_le_bytes());
        both[8..].copy_from_slice(&records.to_le_bytes());
        self.0 = XxHash3_64::oneshot(&both);
    }
}

impl FromIterator<u64> for BlockCounts {
    fn from_iter<I: IntoIterator<Item = u64>>(records: I) -> Self {
        let mut counts = BlockCounts::default();
        records.into_iter().for_each(|records| counts.add(records));
        counts
    }
}
