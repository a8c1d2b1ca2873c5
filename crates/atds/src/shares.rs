//! Shares: the records of an epoch are divided among ranks, and those of a rank among its workers; or the files
//! are.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::state::sum;

/// What ranks and workers share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ShardBy {
    /// The records: each reader has consecutive ones of an epoch, as many as any other but for one. The records
    /// of all files are counted first. A file that is packed as a whole is unpacked for that, and again by
    /// each reader.
    #[default]
    Record,
    /// The files, in the order in which they were given: each reader has every nth, in each epoch. Nothing is
    /// counted, and files of others are not opened. How even the shares are is up to the files. Readers
    /// beyond the number of files have none.
    File,
}

/// What becomes of a batch that only some ranks have: ranks that wait for one another at each batch must have
/// the same number of batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Uneven {
    /// It is left out.
    Drop,
    /// The other ranks have a batch of padding.
    Pad,
    /// It stays.
    Keep,
}

impl Uneven {
    /// All, in the order in which states number them.
    pub(crate) const ALL: [Uneven; 3] = [Uneven::Drop, Uneven::Pad, Uneven::Keep];

    /// As in a state: `drop`, `pad`, `keep`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Uneven::Drop => "drop",
            Uneven::Pad => "pad",
            Uneven::Keep => "keep",
        }
    }
}

/// Those who read the records of an epoch side by side: ranks, each with some workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct World {
    /// Number of ranks; at least 1.
    pub ranks: u64,
    /// Number of workers of each rank; at least 1.
    pub workers: u64,
    /// What becomes of a batch that only some ranks have.
    pub uneven: Uneven,
}

impl World {
    /// One that reads all.
    pub const ONE: World = World {
        ranks: 1,
        workers: 1,
        uneven: Uneven::Keep,
    };

    /// Ranks of one worker each, all of whose batches stay.
    pub fn of_shards(ranks: u64) -> Self {
        World {
            ranks,
            ..World::ONE
        }
    }

    /// Number of workers of all ranks together.
    pub(crate) fn readers(&self) -> u64 {
        self.ranks.saturating_mul(self.workers)
    }

    /// The share of rank `rank` in `records` records. Ranks have consecutive records, in numbers that differ
    /// by one at most.
    pub fn share(&self, records: u64, batch_size: u64, drop_remainder: bool, rank: u64) -> Share {
        let made = |records: u64| match drop_remainder {
            true => records / batch_size,
            false => records.div_ceil(batch_size),
        };
        let (fewest, most) = (
            made(records / self.ranks),
            made(records.div_ceil(self.ranks)),
        );
        let records = shard(records, rank, self.ranks);
        let own = made(records.end - records.start);
        let batches = match self.uneven {
            Uneven::Drop => fewest,
            Uneven::Pad => most,
            Uneven::Keep => own,
        };
        Share {
            records,
            made: own,
            batches,
            padding: batches.saturating_sub(own),
            batch_size,
            workers: self.workers,
        }
    }

    /// The shares of all workers of all ranks, rank by rank, where they share whole files of `file_records`
    /// records. With [`Uneven::Drop`] each rank gives out as many batches as the rank with the fewest makes, those
    /// that a loader takes first, and with [`Uneven::Pad`] as many as the rank with the most.
    pub fn shares_of_files(
        &self,
        file_records: &[u64],
        batch_size: u64,
        drop_remainder: bool,
    ) -> Vec<Vec<FileShare>> {
        let files = |rank, worker| {
            let of_rank = every(0..file_records.len(), rank, self.ranks);
            every(of_rank.iter().copied(), worker, self.workers)
        };
        let worker = |rank, worker| {
            let files = files(rank, worker);
            let records: Vec<u64> = files.iter().map(|&file| file_records[file]).collect();
            let records = sum(&records);
            let made = match drop_remainder {
                true => records / batch_size,
                false => records.div_ceil(batch_size),
            };
            FileShare {
                records,
                made,
                taken: made,
                padding: 0,
            }
        };
        let rank = |rank| -> Vec<FileShare> {
            let workers = 0..self.workers;
            workers.map(|number| worker(rank, number)).collect()
        };
        let mut ranks: Vec<_> = (0..self.ranks).map(rank).collect();
        let made = |rank: &Vec<FileShare>| -> u64 { rank.iter().map(|worker| worker.made).sum() };
        let (fewest, most) = (ranks.iter().map(made).min(), ranks.iter().map(made).max());
        let (fewest, most) = (fewest.unwrap_or(0), most.unwrap_or(0));
        for rank in &mut ranks {
            let (own, workers) = (made(rank), rank.len());
            let all: Vec<u64> = rank.iter().map(|worker| worker.made).collect();
            match self.uneven {
                Uneven::Keep => {}
                Uneven::Drop => {
                    for (worker, taken) in rank.iter_mut().zip(by_turns(&all, fewest)) {
                        worker.taken = taken;
                    }
                }
                Uneven::Pad => rank[workers - 1].padding = most - own,
            }
        }
        ranks
    }

