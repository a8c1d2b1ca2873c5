//! The options of data sets, as `python/atds/options.py` has checked them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use atds::avro::Schema;
use atds::damage::MaxSkipped;
use atds::interface::Interface;
use atds::{DatasetBuilder, OutOfBounds, ShardBy, Shuffle, Split, Threads, Tolerate};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{OrRaise, fault, schema_error};

/// The builder with all options of `options`. `None` keeps the default. `max_threads` limits an
/// automatic number of threads.
pub(crate) fn apply(
    builder: DatasetBuilder,
    options: &Bound<'_, PyDict>,
    max_threads: Option<usize>,
) -> PyResult<DatasetBuilder> {
    let given = options.iter().filter(|(_, value)| !value.is_none());
    let builder = given
        .into_iter()
        .try_fold(builder, |builder, (name, value)| {
            set(builder, &name.extract::<String>()?, &value, max_threads)
        })?;
    Ok(match split(options)? {
        Some(split) => builder.split(split),
        None => builder,
    })
}

/// The split that is read, if there is one. It is three options.
fn split(options: &Bound<'_, PyDict>) -> PyResult<Option<Split>> {
    let given = |name| Ok::<_, PyErr>(options.get_item(name)?.filter(|value| !value.is_none()));
    let (Some(name), Some(splits)) = (given("split")?, given("splits")?) else {
        return Ok(None);
    };
    let parts = splits.extract::<BTreeMap<String, f64>>()?;
    let split = Split::new(name.extract::<String>()?, parts);
    Ok(Some(match given("split_by")? {
        Some(by) => split.by(by.extract::<String>()?.parse().or_raise(by.py())?),
        None => split,
    }))
}

fn set(
    builder: DatasetBuilder,
    name: &str,
    value: &Bound<'_, PyAny>,
    max_threads: Option<usize>,
) -> PyResult<DatasetBuilder> {
    Ok(match name {
        "drop_remainder" => builder.drop_remainder(value.extract()?),
        "reader_buffer_size" => builder.reader_buffer_size(value.extract()?),
        "shuffle_buffer_size" => builder.shuffle_buffer_size(value.extract()?),
        "num_parallel_calls" => builder.threads(threads(value.extract()?, max_threads)),
        "seed" => builder.seed(value.extract()?),
        "root" => builder.root(value.extract::<std::path::PathBuf>()?),
        "index" => builder.index(value.extract::<std::path::PathBuf>()?),
        "split" | "splits" | "split_by" => builder,
        "shard_by" => builder.shard_by(shard_by(value.extract()?)?),
        "epochs" => builder.epochs(value.extract()?),
        "shuffle_files" => builder.shuffle_files(value.extract()?),
        "provenance" => builder.provenance(value.extract::<String>()?),
        "prefetch" => builder.prefetch(value.extract()?),
        "reader_schema" => builder.reader_schema(schema(value)?),
        "shuffle_blocks" => builder.shuffle_blocks(value.extract()?),
        "shuffle" => builder.shuffle(shuffle(value.extract()?)?),
        "interleave" => {
            let (cycle_length, block_length) = value.extract()?;
            builder.interleave(cycle_length, block_length)
        }
        "out_of_bounds" => builder.out_of_bounds(out_of_bounds(value.extract()?)),
        "memory_limit" => builder.memory_limit(value.extract()?),
        "mmap" => builder.mmap(value.extract()?),
        "strict" => builder.strict(value.extract()?),
        "check_files" => builder.check_files(value.extract()?),
        "format" => builder.format(value.extract::<String>()?.parse().or_raise(value.py())?),
        "sample_records" => builder.sample_records(value.extract()?),
        "on_error" => builder.on_error(value.extract::<String>()?.parse().or_raise(value.py())?),
        "max_skipped" => builder.max_skipped(max_skipped(value)?),
        "skip_log" => builder
            .skip_log(value.extract::<PathBuf>()?)
            .interface(Interface::Python),
        "skip_mask" => builder.mask(value.extract::<String>()?),
        "tolerate" => builder.tolerate(tolerated(value.py(), &value.extract::<Vec<_>>()?)?),
        "max_block_bytes" => builder.max_block_bytes(value.extract()?),
        "max_depth" => builder.max_depth(value.extract()?),
        _ => return Err(fault(&format!("an option not known here: {name}"))),
    })
}

/// What is shuffled of all files together, by name.
fn shuffle(what: &str) -> PyResult<Shuffle> {
    match what {
        "blocks" => Ok(Shuffle::Blocks),
        _ => Err(fault(&format!("a shuffle not known here: {what}"))),
    }
}

/// What shards are made of, by name.
fn shard_by(what: &str) -> PyResult<ShardBy> {
    match what {
        "record" => Ok(ShardBy::Record),
        "file" => Ok(ShardBy::File),
        _ => Err(fault(&format!(
            "shards of something not known here: {what}"
        ))),
    }
}

/// -1 is automatic.
fn threads(threads: isize, max_threads: Option<usize>) -> Threads {
    match (usize::try_from(threads), max_threads) {
        (Ok(threads), _) => Threads::Fixed(threads),
        (Err(_), Some(most)) => Threads::UpTo(most),
        (Err(_), None) => Threads::Auto,
    }
}

/// A whole number is of records, another a part of an epoch.
fn max_skipped(value: &Bound<'_, PyAny>) -> PyResult<MaxSkipped> {
    match value.extract() {
        Ok(records) => Ok(MaxSkipped::Records(records)),
        Err(_) => Ok(MaxSkipped::Fraction(value.extract()?)),
    }
}

fn schema(text: &Bound<'_, PyAny>) -> PyResult<Schema> {
    Schema::parse(&text.extract::<String>()?)
        .map_err(|error| schema_error(text.py(), "reader_schema", &error))
}

/// The treatment named `drop` or `error`.
pub(crate) fn out_of_bounds(choice: &str) -> OutOfBounds {
    if choice == "drop" {
        OutOfBounds::Drop
    } else {
        OutOfBounds::Error
    }
}

/// The tolerated faults, by name.
pub(crate) fn tolerated(py: Python<'_>, names: &[String]) -> PyResult<Tolerate> {
    names
        .iter()
        .try_fold(Tolerate::nothing(), |tolerate, name| tolerate.with(name))
        .or_raise(py)
}
