//! Divides the values of a key into lists of lists, as `tf.io.RaggedFeature` does.

use atds_features::feature::Partition;
use tensor_batch::RowSlots;

use super::error::{DecodeErrorKind, Fault};
use super::find::Values;
use super::list::{Kind, List};
use super::output::{Output, RowState, end_list};
use super::values::{Reader, no_room};

/// Why a partition does not divide the items of a record: its values, or the lists of the next
/// partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionFault {
    /// Its values are not integers.
    #[error("has {0} values, not int64")]
    WrongKind(Kind),
    /// The first list does not start with the first item.
    #[error("starts at {0}, not at 0")]
    Start(i64),
    /// A list ends before it starts, or an item's list comes before that of the item before.
    #[error("goes down from {before} to {after}")]
    Falls {
        /// A number.
        before: i64,
        /// The number after it.
        after: i64,
    },
    /// A length or a row id is below 0.
    #[error("has {0}, which is below 0")]
    Negative(i64),
    /// The lists have another number of items than there are.
    #[error("has lists of {lists} items together, but there are {items} to divide")]
    Items {
        /// Number of items in the lists; [`i64::MAX`] for any above.
        lists: i64,
        /// Number of items.
        items: usize,
    },
    /// The items do not fill lists of the length.
    #[error("does not divide {items} items")]
    NotAMultiple {
        /// Number of items.
        items: usize,
    },
}

impl Output {
    /// Writes a row of lists of lists, the innermost first.
    pub(super) fn partitioned(
        &self,
        list: Option<List<'_>>,
        (partitions, values): (&[(Partition, Option<usize>)], &Values<'_>),
        rows: &mut RowSlots<'_>,
        state: &mut RowState,
    ) -> Result<(), Fault> {
        let mut room = rows.room();
        let mut items = 0;
        let mut take = |bytes: usize| -> Result<usize, Fault> {
            room = room.checked_sub(bytes).ok_or_else(|| no_room(bytes))?;
            Ok(room)
        };
        if let Some(list) = &list {
            items = self.reader.len(list)?;
            let values = &mut self.segment(rows).values;
            let before = values.bytes_from(0).len();
            self.append(list, items, take(0)?, values)?;
            take(values.bytes_from(0).len() - before)?;
        }
        self.append_mask(items, true, rows);
        for level in (1..=partitions.len()).rev() {
            let (partition, key) = &partitions[level - 1];
            let numbers = key.and_then(|key| values.list(key));
            let fault = |fault| {
                let partition = Box::new(partition.clone());
                let kind = DecodeErrorKind::Partition { partition, fault };
                Fault::new(kind, numbers.map_or(&[], |list| list.message))
            };
            state.indices.clear();
            if let Some(list) = &numbers {
                if list.kind != Kind::Int64 {
                    return Err(fault(PartitionFault::WrongKind(list.kind)));
                }
                let count = Reader::Ints.len(list)?;
                // The numbers, and the ends of the lists.
                take(count.saturating_mul(2 * size_of::<i64>()))?;
                state.indices.resize(count, 0);
                list.fill_ints(&mut state.indices, Ok)?;
            }
            let segment = self.segment(rows);
            let mut lists = 0;
            divide(partition, &state.indices, items, |len, times| {
                take(times.saturating_mul(size_of::<i64>())).map_err(Failed::Row)?;
                for _ in 0..times {
                    end_list(segment, level, len);
                }
                lists += times;
                Ok(())
            })
            .map_err(|failed| match failed {
                Failed::Row(row) => row,
                Failed::Partition(why) => fault(why),
            })?;
            items = lists;
        }
        end_list(self.segment(rows), 0, items);
        Ok(())
    }
}

/// Why a row is not written.
enum Failed {
    Row(Fault),
    Partition(PartitionFault),
}

impl From<PartitionFault> for Failed {
    fn from(fault: PartitionFault) -> Self {
        Failed::Partition(fault)
    }
}

/// Calls `each` with the length of every list, and how many of that length follow. The lists have
/// `items` items together.
fn divide(
    partition: &Partition,
    numbers: &[i64],
    items: usize,
    mut each: impl FnMut(usize, usize) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let wrong = |lists| Failed::Partition(PartitionFault::Items { lists, items });
    match partition {
        Partition::RowSplits(_) | Partition::RowLimits(_) => {
            let limits = match (partition, numbers) {
                (Partition::RowSplits(_), [0, limits @ ..]) => limits,
                (Partition::RowSplits(_), &[first, ..]) => {
                    return Err(PartitionFault::Start(first).into());
                }
                _ => numbers,
            };
            let end = limits_of(limits, items, &mut each)?;
            if end != items as i64 {
                return Err(wrong(end));
            }
        }
        Partition::RowStarts(_) => match numbers {
            [] if items > 0 => return Err(wrong(0)),
            [] => {}
            // A list ends where the next one starts.
            [0, limits @ ..] => {
                let start = limits_of(limits, items, &mut each)?;
                each(items - start as usize, 1)?;
            }
            &[first, ..] => return Err(PartitionFault::Start(first).into()),
        },
        Partition::RowLengths(_) => {
            let mut end = 0i64;
            for &len in numbers {
                if len < 0 {
                    return Err(PartitionFault::Negative(len).into());
                }
                end = end.saturating_add(len);
                if end > items as i64 {
                    return Err(wrong(end));
                }
                each(len as usize, 1)?;
            }
            if end != items as i64 {
                return Err(wrong(end));
            }
        }
        Partition::ValueRowIds(_) => {
            if numbers.len() != items {
                return Err(wrong(numbers.len() as i64));
            }
            if let Some(&first) = numbers.first().filter(|&&first| first < 0) {
                return Err(PartitionFault::Negative(first).into());
            }
            let mut next = 0;
            for list in numbers.chunk_by(|a, b| a == b) {
                let id = list[0];
                if id < next {
                    let (before, after) = (next - 1, id);
                    return Err(PartitionFault::Falls { before, after }.into());
                }
                each(0, usize::try_from(id - next).unwrap_or(usize::MAX))?;
                each(list.len(), 1)?;
                // There is no room for more lists than i64::MAX.
                next = id.saturating_add(1);
            }
        }
        &Partition::UniformRowLength(length) => {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            if !items.is_multiple_of(length) {
                return Err(PartitionFault::NotAMultiple { items }.into());
            }
            each(length, items / length)?;
        }
        other => unreachable!("{other} is no partition that was compiled"),
    }
    Ok(())
}

/// Calls `each` with the length of every list, by their ends, and returns the last end.
fn limits_of(
    limits: &[i64],
    items: usize,
    each: &mut impl FnMut(usize, usize) -> Result<(), Failed>,
) -> Result<i64, Failed> {
    let mut start = 0;
    for &end in limits {
        if end < start {
            let (before, after) = (start, end);
            return Err(PartitionFault::Falls { before, after }.into());
        }
        if end > items as i64 {
            return Err(PartitionFault::Items { lists: end, items }.into());
        }
        each((end - start) as usize, 1)?;
        start = end;
    }
    Ok(start)
}
