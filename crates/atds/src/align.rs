//! Work for several batches, shared out so that few workers write to each.

use atds_sched::Schedule;

use crate::limits::UNEVEN;

/// Has a chunk begin with `block`, which a batch begins with, and another worker
/// with that chunk, if one begins not far from there. What the first of a batch's
/// workers writes need not be brought to its place, and that is then nearly all.
pub(crate) fn align(schedule: &mut Schedule, block: usize) {
    let Schedule { chunks, owners, .. } = schedule;
    let blocks = chunks.last().map_or(0, |last| last.end);
    let far = blocks / (UNEVEN * schedule.threads);
    let is_near = |start: usize| start.abs_diff(block) <= far;

    let edges = 1..chunks.len();
    let nearest = edges
        .clone()
        .min_by_key(|&i| chunks[i].start.abs_diff(block));
    // No chunk may be left without a block.
    let is_fit = |&i: &usize| is_near(chunks[i].start) && chunks[i - 1].start < block;
    let Some(edge) = nearest.filter(is_fit) else {
        return;
    };
    chunks[edge - 1].end = block;
    chunks[edge].start = block;

    let changes = edges.filter(|&i| owners[i - 1] != owners[i]);
    let nearest = changes.min_by_key(|&i| i.abs_diff(edge));
    if let Some(change) = nearest.filter(|&i| is_near(chunks[i].start)) {
        let (before, behind) = (owners[change - 1], owners[change]);
        owners[change.min(edge)..edge].fill(before);
        owners[edge..change.max(edge)].fill(behind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chunks that end where `ends` say, each with its owner.
    fn schedule(ends: &[usize], owners: &[usize]) -> Schedule {
        let mut schedule = Schedule::of_owners(2, owners);
        let mut start = 0;
        for (chunk, &end) in schedule.chunks.iter_mut().zip(ends) {
            *chunk = start..end;
            start = end;
        }
        schedule
    }

    /// Ends and owners after aligning with `block`.
    fn aligned(ends: &[usize], owners: &[usize], block: usize) -> (Vec<usize>, Vec<usize>) {
        let mut schedule = schedule(ends, owners);
        align(&mut schedule, block);
        let starts = schedule.chunks.iter().map(|chunk| chunk.start);
        assert!(starts.skip(1).eq(ends_of(&schedule).take(ends.len() - 1)));
        assert!(schedule.chunks.iter().all(|chunk| !chunk.is_empty()));
        (ends_of(&schedule).collect(), schedule.owners)
    }

    fn ends_of(schedule: &Schedule) -> impl Iterator<Item = usize> {
        schedule.chunks.iter().map(|chunk| chunk.end)
    }

    #[test]
    fn the_change_of_workers_moves_to_the_batch() {
        let (ends, owners) = ([90, 126, 128, 220, 256], [0, 0, 0, 1, 1]);
        let both = |ends: [usize; 5], owners: [usize; 5]| (ends.to_vec(), owners.to_vec());
        assert_eq!(aligned(&ends, &owners, 128), both(ends, owners));
        // Within the chunk behind, on an edge before, and within a chunk before.
        assert_eq!(
            aligned(&ends, &owners, 131),
            both([90, 126, 131, 220, 256], owners)
        );
        assert_eq!(aligned(&ends, &owners, 126), both(ends, [0, 0, 1, 1, 1]));
        assert_eq!(
            aligned(&ends, &owners, 123),
            both([90, 123, 128, 220, 256], [0, 0, 1, 1, 1])
        );
    }

    #[test]
    fn a_change_behind_an_edge_moves_back() {
        let (ends, owners) = ([120, 124, 126, 256], [0, 0, 0, 1]);
        assert_eq!(aligned(&ends, &owners, 120).1, [0, 1, 1, 1]);
        let (ends, owners) = ([120, 124, 126, 256], [0, 1, 1, 1]);
        assert_eq!(aligned(&ends, &owners, 126).1, [0, 0, 0, 1]);
    }

    #[test]
    fn far_away_nothing_moves() {
        let (ends, owners) = ([100, 128, 220, 256], [0, 0, 1, 1]);
        for block in [0, 50, 109, 119, 137, 150, 255] {
            let unchanged = (ends.to_vec(), owners.to_vec());
            assert_eq!(aligned(&ends, &owners, block), unchanged, "{block}");
        }
        // An edge near, the change of workers far away.
        let moved = ([96, 128, 220, 256].to_vec(), owners.to_vec());
        assert_eq!(aligned(&ends, &owners, 96), moved);
    }

    #[test]
    fn no_chunk_is_left_empty() {
        let (ends, owners) = ([2, 128, 256], [0, 0, 1]);
        assert_eq!(aligned(&ends, &owners, 0).0, ends);
        assert_eq!(aligned(&[256], &[0], 0).0, [256]);
    }
}
