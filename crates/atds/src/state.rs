//! Where an iteration is, to be saved with a checkpoint, and what must be the same to go on there.

mod digits;
mod layers;
mod merge;
mod mismatch;

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

#[doc(inline)]
pub use atds_pipeline::Position;
use atds_pipeline::{Options, SkippedCounts, Slice};
use avro_decode::PlanOptions;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use twox_hash::XxHash3_64;

use crate::avro::records::RecordOptions;
use crate::features::to_json;
use crate::formats::Counts;
use crate::shares::Uneven;
use crate::{Error, Feature};

pub(crate) use self::layers::{Layers, Reader};
pub use self::merge::Unmergeable;
pub use self::mismatch::StateMismatch;

/// The version of states that this library writes. It reads all versions up to this one.
pub const STATE_VERSION: u32 = 3;

/// Where an iteration is: a few numbers, less than 1 KB as JSON. [`Dataset::resume`] gives the batches
/// that would have come next.
///
/// It says what the files and options were, so that it is refused where the order or the values would be
/// others. It does not depend on the number of threads, the memory limit, or what was made ahead.
///
/// [`Dataset::resume`]: crate::Dataset::resume
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    #[serde(deserialize_with = "version")]
    version: u32,
    fingerprint: Fingerprint,
    /// The epoch.
    pub epoch: u64,
    /// Number of batches of the epoch that were given out.
    pub batches: u64,
    /// The epoch after the last of the iteration.
    pub until: u64,
    /// What damage has cost of the epoch.
    #[serde(default)]
    pub skipped: Skipped,
    world: Whose,
    /// Those who have read the epoch before.
    layers: Layers,
}

/// What damage has cost of an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skipped {
    /// Number of records; of bytes whose records are not known, an estimate.
    pub records: u64,
    /// Number of bytes whose records are not known: the framing is damaged.
    pub bytes: u64,
}

/// Whose batches they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Whose {
    /// The rank; `None` in a merged state, with which anyone goes on.
    rank: Option<u64>,
    worker: Option<u64>,
    /// The records that it reads, from the first to the one after the last, of those that the layers left;
    /// `None` for all.
    records: Option<[u64; 2]>,
    /// Number of ranks, and of workers of each; 0 for a slice of a data set, and in version 1 if unknown.
    #[serde(default)]
    ranks: u64,
    #[serde(default)]
    workers: u64,
    uneven: Option<Uneven>,
}

/// What fixes the order and the values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fingerprint {
    options: OptionsPrint,
    files: FilesPrint,
}

/// The options that fix the order or the values: small ones by their value, others by their hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OptionsPrint {
    batch_size: u64,
    shuffle_buffer_size: u64,
    drop_remainder: bool,
    seed: u64,
    shuffle_files: bool,
    shuffle_blocks: bool,
    /// "blocks", if blocks of all files are shuffled together. Other states have none, to be short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shuffle: Option<Cow<'static, str>>,
    /// The split, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    split: Option<String>,
    features: Hash,
    reader_schema: Hash,
    tolerate: String,
    out_of_bounds: String,
}

/// A hash, which is the same in each version and on each machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Hash(#[serde(with = "digits")] u64);

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
    /// Number of records of each block, and of those in the split.
    blocks: Arc<[u64]>,
    members: Arc<[u64]>,
}

/// What was found of the files of a data set.
#[derive(Debug)]
pub(crate) struct FilePrints {
    pub(crate) sums: FilesPrint,
    files: Vec<FilePrint>,
}

