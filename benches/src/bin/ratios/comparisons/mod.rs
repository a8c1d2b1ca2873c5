//! The comparisons.

mod auto_threads;
mod blocks;
mod codecs;
mod copies;
mod hash_buckets;
mod inflate;
pub(crate) mod memory;
mod nullable;
mod reader_schema;
mod shuffle;
mod skipping;
mod threads;
mod yardstick;

use clap::builder::PossibleValuesParser;

use crate::row::Row;
use crate::{Lab, Result};

/// A comparison with its rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) measure: fn(&Lab) -> Result<Vec<Row>>,
}

/// All comparisons, in the order of the table.
pub(crate) const COMPARISONS: [Comparison; 13] = [
    yardstick::COMPARISON,
    inflate::COMPARISON,
    threads::COMPARISON,
    codecs::COMPARISON,
    shuffle::COMPARISON,
    copies::COMPARISON,
    skipping::COMPARISON,
    blocks::COMPARISON,
    auto_threads::COMPARISON,
    nullable::COMPARISON,
    reader_schema::COMPARISON,
    hash_buckets::COMPARISON,
    memory::COMPARISON,
];

/// The rows that `measure` returns for each of `cases`.
fn of_each<T>(
    cases: impl IntoIterator<Item = T>,
    measure: impl FnMut(T) -> Result<Vec<Row>>,
) -> Result<Vec<Row>> {
    let rows: Vec<_> = cases.into_iter().map(measure).collect::<Result<_>>()?;
    Ok(rows.concat())
}

/// The names of all comparisons, for the command line.
pub(crate) fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(COMPARISONS.map(|comparison| comparison.name))
}
