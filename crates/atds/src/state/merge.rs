//! The states of all ranks of a step, merged into one with which other ranks go on.

use std::fmt;

use super::layers::Layer;
use super::{FilesPrint, Skipped, State, Whose};
use crate::limits::{MAX_LAYERS, MAX_READERS};
use crate::shares::{Share, World};
use crate::{Error, ErrorKind};

/// Why states cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unmergeable {
    /// There are none.
    Nothing,
    /// An option was not the same everywhere.
    Option {
        /// The option.
        name: &'static str,
        /// Two of its values; `None` where they are long.
        values: Option<(String, String)>,
    },
    /// Files, features or the reader's schema were not the same everywhere.
    Files,
    /// They are of different epochs, or of iterations that end after different ones.
    Epochs {
        /// The rank and the worker of one of them, and its epoch.
        one: (u64, u64, u64),
        /// Those of another.
        other: (u64, u64, u64),
    },
    /// They are of worlds of other numbers of ranks or workers, or went on from different layers.
    Worlds,
    /// A state is of a slice of a data set, which is no rank's share; or it is of version 1.
    Slice,
    /// There are states that are merged already beside others, or several different ones.
    Merged,
    /// The state of a worker of a rank is missing.
    Missing {
        /// The rank.
        rank: u64,
        /// The worker.
        worker: u64,
        /// Number of ranks.
        ranks: u64,
        /// Number of workers of each.
        workers: u64,
    },
    /// There are two states of a worker of a rank.
    Twice {
        /// The rank.
        rank: u64,
        /// The worker.
        worker: u64,
    },
    /// Two ranks are at different steps.
    Steps {
        /// A rank, and the batches of the epoch that it has given out.
        one: (u64, u64),
        /// Another.
        other: (u64, u64),
    },
    /// The workers of a rank have not given out batches by turns.
    Turns {
        /// The rank.
        rank: u64,
        /// A worker of it.
        worker: u64,
        /// Number of its batches.
        batches: u64,
        /// Number of its batches where the rank is.
        expected: u64,
    },
    /// Readers have whole files, and a state is in the middle of an epoch, or of another epoch.
    ByFile,
    /// An epoch has no room for another layer.
    Layers,
    /// There are too many ranks and workers.
    Readers,
}

impl fmt::Display for Unmergeable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unmergeable::Nothing => write!(f, "there are none"),
            Unmergeable::Option {
                name,
                values: Some((one, other)),
            } => {
                write!(f, "`{name}` is {one} in one of them and {other} in another")?;
                match *name {
                    "seed" => write!(f, ": give all ranks the same"),
                    _ => Ok(()),
                }
            }
            Unmergeable::Option { name, values: None } => {
                write!(f, "`{name}` is not the same in all of them")
            }
            Unmergeable::Files => write!(f, "they are not all of the same files"),
            Unmergeable::Epochs { one, other } => {
                let ((rank, worker, epoch), (other, of_other, another)) = (one, other);
                write!(
                    f,
                    "worker {worker} of rank {rank} is in epoch {epoch}, and worker {of_other} of rank {other} in \
                     epoch {another}: take the states of all ranks after the same step"
                )
            }
            Unmergeable::ByFile => write!(
                f,
                "they are of whole files (`shard_by=\"file\"`), and not all at the start of the same epoch: go on \
                 with as many ranks and workers as there were, or take them after the end of an epoch"
            ),
            Unmergeable::Worlds => write!(
                f,
                "they are of different numbers of ranks or workers, or went on from different states"
            ),
            Unmergeable::Slice => write!(
                f,
                "one of them is of a slice of a data set that is no rank's share, or is of version 1"
            ),
            Unmergeable::Merged => write!(f, "one of them is merged already"),
            Unmergeable::Missing {
                rank,
                worker,
                ranks,
                workers,
            } => write!(
                f,
                "that of worker {worker} of rank {rank} is missing, of {ranks} ranks with {workers} workers each"
            ),
            Unmergeable::Twice { rank, worker } => {
                write!(f, "there are two of worker {worker} of rank {rank}")
            }
            Unmergeable::Steps { one, other } => {
                let ((rank, step), (other, of_other)) = (one, other);
                write!(
                    f,
                    "rank {rank} has given out {step} batches of the epoch, and rank {other} {of_other}: take the \
                     states of all ranks after the same step"
                )
            }
            Unmergeable::Turns {
                rank,
                worker,
                batches,
                expected,
            } => write!(
                f,
                "worker {worker} of rank {rank} has given out {batches} batches of the epoch and not {expected}: \
                 a loader must take the batches of its workers by turns, from the start of the epoch on"
            ),
            Unmergeable::Layers => write!(
                f,
                "the epoch has {MAX_LAYERS} layers: go on as before to its end, and merge states of the next"
            ),
            Unmergeable::Readers => {
                write!(f, "there are more than {MAX_READERS} ranks and workers")
            }
        }
    }
}