impl FilePrints {
    /// Looks at files whose names have these [hashes](hashes_of). `count` counts their records, and of each
    /// block those in the split. Files that are as they were in `known` are not read again.
    ///
    /// # Errors
    /// The first file that cannot be read, or whose framing is damaged.
    pub(crate) fn new(
        files: &[PathBuf],
        names: &[Hash],
        known: Option<&FilePrints>,
        mut count: impl FnMut(usize) -> Result<(Counts, Arc<[u64]>), Error>,
    ) -> Result<Self, Error> {
        let print = |(number, path): (usize, &PathBuf)| {
            let (size, modified) = stamp(path)?;
            if let Some(known) = known.and_then(|known| known.files.get(number))
                && (size, modified) == (known.size, known.modified)
            {
                return Ok(known.clone());
            }
            let (Counts { marker, blocks }, members) = count(number)?;
            Ok(FilePrint {
                size,
                modified,
                marker,
                blocks,
                members,
            })
        };
        let found: Vec<_> = files
            .iter()
            .enumerate()
            .map(print)
            .collect::<Result<_, Error>>()?;
        Ok(FilePrints {
            sums: FilesPrint::new(names, &found),
            files: found,
        })
    }

    /// Number of records of each file that are in the split.
    pub(crate) fn file_records(&self) -> impl Iterator<Item = u64> {
        self.files.iter().map(|file| sum(&file.members))
    }

    /// Number of records of each block of a file that are in the split.
    pub(crate) fn block_records(&self, file: usize) -> Arc<[u64]> {
        self.files[file].members.clone()
    }
}

impl State {
    /// The state at a position of an iteration up to epoch `until`.
    pub(crate) fn new(
        position: Position,
        until: u64,
        (pipeline, reader, layers): (&Options, Option<&Reader>, &Layers),
        options: &OptionsPrint,
        files: &FilesPrint,
    ) -> Self {
        let is_rest = pipeline.rest.as_ref().map(|rest| rest.epoch) == Some(position.epoch);
        State {
            version: STATE_VERSION,
            fingerprint: Fingerprint {
                options: options.clone().of(pipeline),
                files: files.clone(),
            },
            epoch: position.epoch,
            batches: position.batches,
            until,
            skipped: Skipped::default(),
            world: Whose::new(pipeline, reader, is_rest),
            layers: match is_rest {
                true => layers.clone(),
                false => Layers::default(),
            },
        }
    }

    /// The same state, after damage has cost something of the epoch.
    #[must_use]
    pub fn with_skipped(mut self, skipped: SkippedCounts) -> Self {
        self.skipped = Skipped {
            records: skipped.records,
            bytes: skipped.bytes,
        };
        self
    }

    /// The seed of the iteration; `None` if its order is not random.
    pub fn seed(&self) -> Option<u64> {
        let options = &self.fingerprint.options;
        let is_random = options.shuffle_buffer_size > 0
            || options.shuffle_files
            || options.shuffle_blocks
            || options.shuffle.is_some();
        is_random.then_some(options.seed)
    }

    /// Whether it is merged from those of all ranks: any number of ranks goes on with it.
    pub(crate) fn is_merged(&self) -> bool {
        self.world.rank.is_none()
    }

    pub(crate) fn layers(&self) -> &Layers {
        &self.layers
    }

    /// An error if the order or the values are others than those that this state, of the same data set,
    /// fits.
    pub(crate) fn check(&self, now: &State, files: &[PathBuf]) -> Result<(), StateMismatch> {
        if self.epoch > self.until {
            let (epoch, until) = (self.epoch, self.until);
            return Err(StateMismatch::Epochs { epoch, until });
        }
        let (saved, found) = (&self.fingerprint, &now.fingerprint);
        let mut options = saved.options.clone();
        if self.is_merged() {
            options.batch_size = found.options.batch_size;
        }
        options.check(&found.options)?;
        saved.files.check(&found.files, files)
    }

    /// An error if it is of another reader than that of `now`.
    pub(crate) fn check_reader(&self, now: &State) -> Result<(), StateMismatch> {
        if !self.is_merged() {
            return self.world.check(&now.world);
        }
        match now.world.ranks {
            0 => Err(StateMismatch::Slice),
            _ => Ok(()),
        }
    }
}

