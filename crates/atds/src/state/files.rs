//! What states say of files: their names, and what is known of each.

use std::collections::HashMap;
use std::fs::Metadata;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::{Hash, StateMismatch, hash, sum};
use crate::Error;

/// The files, in constant size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilesPrint {
    count: u64,
    names: Sums,
    sizes: Sums,
    markers: Sums,
    records: Sums,
    /// Of the times of their last change, which are only warned of: files are copied.
    times: Sums,
}

/// The sum of a hash of each file, and that of its products with the numbers of the files from 1 on. If
/// one file has changed, they tell which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sums(Hash, Hash);

/// A file, as far as the fingerprint is concerned.
#[derive(Clone, Debug)]
struct FilePrint {
    size: u64,
    /// Nanoseconds since 1970.
    modified: u64,
    marker: [u8; 16],
    /// `None` if they were not counted.
    records: Option<BlockCounts>,
}

/// The record counts of a file's blocks.
#[derive(Clone, Debug)]
pub(crate) struct BlockCounts {
    /// Number of records of each block.
    pub(crate) blocks: Arc<[u64]>,
    /// Number of those in the split.
    pub(crate) members: Arc<[u64]>,
}

/// What was found of the files of a data set.
#[derive(Debug)]
pub(crate) struct FilePrints {
    pub(crate) sums: FilesPrint,
    /// `None` for files that the reader does not have.
    files: Vec<Option<FilePrint>>,
}

/// What is looked for of files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looked<'a> {
    /// The numbers of the reader's files; `None` for all.
    pub(crate) own: Option<&'a [usize]>,
    /// Whether records are counted.
    pub(crate) counts: bool,
    /// Whether states have the numbers of records.
    pub(crate) states_count: bool,
}

impl FilePrints {
    /// Looks at files whose names have these [hashes](hashes_of). `look` finds the marker of a file, and counts
    /// its records if they are wanted. Files that are as they were in `known` are not read again.
    ///
    /// # Errors
    /// The first file that cannot be read, or whose framing is damaged.
    pub(crate) fn new(
        files: &[PathBuf],
        names: &[Hash],
        looked: Looked<'_>,
        known: Option<&FilePrints>,
        mut look: impl FnMut(usize) -> Result<([u8; 16], Option<BlockCounts>), Error>,
    ) -> Result<Self, Error> {
        let print = |(number, path): (usize, &PathBuf)| {
            let own = looked.own;
            if own.is_some_and(|own| own.binary_search(&number).is_err()) {
                return Ok(None);
            }
            let (size, modified) = stamp(path)?;
            if let Some(known) = known.and_then(|known| known.files.get(number)?.as_ref())
                && (size, modified) == (known.size, known.modified)
                && (known.records.is_some() || !looked.counts)
            {
                return Ok(Some(known.clone()));
            }
            let (marker, records) = look(number)?;
            Ok(Some(FilePrint {
                size,
                modified,
                marker,
                records,
            }))
        };
        let found: Vec<_> = files
            .iter()
            .enumerate()
            .map(print)
            .collect::<Result<_, Error>>()?;
        Ok(FilePrints {
            sums: FilesPrint::new(names, &found, looked.states_count),
            files: found,
        })
    }

    /// Whether the records of all of the reader's files were counted.
    pub(crate) fn are_counted(&self) -> bool {
        let mut own = self.files.iter().flatten();
        own.all(|file| file.records.is_some())
    }

    /// Number of records of each file that are in the split; 0 of files that the reader does not have.
    pub(crate) fn file_records(&self) -> impl Iterator<Item = u64> {
        let counts = self
            .files
            .iter()
            .map(|file| file.as_ref()?.records.as_ref());
        counts.map(|counts| counts.map_or(0, |counts| sum(&counts.members)))
    }

    /// Number of records of each block of a file that are in the split; `None` if they were not counted.
    pub(crate) fn block_records(&self, file: usize) -> Option<Arc<[u64]>> {
        let counts = self.files[file].as_ref()?.records.as_ref()?;
        Some(counts.members.clone())
    }
}

impl FilesPrint {
    fn new(names: &[Hash], prints: &[Option<FilePrint>], counts: bool) -> Self {
        let of = |value: fn(&FilePrint) -> Hash| -> Sums {
            let files = prints.iter().enumerate();
            let own = files.filter_map(|(file, print)| Some((file, value(print.as_ref()?))));
            own.collect()
        };
        FilesPrint {
            count: names.len() as u64,
            names: names.iter().copied().enumerate().collect(),
            sizes: of(|print| hash(&print.size.to_le_bytes())),
            markers: of(|print| hash(&print.marker)),
            records: match counts {
                true => of(|print| hash(&print.records().to_le_bytes())),
                false => Sums::default(),
            },
            times: of(|print| hash(&print.modified.to_le_bytes())),
        }
    }

    /// The same, of the names alone.
    pub(super) fn of_names(&self) -> Self {
        FilesPrint {
            count: self.count,
            names: self.names,
            ..FilesPrint::default()
        }
    }

    pub(super) fn without_times(&self) -> Self {
        FilesPrint {
            times: Sums::default(),
            ..self.clone()
        }
    }