impl From<Unmergeable> for Error {
    #[cold]
    fn from(reason: Unmergeable) -> Self {
        Error::new(ErrorKind::Merge(reason))
    }
}

impl State {
    /// The state with which any number of ranks and workers goes on, also with another batch size, of the
    /// states of all ranks and workers after the same step. What they have left of the epoch is shared out
    /// by number, in the epoch's order of files and blocks.
    ///
    /// ```
    /// # use atds_generate::{generate, GenerateOptions, Preset};
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// # generate(folder, &GenerateOptions::new(Preset::Ads, 1_000))?;
    /// use atds::state::State;
    ///
    /// let dataset = atds::Dataset::builder(folder, 50).shuffle_buffer_size(200).build()?;
    /// let mut states = Vec::new();
    /// for rank in 0..4 {
    ///     let mut batches = dataset.shard(rank, 4)?.iter();
    ///     batches.next().transpose()?;
    ///     states.push(batches.state()?);
    /// }
    /// let merged = State::merge(&states)?;
    ///
    /// // 800 records are left, for three ranks in smaller batches.
    /// let dataset = atds::Dataset::builder(folder, 20).shuffle_buffer_size(200).build()?;
    /// let mut records = 0;
    /// for rank in 0..3 {
    ///     for batch in dataset.shard(rank, 3)?.resume(&merged)? {
    ///         records += batch?.rows();
    ///     }
    /// }
    /// assert_eq!(records, 800);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// They are not the states of all ranks and workers of one step, with the same files and options; or the
    /// epoch has [`MAX_LAYERS`] layers already.
    pub fn merge<'a>(states: impl IntoIterator<Item = &'a State>) -> Result<State, Error> {
        State::merge_later(states.into_iter().map(|state| (state, 0)))
    }

    /// As [`merge`](Self::merge). The rank of each state has given out some more batches since, whose number
    /// comes with it: loaders take the states of workers at times.
    ///
    /// # Errors
    /// As for [`merge`](Self::merge).
    pub fn merge_later<'a>(
        states: impl IntoIterator<Item = (&'a State, u64)>,
    ) -> Result<State, Error> {
        let states: Vec<_> = states.into_iter().collect();
        Ok(merge(&states)?)
    }

    /// The rank, the worker and the epoch.
    fn whose(&self) -> (u64, u64, u64) {
        let Whose { rank, worker, .. } = self.world;
        (rank.unwrap_or(0), worker.unwrap_or(0), self.epoch)
    }

    /// An error unless the other state is of the same files and options.
    fn check_print(&self, other: &State) -> Result<(), Unmergeable> {
        let (one, other) = (&self.fingerprint, &other.fingerprint);
        if let Err(mismatch) = one.options.check(&other.options) {
            return Err(match mismatch {
                super::StateMismatch::Option { name, values } => {
                    Unmergeable::Option { name, values }
                }
                _ => Unmergeable::Files,
            });
        }
        // Machines have copies, which are of different times.
        let files = FilesPrint::without_times;
        let are_same = match self.is_by_file() {
            true => one.files.of_names() == other.files.of_names(),
            false => files(&one.files) == files(&other.files),
        };
        match are_same {
            true => Ok(()),
            false => Err(Unmergeable::Files),
        }
    }

    /// A merged state like this one.
    fn merged(&self) -> State {
        State {
            batches: 0,
            world: Whose::default(),
            ..self.clone()
        }
    }
}

