//! How a worker reads the unread payloads that it decodes next, so that they are in its cache.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use atds_format::{Access, Arena, Completion, ListedBlock, ReadBuffer};
use bytes::{Bytes, BytesMut};
use smallvec::smallvec;

use crate::block::{Block, Parts};
use crate::flow::Denied;
use crate::memory::Lease;
use crate::ops::FileRead;
use crate::read_pool::FileReads;
use crate::sync::Instant;
use crate::worker::Worker;
use crate::{Error, delays};

impl Block {
    /// The number of `blocks` that are read together with this one: those at their front that follow it in the file, in
    /// `most` bytes at most.
    pub(crate) fn count_read_with<'b>(
        &self,
        blocks: impl Iterator<Item = &'b Block>,
        most: u64,
    ) -> usize {
        if self.unread().is_none() {
            return 0;
        }
        let mut end = self.range().end;
        let follows = |next: &&Block| {
            let is_next = next.unread().is_some()
                && Arc::ptr_eq(&self.file, &next.file)
                && next.range().start == end
                && next.range().end - self.range().start <= most;
            end += if is_next { next.file_bytes } else { 0 };
            is_next
        };
        blocks.take_while(follows).count()
    }

    /// The payload, in the bytes of the block.
    pub(crate) fn find_payload(&self, reads: &FileReads, bytes: Bytes) -> Result<Parts, Error> {
        if !reads.checks {
            return Ok(smallvec![bytes]);
        }
        let listed = ListedBlock {
            index: self.index,
            offset: self.range().start,
            file_bytes: self.file_bytes,
            records: self.records,
        };
        let found = self.file.payloads.find(&listed, vec![bytes]);
        found.map(Parts::from).map_err(|error| self.error(error))
    }

    /// The error of a read of the block.
    #[cold]
    pub(crate) fn io_error(&self, error: io::Error) -> Error {
        self.locate(Error::io(error, &self.file.location))
    }
}

impl Worker {
    /// The payloads of `blocks`. Unread payloads are read now, several at once if their blocks follow one another.
    /// The error is that of a block that cannot be read.
    pub(crate) fn payloads(
        &mut self,
        blocks: &[&Block],
        is_alone: bool,
    ) -> Result<Result<Vec<Parts>, Error>, Denied> {
        let mut all = Vec::with_capacity(blocks.len());
        let mut left = blocks;
        while let Some(first) = left.first() {
            let next = left[1..].iter().copied();
            let count = 1 + first.count_read_with(next, self.flow.options.read_size as u64);
            let (run, others) = left.split_at(count);
            left = others;
            let Some(reads) = first.unread() else {
                all.push(first.payload.parts());
                continue;
            };
            let last = run[count - 1];
            let start = Instant::now();
            let range = first.range().start..last.range().end;
            let bytes = self.read(reads, range.clone(), is_alone);
            self.other_time += start.elapsed();
            let bytes = match bytes? {
                Ok(bytes) => bytes,
                Err(error) => return Ok(Err(first.io_error(error))),
            };
            // The processor loads the ends of all blocks at once, where others begin: checks wait for one after another.
            let ends = run.iter().map(|block| block.range().end - range.start);
            let ends = ends.filter_map(|end| bytes.get((end as usize).wrapping_sub(1)));
            std::hint::black_box(ends.fold(0, |all, byte| all ^ byte));
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
        let (mut all, mut filled, mut some) = (reads.pool.take(len, lease), 0, first);
        while !some.is_empty() {
            let some_len = some.len().min(len - filled);
            all.space(len)[filled..filled + some_len].copy_from_slice(&some[..some_len]);
            filled += some_len;
            if filled == len {
                return Ok(Ok(all.freeze(len)));
            }
            drop(some);
            let rest = range.start + filled as u64..range.end;
            some = match self.read_some(reads, rest, is_alone)? {
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
        if reads.source.access() == Access::Immediate {
            let buffer = ReadBuffer::new(BytesMut::new(), None);
            return Ok(self.answer(reads, range, buffer));
        }
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
        self.flow.grow(&mut lease, len as u64, is_alone)?;
        Ok(self.answer(reads, range, reads.pool.take(len, lease)))
    }

    /// The answer to a read, by a source that answers before it returns.
    fn answer(
        &self,
        reads: &FileReads,
        range: Range<u64>,
        buffer: ReadBuffer,
    ) -> io::Result<Bytes> {
        let (sender, answer) = sync_channel(1);
        let done = Completion::new(move |bytes| {
            let _ = sender.send(bytes);
        });
        let read = FileRead {
            source: reads.source.clone(),
            range,
            buffer,
            done: done.cancelled_by(self.flow.cancel.clone()),
        };
        let _reading = self.flow.watch.begin(read.what());
        read.run();
        delays::hand_over();
        let missing = |_| Err(io::Error::other("the source has not answered"));
        answer.try_recv().unwrap_or_else(missing)
    }
}
