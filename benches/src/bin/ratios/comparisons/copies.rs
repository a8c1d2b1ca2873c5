//! The cost of shuffling that copies alone explain.
//!
//! Blocks are decompressed as in the pipeline. The bytes of each record are copied to the columns of a
//! batch, which have the widths of the preset's columns. There is no decoding, no drawing and no engine.
//! So the time of a shuffled copy over a copy in order is the price of memory that has left the caches.
//!
//! - Window: waiting records are written to memory and read back. Each is prefetched whole while the
//!   record before is copied. The pipeline spreads its prefetches, so this is no bound. The last line
//!   compares the cost with the pipeline's time in order.
//! - Scattered: each record is copied to its later batch at once, with some 40 batches in memory. That is
//!   cheaper than the window. Decoding to that many batches is not (`benches/TRIED.md`).

use std::iter;
use std::slice::ChunksExact;

use atds::Codec;
use atds_generate::Preset;
use avro_block::{Block, DecompressBuffer, DecompressJob, Decompressor};
use avro_decode::prefetch;

use super::Comparison;
use crate::measure::Epoch;
use crate::pipeline::{BATCH_SIZE, epochs, pipeline};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "copies",
    about: "decompressing and copying records, shuffled beside in order, and nothing else, one thread",
    measure,
};

/// Number of blocks that are decompressed together.
const TOGETHER: usize = 8;

/// Maximum number of bytes of a block.
const LIMIT: usize = 1 << 20;

/// Bytes of a block of the preset, rounded up.
const BLOCK_BYTES: usize = 16_000;

/// Number of arrays of a batch of the preset.
const COLUMNS: usize = 28;

/// Step from the slot of one block in the window to the slot of the next, so that neighbours in memory
/// did not arrive together.
const STRIDE: usize = 1_237;

/// Number of waiting records.
const WAITING: usize = 8_192;

/// Number of blocks of 8 records in a window of [`WAITING`] records, with partly read blocks. The preset's
/// blocks gave 2,950.
const WINDOW_BLOCKS: usize = 2_950;

/// Number of batches: in work, ready, and with the consumer.
const BATCHES: usize = 5;

/// Number of batches over which the records of a block are scattered: 99 of 100 records come into one of
/// the next 40.
const OPEN: usize = 40;

