//! Partitions, slowly.

use atds_features::Feature;
use atds_features::feature::Partition;

use super::{Map, indices};

/// Whether the numbers of lists ask for so many lists that memory decides.
pub(super) fn has_many_lists(feature: &Feature, map: &Map) -> bool {
    feature.partitions.iter().any(|partition| match partition {
        Partition::ValueRowIds(key) => indices(map, key).is_some_and(|ids| {
            let last = ids.into_iter().max();
            last >= Some(MANY_LISTS)
        }),
        _ => false,
    })
}

const MANY_LISTS: i64 = 1 << 16;

/// The lengths of the lists that `items` items are divided into; `None` if they do not fit.
pub(super) fn lens_of(partition: &Partition, numbers: &[i64], items: usize) -> Option<Vec<usize>> {
    let total = i64::try_from(items).ok()?;
    let between = |splits: &[i64]| -> Option<Vec<usize>> {
        let ends = splits.first() == Some(&0) && splits.last() == Some(&total);
        let lens = splits.windows(2).map(|pair| pair[1].checked_sub(pair[0]));
        let lens: Vec<i64> = lens.collect::<Option<_>>()?;
        let lens: Result<_, _> = lens.into_iter().map(usize::try_from).collect();
        lens.ok().filter(|_| ends)
    };
    match partition {
        // No lists at all.
        Partition::RowSplits(_) | Partition::RowStarts(_) if numbers.is_empty() => {
            (items == 0).then(Vec::new)
        }
        Partition::RowSplits(_) => between(numbers),
        Partition::RowLimits(_) => between(&[&[0], numbers].concat()),
        Partition::RowStarts(_) => between(&[numbers, &[total]].concat()),
        Partition::RowLengths(_) => {
            let lens: Result<Vec<usize>, _> = numbers.iter().map(|&n| n.try_into()).collect();
            let lens = lens.ok()?;
            let sum = lens
                .iter()
                .try_fold(0usize, |sum, &len| sum.checked_add(len));
            (sum == Some(items)).then_some(lens)
        }
        Partition::ValueRowIds(_) => {
            let ids: Result<Vec<usize>, _> = numbers.iter().map(|&n| n.try_into()).collect();
            let ids = ids.ok()?;
            if ids.len() != items || !ids.is_sorted() {
                return None;
            }
            let mut lens = vec![0; ids.last().map_or(0, |id| id + 1)];
            ids.iter().for_each(|&id| lens[id] += 1);
            Some(lens)
        }
        &Partition::UniformRowLength(len) => {
            let len = len as usize;
            items.is_multiple_of(len).then(|| vec![len; items / len])
        }
        other => panic!("no test for {other}"),
    }
}