    pub(super) fn check(&self, now: &FilesPrint, files: &[PathBuf]) -> Result<(), StateMismatch> {
        if self.count != now.count {
            return Err(StateMismatch::FileCount {
                saved: self.count,
                now: now.count,
            });
        }
        for (what, saved, now) in [
            ("name", self.names, now.names),
            ("size", self.sizes, now.sizes),
            ("sync marker", self.markers, now.markers),
            ("number of records", self.records, now.records),
        ] {
            if saved != now {
                return Err(match now.changed(saved, files) {
                    Some(path) => StateMismatch::File {
                        path: path.clone(),
                        what,
                    },
                    None => StateMismatch::Files { what },
                });
            }
        }
        if self.times != now.times {
            let which = match now.times.changed(self.times, files) {
                Some(path) => format!("{} was", path.display()),
                None => "several files were".to_owned(),
            };
            log::warn!(
                "{which} changed or copied after the state was taken; sizes, sync markers and numbers of \
                 records are the same"
            );
        }
        Ok(())
    }
}

impl Sums {
    /// The one file that has changed; `None` if several have.
    fn changed(self, saved: Sums, files: &[PathBuf]) -> Option<&PathBuf> {
        let of_one = self.0.0.wrapping_sub(saved.0.0);
        let weighted = self.1.0.wrapping_sub(saved.1.0);
        let mut numbers = (1_u64..).zip(files);
        let found = numbers.find(|(number, _)| number.wrapping_mul(of_one) == weighted);
        found.map(|(_, path)| path)
    }
}

/// Of the numbers of files and their hashes.
impl FromIterator<(usize, Hash)> for Sums {
    fn from_iter<I: IntoIterator<Item = (usize, Hash)>>(hashes: I) -> Self {
        let mut sums = Sums::default();
        for (file, hash) in hashes {
            let number = file as u64 + 1;
            sums.0.0 = sums.0.0.wrapping_add(hash.0);
            sums.1.0 = sums.1.0.wrapping_add(number.wrapping_mul(hash.0));
        }
        sums
    }
}

impl FilePrint {
    fn records(&self) -> u64 {
        let counts = self.records.as_ref();
        counts.map_or(0, |counts| sum(&counts.blocks))
    }
}

/// The hashes of the names of files, with a `/` after a path below a root folder.
pub(crate) fn hashes_of(names: &[Vec<u8>], has_root: bool) -> Arc<[Hash]> {
    let hash_of = |name: &Vec<u8>| match has_root && !name.is_empty() {
        true => hash(&[name, &b"/"[..]].concat()),
        false => hash(name),
    };
    names.iter().map(hash_of).collect()
}

/// The names of files: their paths below `root`, the same on each system, or else their last components.
///
/// # Errors
/// A file is not below `root`, or that is no folder.
pub(crate) fn names_of(files: &[PathBuf], root: Option<&Path>) -> Result<Vec<Vec<u8>>, Error> {
    let Some(root) = root else {
        let name = |path: &PathBuf| {
            let name = path.file_name().unwrap_or(path.as_os_str());
            name.as_encoded_bytes().to_vec()
        };
        return Ok(files.iter().map(name).collect());
    };
    let found = std::fs::canonicalize(root).map_err(|error| Error::io(error, root))?;
    if !found.is_dir() {
        return Err(Error::option("root", "a folder").in_file(root));
    }
    // The folder above a file that is the root, however it is spelled, by the file's folder.
    let mut roots: HashMap<PathBuf, Option<PathBuf>> = HashMap::new();
    let name = |path: &PathBuf| {
        let io = |error| Error::io(error, path);
        let absolute = std::path::absolute(path).map_err(io)?;
        let folder = absolute.parent().unwrap_or(&absolute);
        let root = match roots.get(folder) {
            Some(root) => root,
            None => roots
                .entry(folder.to_owned())
                .or_insert(root_above(folder, &found)),
        };
        // A link below the root is a name of its own, as it was given.
        let below = match root {
            Some(root) => absolute.strip_prefix(root).unwrap_or(&absolute).to_owned(),
            None => {
                let outside = |must| Error::option("root", must).in_file(path);
                if !is_plain(folder) {
                    // Below a link it could be another file for another spelling.
                    return Err(outside("a folder below which paths have no `..`"));
                }
                let real = std::fs::canonicalize(folder).map_err(io)?;
                let real = real.join(absolute.file_name().unwrap_or_default());
                let below = real.strip_prefix(&found);
                below
                    .map_err(|_| outside("a folder that has all files"))?
                    .to_owned()
            }
        };
        let parts = below.components();
        let parts: Vec<_> = parts
            .map(|part| part.as_os_str().as_encoded_bytes())
            .collect();
        Ok(parts.join(&b'/'))
    };
    files.iter().map(name).collect()
}

/// Whether no part of a path is `..`.
fn is_plain(path: &Path) -> bool {
    !path.components().any(|part| part == Component::ParentDir)
}

/// Of a folder and those above it, the outermost that is `root` and has no `..` below it.
fn root_above(folder: &Path, root: &Path) -> Option<PathBuf> {
    let above = folder.ancestors().filter(|above| {
        let below = folder.strip_prefix(above);
        below.is_ok_and(is_plain) && std::fs::canonicalize(above).is_ok_and(|real| real == root)
    });
    above.last().map(Path::to_owned)
}

/// The size of a file in bytes, and the time of its last change in nanoseconds since 1970.
fn stamp(path: &Path) -> Result<(u64, u64), Error> {
    let failed = |error: io::Error| Error::io(error, path);
    let metadata = std::fs::metadata(path).map_err(failed)?;
    Ok((metadata.len(), modified(&metadata).map_err(failed)?))
}

/// The time of a file's last change in nanoseconds since 1970.
pub(crate) fn modified(metadata: &Metadata) -> io::Result<u64> {
    let since = metadata.modified()?.duration_since(UNIX_EPOCH);
    Ok(since.map_or(0, |time| time.as_nanos() as u64))
}
