//! What shuffling costs by copies alone.
//!
//! Blocks are inflated as the pipeline inflates them, and each record's bytes copied to as many
//! columns, as wide, as a row of the preset's batches has. There is no decoding, no drawing and no
//! engine: what a shuffled copy takes longer than one in order is the price of memory that is no
//! longer in a cache. Records that wait in a window are written to memory and read back from it,
//! each asked for all at once while the one before is copied; the last line says what that makes of
//! the pipeline's time in order. It is no bound: the pipeline asks for them little by little. If
//! each record is copied to its later batch at once, that is cheaper, with some 40 batches in
//! memory at a time; decoded to as many batches it is not (`benches/TRIED.md`).

use std::iter;
use std::slice::ChunksExact;

use atds::Codec;
use atds::generate::Preset;
use avro_block::{Block, InflateBuffer, InflateJob, Inflater};
use avro_decode::prefetch;

use super::Comparison;
use crate::measure::Epoch;
use crate::pipeline::{BATCH_SIZE, epochs, pipeline};
use crate::row::Row;
use crate::{Lab, Result};

pub(super) const COMPARISON: Comparison = Comparison {
    name: "copies",
    about: "inflating and copying records shuffled against in order, and nothing else, one thread",
    measure,
};

/// Blocks that are inflated together.
const TOGETHER: usize = 8;

/// Most bytes of a block.
const LIMIT: usize = 1 << 20;

/// Bytes of a block of the preset, or somewhat more.
const BLOCK_BYTES: usize = 16_000;

/// Arrays of a batch of the preset.
const COLUMNS: usize = 28;

/// From the place of one block in the window to that of the next, so that neighbours in memory did
/// not come together.
const STRIDE: usize = 1_237;

/// Records that wait to be drawn.
const WAITING: usize = 8_192;

/// Blocks of 8 records that a window of [`WAITING`] records holds, those that are partly read among
/// them: 2,950 were counted with the preset's blocks.
const WINDOW_BLOCKS: usize = 2_950;

/// Batches that are written to in turn: made, ready, and with the consumer.
const BATCHES: usize = 5;

/// Batches that the records of a block are scattered over: all but 1 in 100 records come into one
/// of the next 40.
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

/// Inflates all blocks, several together, and gives each of them, as records of equal length, to
/// `take` while it is in a cache.
fn each_block(blocks: &[Block], mut take: impl FnMut(ChunksExact<'_, u8>)) -> Result<u64> {
    let (mut inflater, mut records) = (Inflater::new(), 0);
    let mut buffers = [(); TOGETHER].map(|()| InflateBuffer::new());
    for blocks in blocks.chunks(TOGETHER) {
        let jobs = blocks.iter().zip(&mut buffers);
        let mut jobs: Vec<_> = jobs
            .map(|(block, buffer)| InflateJob::new(&block.payload, buffer, LIMIT))
            .collect();
        inflater.inflate_many(Codec::Deflate, &mut jobs);
        jobs.into_iter().try_for_each(|job| job.result)?;
        for (block, buffer) in blocks.iter().zip(&buffers) {
            take(buffer.chunks_exact(buffer.len() / block.count as usize));
            records += block.count;
        }
    }
    Ok(records)
}

/// Batches that are written to in turn.
struct Ring {
    batches: Vec<Rows>,
    /// The batch that is full next.
    front: usize,
    /// Records since the one before was.
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

    /// Writes a record to the batch that is full next.
    fn append(&mut self, record: &[u8]) {
        self.put(0, record);
        self.count_one();
    }

    /// Writes a record to the batch behind `wait` others.
    fn put(&mut self, wait: usize, record: &[u8]) {
        let place = (self.front + wait) % self.batches.len();
        let batch = &mut self.batches[place];
        // A batch that is full before its time, as chance has it, is written to again.
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

/// Blocks that wait, and whose records are drawn.
struct Window {
    blocks: Vec<(Vec<u8>, usize)>,
    /// Where the next block goes.
    next: usize,
    /// The block and the record that are drawn next.
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

    /// Copies a block into the window, in place of one elsewhere.
    fn put(&mut self, block: ChunksExact<'_, u8>) {
        let record_len = block.clone().next().map_or(1, <[u8]>::len);
        let (bytes, len) = &mut self.blocks[self.next];
        *len = record_len;
        for (place, record) in bytes.chunks_exact_mut(record_len).zip(block) {
            place.copy_from_slice(record);
        }
        self.next = (self.next + STRIDE) % WINDOW_BLOCKS;
    }

    /// A record of the window, which was asked for from memory when the one before was drawn.
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

    /// How many batches a record waits, each of which draws the same part of all that wait.
    fn batches_to_wait(&mut self) -> usize {
        let share = (WAITING + BATCH_SIZE) / BATCH_SIZE;
        (0..OPEN - 1).take_while(|_| self.below(share) > 0).count()
    }
}
