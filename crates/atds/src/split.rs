//! Splits of a data set: training, validation, test records, told apart before they are decoded.
//!
//! Whether a record is in a split depends on its place alone: the path of its file below the
//! [`root`](crate::DatasetBuilder::root) folder, or without one the file's name, and the number of the
//! record in the file; or, by a field, the value of that. So it is the same on every machine, for any number of threads, ranks and workers, and
//! however records are shuffled. [`Split`] has the numbers.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use atds_pipeline::StoredHashes;

use crate::damage::OnError;
use crate::index::FileIndex;
use crate::{DatasetBuilder, Error, ErrorKind};

/// What a split is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SplitBy {
    /// Records: each is in a split for itself.
    #[default]
    Record,
    /// Blocks: all records of a block are in one split. Blocks of other splits are not decompressed.
    Block,
    /// The values of the field of this name or path: all records of one value are in one split, in every
    /// file. It needs the [index](crate::DatasetBuilder::index) of the files with the hashes of that field,
    /// see [`IndexOptions::split_by`](crate::index::IndexOptions::split_by).
    Field(String),
}

/// One of several splits of the records of a data set.
///
/// 1. The key of a file is XXH3, of 64 bits and with seed 0, of the bytes of its path below the root
///    folder, with `/` between folders; without a root folder, of its name.
/// 2. The hash of a record is XXH3, of 64 bits and with seed 0, of 16 bytes: the key of its file, and its
///    number in the file from 0, each as 8 bytes in little-endian order. By [block](SplitBy::Block), the
///    number is that of the block's first record. By [field](SplitBy::Field), the hash is instead that of
///    the [value's bytes](crate::index::IndexOptions::split_by).
/// 3. In the order of their names, as bytes, the splits have the hashes from 0 on, each as large a part of
///    2^64 as it says: the first has those below its part times 2^64, rounded down, the next those up to
///    the sum of both parts times 2^64, and so on. A sum within 1e-9 of 1 is 1.
///
/// Blocks that [`OnError::SkipBlock`](crate::OnError::SkipBlock) leaves out because they cannot be framed
/// have no records in these numbers.
///
/// ```
/// # use atds_generate::{generate, GenerateOptions, Preset};
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// # generate(folder, &GenerateOptions::new(Preset::Ads, 1_000))?;
/// use atds::{Dataset, Split};
///
/// let parts = [("train", 0.8), ("valid", 0.1), ("test", 0.1)];
/// let mut records = Vec::new();
/// for (name, _) in parts {
///     let split = Split::new(name, parts);
///     records.push(Dataset::builder(folder, 64).split(split).build()?.num_records()?);
/// }
/// assert_eq!(records.iter().sum::<u64>(), 1_000);
/// assert!(records[0] > 700 && records[1] > 50 && records[2] > 50);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    name: String,
    splits: Vec<(String, f64)>,
    by: SplitBy,
}

impl Split {
    /// The split `name` of `splits`: names, each with its part of the records. Parts are above 0, and sum to
    /// at most 1; their order does not matter.
    pub fn new<N: Into<String>>(
        name: impl Into<String>,
        splits: impl IntoIterator<Item = (N, f64)>,
    ) -> Self {
        let splits = splits.into_iter().map(|(name, part)| (name.into(), part));
        Split {
            name: name.into(),
            splits: splits.collect(),
            by: SplitBy::Record,
        }
    }

    /// Sets what the splits are made of: [`SplitBy::Record`] by default.
    #[must_use]
    pub fn by(mut self, by: SplitBy) -> Self {
        self.by = by;
        self
    }

    /// The sums of parts before the split and up to its end, and whether that is the end of all.
    fn sums(&self) -> Result<(Range<f64>, bool), SplitFault> {
        let mut splits = self.splits.clone();
        splits.sort_by(|one, other| one.0.cmp(&other.0));
        let mut found = None;
        let mut sum = 0.0;
        for (number, (name, part)) in splits.iter().enumerate() {
            let name = name.clone();
            if !(*part > 0.0 && *part <= 1.0) {
                return Err(SplitFault::Part { name, part: *part });
            }
            if splits[..number].last().is_some_and(|last| last.0 == name) {
                return Err(SplitFault::Twice { name });
            }
            let before = sum;
            sum += part;
            if name == self.name {
                found = Some((before..sum, number + 1 == splits.len()));
            }
        }
        if sum > 1.0 + ROUNDED {
            return Err(SplitFault::Sum { sum });
        }
        found.ok_or_else(|| SplitFault::Unknown {
            name: self.name.clone(),
            names: splits.into_iter().map(|(name, _)| name).collect(),
        })
    }

