//! Checks of exact columns, whose lists must have one length in a batch.

use std::fmt;

use crate::{Segment, UNKNOWN};

/// A row of an exact column whose lists have other lengths than those of the first row.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Disagreement {
    /// The index of the column in the spec.
    pub column: usize,
    /// The first row that differs.
    pub row: usize,
    /// The shape of `row`.
    pub shape: RowShape,
    /// The first row and its shape. `None` if `row` alone does not have the column's shape.
    pub first: Option<(usize, RowShape)>,
}

/// The shape of the lists of a row: the least and the largest length in each dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowShape(pub Vec<(usize, usize)>);

/// `[2, 3]`, or `[2, 1 to 3]` where lists differ in length.
impl fmt::Display for RowShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, (least, most)) in self.0.iter().enumerate() {
            f.write_str(if i > 0 { ", " } else { "" })?;
            if least == most {
                write!(f, "{least}")?
            } else {
                write!(f, "{least} to {most}")?
            }
        }
        f.write_str("]")
    }
}

/// Whether all lists of each dimension have one length, and the length that `shape` gives. Reads no
/// list.
pub(crate) fn agrees<'a>(shape: &[i64], runs: impl Iterator<Item = &'a Segment> + Clone) -> bool {
    let mut lists: usize = runs.clone().map(|run| run.rows).sum();
    shape.iter().enumerate().all(|(level, &dim)| {
        let items = runs.clone().map(|run| items(run, level)).sum::<usize>();
        let extents = runs.clone().map(|run| run.extents[level]);
        let len = match dim {
            // No list is longer than `len`. If the number of items matches, no list is shorter.
            UNKNOWN => extents.max().unwrap_or(0),
            dim => dim,
        };
        let is_even = (lists as i64).checked_mul(len) == Some(items as i64);
        lists = items;
        is_even
    })
}

/// The first row that differs.
#[cold]
pub(crate) fn first_disagreement<'a>(
    column: usize,
    shape: &[i64],
    runs: impl Iterator<Item = &'a Segment>,
) -> Option<Disagreement> {
    let rows = runs.flat_map(|run| (0..run.rows).map(move |row| shape_of(run, row, shape)));
    let mut first = None;
    for (row, found) in rows.enumerate() {
        let is_of_column = |(&(least, most), &dim): (&(usize, usize), &i64)| {
            least == most && (dim == UNKNOWN || dim == least as i64)
        };
        let differs = first.as_ref().is_some_and(|first| *first != found);
        if !found.0.iter().zip(shape).all(is_of_column) {
            first = None;
        } else if !differs {
            first = Some(found);
            continue;
        }
        return Some(Disagreement {
            column,
            row,
            shape: found,
            first: first.map(|first| (0, first)),
        });
    }
    None
}

/// The shape of one row. A dimension without lists has the length that the column gives, or 0.
fn shape_of(run: &Segment, row: usize, shape: &[i64]) -> RowShape {
    let mut lists = row..row + 1;
    let levels = run.splits.iter().zip(shape);
    let levels = levels.map(|(splits, &dim)| {
        let ends = &splits.as_slice()[lists.start..=lists.end];
        lists = ends[0] as usize..ends[ends.len() - 1] as usize;
        let lengths = ends.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        let of_none = if dim == UNKNOWN { 0 } else { dim as usize };
        (
            lengths.clone().min().unwrap_or(of_none),
            lengths.max().unwrap_or(of_none),
        )
    });
    RowShape(levels.collect())
}

/// Number of items in all lists of a level.
fn items(run: &Segment, level: usize) -> usize {
    match run.splits.get(level + 1) {
        Some(ends) => ends.len() - 1,
        None => run.values.len(),
    }
}
