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
//! An index is a text file. Its first line is `atds index 1`. Each other line is of a file: a hash of the
//! rest of the line, a space, and a JSON object with its path, its size, a hash of its first and last
//! 4,096 bytes, its sync marker, and the number of records of each block. Paths of files in the folder of
//! the index, or in folders inside it, are relative to that folder, so that all can be moved together.
//!
//! With hashes for [splits by a field](IndexOptions::split_by) the first line is `atds index 2`, the object
//! has the field and a checksum, and after the line come 8 bytes for each record, in little-endian order.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use atds_pipeline::StoredHashes;
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
use crate::split::SplitFault;
use crate::{Error, ErrorKind, Tolerate};

mod values;

/// The first line of an index.
const FIRST_LINE: &str = "atds index 1";

/// The first line of an index that has hashes of the values of a field.
const FIRST_LINE_WITH_VALUES: &str = "atds index 2";

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
        "the index has version '{found}', and this library reads versions 1 and 2: write it again"
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
    let first_line = match options.split_by {
        Some(_) => FIRST_LINE_WITH_VALUES,
        None => FIRST_LINE,
    };
    writeln!(out, "{first_line}").map_err(failed)?;
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
        let entry = entry?;
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
    Ok(read.is_ok() && FIRST_LINE.as_bytes().starts_with(&head))
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
        let (size, ends) = size_and_ends(&file).map_err(io)?;
        let format = match options.format {
            Some(format) => format,
            None => FileFormat::of_files(&[path.to_owned()], &OnceInputs::default())?,
        };
        let Counts { marker, blocks } = format.count(path, reading)?;
        let (mut values, mut hashes) = (None, Vec::new());
        if let Some(field) = &options.split_by {
            hashes = values::hash_values(path, format, field, reading)?;
            if hashes.len() as u64 / 8 != sum(&blocks) {
                return Err(Error::from(IndexFault::Changed).in_file(path));
            }
            let (field, checksum) = (field.clone(), values::checksum(&hashes));
            values = Some(Values { field, checksum });
        }
        let found = fs::canonicalize(path).map_err(io)?;
        let found = found.strip_prefix(folder).unwrap_or(&found);
        Ok(Entry {
            path: match found.to_str() {
                Some(text) => text.to_owned(),
                None => return Err(Error::from(IndexFault::Path).in_file(path)),
            },
            size,
            ends,
            marker: format!("{:032x}", u128::from_be_bytes(marker)),
            blocks: blocks.to_vec(),
            values,
            hashes,
        })
    }

    /// The line of the index, with its end.
    fn line(&self) -> Result<String, IndexFault> {
        let json = serde_json::to_string(self).map_err(|_| IndexFault::Path)?;
        let line = format!("{} {json}\n", hash(json.as_bytes()));
        if line.len() > MAX_INDEX_LINE {
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

/// The size of a file, and a hash of its ends.
fn size_and_ends(file: &File) -> io::Result<(u64, String)> {
    let size = file.metadata()?.len();
    let mut ends = [0; 2 * ENDS];
    let (first, last) = ends.split_at_mut(ENDS);
    read_full(file, first, 0)?;
    // The ends of a small file overlap.
    read_full(file, last, size.saturating_sub(ENDS as u64))?;
    Ok((size, hash(&ends)))
}

fn hash(bytes: &[u8]) -> String {
    format!("{:016x}", XxHash3_64::oneshot(bytes))
}

fn sum(counts: &[u64]) -> u64 {
    counts.iter().copied().fold(0, u64::saturating_add)
}

/// The entries of an index that are of the files of a data set.
#[derive(Debug, Default)]
pub(crate) struct FileIndex {
    entries: HashMap<PathBuf, KnownFile>,
    /// The index itself; `None` if there is none.
    file: Option<Arc<File>>,
    /// Whether the hashes of values are used, so that a file that has changed is an error.
    is_split: AtomicBool,
}

/// A file of a data set, as it was when it was counted.
#[derive(Debug)]
struct KnownFile {
    size: u64,
    ends: String,
    counts: Counts,
    /// The field of the hashes of values, and where in the index they begin.
    values: Option<(String, u64)>,
    /// Whether the log was told that the file has changed.
    is_told: AtomicBool,
}

impl FileIndex {
    /// Reads the index at `path`.
    ///
    /// # Errors
    /// The index cannot be read, is none, or is damaged.
    pub(crate) fn read(path: &Path, files: &[PathBuf]) -> Result<Self, Error> {
        let mut entries = HashMap::new();
        let mut paths: HashMap<PathBuf, Vec<&PathBuf>> = HashMap::new();
        for file in files {
            // A file that is missing is another's error.
            let found = fs::canonicalize(file).unwrap_or_else(|_| file.clone());
            paths.entry(found).or_default().push(file);
        }
        let io = |error| Error::io(error, path);
        let folder = fs::canonicalize(new_file::folder(path)).map_err(io)?;
        let (file, _) = open_input(path).map_err(io)?;
        let index = Arc::new(file.try_clone().map_err(io)?);
        let mut lines = Lines::new(BufReader::new(file));
        let in_index = |fault: IndexFault| Error::from(fault).in_file(path);
        match lines.next().map_err(io)? {
            Some(Ok(line))
                if [FIRST_LINE, FIRST_LINE_WITH_VALUES]
                    .iter()
                    .any(|first| line == format!("{first}\n").as_bytes()) => {}
            Some(Ok(line)) => {
                let version = line.strip_prefix(b"atds index ").map(|version| {
                    String::from_utf8_lossy(&version[..version.len().min(20)])
                        .trim()
                        .to_owned()
                });
                return Err(in_index(match version {
                    Some(found) => IndexFault::Version { found },
                    None => IndexFault::NotAnIndex,
                }));
            }
            Some(Err(_)) | None => return Err(in_index(IndexFault::NotAnIndex)),
        }
        let mut number = 1;
        while let Some(line) = lines.next().map_err(io)? {
            number += 1;
            let line = line.map_err(|()| in_index(IndexFault::TooLong { line: number }))?;
            let damaged = || in_index(IndexFault::Damaged { line: number });
            let entry = Entry::parse(line).ok_or_else(damaged)?;
            let values = match entry.values {
                None => None,
                Some(Values { field, checksum }) => {
                    let at = lines.at;
                    let found = lines.checksum_of(sum(&entry.blocks)).map_err(io)?;
                    if found.is_none_or(|found| found != checksum) {
                        return Err(damaged());
                    }
                    Some((field, at))
                }
            };
            let Some(files) = paths.get(&folder.join(&entry.path)) else {
                continue;
            };
            let is_marker = entry.marker.len() == 32;
            let marker = u128::from_str_radix(&entry.marker, 16).ok();
            let marker = marker.filter(|_| is_marker).ok_or_else(damaged)?;
            let counts = Counts {
                marker: marker.to_be_bytes(),
                blocks: entry.blocks.into(),
            };
            for &file in files {
                let known = KnownFile {
                    size: entry.size,
                    ends: entry.ends.clone(),
                    counts: counts.clone(),
                    values: values.clone(),
                    is_told: AtomicBool::new(false),
                };
                entries.insert(file.clone(), known);
            }
        }
        let missing = files.iter().find(|file| !entries.contains_key(*file));
        if let Some(file) = missing {
            let count = files.iter().filter(|file| !entries.contains_key(*file));
            log::warn!(
                "{} of {} files are not in the index {}, and are counted in each process; the first is {}",
                count.count(),
                files.len(),
                path.display(),
                file.display()
            );
        }
        Ok(FileIndex {
            entries,
            file: Some(index),
            is_split: AtomicBool::new(false),
        })
    }

    /// The hashes of the values of `field` of all records of `files`.
    ///
    /// # Errors
    /// The index has them not of each file as it is now.
    pub(crate) fn hashes(
        &self,
        files: &[PathBuf],
        field: &str,
    ) -> Result<Arc<dyn StoredHashes>, Error> {
        let no_index = |why: String| {
            let field = field.to_owned();
            Error::from(SplitFault::NoIndex { field, why })
        };
        let Some(index) = &self.file else {
            return Err(no_index("there is no index".to_owned()));
        };
        self.is_split.store(true, Relaxed);
        let found = files.iter().map(|path| {
            let fault = |why: String| no_index(why).in_file(path);
            let known = self.entries.get(path);
            let known = known.ok_or_else(|| fault("the index lacks the file".to_owned()))?;
            self.counts(path)?;
            match &known.values {
                None => Err(fault("the index has counts alone".to_owned())),
                Some((other, _)) if other != field => {
                    Err(fault(format!("the index has those of {other:?}")))
                }
                Some((_, at)) => Ok((*at, sum(&known.counts.blocks))),
            }
        });
        Ok(Arc::new(values::Hashes {
            index: index.clone(),
            files: found.collect::<Result<_, Error>>()?,
        }))
    }

    /// The counts of a file, if it is in the index and has not changed since.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn counts(&self, path: &Path) -> Result<Option<&Counts>, Error> {
        let Some(known) = self.entries.get(path) else {
            return Ok(None);
        };
        let io = |error| Error::io(error, path);
        let (file, _) = open_input(path).map_err(io)?;
        let (size, ends) = size_and_ends(&file).map_err(io)?;
        if (size, &ends) == (known.size, &known.ends) {
            return Ok(Some(&known.counts));
        }
        if self.is_split.load(Relaxed)
            && let Some((field, _)) = &known.values
        {
            let field = field.clone();
            let why = "the file has changed since it was indexed".to_owned();
            return Err(Error::from(SplitFault::NoIndex { field, why }).in_file(path));
        }
        if !known.is_told.swap(true, Relaxed) {
            let what = match size == known.size {
                true => "other bytes at its start or end".to_owned(),
                false => format!("{size} bytes now, and had {}", known.size),
            };
            log::warn!(
                "{}: the file has {what} when it was indexed, so its records are counted anew; write the \
                 index again",
                path.display()
            );
        }
        Ok(None)
    }
}

/// The lines of a file, up to a length.
struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    /// Number of bytes before the next line.
    at: u64,
}

impl<R: BufRead> Lines<R> {
    fn new(reader: R) -> Self {
        Lines {
            reader,
            line: Vec::new(),
            at: 0,
        }
    }

    /// The next line with its end, or an error if it is too long; `None` at the end of the file.
    fn next(&mut self) -> io::Result<Option<Result<&[u8], ()>>> {
        self.line.clear();
        let most = MAX_INDEX_LINE as u64 + 1;
        let read = self
            .reader
            .by_ref()
            .take(most)
            .read_until(b'\n', &mut self.line)?;
        self.at += read as u64;
        Ok(match read {
            0 => None,
            read if read > MAX_INDEX_LINE => Some(Err(())),
            _ => Some(Ok(&self.line)),
        })
    }

    /// The checksum of the hashes of `records` records, which come next; `None` if the file ends before.
    fn checksum_of(&mut self, records: u64) -> io::Result<Option<String>> {
        let Some(bytes) = records.checked_mul(8) else {
            return Ok(None);
        };
        let mut hashes = self.reader.by_ref().take(bytes);
        let found = values::checksum_of(&mut hashes)?;
        self.at += bytes;
        Ok((hashes.limit() == 0).then_some(found))
    }
}
