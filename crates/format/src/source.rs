use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::{Bytes, BytesMut};

use crate::Location;

/// A file's bytes, wherever they are: in a file that is read, in a mapping, in an object of a store.
///
/// # Contract
/// - A source opens its file when it is first needed, and closes it when it is dropped.
/// - The pipeline may have several reads under way, and reads may overlap.
/// - What a source cannot do is an [`io::Error`], which names neither the file nor the range: the
///   pipeline adds both.
pub trait ByteSource: Send + Sync + fmt::Debug {
    /// Where the file is.
    fn location(&self) -> &Location;

    /// The size in bytes; `None` for an input that can only be read from its start to its end.
    ///
    /// # Errors
    /// The file cannot be opened.
    fn size(&self) -> io::Result<Option<u64>>;

    /// How [`read`](Self::read) answers.
    fn access(&self) -> Access;

    /// Reads `range` and calls `done`, once, with its bytes.
    ///
    /// The answer may be shorter than the range; the pipeline then asks for the rest. An empty
    /// answer says that the file ends before the range. The bytes may be in `buffer`, or in memory
    /// of the source, which then drops `buffer` before it answers: the next read may lack its memory.
    /// `done` may be called from any thread, also before `read` returns; it does not
    /// block.
    fn read(&self, range: Range<u64>, buffer: ReadBuffer, done: Completion);

    /// Reads bytes from `offset` on into `buffer` before it returns. Returns their number, 0 at the end of the file,
    /// or `None` if the source answers only [`read`](Self::read), which is the default. The pipeline calls it for
    /// short ranges: a completion and a buffer of the pool would take longer than the read.
    ///
    /// # Errors
    /// The file cannot be read, or has become shorter.
    fn read_few(&self, _offset: u64, _buffer: &mut [u8]) -> Option<io::Result<usize>> {
        None
    }

    /// Has the system read `range` ahead, all of which is read soon: first short ranges of it, from which a system cannot
    /// tell that. Returns whether the source can; by default, it cannot.
    fn will_need(&self, _range: Range<u64>) -> bool {
        false
    }

    /// Called while a file is framed, before its bytes from `offset` on are used. Offsets ascend, unless runs
    /// of blocks are shuffled. A local file sees here whether it was truncated.
    ///
    /// # Errors
    /// The bytes cannot be used.
    fn check(&self, _offset: u64) -> io::Result<()> {
        Ok(())
    }
}

/// How a source answers a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// At once: the bytes are in memory, or mapped.
    Immediate,
    /// Before `read` returns, which waits for a disk or another program.
    Blocking,
    /// Later, from another thread. Several reads are under way at once.
    Deferred,
}

/// The answer to a read.
pub struct Completion {
    done: Box<dyn FnOnce(io::Result<Bytes>) + Send>,
    cancelled: Arc<AtomicBool>,
}

impl Completion {
    /// A completion that calls `done`.
    pub fn new(done: impl FnOnce(io::Result<Bytes>) + Send + 'static) -> Self {
        Completion {
            done: Box::new(done),
            cancelled: Arc::default(),
        }
    }

    /// Gives the flag that is true once nobody waits for the answer any more.
    #[must_use]
    pub fn cancelled_by(mut self, flag: Arc<AtomicBool>) -> Self {
        self.cancelled = flag;
        self
    }

    /// The flag that is true once nobody waits for the answer any more. A source that waits for another
    /// program looks at it now and then, and answers with an error once it is true.
    pub fn cancelled(&self) -> &Arc<AtomicBool> {
        &self.cancelled
    }

    /// Answers the read.
    pub fn complete(self, answer: io::Result<Bytes>) {
        (self.done)(answer);
    }
}

impl fmt::Debug for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Completion")
    }
}

/// Memory that a read may use, from a pool that counts it until the last slice of it is dropped.
pub struct ReadBuffer {
    memory: BytesMut,
    /// Of `memory`, when it was taken.
    capacity: usize,
    pool: Option<Arc<dyn BufferPool>>,
}

/// Takes the memory of read buffers back.
pub trait BufferPool: Send + Sync {
    /// Takes `memory` back, whose last slice was dropped. It had `capacity` bytes when it was taken.
    fn give_back(&self, memory: BytesMut, capacity: usize);
}

impl ReadBuffer {
    /// A buffer in `memory`, which returns to `pool`.
    pub fn new(memory: BytesMut, pool: Option<Arc<dyn BufferPool>>) -> Self {
        ReadBuffer {
            capacity: memory.capacity(),
            memory,
            pool,
        }
    }

    /// The memory for a read of `len` bytes. It has bytes of earlier reads, or zeros.
    pub fn space(&mut self, len: usize) -> &mut [u8] {
        if self.memory.len() < len {
            self.memory.resize(len, 0);
        }
        &mut self.memory[..len]
    }

    /// The first `len` bytes, shared.
    ///
    /// # Panics
    /// If `len` is more than the largest [`space`](Self::space).
    pub fn freeze(self, len: usize) -> Bytes {
        Bytes::from_owner(self).slice(..len)
    }
}

impl AsRef<[u8]> for ReadBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.memory
    }
}

impl Drop for ReadBuffer {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            pool.give_back(std::mem::take(&mut self.memory), self.capacity);
        }
    }
}

impl fmt::Debug for ReadBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadBuffer({} bytes)", self.memory.len())
    }
}
