//! Indexes of files: the record counts of their blocks, counted once for many processes and runs.
//!
//! Shards, lengths and going on after a stop need the record counts of all blocks. Without an index each
//! process counts them: it reads a few bytes of each block, and all of a packed file. With
//! [`DatasetBuilder::index`](crate::DatasetBuilder::index) it reads 8 KiB of each file, by which it sees
//! that the file is the one that was counted. A file that has changed since is counted again, with a
//! warning in the log.
//!
//! ```
//! use atds::index::write_index;
//! # use atds_generate::{generate, GenerateOptions, Preset};
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! # let files = generate(folder, &GenerateOptions::new(Preset::Ads, 1_000))?.files;
//!
//! let indexed = write_index(&files, folder.join("index"))?;
//! assert_eq!(indexed.records, 1_000);
//! let dataset = atds::Dataset::builder(folder, 64).index(folder.join("index")).build()?;
//! assert_eq!(dataset.num_records()?, 1_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An index also says where each block begins. A data set that reads some blocks of a file, such as a
//! [split by blocks](crate::SplitBy::Block) or a shard, then reads no other bytes, if the time of the file's
//! last change is the one that it had. With another time the blocks are found as without an index, since other
//! bytes in the middle may be other blocks.
//!
//! An index is a text file. Its first line is `atds index 3`. Each other line is of a file: a hash of the
//! rest of the line, a space, and a JSON object with its path, its size, a hash of its first and last
//! 4,096 bytes, its sync marker, the number of records of each block, the time of its last change in
//! nanoseconds since 1970, the byte offset of its first block, and the size of each block in bytes. Packed
//! files have no offset and no sizes, nor have files of more blocks than a line of 16 MiB has room for. Paths
//! of files in the folder of the index, or in folders inside it, are relative to that folder, so that all can
//! be moved together.
//!
//! With hashes for [splits by a field](IndexOptions::split_by) the object has the field and a checksum, and
//! after the line come 8 bytes for each record, in little-endian order. Indexes of the versions 1 and 2, which
//! have counts and hashes, are read, too.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use atds_format::Layout;
use atds_sched::Threads;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use crate::avro::records::RecordOptions;
use crate::files::local_path;
use crate::formats::{Counts, FileFormat};
use crate::limits::{MAX_BLOCK_BYTES, MAX_INDEX_LINE};
use crate::new_file;
use crate::side_by_side::in_order;
use crate::source::{OnceInputs, open_input, read_full};
use crate::state::modified;
use crate::{Error, ErrorKind, Tolerate};

mod known;
mod lines;
mod values;

pub(crate) use self::known::FileIndex;

/// The first line of an index of each version, the last one of those that are written.
const FIRST_LINES: [&str; 3] = ["atds index 1", "atds index 2", "atds index 3"];

/// The first version that says where blocks are.
const WITH_LAYOUTS: usize = 3;

/// Number of bytes at the start and at the end of a file by which it is recognised.
const ENDS: usize = 4096;

/// Options of an index.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IndexOptions {
    /// The format of the files; by default their names tell it, or else their first bytes.
    pub format: Option<FileFormat>,
    /// Faults that are tolerated; none by default. Only trailing bytes of files matter.
    pub tolerate: Tolerate,
    /// Maximum size of a block in bytes; 1 GiB by default.
    pub max_block_bytes: usize,
    /// Number of files that are read side by side; that of the cores by default.
    pub threads: Threads,
    /// A flag that cancels: after it becomes true and the files that are being read are counted, the
    /// call fails with [`ErrorKind::Cancelled`].
    pub cancelled: Option<Arc<AtomicBool>>,
    /// The field by whose values records are split, see [`SplitBy::Field`](crate::SplitBy::Field): in Avro
    /// the name of a field or a path such as `context.user_id`, in TFRecord a key, in BTable a label. None
    /// by default. Each record is decoded for it, and 8 bytes of the index are the hash of its value: XXH3, of
    /// 64 bits and with seed 0, of its bytes.
    ///
    /// The bytes of a string, of bytes and of an enum's symbol are its own. Those of an integer are 8, in
    /// two's complement and little-endian order. A float is taken for the integer that it is equal to, up to
    /// 2^53; other floats and missing values are an error. A cell that a BTable lacks is 0.
    pub split_by: Option<String>,
}

impl Default for IndexOptions {
    fn default() -> Self {
        IndexOptions {
            format: None,
            tolerate: Tolerate::nothing(),
            max_block_bytes: MAX_BLOCK_BYTES,
            threads: Threads::Auto,
            cancelled: None,
            split_by: None,
        }
    }
}

