//! Checks of one block's payload: it decompresses, and is the records that its head counts.

use std::sync::Mutex;

use avro_block::{Codec, DecompressBuffer, DecompressError, Decompressor};
use avro_decode::limits::MAX_ZERO_SIZE_ITEMS;
use avro_decode::{Checker, DecodeErrorKind, Schema};

use super::{Cause, VerifyOptions, evidence};
use crate::formats::avro::decode_error;
use crate::limits::LARGE_BLOCK_BYTES;
use crate::lock::lock;
use crate::{ErrorKind, avro};

/// Checks the payloads of a file.
pub(super) struct BlockChecker<'s> {
    codec: Codec,
    /// The schema; `None` if it cannot be read, and then records are not checked.
    schema: Option<(&'s Schema, Checker<'s>)>,
    options: VerifyOptions,
    decompressor: Decompressor,
    data: DecompressBuffer,
    /// Held while a large block is decompressed, so that only one is at a time.
    large: &'s Mutex<()>,
}

/// A payload without damage.
pub(super) struct Healthy {
    pub(super) decompressed_bytes: u64,
    /// Bytes after the records, which are tolerated.
    pub(super) trailing_bytes: u64,
}

/// What is wrong with a payload.
pub(super) struct Wrong {
    pub(super) error: atds_format::Error,
    pub(super) cause: Cause,
}

impl<'s> BlockChecker<'s> {
    pub(super) fn new(
        codec: Codec,
        schema: Option<&'s Schema>,
        options: &VerifyOptions,
        large: &'s Mutex<()>,
    ) -> Self {
        let mut decompressor = Decompressor::new();
        decompressor.set_tolerates_checksums(options.tolerate.checksum);
        let decode = options.records().decode();
        BlockChecker {
            codec,
            schema: schema.map(|schema| (schema, Checker::new(schema, &decode))),
            options: options.clone(),
            decompressor,
            data: DecompressBuffer::new(),
            large,
        }
    }

    pub(super) fn bad_checksums(&self) -> u64 {
        self.decompressor.bad_checksums()
    }

    /// Whether a payload of this size can hold so many records.
    pub(super) fn can_hold(&self, payload: u64, count: u64) -> bool {
        let min = self.schema.as_ref();
        let min = min.map_or(1, |(schema, _)| schema.min_encoded_len(schema.root()));
        let bytes = payload.saturating_mul(self.codec.max_expansion());
        // Without bytes as many as items of an array that take none.
        let most = bytes.checked_div(min);
        count <= most.unwrap_or(MAX_ZERO_SIZE_ITEMS as u64)
    }

    /// Whether the payload is `count` records. Counts no fault that is tolerated.
    pub(super) fn is_whole(&mut self, count: u64, payload: &[u8]) -> bool {
        self.check(count, payload).is_ok()
    }

    /// Checks a payload that should be `count` records.
    pub(super) fn check(&mut self, count: u64, payload: &[u8]) -> Result<Healthy, Box<Wrong>> {
        let large = self.large;
        let mut _one_at_a_time = None;
        let mut decompressed = Ok(());
        if !self.codec.is_null() {
            let limit = self.options.max_block_bytes;
            let first = limit.min(LARGE_BLOCK_BYTES);
            decompressed = self.decompress(payload, first);
            if matches!(decompressed, Err(DecompressError::TooLarge { .. })) && first < limit {
                _one_at_a_time = Some(lock(large));
                decompressed = self.decompress(payload, limit);
            }
        }
        let checked = match decompressed {
            Ok(()) => self.check_records(count, payload),
            Err(error) => Err(self.not_decompressed(error, payload)),
        };
        if self.data.capacity() > LARGE_BLOCK_BYTES {
            self.data = DecompressBuffer::new();
        }
        checked
    }

    fn decompress(&mut self, payload: &[u8], limit: usize) -> Result<(), DecompressError> {
        let data = &mut self.data;
        self.decompressor
            .decompress(self.codec, payload, data, limit)
    }