fn merge(states: &[(&State, u64)]) -> Result<State, Unmergeable> {
    let [(one, _), others @ ..] = states else {
        return Err(Unmergeable::Nothing);
    };
    for (other, _) in others {
        one.check_print(other)?;
    }
    if states.iter().any(|(state, _)| state.is_merged()) {
        let is_same = states.iter().all(|state| *state == (*one, 0));
        return is_same.then(|| (*one).clone()).ok_or(Unmergeable::Merged);
    }
    let world = world(states)?;
    let table = by_reader(states, world)?;
    if one.is_by_file() {
        return merge_files(one, states);
    }
    let epoch = one_epoch(states)?;
    let all = table.iter().map(|(state, _)| *state);
    let mut of_epoch = all.filter(|state| state.epoch == epoch);
    let first = of_epoch.next().ok_or(Unmergeable::Nothing)?;
    if of_epoch.any(|state| state.layers != first.layers || state.until != first.until) {
        return Err(Unmergeable::Worlds);
    }
    let (last, _) = table[table.len() - 1];
    if last.epoch > epoch {
        // No reader has more records, and none ends later.
        return after(&table, last, epoch);
    }
    let options = &first.fingerprint.options;
    let step = match last.world.records {
        Some([_, records]) => {
            let share =
                |rank| world.share(records, options.batch_size, options.drop_remainder, rank);
            common_step(&table, world, epoch, share)?
        }
        // One reads all.
        None => table
            .iter()
            .map(|(state, later)| state.batches + later)
            .sum(),
    };
    let mut merged = first.merged();
    merged.skipped = Skipped::default();
    for (state, _) in table.iter().filter(|(state, _)| state.epoch == epoch) {
        let Skipped { records, bytes } = state.skipped;
        merged.skipped.records = merged.skipped.records.saturating_add(records);
        merged.skipped.bytes = merged.skipped.bytes.saturating_add(bytes);
    }
    let layer = Layer {
        world,
        batch_size: options.batch_size,
        step,
    };
    match step == 0 || merged.layers.push(layer) {
        true => Ok(merged),
        false => Err(Unmergeable::Layers),
    }
}

/// Of whole files: anyone goes on with all of the epoch.
fn merge_files(one: &State, states: &[(&State, u64)]) -> Result<State, Unmergeable> {
    let starts = |&(state, later): &(&State, u64)| {
        (state.epoch, state.until, state.batches, later) == (one.epoch, one.until, 0, 0)
    };
    if !states.iter().all(starts) {
        return Err(Unmergeable::ByFile);
    }
    let mut merged = one.merged();
    merged.fingerprint.files = one.fingerprint.files.of_names();
    Ok(merged)
}

/// The world of the states.
fn world(states: &[(&State, u64)]) -> Result<World, Unmergeable> {
    let mut worlds = states.iter().map(|(state, _)| {
        let Whose {
            ranks,
            workers,
            uneven,
            ..
        } = state.world;
        let uneven = uneven.filter(|_| ranks > 0 && workers > 0);
        uneven.map(|uneven| World {
            ranks,
            workers,
            uneven,
        })
    });
    let world = worlds.next().flatten().ok_or(Unmergeable::Slice)?;
    for other in worlds {
        match other {
            None => return Err(Unmergeable::Slice),
            Some(other) if other != world => return Err(Unmergeable::Worlds),
            _ => {}
        }
    }
    match world.readers() <= MAX_READERS {
        true => Ok(world),
        false => Err(Unmergeable::Readers),
    }
}

