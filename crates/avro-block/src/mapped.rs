//! Mapping a file into memory.
#![allow(unsafe_code)] // `Mmap::map` is unsafe: see the comment at its only call.

use std::fs::File;
use std::io;

use bytes::Bytes;
use memmap2::Mmap;

/// Maps all of `file` into memory, read-only, to be framed in one piece without a copy.
///
/// The mapping lives as long as any slice of it, and needs the file open no longer. An empty file
/// gives no bytes.
///
/// # What mapping cannot promise
///
/// The file must not change while it is mapped. If another process writes to it, the bytes change
/// under the reader: checks made earlier may no longer hold, so that values may be wrong or
/// errors may come late. If it is cut short, reading past its new end raises `SIGBUS` on Unix,
/// which ends the process and cannot be turned into an error here. Where files may change, read
/// them plainly with [`BlockReader`](crate::BlockReader): a file that changes then gives errors
/// at worst, and never ends the process.
///
/// # Errors
///
/// Those of the operating system, for instance if `file` is a pipe.
pub fn map_file(file: &File) -> io::Result<Bytes> {
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the mapping is read-only, and `Bytes` owns it and unmaps it after its last slice.
    // What nobody can check from in here is that the file stays as it is: Rust expects the bytes
    // behind a `&[u8]` not to change, and another process may change them. That part of the
    // contract is passed on to the caller, in the text above.
    let map = unsafe { Mmap::map(file)? };
    Ok(Bytes::from_owner(map))
}
