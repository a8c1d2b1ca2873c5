//! Going on with other readers: what some have left unread is shared anew among others.

use std::ops::Range;
use std::sync::Arc;

use atds_pipeline::{Files, Layer, LayerPart, Options, Position, Rest};

use super::any::{Random, any_files, any_source, options};
use super::slices::slice;
use super::suite::{Suite, all, ensure, same_rows};
use crate::Row;

/// Number of combinations that are tried.
const CASES: u64 = 40;

/// One layer of readers after another: together they read each row once, whatever the number of threads,
/// and the epoch after is whole.
pub(super) fn layers(suite: &Suite<'_>) -> Result<(), String> {
    for seed in 0..CASES {
        let mut random = Random(2_000 + seed);
        let written = any_files(&mut random);
        let (mut options, _) = options(&mut random, &written);
        (options.slice, options.drop_remainder) = (None, false);
        let rows = all(&written);
        let epoch = random.below(3) as u64;
        let mut rest = Rest {
            epoch,
            layers: Vec::new(),
            records: 0..0,
            file_records: slice(&written, 0..0).file_records,
        };
        let (mut read, mut left) = (Vec::new(), rows.len());
        let count = random.below(5);
        for number in 0..=count {
            options.batch_size = 1 + random.below(20);
            options.threads = 1 + random.below(4);
            let (ranks, workers) = (1 + random.below(4), 1 + random.below(3));
            let steps = match number == count {
                true => u64::MAX,
                false => random.below(1 + left / options.batch_size / (ranks * workers)) as u64,
            };
            let mut layer = Layer {
                batch_size: options.batch_size as u64,
                parts: Vec::new(),
            };
            let parts = ranks * workers;
            for part in 0..parts {
                (options.stream.rank, options.stream.worker) =
                    ((part / workers) as u64, (part % workers) as u64);
                rest.records = (left * part / parts) as u64..(left * (part + 1) / parts) as u64;
                options.rest = Some(Arc::new(rest.clone()));
                let of = format!("layer {number} of case {seed}: {options:?}");
                let files = any_source(suite, &written, &options, &mut random);
                let (batches, found) = read_part(suite, &files, &options, epoch, steps)
                    .map_err(|error| format!("{error}, {of}"))?;
                layer.parts.push(LayerPart {
                    rank: options.stream.rank,
                    worker: options.stream.worker,
                    records: rest.records.clone(),
                    batches,
                });
                goes_on(suite, &files, &options, epoch, &found, &mut random)
                    .map_err(|error| format!("{error}, {of}"))?;
                read.extend(found.concat());
            }
            left = rows.len() - read.len();
            rest.layers.push(layer);
        }
        let of = format!("case {seed}: {:?}, {options:?}", rest.layers);
        ensure!(same_rows(&read, &rows), "not each row once, {of}");
        let files = suite.files(&written);
        // Nothing is left of the epoch, and the next one is whole.
        let next = suite.run(&files, &options, epoch..epoch + 2)?.whole()?;
        let own = rest.records.end - rest.records.start;
        ensure!(
            same_rows(&next[own as usize..], &rows),
            "another epoch is not whole, {of}"
        );
    }
    Ok(())
}

/// The first batches of an epoch, and their number.
fn read_part(
    suite: &Suite<'_>,
    files: &Arc<dyn Files>,
    options: &Options,
    epoch: u64,
    steps: u64,
) -> Result<(u64, Vec<Vec<Row>>), String> {
    let mut running = suite.start(files, options, epoch..epoch + 1);
    let mut found = Vec::new();
    while (found.len() as u64) < steps
        && let Some(item) = running.next()?
    {
        found.push(item.map_err(|error| error.to_string())?);
    }
    Ok((found.len() as u64, found))
}

/// A reader that goes on after some of its batches gives those that came next.
fn goes_on(
    suite: &Suite<'_>,
    files: &Arc<dyn Files>,
    options: &Options,
    epoch: u64,
    found: &[Vec<Row>],
    random: &mut Random,
) -> Result<(), String> {
    let given = random.below(found.len() + 1);
    let mut options = options.clone();
    options.threads = 1 + random.below(4);
    let epochs: Range<u64> = epoch..epoch + 1;
    let mut running = suite.start_after(files, &options, given as u64, epochs);
    let position = Position {
        epoch,
        batches: given as u64,
    };
    ensure!(
        running.position() == position,
        "at {:?}, not {position:?}",
        running.position()
    );
    for batch in &found[given..] {
        let next = running.next()?.ok_or("no batch")?;
        let next = next.map_err(|error| error.to_string())?;
        ensure!(next == *batch, "another batch after {given}");
    }
    Ok(())
}
