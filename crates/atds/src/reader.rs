//! The reader thread: files in, blocks out. It frames, and decompresses nothing that has
//! records.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use atds_shuffle::{block_order, file_order};
use avro_block::{Block, DecompressBuffer, Decompressor, Header};
use avro_decode::Skipper;

use crate::block::{FileContext, WindowBlock};
use crate::budget::Budget;
use crate::kept::Kept;
use crate::once::{Claimed, Stop};
use crate::outlet::{Outlet, Over};
use crate::plans::{Plans, parse_schema};
use crate::slice::{FilePart, Slice, overlaps};
use crate::source::{FileBlocks, IndexedBlocks, Opener, no_shuffling};
use crate::spare::Spare;
use crate::stats::Counters;
use crate::tolerate::Tolerated;
use crate::{Error, ErrorKind};

/// What to read, and in which order.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) files: Arc<[PathBuf]>,
    pub(crate) seed: u64,
    pub(crate) shuffle_files: bool,
    pub(crate) shuffle_blocks: bool,
    /// What of it; `None` for all.
    pub(crate) slice: Option<Slice>,
}

pub(crate) struct Reader {
    pub(crate) order: Order,
    /// Inputs that can be read once.
    pub(crate) claimed: Claimed,
    pub(crate) stop: Stop,
    /// Whether the file is such an input. Its writer may be slow, so each block is handed over
    /// before the next one is waited for.
    pub(crate) is_live: bool,
    pub(crate) opener: Opener,
    pub(crate) kept: Arc<Kept>,
    pub(crate) epochs: std::ops::Range<u64>,
    pub(crate) plans: Arc<Plans>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) counters: Arc<Counters>,
    /// Where to copy blocks that will wait in the window for long, among many
    /// that were read with them and will not.
    pub(crate) detach: Option<Arc<Spare>>,
    /// For blocks that say they have no records.
    pub(crate) decompressor: Decompressor,
    pub(crate) decompressed: DecompressBuffer,
    pub(crate) outlet: Outlet,
}

impl Reader {
    /// Reads all epochs.
    pub(crate) fn run(mut self) {
        self.epochs();
        self.kept.keep_opener(self.opener);
    }

    fn epochs(&mut self) {
        for epoch in self.epochs.clone() {
            self.outlet.begin_epoch(epoch);
            let read = match self.epoch(epoch) {
                Err(None) => return,
                Err(Some(error)) => Err(error),
                Ok(()) => Ok(()),
            };
            let is_good = read.is_ok();
            if self.outlet.end_epoch(read).is_err() || !is_good {
                return;
            }
        }
    }

    /// Reads an epoch. The error is `None` if the engine is gone.
    fn epoch(&mut self, epoch: u64) -> Result<(), Option<Error>> {
        let files = self.order.files.clone();
        let order = if self.order.shuffle_files {
            file_order(self.order.seed, epoch, files.len())
        } else {
            (0..files.len()).collect()
        };
        let parts: Vec<_> = match &self.order.slice {
            Some(slice) => slice
                .files(&order)
                .into_iter()
                .map(|(file, part)| (file, Some(part)))
                .collect(),
            None => order.into_iter().map(|file| (file, None)).collect(),
        };
        for (file, part) in parts {
            let path = &files[file];
            let is_whole = part.as_ref().is_none_or(FilePart::is_whole);
            if self.order.shuffle_blocks || !is_whole {
                self.indexed_file(path, file, part.as_ref(), epoch)?;
            } else {
                self.file(path, part.as_ref())?;
            }
        }
        Ok(())
    }

    /// Reads all of a file, front to back. The error is `None` if the engine is
    /// gone.
    fn file(&mut self, path: &Path, part: Option<&FilePart>) -> Result<(), Option<Error>> {
        let claimed = self.claimed.remove(path);
        self.is_live = claimed.is_some();
        let mut blocks = match claimed.flatten() {
            Some(mut begun) => {
                begun.set_lenience(&self.opener.lenience());
                *begun
            }
            None => FileBlocks::open(path, &mut self.opener, &self.stop)?,
        };
        self.count_mapped();
        let mut context = self.context(blocks.header(), path)?;
        context.unpacked = blocks.packing().is_some();
        let mut found = 0u64;
        let all = blocks.by_ref().map(|block| {
            let block = block?;
            found = found.saturating_add(block.count);
            Ok((0..block.count, block))
        });
        self.blocks(context, all)?;
        self.note_trailing_bytes(blocks.trailing_bytes(), path);
        check_records(path, part, found)
    }