fn measure(lab: &Lab) -> Result<Vec<Row>> {
    let files = lab.data.of(Preset::Ads, Codec::Deflate)?;
    let blocks = files.blocks()?;
    let mut batches = pipeline(&files, Preset::Ads).build()?.iter();
    let batch = batches.next().ok_or("there is no batch")??;
    let row_bytes = batch.used_bytes() / batch.rows();
    drop(batches);

    let mut ring = Ring::new(BATCHES, row_bytes);
    let in_order = Box::new(|| {
        each_block(&blocks, |block| {
            for record in block {
                ring.append(record);
            }
        })
    });
    let (mut window, mut window_ring) = (Window::new(), Ring::new(BATCHES, row_bytes));
    let through_window = Box::new(|| {
        each_block(&blocks, |block| {
            let records = block.len();
            window.put(block);
            for _ in 0..records {
                window_ring.append(window.draw());
            }
        })
    });
    let (mut open, mut random) = (Ring::new(OPEN + BATCHES, row_bytes), Random(1));
    let scattered = Box::new(|| {
        each_block(&blocks, |block| {
            for record in block {
                open.put(random.batches_to_wait(), record);
                open.count_one();
            }
        })
    });
    let pipeline = epochs(pipeline(&files, Preset::Ads))?;
    let sides: [Epoch<'_>; 4] = [in_order, through_window, scattered, pipeline];
    lab.rows(sides, |[in_order, window, scattered, pipeline]| {
        let with_window = pipeline.and_then(&window.without(in_order));
        let in_order = ("in order", in_order);
        vec![
            Row::time(
                "ads, deflate, through a window",
                ("window", window),
                in_order,
            ),
            Row::time(
                "ads, deflate, to later batches at once",
                ("scattered", scattered),
                in_order,
            ),
            Row::time(
                "ads, deflate, the window's part of an epoch",
                ("with it", &with_window),
                ("pipeline in order", pipeline),
            ),
        ]
    })
}

/// Decompresses all blocks, several together, and calls `take` with each block, as records of equal length,
/// while it is in a cache.
fn each_block(blocks: &[Block], mut take: impl FnMut(ChunksExact<'_, u8>)) -> Result<u64> {
    let (mut inflater, mut records) = (Decompressor::new(), 0);
    let mut buffers = [(); TOGETHER].map(|()| DecompressBuffer::new());
    for blocks in blocks.chunks(TOGETHER) {
        let jobs = blocks.iter().zip(&mut buffers);
        let mut jobs: Vec<_> = jobs
            .map(|(block, buffer)| DecompressJob::new(&block.payload, buffer, LIMIT))
            .collect();
        inflater.decompress_many(Codec::Deflate, &mut jobs);
        jobs.into_iter().try_for_each(|job| job.result)?;
        for (block, buffer) in blocks.iter().zip(&buffers) {
            take(buffer.chunks_exact(buffer.len() / block.count as usize));
            records += block.count;
        }
    }
    Ok(records)
}

/// The batches in progress, written in turn.
struct Ring {
    batches: Vec<Rows>,
    /// The batch that becomes full next.
    front: usize,
    /// Records since the last batch became full.
    records: usize,
}

/// A batch of columns of equal width.
struct Rows {
    columns: Vec<Vec<u8>>,
    rows: usize,
}

impl Ring {
    fn new(batches: usize, row_bytes: usize) -> Self {
        let width = row_bytes / COLUMNS;
        let batch = || Rows {
            columns: vec![vec![0; BATCH_SIZE * width]; COLUMNS],
            rows: 0,
        };
        Ring {
            batches: iter::repeat_with(batch).take(batches).collect(),
            front: 0,
            records: 0,
        }
    }

    /// Writes a record to the batch that becomes full next.
    fn append(&mut self, record: &[u8]) {
        self.put(0, record);
        self.count_one();
    }

    /// Writes a record to the batch `wait` batches later.
    fn put(&mut self, wait: usize, record: &[u8]) {
        let slot = (self.front + wait) % self.batches.len();
        let batch = &mut self.batches[slot];
        // A batch can be full early by chance; its first row is then overwritten.
        let row = batch.rows % BATCH_SIZE;
        batch.rows += 1;
        let width = batch.columns[0].len() / BATCH_SIZE;
        // Rows are longer than records, whose integers are short: some bytes are copied twice.
        let mut bytes = record.chunks_exact(width).cycle();
        for column in &mut batch.columns {
            if let Some(bytes) = bytes.next() {
                column[row * width..][..width].copy_from_slice(bytes);
            }
        }
    }

    fn count_one(&mut self) {
        self.records += 1;
        if self.records == BATCH_SIZE {
            self.batches[self.front].rows = 0;
            self.front = (self.front + 1) % self.batches.len();
            self.records = 0;
        }
    }
}

/// The waiting blocks, from which records are drawn.
struct Window {
    blocks: Vec<(Vec<u8>, usize)>,
    /// Slot of the next block.
    next: usize,
    /// The next drawn block and record.
    drawn: (usize, usize),
    random: Random,
}

impl Window {
    fn new() -> Self {
        Window {
            blocks: vec![(vec![0; 2 * BLOCK_BYTES], BLOCK_BYTES); WINDOW_BLOCKS],
            next: 0,
            drawn: (0, 0),
            random: Random(2),
        }
    }

    /// Copies a block into the window, over an old block.
    fn put(&mut self, block: ChunksExact<'_, u8>) {
        let record_len = block.clone().next().map_or(1, <[u8]>::len);
        let (bytes, len) = &mut self.blocks[self.next];
        *len = record_len;
        for (slot, record) in bytes.chunks_exact_mut(record_len).zip(block) {
            slot.copy_from_slice(record);
        }
        self.next = (self.next + STRIDE) % WINDOW_BLOCKS;
    }

    /// Draws a record of the window, which was prefetched when the record before was drawn.
    fn draw(&mut self) -> &[u8] {
        let (block, record) = self.drawn;
        let next = self.random.below(WINDOW_BLOCKS);
        let (bytes, len) = &self.blocks[next];
        let next_record = self.random.below(BLOCK_BYTES / len);
        prefetch(bytes, next_record * len, (next_record + 1) * len);
        self.drawn = (next, next_record);
        let (bytes, len) = &self.blocks[block];
        &bytes[(record * len).min(BLOCK_BYTES)..][..*len]
    }
}

/// A xorshift generator.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * bound as u128) >> 64) as usize
    }

    /// Number of batches that a record waits. Each batch draws the same share of the waiting records.
    fn batches_to_wait(&mut self) -> usize {
        let share = (WAITING + BATCH_SIZE) / BATCH_SIZE;
        (0..OPEN - 1).take_while(|_| self.below(share) > 0).count()
    }
}
