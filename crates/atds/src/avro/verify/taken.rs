//! Takes blocks that are framed: counts those without damage, and lists those with it.

use avro_block::{Block, Frame, Framer, Header, Limits, SyncMarker, find_sync};
use bytes::Bytes;

use super::block::{BlockChecker, Wrong};
use super::scan::Sink;
use super::{Cause, Damage, Verified};
use crate::Error;
use crate::avro::file_blocks::{FileBlocks, in_file};
use crate::formats::avro::container;

/// Maximum nesting of blocks in blocks whose sizes are too large.
const MAX_NESTED: usize = 16;

/// A block that is taken, and what takes it.
pub(super) struct Taking<'t, 's> {
    pub(super) found: &'t mut Verified,
    pub(super) header: &'t Header,
    pub(super) blocks: &'t mut FileBlocks,
    pub(super) checker: &'t mut BlockChecker<'s>,
    pub(super) sink: &'t mut Sink<'t>,
}

impl Taking<'_, '_> {
    /// Takes a block that was framed. If it is damaged and has a sync marker inside, its size was
    /// changed so that it ends where a later block does: the blocks inside are taken too.
    pub(super) fn take(&mut self, block: Block) -> Result<(), Error> {
        let mut inside: Vec<Framer> = self.take_one(block, false)?.into_iter().collect();
        let mut open: Option<Damage> = None;
        while let Some(framer) = inside.last_mut() {
            match framer.next() {
                Ok(Frame::Block(block)) => {
                    let is_deep = inside.len() >= MAX_NESTED;
                    inside.extend(self.take_one(block, is_deep)?);
                }
                Ok(Frame::Skipped { offset, len }) => {
                    // The first part that is skipped is counted already.
                    if let Some(mut damage) = open.take() {
                        (damage.offset, damage.bytes) = (offset, len);
                        self.found.add(damage);
                    }
                }
                Ok(_) => {
                    inside.pop();
                    open.take()
                        .into_iter()
                        .for_each(|damage| self.found.add(damage));
                }
                Err(error) => {
                    framer.resync();
                    let (offset, path) = (error.offset, &self.found.path);
                    open = Some(Damage {
                        error: in_file(container(error), path, self.blocks.packing),
                        cause: Cause::Overwritten,
                        offset,
                        bytes: 0,
                        records: None,
                    });
                }
            }
        }
        Ok(())
    }

    /// Takes one block. Returns a framer after the first marker in a damaged one, unless `is_deep`.
    fn take_one(&mut self, block: Block, is_deep: bool) -> Result<Option<Framer>, Error> {
        match self.checker.check(block.count, &block.payload) {
            Ok(healthy) => {
                self.found.blocks += 1;
                self.found.records = self.found.records.saturating_add(block.count);
                self.found.decompressed_bytes += healthy.decompressed_bytes;
                self.found.tolerated.trailing_block_bytes += healthy.trailing_bytes;
                (self.sink)(self.header, &block)?;
                Ok(None)
            }
            Err(wrong) => {
                let marker = find_sync(&block.payload, &self.header.sync(), 0);
                match marker.filter(|_| !is_deep) {
                    Some(at) => Ok(Some(self.add_too_large(block, at, *wrong))),
                    None => {
                        self.add_damaged(block, *wrong);
                        Ok(None)
                    }
                }
            }
        }
    }

    #[cold]
    fn add_damaged(&mut self, block: Block, wrong: Wrong) {
        let can_hold = self
            .checker
            .can_hold(block.payload.len() as u64, block.count);
        let (offset, bytes, declared) = (block.offset, block.len, block.count);
        let records = match wrong.cause {
            Cause::WrongCount { found, .. } => Some(found),
            _ => can_hold.then_some(declared),
        };
        let cause = match wrong.cause {
            // They are counted from the start of the payload.
            Cause::ZeroFilled { offset, bytes } => Cause::ZeroFilled {
                offset: block.payload_offset() + offset,
                bytes,
            },
            cause => cause,
        };
        self.add(block, wrong.error, cause, (offset, bytes, records));
    }

    /// Adds a block whose payload ends at the marker at index `at`, and not where its size says. Returns
    /// a framer of the rest.
    #[cold]
    fn add_too_large(&mut self, block: Block, at: usize, wrong: Wrong) -> Framer {
        let is_whole = self.checker.is_whole(block.count, &block.payload[..at]);
        let (cause, records) = match is_whole {
            true => (
                Cause::WrongSize {
                    declared: block.payload.len() as u64,
                    found: at as u64,
                },
                Some(block.count),
            ),
            false => (Cause::Overwritten, None),
        };
        let (offset, start, index) = (block.offset, block.payload_offset(), block.index);
        let sync = self.header.sync();
        // The blocks were framed within the limits.
        let mut framer = Framer::at_block(sync, start, index, Limits::default());
        framer.push(block.payload.clone());
        framer.push(Bytes::copy_from_slice(&sync.0));
        framer.resync();
        let bytes = start - offset + (at + SyncMarker::LEN) as u64;
        self.add(block, wrong.error, cause, (offset, bytes, records));
        framer
    }

    fn add(
        &mut self,
        block: Block,
        error: atds_format::Error,
        cause: Cause,
        (offset, bytes, records): (u64, u64, Option<u64>),
    ) {
        self.blocks.block = Some(block);
        self.found.add(Damage {
            error: self.blocks.locate(error),
            cause,
            offset,
            bytes,
            records,
        });
        self.blocks.block = None;
    }
}
