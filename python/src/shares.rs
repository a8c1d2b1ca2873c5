//! The records of ranks and workers.

use atds::shares::{FileShare, Share, Uneven};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A world: the numbers of ranks and of workers of each, and `uneven=`.
pub(crate) type World = (u64, u64, String);

/// The share of a rank: its first record and the end of its records, the number of batches that they make,
/// that of batches that it yields, and that of batches among these that are padding.
pub(crate) type RankShare = ((u64, u64), u64, u64, u64);

pub(crate) fn world((ranks, workers, uneven): World) -> PyResult<atds::shares::World> {
    let uneven = match &*uneven {
        "drop" => Uneven::Drop,
        "pad" => Uneven::Pad,
        "keep" => Uneven::Keep,
        _ => return Err(PyValueError::new_err("uneven")),
    };
    if ranks == 0 || workers == 0 {
        return Err(PyValueError::new_err("a world without ranks or workers"));
    }
    Ok(atds::shares::World {
        ranks,
        workers,
        uneven,
    })
}

/// The share of a rank in `records` records.
#[pyfunction]
pub(crate) fn rank_share(
    records: u64,
    batch_size: u64,
    drop_remainder: bool,
    of: World,
    rank: u64,
) -> PyResult<RankShare> {
    let share = world(of)?.share(records, batch_size, drop_remainder, rank);
    let records = (share.records.start, share.records.end);
    Ok((records, share.made, share.batches, share.padding))
}

/// What a worker has of whole files.
type SaidShare = (u64, u64, u64, u64);

/// What each worker of each rank has of whole files: the number of records, that of batches that they make,
/// that of batches that it yields of them, and that of padding after these.
#[pyfunction]
pub(crate) fn shares_of_files(
    file_records: Vec<u64>,
    batch_size: u64,
    drop_remainder: bool,
    of: World,
) -> PyResult<Vec<Vec<SaidShare>>> {
    let ranks = world(of)?.shares_of_files(&file_records, batch_size, drop_remainder);
    let share = |share: FileShare| (share.records, share.made, share.taken, share.padding);
    let rank = |workers: Vec<FileShare>| workers.into_iter().map(share).collect();
    Ok(ranks.into_iter().map(rank).collect())
}

/// The share of one of `workers` workers of a rank, whose share is as that of [`rank_share`]: the worker's
/// first record and the end of its records, the number of batches that they make, that of batches that it
/// yields of them, and that of padding after these.
#[pyfunction]
pub(crate) fn worker_share(
    share: RankShare,
    batch_size: u64,
    worker: u64,
    workers: u64,
) -> ((u64, u64), u64, u64, u64) {
    let (records, made, batches, padding) = share;
    let share = Share {
        records: records.0..records.1,
        made,
        batches,
        padding,
        batch_size,
        workers: workers.max(1),
    };
    let share = share.worker(worker);
    let records = (share.records.start, share.records.end);
    (records, share.made, share.taken, share.padding)
}
