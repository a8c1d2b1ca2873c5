//! Maps a file into memory.
#![allow(unsafe_code)] // `Mmap::map` is unsafe: see the comment at its only call.

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use memmap2::Mmap;

/// A file mapped into memory, read-only, so that it can be framed in one piece without a copy.
///
/// The mapping lives as long as this value, its clones and any slice of its [`bytes`](Self::bytes).
/// The file itself may be closed.
///
/// # What mapping cannot promise
///
/// The file must not change while it is mapped. If another process writes to it, the bytes change
/// under the reader. Checks made earlier may then no longer hold: values may be wrong, and errors
/// may come late. If the file is cut short, reading past its new end raises `SIGBUS` on Unix, which
/// ends the process and cannot become an error here. If files may change, read them with
/// [`BlockReader`](crate::BlockReader): a changing file then gives errors at worst, and never ends
/// the process.
#[derive(Clone, Debug)]
pub struct Mapping(Option<Arc<Mmap>>);

impl Mapping {
    /// Maps all of `file`. An empty file gives no bytes.
    ///
    /// # Errors
    ///
    /// The errors of the operating system, for instance if `file` is a pipe.
    pub fn new(file: &File) -> io::Result<Self> {
        if file.metadata()?.len() == 0 {
            return Ok(Mapping(None));
        }
        // SAFETY: the mapping is read-only. `Mapping` and the `Bytes` made of it own it, and unmap
        // it after the last of them is dropped. One condition cannot be checked here: the file must
        // not change. Rust expects the bytes of a `&[u8]` to stay the same, and another process may
        // change them. The documentation above passes this part of the contract on to the caller.
        let map = unsafe { Mmap::map(file)? };
        Ok(Mapping(Some(Arc::new(map))))
    }

    /// All of the file.
    pub fn bytes(&self) -> Bytes {
        let map = self.0.as_ref();
        map.map_or_else(Bytes::new, |map| Bytes::from_owner(Owner(map.clone())))
    }

    /// Bytes of the file.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |map| map.len())
    }

    /// Whether the file is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

/// All of the file.
impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |map| map)
    }
}

/// An owner that keeps a mapping alive as long as its bytes.
struct Owner(Arc<Mmap>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The bytes of a [`Mapping`] of all of `file`.
///
/// # Errors
///
/// As [`Mapping::new`].
pub fn map_file(file: &File) -> io::Result<Bytes> {
    Ok(Mapping::new(file)?.bytes())
}
