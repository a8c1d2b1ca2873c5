//! What an index has of the files of a data set.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use atds_format::Layout;
use atds_pipeline::{BlockCounts, StoredHashes};

use super::lines::Lines;
use super::{Entry, FIRST_LINES, IndexFault, Stamp, Values, WITH_LAYOUTS, sum, values};
use crate::Error;
use crate::formats::Counts;
use crate::new_file;
use crate::source::open_input;
use crate::split::SplitFault;

/// The entries of an index that are of the files of a data set.
#[derive(Debug, Default)]
pub(crate) struct FileIndex {
    entries: HashMap<PathBuf, KnownFile>,
    /// The index itself; `None` if there is none.
    file: Option<Arc<File>>,
    /// Whether the hashes of values are used, so that a file that has changed is an error.
    is_split: AtomicBool,
    /// Whether the log was told that a file has another time, so that its blocks are found by reading it, and
    /// that its values may be others.
    is_told_of_time: AtomicBool,
    is_told_of_values: AtomicBool,
}

/// A file of a data set, as it was when it was counted.
#[derive(Debug)]
struct KnownFile {
    size: u64,
    ends: String,
    /// The time of its last change, if the index has it.
    time: Option<u64>,
    counts: Counts,
    /// The numbers of records of its blocks, as they are found by framing it.
    blocks: BlockCounts,
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
        let first = match lines.next().map_err(io)? {
            Some(Ok(line)) => String::from_utf8_lossy(&line[..line.len().min(40)]).into_owned(),
            Some(Err(())) | None => String::new(),
        };
        let is_first = |known: &&str| first.strip_suffix('\n') == Some(*known);
        let Some(version) = FIRST_LINES.iter().position(is_first) else {
            return Err(in_index(match first.strip_prefix("atds index ") {
                Some(found) => IndexFault::Version {
                    found: found.chars().take(20).collect::<String>().trim().to_owned(),
                },
                None => IndexFault::NotAnIndex,
            }));
        };
        let has_layouts = version + 1 >= WITH_LAYOUTS;
        let mut number = 1;
        while let Some(line) = lines.next().map_err(io)? {
            number += 1;
            let line = line.map_err(|()| in_index(IndexFault::TooLong { line: number }))?;
            let damaged = || in_index(IndexFault::Damaged { line: number });
            let entry = Entry::parse(line).ok_or_else(damaged)?;
            let has_layout = entry.time.or(entry.start).is_some() || entry.sizes.is_some();
            if has_layout && !has_layouts {
                return Err(damaged());
            }
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
            let blocks: Arc<[u64]> = entry.blocks.into();
            let layout = match (entry.start, entry.sizes) {
                (Some(start), Some(sizes)) => {
                    let layout = Layout::new(start, blocks.clone(), sizes.into());
                    Some(layout.ok_or_else(damaged)?)
                }
                _ => None,
            };
            let counts = Counts {
                marker: marker.to_be_bytes(),
                blocks,
                layout,
            };
            let found = counts.blocks.iter().copied().collect();
            for &file in files {
                let known = KnownFile {
                    size: entry.size,
                    ends: entry.ends.clone(),
                    time: entry.time,
                    counts: counts.clone(),
                    blocks: found,
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
            ..FileIndex::default()
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
        let known = self.unchanged(path)?;
        Ok(known.map(|(known, _)| &known.counts))
    }

    /// Where the blocks of a file are, if the index has that, and the file has the time that it had: other bytes
    /// in its middle may be other blocks.
    pub(crate) fn layout(&self, path: &Path) -> Option<Layout> {
        self.entries.get(path)?.counts.layout.as_ref()?;
        // What is wrong with the file is found where it is read.
        let (known, now) = self.unchanged(path).ok()??;
        if known.time.is_some() && known.time == now.time {
            return known.counts.layout.clone();
        }
        if !self.is_told_of_time.swap(true, Relaxed) {
            log::warn!(
                "{}: the file was changed or copied after it was indexed, so where its blocks begin is found by \
                 reading it, and so for other files of which that is true; write the index again",
                path.display()
            );
        }
        None
    }

    /// Checks that a file that is read is the one whose values were hashed, if these decide: another one would
    /// get its splits.
    ///
    /// # Errors
    /// The file has changed since it was indexed, or cannot be read.
    pub(crate) fn check_hashed(&self, path: &Path) -> Result<(), Error> {
        if !self.is_split.load(Relaxed) {
            return Ok(());
        }
        if let Some((known, now)) = self.unchanged(path)?
            && known.time.is_some_and(|then| now.time != Some(then))
            && !self.is_told_of_values.swap(true, Relaxed)
        {
            log::warn!(
                "{}: the file was changed or copied after it was indexed, and its records are in splits by the \
                 values that they had, and so for other files of which that is true; if values have changed, \
                 write the index again",
                path.display()
            );
        }
        Ok(())
    }

    /// Checks that a file, all blocks of which were `found`, has those that the index has, if size and ends say
    /// that it has not changed: states and shards count on them.
    ///
    /// # Errors
    /// It has others, or cannot be read.
    pub(crate) fn check_blocks(&self, path: &Path, found: BlockCounts) -> Result<(), Error> {
        let known = self.entries.get(path);
        if known.is_none_or(|known| known.blocks == found) || self.unchanged(path)?.is_none() {
            return Ok(());
        }
        Err(Error::from(IndexFault::OtherBlocks).in_file(path))
    }

    /// A file as the index has it, and as it is now, if these are the same but for the time.
    fn unchanged(&self, path: &Path) -> Result<Option<(&KnownFile, Stamp)>, Error> {
        let Some(known) = self.entries.get(path) else {
            return Ok(None);
        };
        let io = |error| Error::io(error, path);
        let (file, _) = open_input(path).map_err(io)?;
        let now = Stamp::of(&file).map_err(io)?;
        let size = now.size;
        if (size, &now.ends) == (known.size, &known.ends) {
            return Ok(Some((known, now)));
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
                true => "other bytes at its start or end than".to_owned(),
                false => format!("{size} bytes now, and had {}", known.size),
            };
            log::warn!(
                "{}: the file has {what} when it was indexed, so its records are counted again; write \
                 the index again",
                path.display()
            );
        }
        Ok(None)
    }
}
