//! The yardstick: files of the `ads` preset to batches by a loop written by hand for that one
//! schema.
//!
//! It is what a general reader is measured against, so it does everything that one must do and
//! nothing else. It maps the files, checks every length (Avro 1.12, "Binary encoding": that each
//! value ends before the data do, array counts against the feature's shape, that a varint is valid
//! and fits its type, that a sparse index lies in its dimension, that the string is UTF-8, that
//! each record and block ends where it should), and fills the columns that the pipeline makes,
//! in [`BATCHES`] batches that are used in turn. The files must be of the null codec.

mod batch;
mod cursor;
mod value;

use std::fs::File;
use std::path::PathBuf;

use avro_block::{Codec, MappedBlocks, map_file};

pub use batch::{AdsBatch, Coo};
pub use cursor::{Cursor, Fault};
pub use value::Value;

/// Batches used in turn: one is made while two wait or are in use.
pub const BATCHES: usize = 3;

/// The loop, with its batches' memory.
#[derive(Debug)]
pub struct HandwrittenLoop {
    batches: [AdsBatch; BATCHES],
}

impl HandwrittenLoop {
    /// A loop that makes batches of `batch_size` records.
    pub fn new(batch_size: usize) -> Self {
        HandwrittenLoop {
            batches: std::array::from_fn(|_| AdsBatch::new(batch_size)),
        }
    }

    /// Reads all files once, and hands each batch to `consumer`: the last one may have fewer rows.
    /// Gives the number of records.
    ///
    /// # Errors
    ///
    /// A file that cannot be mapped or framed, or data that are not records of the preset.
    pub fn epoch(
        &mut self,
        files: &[PathBuf],
        mut consumer: impl FnMut(&AdsBatch),
    ) -> Result<u64, Error> {
        let mut records = 0;
        let mut turn = 0;
        self.batches[turn].clear();
        for path in files {
            let blocks = MappedBlocks::from_bytes(map_file(&File::open(path)?)?)?;
            if blocks.header().codec() != Codec::Null {
                return Err(Error::NotNullCodec);
            }
            for block in blocks {
                let block = block?;
                let mut cursor = Cursor::new(&block.payload);
                for _ in 0..block.count {
                    let batch = &mut self.batches[turn];
                    batch.push_record(&mut cursor)?;
                    if batch.is_full() {
                        consumer(batch);
                        turn = (turn + 1) % BATCHES;
                        self.batches[turn].clear();
                    }
                }
                cursor.at_end()?;
                records += block.count;
            }
        }
        let last = &self.batches[turn];
        if last.rows() > 0 {
            consumer(last);
        }
        Ok(records)
    }
}

/// Why the loop stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be opened or mapped.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A file could not be framed.
    #[error(transparent)]
    Frame(#[from] avro_block::Error),
    /// A file is compressed.
    #[error("the loop reads files of the null codec only")]
    NotNullCodec,
    /// A record is not one of the preset.
    #[error(transparent)]
    Record(#[from] Fault),
}