impl Whose {
    fn new(pipeline: &Options, reader: Option<&Reader>, is_rest: bool) -> Self {
        let slice = pipeline.slice.as_ref();
        let records = match &pipeline.rest {
            Some(rest) if is_rest => Some(&rest.records),
            _ => slice.map(|Slice { records, .. }| records),
        };
        let world = reader.map(|reader| reader.world);
        Whose {
            rank: Some(pipeline.stream.rank),
            worker: Some(pipeline.stream.worker),
            records: records.map(|records| [records.start, records.end]),
            ranks: world.map_or(0, |world| world.ranks),
            workers: world.map_or(0, |world| world.workers),
            uneven: world.map(|world| world.uneven),
        }
    }

    /// An error unless they are the same. Version 1 does not always say how many there are.
    fn check(&self, now: &Whose) -> Result<(), StateMismatch> {
        let uneven = |whose: &Whose| {
            whose
                .uneven
                .map_or(String::new(), |of| of.name().to_owned())
        };
        let [saved, found] = [self, now].map(|whose| {
            [
                ("the number of ranks", whose.ranks.to_string()),
                ("the number of workers", whose.workers.to_string()),
                ("`uneven`", uneven(whose)),
            ]
        });
        if self.ranks > 0 && now.ranks > 0 {
            for ((what, saved), (_, now)) in saved.into_iter().zip(found) {
                if saved != now {
                    return Err(StateMismatch::World { what, saved, now });
                }
            }
        }
        // The only worker of the only rank reads all, also as a slice.
        let is_alone = |whose: &Whose| (whose.ranks, whose.workers) == (1, 1);
        let are_alone = is_alone(self) && is_alone(now);
        let of = |whose: &Whose| {
            let records = whose.records.filter(|_| !are_alone);
            (whose.rank, whose.worker, records)
        };
        if of(self) != of(now) {
            return Err(StateMismatch::Reader {
                saved: self.to_string(),
                now: now.to_string(),
            });
        }
        Ok(())
    }
}

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [rank, worker] = [self.rank, self.worker].map(|number| number.unwrap_or(0));
        write!(f, "worker {worker} of rank {rank}")?;
        match self.records {
            Some([start, end]) => write!(f, ", which reads the records {start} to {end}"),
            None => write!(f, ", which reads all records"),
        }
    }
}

impl OptionsPrint {
    /// Of the options that plans are made with; [`of`](Self::of) adds the others.
    pub(crate) fn new(features: &[Feature], plan: &PlanOptions, reading: &RecordOptions) -> Self {
        let mut features = features.to_vec();
        features.sort_by(|one, other| one.name.cmp(&other.name));
        let reader = plan.reader_schema.as_ref();
        OptionsPrint {
            batch_size: 0,
            shuffle_buffer_size: 0,
            drop_remainder: false,
            seed: 0,
            shuffle_files: false,
            shuffle_blocks: false,
            shuffle: None,
            split: None,
            features: hash(to_json(&features).to_string().as_bytes()),
            reader_schema: reader.map_or(Hash::default(), |schema| {
                hash(schema.to_string().as_bytes())
            }),
            tolerate: reading.tolerate.to_string(),
            out_of_bounds: format!("{:?}", plan.out_of_bounds).to_lowercase(),
        }
    }

    pub(crate) fn with_split(self, split: Option<String>) -> Self {
        OptionsPrint { split, ..self }
    }

    fn of(self, pipeline: &Options) -> Self {
        let is_random = pipeline.shuffle_buffer_size > 0
            || pipeline.shuffle_files
            || pipeline.shuffle_blocks
            || pipeline.shuffle_runs;
        OptionsPrint {
            batch_size: pipeline.batch_size as u64,
            shuffle_buffer_size: pipeline.shuffle_buffer_size as u64,
            drop_remainder: pipeline.drop_remainder,
            // Of files in order, any seed gives the same batches.
            seed: if is_random { pipeline.seed } else { 0 },
            shuffle_files: pipeline.shuffle_files,
            shuffle_blocks: pipeline.shuffle_blocks,
            shuffle: pipeline.shuffle_runs.then_some("blocks".into()),
            ..self
        }
    }