    /// Reads a file's blocks, or some of its records, by an index: in an order of
    /// their own, if they are shuffled.
    fn indexed_file(
        &mut self,
        path: &Path,
        file: usize,
        part: Option<&FilePart>,
        epoch: u64,
    ) -> Result<(), Option<Error>> {
        let budget = self.budget.clone();
        let indexed = IndexedBlocks::open(path, &mut self.opener, || budget.stopped())?;
        let Some(mut blocks) = indexed else {
            return self.packed_part(path, part);
        };
        self.count_mapped();
        let mut context = self.context(blocks.header(), path)?;
        self.note_trailing_bytes(blocks.trailing_bytes(), path);
        let order = if self.order.shuffle_blocks {
            block_order(self.order.seed, epoch, file as u64, blocks.len())
        } else {
            (0..blocks.len()).collect()
        };
        let damage = blocks.damage();
        if damage.is_none() {
            check_records(path, part, blocks.records())?;
        }
        let Some(part) = part else {
            let all = order.into_iter().map(|block| {
                let block = blocks.block(block)?;
                Ok((0..block.count, block))
            });
            self.blocks(context, all)?;
            return damage.map_or(Ok(()), |error| Err(Some(error)));
        };
        let schema = parse_schema(blocks.header()).map_err(|error| error.in_file(path))?;
        context.skipper = Some(Skipper::with_max_depth(&schema, self.plans.max_depth()));
        let counts = order.iter().map(|&block| blocks.count(block));
        let chosen: Vec<_> = overlaps(counts, &part.records).collect();
        let chosen = chosen
            .into_iter()
            .map(|(index, _, records)| Ok((records, blocks.block(order[index])?)));
        self.blocks(context, chosen)?;
        damage.map_or(Ok(()), |error| Err(Some(error)))
    }

    /// Reads some of the records of a packed file, which has no index: unpacks it from its start.
    fn packed_part(&mut self, path: &Path, part: Option<&FilePart>) -> Result<(), Option<Error>> {
        let mut blocks = FileBlocks::open(path, &mut self.opener, &self.stop)?;
        if let (true, Some(packing)) = (self.order.shuffle_blocks, blocks.packing()) {
            return Err(Some(no_shuffling(packing, path)));
        }
        let (counted, Range { start, end }) = match part {
            Some(part) => (part.counted, part.records.clone()),
            None => (u64::MAX, 0..u64::MAX),
        };
        let schema = parse_schema(blocks.header()).map_err(|error| error.in_file(path))?;
        let mut context = self.context(blocks.header(), path)?;
        context.skipper = Some(Skipper::new(&schema));
        context.unpacked = true;
        let mut found = 0u64;
        let chosen = std::iter::from_fn(|| {
            // To the end of the file, if the part goes so far, to see that nothing follows.
            while found < end || end == counted {
                let block = match blocks.next()? {
                    Ok(block) => block,
                    Err(error) => return Some(Err(error)),
                };
                let first = found;
                found = found.saturating_add(block.count);
                let inside = start.clamp(first, found) - first..end.clamp(first, found) - first;
                if !inside.is_empty() {
                    return Some(Ok((inside, block)));
                }
            }
            None
        });
        self.blocks(context, chosen)?;
        if found < end || end == counted {
            check_records(path, part, found)?;
        }
        Ok(())
    }

    /// What the blocks of the file at `path` need, by its `header`.
    fn context(&self, header: &Header, path: &Path) -> Result<FileContext, Error> {
        let mut context = self.plans.context(header, path)?;
        context.lenience = self.opener.lenience();
        context.tolerated = self.counters.tolerated.clone();
        Ok(context)
    }

    /// Counts bytes after the last block of a file that are left out.
    fn note_trailing_bytes(&self, bytes: u64, path: &Path) {
        if bytes > 0 {
            let more = Tolerated {
                trailing_file_bytes: bytes,
                ..Tolerated::default()
            };
            let tolerated = &self.counters.tolerated;
            tolerated.add(&more);
            let unit = if bytes == 1 { "byte" } else { "bytes" };
            tolerated.name(path, &format!("{bytes} {unit} after the last block"));
        }
    }

    fn count_mapped(&self) {
        let mapped = self.opener.mappings.bytes();
        self.counters.mapped_peak.fetch_max(mapped, Relaxed);
    }

    fn blocks(
        &mut self,
        context: FileContext,
        blocks: impl Iterator<Item = Result<(Range<u64>, Block), Error>>,
    ) -> Result<(), Option<Error>> {
        let context = Arc::new(context);
        for block in blocks {
            let (records, block) = block?;
            self.counters.raw_bytes.fetch_add(block.len, Relaxed);
            let mut block = WindowBlock::new(block, records, context.clone());
            if block.count == 0 {
                let mut tolerated = Tolerated::default();
                block.check_empty(
                    &mut self.decompressor,
                    &mut self.decompressed,
                    &mut tolerated,
                )?;
                self.counters.tolerated.add(&tolerated);
                // There may be any number of them.
                self.outlet.attend().map_err(|Over| None)?;
                continue;
            }
            if let Some(spare) = &self.detach {
                block.detach(spare)?;
            }
            self.outlet.push(block).map_err(|Over| None)?;
            if self.is_live {
                self.outlet.hand_over().map_err(|Over| None)?;
            }
        }
        // It may take some time until there is another block.
        self.outlet.hand_over().map_err(|Over| None)
    }
}

/// An error if a file of a slice has another number of records than it had when
/// they were counted: what other slices of it read would not fit.
fn check_records(path: &Path, part: Option<&FilePart>, found: u64) -> Result<(), Option<Error>> {
    match part {
        Some(part) if part.counted != found => {
            let counted = part.counted;
            let kind = ErrorKind::RecordsChanged { counted, found };
            Err(Some(Error::new(kind).in_file(path)))
        }
        _ => Ok(()),
    }
}