/// What an index has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Indexed {
    /// Number of files.
    pub files: u64,
    /// Number of their blocks.
    pub blocks: u64,
    /// Number of their records.
    pub records: u64,
    /// Size of the files in bytes.
    pub bytes: u64,
}

/// Why a file is no index that can be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexFault {
    /// The first line is that of no index.
    #[error("it is no index: `atds index` writes one")]
    NotAnIndex,
    /// The index was written by a later version.
    #[error(
        "the index has version '{found}', and this library reads versions 1 to 3: write it again"
    )]
    Version {
        /// The version.
        found: String,
    },
    /// A line is damaged.
    #[error("line {line} of the index is damaged: write it again")]
    Damaged {
        /// The number of the line, from 1.
        line: u64,
    },
    /// A line is too long.
    #[error("line {line} of the index has more than {MAX_INDEX_LINE} bytes: write it again")]
    TooLong {
        /// The number of the line, from 1.
        line: u64,
    },
    /// A file has too many blocks for an index.
    #[error("the file has {blocks} blocks, which are too many for an index: leave it out")]
    TooManyBlocks {
        /// Number of blocks.
        blocks: u64,
    },
    /// A value of the field to split by has no hash.
    #[error(
        "record {record} has {value} for '{field}': splits are by strings, bytes, or whole numbers up to 2^53"
    )]
    NoHash {
        /// The number of the record in the file.
        record: u64,
        /// The value.
        value: f64,
        /// The field.
        field: String,
    },
    /// A file has other blocks than the index.
    #[error(
        "the file has other records, or blocks, than when it was indexed, which its size and its ends do not \
         show: write the index again"
    )]
    OtherBlocks,
    /// A file changed while it was indexed.
    #[error("the file changed while it was indexed: write the index again")]
    Changed,
    /// The path of a file is not UTF-8.
    #[error("the path is not UTF-8, and so cannot stand in an index")]
    Path,
}

impl From<IndexFault> for Error {
    #[cold]
    fn from(fault: IndexFault) -> Self {
        Error::new(ErrorKind::Index(fault))
    }
}

/// A file, as the index has it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    path: String,
    size: u64,
    ends: String,
    marker: String,
    blocks: Vec<u64>,
    /// The time of the last change in nanoseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<u64>,
    /// The byte offset of the first block, and the size of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sizes: Option<Vec<u64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    values: Option<Values>,
    /// The hashes of all records.
    #[serde(skip)]
    hashes: Vec<u8>,
}

/// What the hashes after a line are of.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Values {
    field: String,
    checksum: String,
}

/// Writes an index of `files` to the file at `to`. An index that is there is replaced, any other file is
/// not.
///
/// # Errors
/// A file cannot be read, is not Avro, or its framing is damaged; it can be read only once; the index
/// cannot be written, or another file is there. The index gets its name when it is complete.
pub fn write_index(files: &[PathBuf], to: impl AsRef<Path>) -> Result<Indexed, Error> {
    write_index_with(files, to, &IndexOptions::default(), |_| ())
}

/// Writes an index with options. `on_file` gets the size of each file after it was counted.
///
/// # Errors
/// As [`write_index`]; an option out of its range, or the caller has cancelled.
pub fn write_index_with(
    files: &[PathBuf],
    to: impl AsRef<Path>,
    options: &IndexOptions,
    mut on_file: impl FnMut(u64),
) -> Result<Indexed, Error> {
    let to = to.as_ref();
    let reading = RecordOptions {
        tolerate: options.tolerate,
        max_block_bytes: options.max_block_bytes,
        ..RecordOptions::default()
    };
    reading.check()?;
    let failed = |error| Error::io(error, to);
    if fs::symlink_metadata(to).is_ok() && !is_index(to).map_err(failed)? {
        return Err(Error::new(ErrorKind::Exists).in_file(to));
    }
    let folder = fs::canonicalize(new_file::folder(to)).map_err(failed)?;
    let temporary = new_file::temporary(to).map_err(failed)?;
    let mut out = BufWriter::new(temporary.as_file());
    writeln!(out, "{}", FIRST_LINES[2]).map_err(failed)?;
    let mut indexed = Indexed::default();
    let count = |path: &PathBuf| {
        if let Some(cancelled) = &options.cancelled
            && cancelled.load(Relaxed)
        {
            return Err(Error::new(ErrorKind::Cancelled));
        }
        Entry::new(&local_path(path)?, &folder, options, &reading)
    };
    let add = |entry: Result<Entry, Error>| {
        let mut entry = entry?;
        let line = entry.line().map_err(|fault| {
            let path = folder.join(&entry.path);
            Error::from(fault).in_file(&path)
        })?;
        out.write_all(line.as_bytes()).map_err(failed)?;
        out.write_all(&entry.hashes).map_err(failed)?;
        indexed.files += 1;
        indexed.blocks += entry.blocks.len() as u64;
        indexed.records = indexed.records.saturating_add(sum(&entry.blocks));
        indexed.bytes += entry.size;
        on_file(entry.size);
        Ok(())
    };
    in_order(files, options.threads, "atds-index", count, add)?;
    out.flush().map_err(failed)?;
    drop(out);
    new_file::publish(temporary, to, true)?;
    Ok(indexed)
}

