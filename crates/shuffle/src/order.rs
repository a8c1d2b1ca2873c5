//! Random orders of files, of a file's blocks, and of runs of blocks of all files.

use rand_core::Rng;

use crate::rng::{Purpose, below, words};

/// A uniformly random order of `files` files, fixed by `(seed, epoch)`.
///
/// ```
/// let mut order = atds_shuffle::file_order(7, 0, 5);
/// assert_ne!(order, atds_shuffle::file_order(7, 1, 5));
/// order.sort();
/// assert_eq!(order, [0, 1, 2, 3, 4]);
/// ```
pub fn file_order(seed: u64, epoch: u64, files: usize) -> Vec<usize> {
    permutation(files, &mut words(seed, epoch, Purpose::FileOrder))
}

/// A uniformly random order of the `blocks` blocks of a file, fixed by
/// `(seed, epoch, file_index)`. `file_index` is the file's index in the list of
/// files, not in their shuffled order, so that both orders are independent.
pub fn block_order(seed: u64, epoch: u64, file_index: u64, blocks: usize) -> Vec<usize> {
    permutation(
        blocks,
        &mut words(seed, epoch, Purpose::BlockOrder(file_index)),
    )
}

/// A uniformly random order of the `runs` runs of blocks of all files together, fixed by `(seed, epoch)`.
/// Runs are numbered file after file.
///
/// The blocks of a file are cut into runs of consecutive blocks. A run ends with the first block that
/// makes it [`RUN_BYTES`](crate::RUN_BYTES) or longer; what is left at the end of the file, if it is
/// shorter, belongs to the run before it. So all runs have that many bytes, but for files that have fewer.
pub fn run_order(seed: u64, epoch: u64, runs: usize) -> Vec<usize> {
    permutation(runs, &mut words(seed, epoch, Purpose::RunOrder))
}

/// A Fisher-Yates shuffle of `0..len`, from the back.
fn permutation<R: Rng>(len: usize, rng: &mut R) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    for last in (1..len).rev() {
        order.swap(last, below(last as u64 + 1, rng) as usize);
    }
    order
}