    /// The records of the split that is read, if one is, of `files` with these names.
    pub(crate) fn compiled(
        split: Option<&Split>,
        index: &FileIndex,
        on_error: OnError,
        files: &[PathBuf],
        names: &[Vec<u8>],
    ) -> Result<Option<Arc<atds_pipeline::Split>>, Error> {
        let Some(split) = split else {
            return Ok(None);
        };
        let stored = split.stored(index, files, on_error)?;
        let compiled = split.of(files, names, stored)?;
        Ok(Some(Arc::new(compiled)))
    }

    /// The hashes of the values of the field that decides, if one does.
    fn stored(
        &self,
        index: &FileIndex,
        files: &[PathBuf],
        on_error: OnError,
    ) -> Result<Option<Arc<dyn StoredHashes>>, Error> {
        let SplitBy::Field(field) = &self.by else {
            return Ok(None);
        };
        if on_error == OnError::SkipBlock {
            return Err(SplitFault::SkipsBlocks.into());
        }
        index.hashes(files, field).map(Some)
    }

    /// The split of `files`, which have these `names`.
    fn of(
        &self,
        files: &[PathBuf],
        names: &[Vec<u8>],
        stored: Option<Arc<dyn StoredHashes>>,
    ) -> Result<atds_pipeline::Split, Error> {
        let (sums, is_last) = self.sums()?;
        let mut known = HashMap::new();
        for (path, name) in files.iter().zip(names) {
            if let Some(first) = known.insert(name, path)
                && stored.is_none()
            {
                let fault = SplitFault::SameName {
                    other: first.clone(),
                };
                return Err(Error::from(fault).in_file(path));
            }
        }
        let all = 1_u128 << 64;
        // Multiplying by a power of two is exact.
        let at = |sum: f64| ((sum * all as f64) as u128).min(all);
        let end = match is_last && sums.end >= 1.0 - ROUNDED {
            true => all,
            false => at(sums.end),
        };
        let keys = names
            .iter()
            .map(|name| atds_pipeline::Split::file_key(name));
        Ok(atds_pipeline::Split {
            hashes: at(sums.start)..end,
            by_block: self.by == SplitBy::Block,
            file_keys: keys.collect(),
            stored,
        })
    }

    /// What a state says of the split.
    pub(crate) fn print(&self) -> String {
        let mut splits = self.splits.clone();
        splits.sort_by(|one, other| one.0.cmp(&other.0));
        // As they are written, names with other characters could read like several.
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let shown = |name: &str| match name.chars().all(is_plain) {
            true => name.to_owned(),
            false => format!("{name:?}"),
        };
        let parts = splits
            .iter()
            .map(|(name, part)| format!("{}={part}", shown(name)));
        let by = match &self.by {
            SplitBy::Record => "record".to_owned(),
            SplitBy::Block => "block".to_owned(),
            SplitBy::Field(field) => format!("field {field:?}"),
        };
        let parts: Vec<_> = parts.collect();
        format!("{} of {} by {by}", self.name, parts.join(", "))
    }
}

/// How far a sum of parts may be from 1 to be 1.
const ROUNDED: f64 = 1e-9;

impl DatasetBuilder {
    /// Sets the split whose records are read (all records by default). Lengths, shares of ranks, slices and
    /// positions count the records of the split alone. Inputs that can be read only once are an error.
    ///
    /// By record, the blocks that have records of the split are read and decompressed, and other records are
    /// skipped. By [block](SplitBy::Block), blocks of other splits are not decompressed. A file's inferred
    /// features do not depend on the split.
    pub fn split(mut self, split: Split) -> Self {
        self.split = Some(Arc::new(split));
        self
    }
}

