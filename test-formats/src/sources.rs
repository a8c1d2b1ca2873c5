//! Sources for tests: one that is in memory, and one that answers late.

use std::collections::BinaryHeap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use atds_format::{Access, ByteSource, Completion, Location, ReadBuffer};
use bytes::Bytes;

/// A file for tests: where it is, and how an epoch opens it.
pub struct TestFile {
    location: Location,
    open: Box<dyn Fn() -> io::Result<Arc<dyn ByteSource>> + Send + Sync>,
}

impl TestFile {
    /// A file that `open` opens, once for each epoch.
    pub fn new(
        location: Location,
        open: impl Fn() -> io::Result<Arc<dyn ByteSource>> + Send + Sync + 'static,
    ) -> Self {
        TestFile {
            location,
            open: Box::new(open),
        }
    }

    pub(crate) fn location(&self) -> &Location {
        &self.location
    }

    pub(crate) fn open(&self) -> io::Result<Arc<dyn ByteSource>> {
        (self.open)()
    }
}

/// All epochs read the one source.
impl<S: ByteSource + 'static> From<S> for TestFile {
    fn from(source: S) -> Self {
        let source = Arc::new(source);
        TestFile::new(source.location().clone(), move || Ok(source.clone()))
    }
}

impl fmt::Debug for TestFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TestFile").field(&self.location).finish()
    }
}

/// A file that is in memory, and answers at once.
#[derive(Clone, Debug)]
pub struct InMemory {
    location: Location,
    bytes: Bytes,
    access: Access,
    has_size: bool,
    /// The most bytes of an answer.
    piece: usize,
    /// A read that begins in this range fails, and answers end before it.
    failing: Range<u64>,
}

impl InMemory {
    /// A file of this name.
    pub fn new(name: &str, bytes: impl Into<Bytes>) -> Self {
        InMemory {
            location: Location::Url(format!("memory:///{name}")),
            bytes: bytes.into(),
            access: Access::Immediate,
            has_size: true,
            piece: usize::MAX,
            failing: 0..0,
        }
    }

    /// The same as a file whose reads wait.
    #[must_use]
    pub fn as_blocking(mut self) -> Self {
        self.access = Access::Blocking;
        self
    }

    /// The same with answers of `piece` bytes at most, and without answers to reads that begin in `failing`.
    #[must_use]
    pub fn in_pieces(mut self, piece: usize, failing: Range<u64>) -> Self {
        (self.piece, self.failing) = (piece, failing);
        self
    }

    /// The same as an input whose size is not known, and whose reads wait.
    #[must_use]
    pub fn as_stream(mut self) -> Self {
        self.access = Access::Blocking;
        self.has_size = false;
        self
    }
}

impl ByteSource for InMemory {
    fn location(&self) -> &Location {
        &self.location
    }

    fn size(&self) -> io::Result<Option<u64>> {
        Ok(self.has_size.then_some(self.bytes.len() as u64))
    }

    fn access(&self) -> Access {
        self.access
    }

    fn will_need(&self, _: Range<u64>) -> bool {
        self.access == Access::Blocking
    }

    fn read(&self, range: Range<u64>, mut buffer: ReadBuffer, done: Completion) {
        if self.failing.contains(&range.start) {
            drop(buffer);
            return done.complete(Err(no_answer()));
        }
        let mut answer = slice(&self.bytes, &range);
        if range.start < self.failing.start {
            answer.truncate((self.failing.start - range.start) as usize);
        }
        answer.truncate(self.piece);
        if self.access == Access::Immediate {
            return done.complete(Ok(answer));
        }
        buffer.space(answer.len()).copy_from_slice(&answer);
        done.complete(Ok(buffer.freeze(answer.len())));
    }
}

fn no_answer() -> io::Error {
    io::Error::other("the store does not answer")
}

/// The bytes of `range`, as far as there are any.
pub(crate) fn slice(bytes: &Bytes, range: &Range<u64>) -> Bytes {
    let at = |offset: u64| usize::try_from(offset).map_or(bytes.len(), |at| at.min(bytes.len()));
    let (start, end) = (at(range.start), at(range.end));
    bytes.slice(start..end.max(start))
}

/// How a [`Late`] source answers.
#[derive(Clone, Debug)]
pub struct LateOptions {
    /// Fixes delays and lengths.
    pub seed: u64,
    /// The longest time that an answer takes. Answers come in another order than the reads.
    pub delay: Duration,
    /// The most bytes of an answer.
    pub piece: usize,
    /// A read that begins in this range of the file fails, and answers end before it.
    pub failing: Range<u64>,
    /// Whether the answer lies in the buffer that the pipeline gave.
    pub uses_buffer: bool,
}

