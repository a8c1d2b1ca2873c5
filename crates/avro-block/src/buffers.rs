//! Memory that files are read into, again and again.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};

/// How many buffers are looked at for one that nobody uses any more. They are let go in about the
/// order they were read in, so the first is usually one.
const LOOKED_AT: usize = 8;

/// Buffers that pieces of files were read into. Once no slice of one is left, it is read into
/// again: reading on and on then allocates nothing. Clones share the buffers.
#[derive(Clone, Debug, Default)]
pub struct ReadBuffers(Arc<Mutex<VecDeque<Bytes>>>);

impl ReadBuffers {
    /// Reads the next `len` bytes of `reader`. Memory is made for them at once, so `len` must not
    /// be what a file only claims.
    ///
    /// # Errors
    ///
    /// Those of the reader, and one if it ends before.
    pub fn read_exact(&self, mut reader: impl Read, len: usize) -> io::Result<Bytes> {
        let mut room = self.take(len);
        reader.read_exact(&mut room[..len])?;
        let piece = room.split_to(len).freeze();
        self.give(&piece);
        Ok(piece)
    }

    /// A buffer of `size` bytes or more, of whatever value.
    pub(crate) fn take(&self, size: usize) -> BytesMut {
        let mut buffers = self.lock();
        for _ in 0..buffers.len().min(LOOKED_AT) {
            let Some(buffer) = buffers.pop_front() else {
                break;
            };
            match buffer.try_into_mut() {
                Ok(mut unused) if unused.capacity() >= size => {
                    unused.resize(unused.capacity(), 0);
                    return unused;
                }
                // Too small now means too small for the blocks that come.
                Ok(_) => {}
                Err(used) => buffers.push_back(used),
            }
        }
        drop(buffers);
        BytesMut::zeroed(size)
    }

    /// Takes the buffer back that `piece` is the front of, once all slices of it are gone.
    pub(crate) fn give(&self, piece: &Bytes) {
        self.lock().push_back(piece.clone());
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Bytes>> {
        // The list is whole after a panic between its operations.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
