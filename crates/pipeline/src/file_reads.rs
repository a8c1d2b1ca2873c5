//! How a worker reads payloads that nobody has read: those that it decodes next, so that they are in its cache.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use atds_format::{Arena, ByteSource, Completion, Payloads};
use bytes::{Bytes, BytesMut};

use crate::block::{Block, Parts};
use crate::flow::Denied;
use crate::memory::Lease;
use crate::ops::FileRead;
use crate::read_pool::ReadPool;
use crate::sync::Instant;
use crate::worker::Worker;
use crate::{Error, delays};

/// What workers read the payloads of a file with.
#[derive(Debug)]
pub(crate) struct FileReads {
    pub(crate) source: Arc<dyn ByteSource>,
    pub(crate) pool: Arc<ReadPool>,
    /// Finds the payloads in the bytes of blocks; `None` if these are the payloads, and decoding finds whether
    /// they are those of the blocks.
    pub(crate) payloads: Option<Arc<dyn Payloads>>,
}

impl Worker {
    /// The payloads of blocks. Those that nobody has read are read now: several at once if they follow one another.
    /// An error is that of a block that cannot be read.
    pub(crate) fn payloads(
        &mut self,
        blocks: &[&Block],
        is_alone: bool,
    ) -> Result<Result<Vec<Parts>, Error>, Denied> {
        let mut all = Vec::with_capacity(blocks.len());
        for run in blocks.chunk_by(|one, next| one.is_read_with(next)) {
            let (first, last) = (run[0], run[run.len() - 1]);
            let Some(reads) = first.unread() else {
                all.push(first.payload.parts());
                continue;
            };
            let start = Instant::now();
            let range = first.range().start..last.range().end;
            let bytes = self.read(reads, range.clone(), is_alone);
            self.other_time += start.elapsed();
            let bytes = match bytes? {
                Ok(bytes) => bytes,
                Err(error) => return Ok(Err(first.io_error(error))),
            };
            for block in run {
                let [from, to] =
                    [block.range().start, block.range().end].map(|at| (at - range.start) as usize);
                match block.find_payload(reads, bytes.slice(from..to)) {
                    Ok(parts) => all.push(parts),
                    Err(error) => return Ok(Err(error)),
                }
            }
        }
        Ok(Ok(all))
    }

    /// The bytes of a range, in a buffer that counts them.
    fn read(
        &mut self,
        reads: &FileReads,
        range: Range<u64>,
        is_alone: bool,
    ) -> Result<io::Result<Bytes>, Denied> {
        let len = (range.end - range.start) as usize;
        let first = match self.read_some(reads, range.clone(), is_alone)? {
            Ok(bytes) if bytes.len() < len => bytes,
            all => return Ok(all),
        };
        // A source may answer a part.
        let mut lease = Lease::none(&self.flow.memory);
        self.flow.grow(&mut lease, len as u64, is_alone)?;
        let (mut all, mut some) = (BytesMut::with_capacity(len), first);
        while !some.is_empty() {
            all.extend_from_slice(&some);
            let at = range.start + all.len() as u64;
            if at >= range.end {
                let bytes = all.freeze();
                return Ok(Ok(reads.pool.copy(&bytes, lease)));
            }
            drop(some);
            some = match self.read_some(reads, at..range.end, is_alone)? {
                Ok(bytes) => bytes,
                Err(error) => return Ok(Err(error)),
            };
        }
        Ok(Err(io::ErrorKind::UnexpectedEof.into()))
    }

    /// Some bytes from the start of a range on.
    fn read_some(
        &mut self,
        reads: &FileReads,
        range: Range<u64>,
        is_alone: bool,
    ) -> Result<io::Result<Bytes>, Denied> {
        // Ranges are of many lengths, and are to fit the buffers of other reads.
        let (len, of_others) = (
            (range.end - range.start) as usize,
            self.flow.options.read_size,
        );
        let len = match (of_others / 2..of_others).contains(&len) {
            true => of_others,
            false => Arena::rounded(len),
        };
        let mut lease = Lease::none(&self.flow.memory);
        let grown = self.flow.grow(&mut lease, len as u64, is_alone);
        grown.inspect_err(|_| self.missing = Some(len as u64))?;
        let (sender, answer) = sync_channel(1);
        let done = Completion::new(move |bytes| {
            let _ = sender.send(bytes);
        });
        let read = FileRead {
            source: reads.source.clone(),
            range,
            buffer: reads.pool.take(len, lease),
            done: done.cancelled_by(self.flow.cancel.clone()),
        };
        let _reading = self.flow.watch.begin(read.what());
        read.run();
        delays::hand_over();
        // The source has answered before it returned.
        let missing = |_| Err(io::Error::other("the source has not answered"));
        Ok(answer.try_recv().unwrap_or_else(missing))
    }
}