    /// Number of steps that the ranks together make of `records` records: the most batches of a rank.
    pub(crate) fn steps(&self, records: u64, batch_size: u64, drop_remainder: bool) -> u64 {
        // The last rank has as many records as any.
        self.share(records, batch_size, drop_remainder, self.ranks - 1)
            .batches
    }
}

/// The share of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The records, by their numbers among those that are shared.
    pub records: Range<u64>,
    /// Number of batches that these records make.
    pub made: u64,
    /// Number of batches that the rank gives out.
    pub batches: u64,
    /// Number of these batches that are padding, the last ones.
    pub padding: u64,
    /// Number of records of a batch.
    pub batch_size: u64,
    /// Number of workers; at least 1.
    pub workers: u64,
}

impl Share {
    /// The share of worker `worker`. Workers have whole batches, so that the number of batches does not
    /// depend on the number of workers. The last worker has the remaining records, and the padding.
    pub fn worker(&self, worker: u64) -> WorkerShare {
        let batches = self.batches - self.padding;
        let batches = shard(batches, worker, self.workers);
        let taken = batches.end - batches.start;
        let at = |batch: u64| {
            let before = batch.saturating_mul(self.batch_size);
            self.records.start.saturating_add(before)
        };
        match worker + 1 < self.workers {
            true => WorkerShare {
                records: at(batches.start)..at(batches.end),
                made: taken,
                taken,
                padding: 0,
            },
            false => WorkerShare {
                records: at(batches.start)..self.records.end,
                made: self.made - batches.start,
                taken,
                padding: self.padding,
            },
        }
    }

    /// Number of batches that each worker gives out of the first `step` of the rank: loaders take one of
    /// each worker in turn, as long as the worker has more.
    pub(crate) fn given(&self, step: u64) -> Vec<u64> {
        let workers = 0..self.workers;
        let all: Vec<u64> = workers
            .map(|worker| self.worker(worker).batches())
            .collect();
        by_turns(&all, step)
    }
}

/// Number of batches that each worker gives out of the first `step`, if worker by worker has the next as long as
/// it has more: each has `all` of its own.
fn by_turns(all: &[u64], step: u64) -> Vec<u64> {
    // Whole rounds: the most that are not more than `step` batches.
    let of_rounds = |rounds: u64| all.iter().map(|&own| own.min(rounds)).sum::<u64>();
    let (mut rounds, mut end) = (0, step + 1);
    while rounds + 1 < end {
        let middle = rounds + (end - rounds) / 2;
        match of_rounds(middle) <= step {
            true => rounds = middle,
            false => end = middle,
        }
    }
    let mut left = step - of_rounds(rounds);
    let of_worker = |&own: &u64| {
        let more = u64::from(own > rounds && left > 0);
        left -= more;
        own.min(rounds) + more
    };
    all.iter().map(of_worker).collect()
}

/// The share of a worker that has whole files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileShare {
    /// Number of records of its files.
    pub records: u64,
    /// Number of batches that these make.
    pub made: u64,
    /// Number of these batches that are given out, the first ones.
    pub taken: u64,
    /// Number of batches of padding after them.
    pub padding: u64,
}

/// The share of one of a rank's workers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerShare {
    /// The records, by their numbers among those that are shared.
    pub records: Range<u64>,
    /// Number of batches that these records make.
    pub made: u64,
    /// Number of these batches that are given out, the first ones.
    pub taken: u64,
    /// Number of batches of padding after them.
    pub padding: u64,
}

impl WorkerShare {
    /// Number of batches that are given out.
    pub(crate) fn batches(&self) -> u64 {
        self.taken + self.padding
    }
}

/// The records of one of `count` shards of `records` records: shards are as equal as can be, and one
/// begins where another ends.
pub(crate) fn shard(records: u64, index: u64, count: u64) -> Range<u64> {
    let bound = |shard: u64| {
        let bound = u128::from(records) * u128::from(shard) / u128::from(count);
        // No more than there are, since there are no more shards than `count`.
        u64::try_from(bound).unwrap_or(records)
    };
    bound(index)..bound(index + 1)
}

