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

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

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
use crate::{Error, ErrorKind, Tolerate};

/// The first line of an index.
const FIRST_LINE: &str = "atds index 1";

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
}

impl Default for IndexOptions {
    fn default() -> Self {
        IndexOptions {
            format: None,
            tolerate: Tolerate::nothing(),
            max_block_bytes: MAX_BLOCK_BYTES,
            threads: Threads::Auto,
            cancelled: None,
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
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexFault {
    /// The first line is that of no index.
    #[error("it is no index: `atds index` writes one")]
    NotAnIndex,
    /// The index was written by a later version.
    #[error("the index has version '{found}', and this library reads version 1: write it again")]
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
    writeln!(out, "{FIRST_LINE}").map_err(failed)?;
    let mut indexed = Indexed::default();
    let count = |path: &PathBuf| {
        if let Some(cancelled) = &options.cancelled
            && cancelled.load(Relaxed)
        {
            return Err(Error::new(ErrorKind::Cancelled));
        }
        Entry::new(&local_path(path)?, &folder, (options.format, &reading))
    };
    let add = |entry: Result<Entry, Error>| {
        let entry = entry?;
        let line = entry.line().map_err(|fault| {
            let path = folder.join(&entry.path);
            Error::from(fault).in_file(&path)
        })?;
        out.write_all(line.as_bytes()).map_err(failed)?;
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
        (format, reading): (Option<FileFormat>, &RecordOptions),
    ) -> Result<Self, Error> {
        let io = |error| Error::io(error, path);
        let (file, once) = open_input(path).map_err(io)?;
        if let Some(input) = once {
            let reason = "an index is of files";
            return Err(Error::new(ErrorKind::ReadOnce { input, reason }).in_file(path));
        }
        let (size, ends) = size_and_ends(&file).map_err(io)?;
        let format = match format {
            Some(format) => format,
            None => FileFormat::of_files(&[path.to_owned()], &OnceInputs::default())?,
        };
        let Counts { marker, blocks } = format.count(path, reading)?;
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
}

/// A file of a data set, as it was when it was counted.
#[derive(Debug)]
struct KnownFile {
    size: u64,
    ends: String,
    counts: Counts,
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
        let mut lines = Lines::new(BufReader::new(file));
        let in_index = |fault: IndexFault| Error::from(fault).in_file(path);
        match lines.next().map_err(io)? {
            Some(Ok(line)) if line == format!("{FIRST_LINE}\n").as_bytes() => {}
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
        Ok(FileIndex { entries })
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
}

impl<R: BufRead> Lines<R> {
    fn new(reader: R) -> Self {
        Lines {
            reader,
            line: Vec::new(),
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
        Ok(match read {
            0 => None,
            read if read > MAX_INDEX_LINE => Some(Err(())),
            _ => Some(Ok(&self.line)),
        })
    }
}
