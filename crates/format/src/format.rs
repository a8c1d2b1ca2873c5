use std::fmt;

use crate::{Blocks, Error, Layout, Location};

/// A format of files, with what is asked for: a value of it reads the files of one data set.
pub trait Format: Send + Sync + fmt::Debug {
    /// The name of the format, as in messages and in the option `format`.
    fn name(&self) -> &'static str;

    /// Whether a file of this `name` that begins with `head` is of the format. `head` has up to
    /// 4 KiB, fewer if the file is shorter.
    fn sniff(&self, name: &str, head: &[u8]) -> Match;

    /// The framing of a file, before any of its bytes are read. Called by the framing thread when
    /// the file's turn comes, and must not block.
    ///
    /// # Errors
    /// The file cannot be of the format, for instance by its length.
    fn open(&self, file: &FileInfo<'_>) -> Result<Box<dyn Blocks>, Error>;

    /// Whether a [`Layout`] spares the framing work where all payloads are read in file order, too. If the payload of
    /// a block is not the block's, decoding its records or [`Decoder::finish`](crate::Decoder::finish) has to find it:
    /// [`Payloads::find`](crate::Payloads::find) is not called then, and all bytes of a block have to be its payload.
    fn frames_by_layout(&self) -> bool {
        false
    }
}

/// How well a file fits a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Match {
    /// It is of another format.
    No,
    /// Its name ends as names of the format do.
    Name,
    /// Its first bytes are the format's.
    Content,
}

/// A file that is to be framed.
#[derive(Clone, Copy, Debug)]
pub struct FileInfo<'a> {
    /// Where the file is.
    pub location: &'a Location,
    /// The size in bytes, if it is known before the file is read.
    pub size: Option<u64>,
    /// Whether the payloads of all blocks are read in file order. If not, the pipeline first asks
    /// for a list of the blocks, and reads payloads by it: some of them, or all where `layout` makes the list.
    pub payloads: bool,
    /// Where the blocks are, if that is known, and `payloads` is false or [`Format::frames_by_layout`] is true. A
    /// format may list them by it instead of finding them, if it checks in
    /// [`Payloads::find`](crate::Payloads::find) that a payload is the block's.
    pub layout: Option<&'a Layout>,
}
