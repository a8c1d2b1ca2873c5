//! A handwritten loop for the schema of the `ads` preset, as a baseline for general readers.
//!
//! The loop reads files into batches. It does all that a reader must do, and nothing else. It maps
//! the files, makes the same checks as the pipeline, and fills the same columns. It reuses
//! [`BATCHES`] batches in turn. The files must have the codec null.
//!
//! It checks (Avro 1.12, "Binary encoding") that
//! - a value ends before the data does, and a record and a block end where they should;
//! - an array has the length of its feature's shape;
//! - a varint is valid and fits its type;
//! - a sparse index lies in its dimension;
//! - a string is UTF-8.

mod batch;
mod cursor;
mod value;

use std::fs::File;
use std::path::PathBuf;

use avro_block::{Codec, MappedBlocks, map_file};

pub use batch::{AdsBatch, Coo};
pub use cursor::{Cursor, Fault};
pub use value::Value;

/// Number of batches: one is made while two wait or are in use.
pub const BATCHES: usize = 3;

/// The loop and the memory of its batches.
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

    /// Reads all files once, and calls `consumer` with each batch. The last batch can have fewer rows.
    /// Returns the number of records.
    ///
    /// # Errors
    ///
    /// A file cannot be mapped or framed, or the data is not records of the preset.
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

/// An error of the loop.
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
    /// A record is not a record of the preset.
    #[error(transparent)]
    Record(#[from] Fault),
}