impl Default for LateOptions {
    fn default() -> Self {
        LateOptions {
            seed: 1,
            delay: Duration::from_millis(1),
            piece: usize::MAX,
            failing: 0..0,
            uses_buffer: true,
        }
    }
}

/// A file that answers late, from a thread of its own, in another order than it was asked, with
/// fewer bytes than it was asked for, and with errors where it is told to fail.
#[derive(Debug)]
pub struct Late {
    inner: InMemory,
    options: LateOptions,
    reads: Sender<Read>,
}

#[derive(Debug)]
struct Read {
    range: Range<u64>,
    buffer: ReadBuffer,
    done: Completion,
}

impl Late {
    /// A file of this name.
    pub fn new(name: &str, bytes: impl Into<Bytes>, options: LateOptions) -> Self {
        let (reads, received) = channel();
        let late = Late {
            inner: InMemory::new(name, bytes),
            options,
            reads,
        };
        let answering = Answering {
            bytes: late.inner.bytes.clone(),
            options: late.options.clone(),
            random: late.options.seed,
        };
        thread::spawn(move || answering.run(&received));
        late
    }
}

impl ByteSource for Late {
    fn location(&self) -> &Location {
        self.inner.location()
    }

    fn size(&self) -> io::Result<Option<u64>> {
        self.inner.size()
    }

    fn access(&self) -> Access {
        Access::Deferred
    }

    fn read(&self, range: Range<u64>, buffer: ReadBuffer, done: Completion) {
        let read = Read {
            range,
            buffer,
            done,
        };
        self.reads
            .send(read)
            .expect("the thread lives as long as the source");
    }
}

/// The thread that answers. It ends when the source was dropped and all reads are answered.
struct Answering {
    bytes: Bytes,
    options: LateOptions,
    random: u64,
}

impl Answering {
    fn run(mut self, received: &Receiver<Read>) {
        let mut waiting: BinaryHeap<Waiting> = BinaryHeap::new();
        let mut is_open = true;
        while is_open || !waiting.is_empty() {
            let until = waiting.peek().map(|next| next.due);
            let timeout = until.map_or(Duration::MAX, |due| {
                due.saturating_duration_since(Instant::now())
            });
            let next = if is_open {
                receive(received, timeout)
            } else {
                thread::sleep(timeout);
                Err(RecvTimeoutError::Timeout)
            };
            match next {
                Ok(read) => {
                    let delay = self
                        .options
                        .delay
                        .mul_f64(self.next_random() as f64 / 1000.0);
                    let due = Instant::now() + delay;
                    waiting.push(Waiting { due, read });
                }
                Err(RecvTimeoutError::Disconnected) => is_open = false,
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(Waiting { read, .. }) = waiting.pop() {
                        self.answer(read);
                    }
                }
            }
        }
    }

    fn answer(&mut self, read: Read) {
        let Read {
            range,
            mut buffer,
            done,
        } = read;
        if self.options.failing.contains(&range.start) {
            drop(buffer);
            return done.complete(Err(no_answer()));
        }
        let all = slice(&self.bytes, &range);
        let until_failing = self.options.failing.start.saturating_sub(range.start);
        let all = match self.options.failing.is_empty() || until_failing == 0 {
            true => all,
            false => slice(&all, &(0..until_failing)),
        };
        let most = self.options.piece.min(all.len());
        // Not empty, which would say that the file ends.
        let len = (most * self.next_random() as usize / 1000).clamp(most.min(1), most);
        let answer = all.slice(..len);
        if !self.options.uses_buffer {
            // Its memory may be what the next read lacks.
            drop(buffer);
            return done.complete(Ok(answer));
        }
        buffer.space(len).copy_from_slice(&answer);
        done.complete(Ok(buffer.freeze(len)));
    }

    /// A number from 0 to 1000.
    fn next_random(&mut self) -> u64 {
        // Knuth's constants for a linear congruential generator.
        let next = self.random.wrapping_mul(6_364_136_223_846_793_005);
        self.random = next.wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % 1001
    }
}

fn receive(received: &Receiver<Read>, timeout: Duration) -> Result<Read, RecvTimeoutError> {
    if timeout == Duration::MAX {
        return received.recv().map_err(|_| RecvTimeoutError::Disconnected);
    }
    received.recv_timeout(timeout)
}

/// A read, in the order of its answers: the earliest is the greatest.
struct Waiting {
    due: Instant,
    read: Read,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.due.cmp(&self.due)
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.due == other.due
    }
}

impl Eq for Waiting {}