/// `record`, `block`, or else a field. `field:record` is a field named so.
impl FromStr for SplitBy {
    type Err = Error;

    fn from_str(by: &str) -> Result<Self, Error> {
        match by {
            "record" => Ok(SplitBy::Record),
            "block" => Ok(SplitBy::Block),
            "" | "field:" => Err(SplitFault::By { by: by.to_owned() }.into()),
            _ => Ok(SplitBy::Field(
                by.strip_prefix("field:").unwrap_or(by).to_owned(),
            )),
        }
    }
}

/// Why records cannot be split so.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SplitFault {
    /// There is no split of the name.
    Unknown {
        /// The name.
        name: String,
        /// The names of the splits.
        names: Vec<String>,
    },
    /// A part is not above 0 and at most 1.
    Part {
        /// The name of the split.
        name: String,
        /// The part.
        part: f64,
    },
    /// The parts sum to more than 1.
    Sum {
        /// The sum.
        sum: f64,
    },
    /// Two splits have the same name.
    Twice {
        /// The name.
        name: String,
    },
    /// Two files have the same name, and there is no root folder.
    SameName {
        /// The other file.
        other: PathBuf,
    },
    /// The field to split by has no name.
    By {
        /// What was given.
        by: String,
    },
    /// There are no hashes of the field's values.
    NoIndex {
        /// The field.
        field: String,
        /// Why not.
        why: String,
    },
    /// Blocks are left out, so that records do not have the numbers that they had in the index.
    SkipsBlocks,
}

impl fmt::Display for SplitFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SplitFault::Unknown { name, names } => {
                let names: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
                let names = match names.is_empty() {
                    true => "none".to_owned(),
                    false => names.join(", "),
                };
                write!(
                    f,
                    "`split` must be a name in `splits` ({names}), not {name:?}"
                )
            }
            SplitFault::Part { name, part } => write!(
                f,
                "`splits` must have parts above 0 and at most 1, but {name:?} has {part}"
            ),
            SplitFault::Sum { sum } => {
                write!(
                    f,
                    "`splits` must have parts that sum to at most 1, not {sum}"
                )
            }
            SplitFault::Twice { name } => {
                write!(
                    f,
                    "`splits` must have each name once, but has {name:?} twice"
                )
            }
            SplitFault::SameName { other } => write!(
                f,
                "it has the name of {}, so that `split` cannot tell their records apart: give each file \
                 once, and `root`, a folder that all files are in",
                other.display()
            ),
            SplitFault::By { by } => write!(
                f,
                "`split_by` must be \"record\", \"block\" or a field, not {by:?}"
            ),
            SplitFault::NoIndex { field, why } => write!(
                f,
                "`split_by` {field:?} needs hashes of the field's values, but {why}: give `index`, an index that \
                 `atds index --split-by '{field}' FILES -o INDEX` writes"
            ),
            SplitFault::SkipsBlocks => f.write_str(
                "`split_by` a field does not go with `on_error` \"skip_block\", which changes the numbers of \
                 records: use \"skip_file\"",
            ),
        }
    }
}