    fn check(&self, now: &OptionsPrint) -> Result<(), StateMismatch> {
        let value = |print: &OptionsPrint| serde_json::to_value(print).unwrap_or_default();
        let (saved, now) = (value(self), value(now));
        for name in OPTIONS {
            let [saved, now] = [&saved[name], &now[name]];
            if saved != now {
                let is_long = matches!(name, "features" | "reader_schema");
                let values = (!is_long).then(|| (saved.to_string(), now.to_string()));
                return Err(StateMismatch::Option { name, values });
            }
        }
        Ok(())
    }
}

/// The options in the order in which they are compared.
const OPTIONS: [&str; 12] = [
    "batch_size",
    "shuffle_buffer_size",
    "drop_remainder",
    "seed",
    "shuffle_files",
    "shuffle_blocks",
    "shuffle",
    "split",
    "features",
    "reader_schema",
    "tolerate",
    "out_of_bounds",
];

impl FilesPrint {
    fn new(names: &[Hash], prints: &[FilePrint]) -> Self {
        let of = |value: fn(&FilePrint) -> Hash| -> Sums { prints.iter().map(value).collect() };
        FilesPrint {
            count: names.len() as u64,
            names: names.iter().copied().collect(),
            sizes: of(|print| hash(&print.size.to_le_bytes())),
            markers: of(|print| hash(&print.marker)),
            records: of(|print| hash(&print.records().to_le_bytes())),
            times: of(|print| hash(&print.modified.to_le_bytes())),
        }
    }

    fn check(&self, now: &FilesPrint, files: &[PathBuf]) -> Result<(), StateMismatch> {
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

impl FromIterator<Hash> for Sums {
    fn from_iter<I: IntoIterator<Item = Hash>>(hashes: I) -> Self {
        let mut sums = Sums::default();
        for (number, hash) in (1_u64..).zip(hashes) {
            sums.0.0 = sums.0.0.wrapping_add(hash.0);
            sums.1.0 = sums.1.0.wrapping_add(number.wrapping_mul(hash.0));
        }
        sums
    }
}

impl FilePrint {
    fn records(&self) -> u64 {
        sum(&self.blocks)
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
    let as_given = std::path::absolute(root).map_err(|error| Error::io(error, root))?;
    let name = |path: &PathBuf| {
        let io = |error| Error::io(error, path);
        // Links below the root may lead elsewhere.
        let absolute = std::path::absolute(path).map_err(io)?;
        let is_plain = |path: &Path| !path.components().any(|part| part == Component::ParentDir);
        let below = match absolute.strip_prefix(&as_given) {
            Ok(below) if is_plain(below) => below.to_owned(),
            _ => {
                let real = std::fs::canonicalize(path).map_err(io)?;
                let outside = || Error::option("root", "a folder that has all files").in_file(path);
                real.strip_prefix(&found).map_err(|_| outside())?.to_owned()
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

/// The size of a file in bytes, and the time of its last change in nanoseconds since 1970.
fn stamp(path: &Path) -> Result<(u64, u64), Error> {
    let failed = |error: io::Error| Error::io(error, path);
    let metadata = std::fs::metadata(path).map_err(failed)?;
    let modified = metadata.modified().map_err(failed)?;
    let since = modified.duration_since(UNIX_EPOCH);
    Ok((
        metadata.len(),
        since.map_or(0, |time| time.as_nanos() as u64),
    ))
}

/// Of any version that is read: what it becomes is written as this version has it. It comes first, so that a
/// state of a later one is told from one that is damaged.
fn version<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    match u32::deserialize(from)? {
        1..=STATE_VERSION => Ok(STATE_VERSION),
        found => Err(D::Error::custom(StateMismatch::Version { found })),
    }
}

fn hash(bytes: &[u8]) -> Hash {
    Hash(XxHash3_64::oneshot(bytes))
}

/// The saturating sum: records may take no bytes, so any file could claim 2^64 records.
pub(crate) fn sum(counts: &[u64]) -> u64 {
    counts.iter().copied().fold(0, u64::saturating_add)
}
