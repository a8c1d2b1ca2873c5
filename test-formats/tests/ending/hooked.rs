//! A format and a source that call a hook wherever the pipeline calls them.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use atds_format::{
    Access, Blocks, ByteSource, Completion, Decoded, Decoder, Error, FileInfo, Format, Location,
    Match, Next, Payloads, Pos, PrepareJob, Prepared, ReadBuffer, Scratch, Tally, Upcoming,
};
use atds_pipeline::Files;
use bytes::Bytes;
use tensor_batch::RowSlots;

/// What the pipeline has a format or a source do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Open,
    Frame,
    Read,
    Prepare,
    Seek,
    /// Before the first row, and after the last.
    Decode,
    Decoded,
}

/// Is called before each call but [`Call::Decoded`].
#[derive(Clone)]
pub(crate) struct Hook(pub(crate) Arc<dyn Fn(Call) + Send + Sync>);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

/// Files of a format, with a hook.
#[derive(Debug)]
pub(crate) struct HookedFiles {
    pub(crate) sources: Vec<Arc<dyn ByteSource>>,
    pub(crate) format: Arc<dyn Format>,
    pub(crate) hook: Hook,
}

impl Files for HookedFiles {
    fn len(&self) -> usize {
        self.sources.len()
    }

    fn location(&self, file: usize) -> Location {
        self.sources[file].location().clone()
    }

    fn source(&self, file: usize) -> io::Result<Arc<dyn ByteSource>> {
        Ok(Arc::new(Hooked {
            inner: self.sources[file].clone(),
            hook: self.hook.clone(),
        }))
    }

    fn format(&self, _: usize) -> Arc<dyn Format> {
        Arc::new(Hooked {
            inner: self.format.clone(),
            hook: self.hook.clone(),
        })
    }
}

#[derive(Debug)]
struct Hooked<T> {
    inner: T,
    hook: Hook,
}

impl<T> Hooked<T> {
    fn call(&self, call: Call) {
        (self.hook.0)(call);
    }
}

impl ByteSource for Hooked<Arc<dyn ByteSource>> {
    fn location(&self) -> &Location {
        self.inner.location()
    }

    fn size(&self) -> io::Result<Option<u64>> {
        self.inner.size()
    }

    fn access(&self) -> Access {
        self.inner.access()
    }

    fn read(&self, range: Range<u64>, buffer: ReadBuffer, done: Completion) {
        self.call(Call::Read);
        self.inner.read(range, buffer, done);
    }
}

impl Format for Hooked<Arc<dyn Format>> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn sniff(&self, name: &str, head: &[u8]) -> Match {
        self.inner.sniff(name, head)
    }

    fn open(&self, file: &FileInfo<'_>) -> Result<Box<dyn Blocks>, Error> {
        self.call(Call::Open);
        Ok(Box::new(Hooked {
            inner: self.inner.open(file)?,
            hook: self.hook.clone(),
        }))
    }
}

impl Blocks for Hooked<Box<dyn Blocks>> {
    fn next(&mut self) -> Result<Next, Error> {
        self.call(Call::Frame);
        Ok(match self.inner.next()? {
            Next::Decoder(inner) => Next::Decoder(Arc::new(Hooked {
                inner,
                hook: self.hook.clone(),
            })),
            next => next,
        })
    }

    fn push(&mut self, at: u64, bytes: Bytes) {
        self.inner.push(at, bytes);
    }

    fn header_bytes(&self) -> u64 {
        self.inner.header_bytes()
    }

    fn payloads(&self) -> Arc<dyn Payloads> {
        self.inner.payloads()
    }
}

impl Decoder for Hooked<Arc<dyn Decoder>> {
    fn prepares(&self) -> bool {
        self.inner.prepares()
    }

    fn group(&self) -> usize {
        self.inner.group()
    }

    fn most_records(&self, payload_bytes: u64) -> u64 {
        self.inner.most_records(payload_bytes)
    }

    fn prepare(&self, jobs: &mut [PrepareJob<'_>], scratch: &mut Scratch) {
        self.call(Call::Prepare);
        self.inner.prepare(jobs, scratch);
    }

    fn seek(&self, block: &Prepared, from: Pos, record: u64) -> Result<Pos, Error> {
        self.call(Call::Seek);
        self.inner.seek(block, from, record)
    }

    fn decode(
        &self,
        block: &Prepared,
        at: Pos,
        records: u64,
        rows: &mut RowSlots<'_>,
        scratch: &mut Scratch,
        upcoming: Option<Upcoming<'_>>,
    ) -> Result<Decoded, Error> {
        self.call(Call::Decode);
        let decoded = self
            .inner
            .decode(block, at, records, rows, scratch, upcoming);
        self.call(Call::Decoded);
        decoded
    }

    fn finish(&self, block: &Prepared, at: Pos) -> Result<Tally, Error> {
        self.inner.finish(block, at)
    }
}
