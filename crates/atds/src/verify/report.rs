//! What a verification finds.

use std::path::PathBuf;

use avro_block::Codec;

use super::Cause;
use crate::limits::MAX_DAMAGES;
use crate::source::Packing;
use crate::stats::Tolerated;
use crate::{Error, FileFormat};

/// What was found in a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verified {
    /// The file.
    pub path: PathBuf,
    /// Its format.
    pub format: FileFormat,
    /// The format that the whole file is packed with, if it is packed. Offsets and bytes of damage then
    /// count in the unpacked file.
    pub packing: Option<Packing>,
    /// The codec of an Avro file; `None` if the header cannot be read, and in other formats.
    pub codec: Option<Codec>,
    /// Size of the file in bytes; of a pipe, the bytes that were read.
    pub file_bytes: u64,
    /// Number of blocks without damage; 0 in formats that have no blocks.
    pub blocks: u64,
    /// Number of records without damage.
    pub records: u64,
    /// Bytes of the payloads of these blocks, decompressed; in other formats, of these records with what frames
    /// them.
    pub decompressed_bytes: u64,
    /// All damage in the order of the file; the first [`MAX_DAMAGES`] of it.
    pub damages: Vec<Damage>,
    /// The sums of all damage.
    pub lost: Lost,
    /// Faults that [`VerifyOptions::tolerate`](super::VerifyOptions::tolerate) allows.
    pub tolerated: Tolerated,
}

/// A part of a file that is damaged.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Damage {
    /// What is wrong, with file, byte, block, record and field as far as each is known.
    pub error: Error,
    /// What has probably damaged the part.
    pub cause: Cause,
    /// Offset in the file of the part's first byte.
    pub offset: u64,
    /// Size of the part in bytes: all of a block, even if one of its records is damaged; in formats without
    /// blocks, the record.
    pub bytes: u64,
    /// Number of records in the part, if it is known.
    pub records: Option<u64>,
}

/// Sums of damage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// Number of damaged parts.
    pub parts: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their records, as far as their number is known.
    pub records: u64,
    /// Number of damaged parts whose number of records is not known.
    pub unknown: u64,
}

impl Lost {
    /// Adds the sums of another file.
    pub fn add(&mut self, other: &Lost) {
        self.parts += other.parts;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.records = self.records.saturating_add(other.records);
        self.unknown += other.unknown;
    }
}

impl Verified {
    pub(crate) fn new(path: PathBuf, format: FileFormat) -> Self {
        Verified {
            path,
            format,
            packing: None,
            codec: None,
            file_bytes: 0,
            blocks: 0,
            records: 0,
            decompressed_bytes: 0,
            damages: Vec::new(),
            lost: Lost::default(),
            tolerated: Tolerated::default(),
        }
    }

    /// Whether nothing is wrong.
    pub fn is_well(&self) -> bool {
        self.lost.parts == 0
    }

    pub(crate) fn add(&mut self, damage: Damage) {
        self.lost.add(&Lost {
            parts: 1,
            bytes: damage.bytes,
            records: damage.records.unwrap_or(0),
            unknown: damage.records.is_none().into(),
        });
        if self.damages.len() < MAX_DAMAGES {
            self.damages.push(damage);
        }
    }
}