/// The states by rank and worker.
fn by_reader<'a>(
    states: &[(&'a State, u64)],
    world: World,
) -> Result<Vec<(&'a State, u64)>, Unmergeable> {
    let World { ranks, workers, .. } = world;
    let mut table = vec![None; world.readers() as usize];
    for state in states {
        let (rank, worker, _) = state.0.whose();
        let is_valid = rank < ranks && worker < workers;
        let place = is_valid.then(|| &mut table[(rank * workers + worker) as usize]);
        let place = place.ok_or(Unmergeable::Worlds)?;
        if place.replace(*state).is_some() {
            return Err(Unmergeable::Twice { rank, worker });
        }
    }
    let found = (0..).zip(table).map(|(number, state)| {
        state.ok_or(Unmergeable::Missing {
            rank: number / workers,
            worker: number % workers,
            ranks,
            workers,
        })
    });
    found.collect()
}

/// The epoch of the states. Those that have come to its end are at the start of the next.
fn one_epoch(states: &[(&State, u64)]) -> Result<u64, Unmergeable> {
    let first = states.iter().map(|(state, _)| *state);
    let first = first.min_by_key(|state| state.epoch);
    let first = first.ok_or(Unmergeable::Nothing)?;
    for (state, _) in states {
        let is_over = state.epoch == first.epoch + 1 && state.batches == 0;
        if state.epoch != first.epoch && !is_over {
            return Err(Unmergeable::Epochs {
                one: first.whose(),
                other: state.whose(),
            });
        }
    }
    Ok(first.epoch)
}

/// The step at which all ranks are. `share` has the share of each.
fn common_step(
    table: &[(&State, u64)],
    world: World,
    epoch: u64,
    share: impl Fn(u64) -> Share,
) -> Result<u64, Unmergeable> {
    let (mut ranks, mut step) = (Vec::new(), 0);
    for (rank, states) in (0..).zip(table.chunks(world.workers as usize)) {
        let share = share(rank);
        let given = (0..).zip(states).map(|(worker, (state, _))| {
            let own = share.worker(worker);
            if state.epoch > epoch {
                return Ok(own.batches());
            }
            let records = [own.records.start, own.records.end];
            match state.world.records == Some(records) {
                true => Ok(state.batches),
                false => Err(Unmergeable::Worlds),
            }
        });
        let given: Vec<u64> = given.collect::<Result<_, _>>()?;
        let sum = given
            .iter()
            .fold(0, |sum: u64, own| sum.saturating_add(*own));
        let expected = share.given(sum.min(share.batches));
        for (worker, (batches, expected)) in (0..).zip(given.into_iter().zip(expected)) {
            if batches != expected {
                return Err(Unmergeable::Turns {
                    rank,
                    worker,
                    batches,
                    expected,
                });
            }
        }
        let later = states.iter().map(|(_, later)| *later).max();
        let of_rank = sum.saturating_add(later.unwrap_or(0));
        step = step.max(of_rank);
        ranks.push((of_rank, share.batches));
    }
    // A rank with fewer batches than others has come to its end.
    let at = |step: u64| (0..).zip(&ranks).find(|(_, (of_rank, _))| *of_rank == step);
    for (rank, (of_rank, all)) in (0..).zip(&ranks) {
        if *of_rank != step.min(*all) {
            return Err(Unmergeable::Steps {
                one: (at(step).map_or(0, |(rank, _)| rank), step),
                other: (rank, *of_rank),
            });
        }
    }
    Ok(step)
}

/// The state after the end of an epoch, of which all must be at the end.
fn after(table: &[(&State, u64)], last: &State, epoch: u64) -> Result<State, Unmergeable> {
    let options = &last.fingerprint.options;
    for (state, _) in table.iter().filter(|(state, _)| state.epoch == epoch) {
        let records = state.world.records.map_or(0, |[start, end]| end - start);
        // A last batch may be one that other ranks lack.
        if (state.batches + 1).saturating_mul(options.batch_size) < records {
            return Err(Unmergeable::Epochs {
                one: state.whose(),
                other: last.whose(),
            });
        }
    }
    Ok(last.merged())
}
