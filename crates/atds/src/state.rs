//! Where an iteration is, to be saved with a checkpoint, and what must be the same to go on there.

mod digits;
mod files;
mod layers;
mod merge;
mod mismatch;

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

#[doc(inline)]
pub use atds_pipeline::Position;
use atds_pipeline::{Options, SkippedCounts, Slice};
use avro_decode::PlanOptions;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use twox_hash::XxHash3_64;

use crate::Feature;
use crate::avro::records::RecordOptions;
use crate::features::to_json;
use crate::shares::{ShardBy, Uneven};

use self::files::FilesPrint;
pub(crate) use self::files::{BlockCounts, FilePrints, Looked, hashes_of, modified, names_of};
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
    /// The numbers of `interleave`, if files take turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interleave: Option<(u64, u64)>,
    /// The split, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    split: Option<String>,
    /// "file", if readers have whole files. Other states have none, to be short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shard_by: Option<Cow<'static, str>>,
    features: Hash,
    reader_schema: Hash,
    tolerate: String,
    out_of_bounds: String,
}

/// A hash, which is the same in each version and on each machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Hash(#[serde(with = "digits")] u64);

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

    /// Whether readers have whole files.
    fn is_by_file(&self) -> bool {
        self.fingerprint.options.shard_by.is_some()
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
            if self.is_by_file() {
                // It is at the start of an epoch, whoever reads which files.
                options.shard_by = found.options.shard_by.clone();
                options.check(&found.options)?;
                return saved.files.check(&found.files.of_names(), files);
            }
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
            None if self.ranks.saturating_mul(self.workers) > 1 => {
                write!(f, ", which reads its own files")
            }
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
            interleave: None,
            split: None,
            shard_by: None,
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

    pub(crate) fn sharded_by(self, by: ShardBy) -> Self {
        let shard_by = (by == ShardBy::File).then_some("file".into());
        OptionsPrint { shard_by, ..self }
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
            interleave: (pipeline.interleave)
                .map(|turns| (turns.cycle_length as u64, turns.block_length)),
            ..self
        }
    }

    fn check(&self, now: &OptionsPrint) -> Result<(), StateMismatch> {
        let value = |print: &OptionsPrint| serde_json::to_value(print).unwrap_or_default();
        let (saved, now) = (value(self), value(now));
        for name in OPTIONS {
            let value = |print: &Value| match &print[name] {
                Value::Null if name == "shard_by" => Value::from("record"),
                value => value.clone(),
            };
            let [saved, now] = [value(&saved), value(&now)];
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
const OPTIONS: [&str; 14] = [
    "batch_size",
    "shuffle_buffer_size",
    "drop_remainder",
    "seed",
    "shuffle_files",
    "shuffle_blocks",
    "shuffle",
    "interleave",
    "split",
    "shard_by",
    "features",
    "reader_schema",
    "tolerate",
    "out_of_bounds",
];

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
