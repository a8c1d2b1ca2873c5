//! Hashes of the values of a field: computed for an index, and read from it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use atds_features::Feature;
use atds_pipeline::StoredHashes;
use atds_sched::Threads;
use tensor_batch::{Batch, DType};
use twox_hash::XxHash3_64;

use super::IndexFault;
use crate::avro::records::RecordOptions;
use crate::source::read_full;
use crate::{Dataset, Error, ErrorKind, FileFormat};

/// Number of records that are decoded at a time.
const BATCH: usize = 1024;

/// Number of bytes that a checksum takes at a time.
const CHUNK: usize = 64 << 10;

/// Integers up to this size are equal to a float64 of their own.
const EXACT: f64 = (1_u64 << 53) as f64;

/// The hash of the value of `field` of each record of a file, as 8 bytes in little-endian order.
///
/// # Errors
/// The file cannot be read; a value is missing, or is no string, bytes or integer.
pub(super) fn hash_values(
    path: &Path,
    format: FileFormat,
    field: &str,
    options: &RecordOptions,
) -> Result<Vec<u8>, Error> {
    let mut furthest = None;
    // Columns have the type of the data: no format reads one of these as another.
    let dtypes = [
        DType::String,
        DType::Int64,
        DType::Int32,
        DType::Float64,
        DType::Float32,
    ];
    for dtype in dtypes {
        let mut hashes = Vec::new();
        match hash_as(dtype, (path, format), field, options, &mut hashes) {
            Ok(()) => return Ok(hashes),
            Err(error) => {
                // That of a record is told, not that of a wrong type.
                let is_of_record =
                    error.place.record.is_some() || matches!(error.kind, ErrorKind::Index(_));
                let read = (is_of_record, hashes.len());
                if furthest.as_ref().is_none_or(|(most, _)| read >= *most) {
                    furthest = Some((read, error));
                }
            }
        }
    }
    Err(furthest.map_or_else(|| Error::new(ErrorKind::Cancelled), |(_, error)| error))
}

fn hash_as(
    dtype: DType,
    (path, format): (&Path, FileFormat),
    field: &str,
    options: &RecordOptions,
    hashes: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut feature = Feature::dense(field, &[], dtype);
    if dtype == DType::String {
        feature = feature.with_any_bytes();
    }
    let dataset = Dataset::builder(path, BATCH)
        .format(format)
        .features([feature])
        .threads(Threads::Fixed(1))
        .max_block_bytes(options.max_block_bytes)
        .tolerate(options.tolerate)
        .build()?;
    for batch in dataset.epoch(0) {
        add(&batch?, dtype, field, hashes).map_err(|fault| Error::from(fault).in_file(path))?;
    }
    Ok(())
}

/// Adds the hashes of the values of a batch.
fn add(batch: &Batch, dtype: DType, field: &str, hashes: &mut Vec<u8>) -> Result<(), IndexFault> {
    // The column is the one that was asked for.
    let wrong = |_| IndexFault::Changed;
    let first = hashes.len() as u64 / 8;
    let mut push = |hash: u64| hashes.extend(hash.to_le_bytes());
    match dtype {
        DType::String => {
            let values = batch.strings(field).map_err(wrong)?;
            values.iter().map(hash_of_bytes).for_each(push);
        }
        DType::Int64 => {
            let values = batch.dense::<i64>(field).map_err(wrong)?;
            values.iter().map(|&n| hash_of_int(n)).for_each(push);
        }
        DType::Int32 => {
            let values = batch.dense::<i32>(field).map_err(wrong)?;
            values.iter().map(|&n| hash_of_int(n.into())).for_each(push);
        }
        _ => {
            let values: Vec<f64> = match batch.dense::<f64>(field) {
                Ok(values) => values.to_vec(),
                Err(_) => {
                    let values = batch.dense::<f32>(field).map_err(wrong)?;
                    values.iter().copied().map(f64::from).collect()
                }
            };
            for (record, value) in (first..).zip(values) {
                let is_whole = value.fract() == 0.0 && value.abs() <= EXACT;
                if !is_whole {
                    let field = field.to_owned();
                    return Err(IndexFault::NoHash {
                        record,
                        value,
                        field,
                    });
                }
                push(hash_of_int(value as i64));
            }
        }
    }
    Ok(())
}

/// The hash of a string, of bytes, or of a symbol.
fn hash_of_bytes(value: &[u8]) -> u64 {
    XxHash3_64::oneshot(value)
}

/// The hash of an integer of any width.
fn hash_of_int(value: i64) -> u64 {
    XxHash3_64::oneshot(&value.to_le_bytes())
}

/// A checksum of hashes.
pub(super) fn checksum(hashes: &[u8]) -> String {
    let mut hashes = hashes;
    // Reading from memory does not fail.
    checksum_of(&mut hashes).unwrap_or_default()
}

/// A checksum of all bytes of a reader: each chunk's hash is that of the hash before and its bytes.
pub(super) fn checksum_of(reader: &mut impl Read) -> io::Result<String> {
    let (mut sum, mut chunk) = (0_u64, Vec::with_capacity(CHUNK + 8));
    loop {
        chunk.clear();
        chunk.extend(sum.to_le_bytes());
        if reader.by_ref().take(CHUNK as u64).read_to_end(&mut chunk)? == 0 {
            return Ok(format!("{sum:016x}"));
        }
        sum = XxHash3_64::oneshot(&chunk);
    }
}

/// The hashes of the files of a data set, which stay in the index until a block needs its own.
#[derive(Debug)]
pub(super) struct Hashes {
    pub(super) index: Arc<File>,
    /// Where in the index the hashes of each file begin, and their number.
    pub(super) files: Vec<(u64, u64)>,
}

impl StoredHashes for Hashes {
    fn read(&self, file: usize, first: u64, records: u64) -> io::Result<Vec<u64>> {
        let changed = || {
            let text = "the file has more records than when it was indexed, so that splits by a field do not \
                        know them: write the index again";
            io::Error::new(io::ErrorKind::InvalidData, text)
        };
        let &(at, count) = self.files.get(file).ok_or_else(changed)?;
        let end = first.checked_add(records).filter(|&end| end <= count);
        end.ok_or_else(changed)?;
        let bytes = usize::try_from(records * 8).map_err(io::Error::other)?;
        let mut hashes = vec![0; bytes];
        if read_full(&self.index, &mut hashes, at + first * 8)? < bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (hashes, _) = hashes.as_chunks::<8>();
        Ok(hashes
            .iter()
            .map(|&hash| u64::from_le_bytes(hash))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by Python: `xxhash.xxh3_64_intdigest` of `b""`, `b"ann"`, and of 7 and -1 as
    /// `n.to_bytes(8, "little", signed=True)`.
    #[test]
    fn hashes_are_those_that_the_documentation_says() {
        let found = [
            hash_of_bytes(b""),
            hash_of_bytes(b"ann"),
            hash_of_int(7),
            hash_of_int(-1),
        ];
        assert_eq!(found, GOLDEN);
    }

    const GOLDEN: [u64; 4] = [
        0x2d06_8005_38d3_94c2,
        0x482c_8948_4cbd_62c8,
        0x8167_1e58_d6b5_96af,
        0x5111_c7e4_7d78_4413,
    ];
}