impl From<SplitFault> for Error {
    #[cold]
    fn from(fault: SplitFault) -> Self {
        Error::new(ErrorKind::Split(fault))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is a failure")]
mod tests {
    use super::*;

    fn compiled(name: &str, splits: &[(&str, f64)]) -> Result<Range<u128>, Error> {
        let split = Split::new(name, splits.iter().copied());
        Ok(split.of(&[], &[], None)?.hashes)
    }

    /// Computed by the reference implementation of XXH3, `xxhash.xxh3_64_intdigest` in Python.
    #[test]
    fn hashes_are_those_that_the_documentation_says() {
        let key = atds_pipeline::Split::file_key;
        let hash = atds_pipeline::Split::hash;
        assert_eq!(key(b"part-0.avro"), GOLDEN_KEYS[0]);
        assert_eq!(key("2026/k\u{e4}se.tfrecord".as_bytes()), GOLDEN_KEYS[1]);
        let hashes = [(0, 0), (0, 1), (0, 1_000_000), (1, 0), (1, u64::MAX)];
        let found = hashes.map(|(file, record)| hash(GOLDEN_KEYS[file], record));
        assert_eq!(found, GOLDEN_HASHES);
    }

    const GOLDEN_KEYS: [u64; 2] = [0xf685_2085_dcd8_82f3, 0x4184_97bb_d449_809c];
    const GOLDEN_HASHES: [u64; 5] = [
        0x5bb2_b0d3_3c0c_36bf,
        0xa784_a642_c7ae_055d,
        0xb210_c7ce_8b66_a4e7,
        0xdbce_b264_25b5_b476,
        0x278c_2ee9_2400_d4a5,
    ];

    #[test]
    fn splits_have_the_hashes_in_the_order_of_their_names() {
        let all = 1 << 64;
        let parts = [("train", 0.5), ("valid", 0.25), ("test", 0.25)];
        let found = ["test", "train", "valid"].map(|name| compiled(name, &parts).unwrap());
        assert_eq!(found, [0..all / 4, all / 4..all / 4 * 3, all / 4 * 3..all]);
        let reversed = [parts[2], parts[1], parts[0]];
        assert_eq!(compiled("train", &reversed).unwrap(), found[1]);
        // Sums of tenths are not exact.
        let tenths: Vec<_> = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
            .map(|name| (name, 0.1))
            .to_vec();
        let mut next = 0;
        for (name, _) in &tenths {
            let hashes = compiled(name, &tenths).unwrap();
            assert_eq!(hashes.start, next);
            next = hashes.end;
        }
        assert_eq!(next, all);
        assert_eq!(compiled("a", &[("a", 1.0)]).unwrap(), 0..all);
        assert_eq!(compiled("b", &[("b", 0.5)]).unwrap(), 0..all / 2);
    }

    #[test]
    fn faults_say_what_is_wrong() {
        let fault = |name: &str, splits: &[(&str, f64)]| {
            let error = compiled(name, splits).unwrap_err();
            error.to_string()
        };
        for (splits, text) in [
            (
                &[("train", 0.9), ("test", 0.1)][..],
                "`split` must be a name in `splits` (\"test\", \"train\"), not \"valid\"",
            ),
            (
                &[],
                "`split` must be a name in `splits` (none), not \"valid\"",
            ),
            (
                &[("valid", 0.9), ("test", 0.0)],
                "`splits` must have parts above 0 and at most 1, but \"test\" has 0",
            ),
            (
                &[("valid", f64::NAN)],
                "`splits` must have parts above 0 and at most 1, but \"valid\" has NaN",
            ),
            (
                &[("valid", 0.9), ("test", 0.2)],
                "`splits` must have parts that sum to at most 1, not 1.1",
            ),
            (
                &[("valid", 0.5), ("valid", 0.25)],
                "`splits` must have each name once, but has \"valid\" twice",
            ),
        ] {
            assert_eq!(fault("valid", splits), text);
        }
        let by = "".parse::<SplitBy>().unwrap_err().to_string();
        assert!(by.contains("or a field"), "{by}");
        let field = |name: &str| SplitBy::Field(name.to_owned());
        assert_eq!("user_id".parse::<SplitBy>().unwrap(), field("user_id"));
        assert_eq!("field:block".parse::<SplitBy>().unwrap(), field("block"));
        assert_eq!("block".parse::<SplitBy>().unwrap(), SplitBy::Block);
    }

    #[test]
    fn files_of_the_same_name_need_a_root() {
        let files = ["a/x.avro", "b/x.avro"].map(PathBuf::from);
        let split = Split::new("a", [("a", 1.0)]);
        let same = [b"x.avro".to_vec(), b"x.avro".to_vec()];
        let error = split.of(&files, &same, None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "b/x.avro: it has the name of a/x.avro, so that `split` cannot tell their records apart: give \
             each file once, and `root`, a folder that all files are in"
        );
        let below = [b"a/x.avro".to_vec(), b"b/x.avro".to_vec()];
        let found = split.of(&files, &below, None).unwrap();
        assert_ne!(found.file_keys[0], found.file_keys[1]);
    }
}