/// Whether the file is an index, of any version.
fn is_index(path: &Path) -> io::Result<bool> {
    let mut head = [0; 11];
    let read = File::open(path)?.read_exact(&mut head);
    Ok(read.is_ok() && FIRST_LINES[0].as_bytes().starts_with(&head))
}

impl Entry {
    fn new(
        path: &Path,
        folder: &Path,
        options: &IndexOptions,
        reading: &RecordOptions,
    ) -> Result<Self, Error> {
        let io = |error| Error::io(error, path);
        let (file, once) = open_input(path).map_err(io)?;
        if let Some(input) = once {
            let reason = "an index is of files";
            return Err(Error::new(ErrorKind::ReadOnce { input, reason }).in_file(path));
        }
        let stamp = Stamp::of(&file).map_err(io)?;
        let format = match options.format {
            Some(format) => format,
            None => FileFormat::of_files(&[path.to_owned()], &OnceInputs::default())?,
        };
        let Counts {
            marker,
            blocks,
            layout,
        } = format.count(path, reading)?;
        let changed = || Error::from(IndexFault::Changed).in_file(path);
        let (mut values, mut hashes) = (None, Vec::new());
        if let Some(field) = &options.split_by {
            hashes = values::hash_values(path, format, field, reading)?;
            if hashes.len() as u64 / 8 != sum(&blocks) {
                return Err(changed());
            }
            let (field, checksum) = (field.clone(), values::checksum(&hashes));
            values = Some(Values { field, checksum });
        }
        if Stamp::of(&file).map_err(io)? != stamp {
            return Err(changed());
        }
        let found = fs::canonicalize(path).map_err(io)?;
        let found = found.strip_prefix(folder).unwrap_or(&found);
        Ok(Entry {
            path: match found.to_str() {
                Some(text) => text.to_owned(),
                None => return Err(Error::from(IndexFault::Path).in_file(path)),
            },
            size: stamp.size,
            ends: stamp.ends,
            marker: format!("{:032x}", u128::from_be_bytes(marker)),
            blocks: blocks.to_vec(),
            time: stamp.time,
            start: layout.as_ref().map(Layout::start),
            sizes: layout.map(|layout| layout.sizes().to_vec()),
            values,
            hashes,
        })
    }

    /// The line of the index, with its end.
    fn line(&mut self) -> Result<String, IndexFault> {
        let json = serde_json::to_string(self).map_err(|_| IndexFault::Path)?;
        let line = format!("{} {json}\n", hash(json.as_bytes()));
        if line.len() > MAX_INDEX_LINE {
            if self.sizes.take().is_some() {
                // Counts alone are of use, too.
                self.start = None;
                return self.line();
            }
            let blocks = self.blocks.len() as u64;
            return Err(IndexFault::TooManyBlocks { blocks });
        }
        Ok(line)
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\n")?;
        let (before, json) = line.split_at_checked(17)?;
        if before != format!("{} ", hash(json)).as_bytes() {
            return None;
        }
        serde_json::from_slice(json).ok()
    }
}

/// A file at a time.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    size: u64,
    /// Of its last change, in nanoseconds since 1970; `None` if the system does not say it.
    time: Option<u64>,
    /// A hash of its ends.
    ends: String,
}

impl Stamp {
    fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let size = metadata.len();
        let mut ends = [0; 2 * ENDS];
        let (first, last) = ends.split_at_mut(ENDS);
        read_full(file, first, 0)?;
        // The ends of a small file overlap.
        read_full(file, last, size.saturating_sub(ENDS as u64))?;
        Ok(Stamp {
            size,
            time: modified(&metadata).ok(),
            ends: hash(&ends),
        })
    }
}

fn hash(bytes: &[u8]) -> String {
    format!("{:016x}", XxHash3_64::oneshot(bytes))
}

fn sum(counts: &[u64]) -> u64 {
    counts.iter().copied().fold(0, u64::saturating_add)
}
