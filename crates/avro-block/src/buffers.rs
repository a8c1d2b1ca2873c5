//! Buffers that files are read into, and that are reused.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};

/// Maximum number of buffers searched for one without users. Buffers become free in about the order
/// in which they were read, so the first is usually free.
const LOOKED_AT: usize = 8;

/// A pool of buffers for reading files. A buffer is reused once no slice of it is left, so steady
/// reading allocates nothing. Clones share the pool.
#[derive(Clone, Debug, Default)]
pub struct ReadBuffers(Arc<Mutex<VecDeque<Bytes>>>);

impl ReadBuffers {
    /// Reads the next `len` bytes of `reader`. All `len` bytes are allocated first, so `len` must
    /// be trusted, not taken from a file unchecked.
    ///
    /// # Errors
    ///
    /// The errors of the reader, and an error if the reader ends before `len` bytes.
    pub fn read_exact(&self, mut reader: impl Read, len: usize) -> io::Result<Bytes> {
        let mut room = self.take(len);
        reader.read_exact(&mut room[..len])?;
        let piece = room.split_to(len).freeze();
        self.give(&piece);
        Ok(piece)
    }

    /// A buffer of at least `size` bytes with arbitrary contents.
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
                // The buffer is dropped: it is too small for the next blocks too.
                Ok(_) => {}
                Err(used) => buffers.push_back(used),
            }
        }
        drop(buffers);
        BytesMut::zeroed(size)
    }

    /// Returns to the pool the buffer that `piece` is the front of. It is reused once all its
    /// slices are gone.
    pub(crate) fn give(&self, piece: &Bytes) {
        self.lock().push_back(piece.clone());
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Bytes>> {
        // No operation leaves the list half changed, so a panic elsewhere does no harm.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