/// Every `count`th of the files from number `index` on.
pub(crate) fn every(files: impl Iterator<Item = usize>, index: u64, count: u64) -> Arc<[usize]> {
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    files.skip(number(index)).step_by(number(count)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_as_equal_as_can_be() {
        for (records, count) in [(0, 1), (0, 3), (2, 5), (10, 3), (10, 10), (u64::MAX, 7)] {
            let shards: Vec<_> = (0..count).map(|i| shard(records, i, count)).collect();
            let mut next = 0;
            for shard in &shards {
                assert_eq!(shard.start, next);
                assert!((shard.end - shard.start).abs_diff(records / count) <= 1);
                next = shard.end;
            }
            assert_eq!(next, records);
        }
        assert_eq!(
            shard(u64::MAX, u64::MAX - 1, u64::MAX),
            u64::MAX - 1..u64::MAX
        );
    }

    #[test]
    fn ranks_and_workers_share_all_records_in_equal_steps() {
        for records in 0..60 {
            for (ranks, workers, batch_size) in [(1, 1, 7), (3, 1, 4), (2, 3, 5), (4, 2, 3)] {
                for drop_remainder in [false, true] {
                    for uneven in Uneven::ALL {
                        let world = World {
                            ranks,
                            workers,
                            uneven,
                        };
                        check(world, records, batch_size, drop_remainder);
                    }
                }
            }
        }
    }

    #[test]
    fn ranks_and_workers_share_all_files_in_equal_steps() {
        let file_records = [7, 0, 12, 1, 30, 5, 6];
        for (ranks, workers) in [(1, 1), (2, 1), (2, 2), (3, 2), (1, 4), (5, 3)] {
            for drop_remainder in [false, true] {
                for uneven in Uneven::ALL {
                    let world = World {
                        ranks,
                        workers,
                        uneven,
                    };
                    let shares = world.shares_of_files(&file_records, 4, drop_remainder);
                    let all = shares.iter().flatten();
                    assert_eq!(all.map(|share| share.records).sum::<u64>(), 61, "{world:?}");
                    let batches = |rank: &Vec<FileShare>| -> u64 {
                        rank.iter()
                            .map(|worker| worker.taken + worker.padding)
                            .sum()
                    };
                    let made = |rank: &Vec<FileShare>| -> u64 {
                        rank.iter().map(|worker| worker.made).sum()
                    };
                    let expected: Vec<u64> = match uneven {
                        Uneven::Keep => shares.iter().map(made).collect(),
                        Uneven::Drop => vec![shares.iter().map(made).min().unwrap(); shares.len()],
                        Uneven::Pad => vec![shares.iter().map(made).max().unwrap(); shares.len()],
                    };
                    let found: Vec<u64> = shares.iter().map(batches).collect();
                    assert_eq!(found, expected, "{world:?}");
                    assert!(
                        shares
                            .iter()
                            .flatten()
                            .all(|worker| worker.taken <= worker.made)
                    );
                }
            }
        }
    }

    fn check(world: World, records: u64, batch_size: u64, drop_remainder: bool) {
        let of = format!("{records} records in batches of {batch_size}: {world:?}");
        let share = |rank| world.share(records, batch_size, drop_remainder, rank);
        let steps = world.steps(records, batch_size, drop_remainder);
        let mut next = 0;
        for rank in 0..world.ranks {
            let share = share(rank);
            assert!(share.batches <= steps, "{of}");
            assert!(
                world.uneven == Uneven::Keep || share.batches == steps,
                "{of}"
            );
            let workers: Vec<_> = (0..world.workers)
                .map(|worker| share.worker(worker))
                .collect();
            for worker in &workers {
                assert_eq!(worker.records.start, next, "{of}");
                next = worker.records.end;
                let records = worker.records.end - worker.records.start;
                let made = match drop_remainder {
                    true => records / batch_size,
                    false => records.div_ceil(batch_size),
                };
                assert_eq!(worker.made, made, "{of}");
                assert!(worker.taken <= made, "{of}");
            }
            let batches: u64 = workers.iter().map(WorkerShare::batches).sum();
            assert_eq!(batches, share.batches, "{of}");
            // One batch after another, by turns.
            let (mut given, mut turn) = (vec![0; workers.len()], 0);
            for step in 0..=share.batches {
                assert_eq!(share.given(step), given, "{of}, step {step}");
                if step == share.batches {
                    break;
                }
                while given[turn] == workers[turn].batches() {
                    turn = (turn + 1) % workers.len();
                }
                given[turn] += 1;
                turn = (turn + 1) % workers.len();
            }
        }
        assert_eq!(next, records, "{of}");
    }
}