    fn check_records(&self, count: u64, payload: &[u8]) -> Result<Healthy, Box<Wrong>> {
        let data = if self.codec.is_null() {
            payload
        } else {
            &self.data[..]
        };
        let decompressed_bytes = data.len() as u64;
        let Some((schema, checker)) = &self.schema else {
            return Ok(Healthy {
                decompressed_bytes,
                trailing_bytes: 0,
            });
        };
        let (mut position, mut records) = (0, 0);
        let wrong_count = |found| Cause::WrongCount {
            declared: count,
            found,
        };
        if !self.can_hold(payload.len() as u64, count) {
            let bytes = payload.len() as u64;
            let error = ErrorKind::TooManyRecords {
                records: count,
                bytes,
            };
            let found = walk_to_end(checker, data, 0).filter(|&found| found > 0);
            return Err(Box::new(Wrong {
                error: atds_format::Error::format(error),
                cause: found.map_or_else(|| self.damaged(payload, data, 0), wrong_count),
            }));
        }
        if schema.is_always_empty(schema.root()) {
            records = count;
        }
        while records < count {
            let start = position;
            if let Err(error) = checker.check(data, &mut position) {
                let cause = if start == data.len() {
                    wrong_count(records)
                } else if matches!(error.kind, DecodeErrorKind::TooDeep { .. }) {
                    Cause::NotChecked
                } else {
                    self.damaged(payload, data, error.offset)
                };
                let error = decode_error(error, 0).in_record(records);
                return Err(Box::new(Wrong { error, cause }));
            }
            records += 1;
        }
        let left = data.len() - position;
        if left == 0 || self.options.tolerate.trailing_block_bytes {
            return Ok(Healthy {
                decompressed_bytes,
                trailing_bytes: left as u64,
            });
        }
        let more = walk_to_end(checker, &data[position..], 0);
        let error = avro::ErrorKind::TrailingBytes {
            records: count,
            left,
        };
        Err(Box::new(Wrong {
            error: atds_format::Error::format(error).at_prepared(position as u64),
            cause: match more {
                Some(more) if more > 0 => wrong_count(count + more),
                _ => self.damaged(payload, data, position),
            },
        }))
    }

    /// The cause of damage at byte `at` of the decompressed payload.
    fn damaged(&self, payload: &[u8], data: &[u8], at: usize) -> Cause {
        match self.codec {
            Codec::Null => {
                evidence::of_bytes(data, Codec::Null, Some(at)).unwrap_or(Cause::Overwritten)
            }
            // Their checksums were compared, unless that is tolerated.
            Codec::Snappy | Codec::Bzip2 | Codec::Xz if !self.options.tolerate.checksum => {
                Cause::Writer
            }
            codec => evidence::of_bytes(payload, codec, None).unwrap_or(Cause::Overwritten),
        }
    }

    fn not_decompressed(&self, error: DecompressError, payload: &[u8]) -> Box<Wrong> {
        let cause = match &error {
            DecompressError::Disabled(_)
            | DecompressError::TooLarge { .. }
            | DecompressError::NeedsMemory { .. }
            | DecompressError::OutOfMemory => Cause::NotChecked,
            DecompressError::MissingChecksum | DecompressError::OtherFormat { .. } => Cause::Writer,
            _ => evidence::of_bytes(payload, self.codec, None).unwrap_or(Cause::Overwritten),
        };
        let error = atds_format::Error::format(avro::ErrorKind::Container(error.into()));
        Box::new(Wrong { error, cause })
    }
}

/// The number of records that `data` is from `position` on; `None` if it is not whole records.
fn walk_to_end(checker: &Checker<'_>, data: &[u8], mut position: usize) -> Option<u64> {
    let mut records = 0;
    while position < data.len() {
        checker.check(data, &mut position).ok()?;
        records += 1;
    }
    Some(records)
}
