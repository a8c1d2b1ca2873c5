//! Going on after batches that were given out before.

use atds_pipeline::{Options, Position};

use super::any::{Random, any_files, any_source, options};
use super::suite::{Suite, all, data, ensure};

/// Number of combinations that are tried.
const CASES: u64 = 40;

/// After each batch, an iteration that goes on there gives the batches that came next, with another number
/// of threads and from another source.
pub(super) fn goes_on(suite: &Suite<'_>) -> Result<(), String> {
    for seed in 0..CASES {
        let mut random = Random(1_000 + seed);
        let written = any_files(&mut random);
        let (mut options, epochs) = options(&mut random, &written);
        let first = random.below(3) as u64;
        let epochs = first..first + epochs.max(1);
        let files = any_source(suite, &written, &options, &mut random);
        let of = format!("case {seed}: {options:?}");

        let mut running = suite.start(&files, &options, epochs.clone());
        let (mut batches, mut positions) = (Vec::new(), vec![running.position()]);
        while let Some(item) = running.next()? {
            batches.push(item.map_err(|error| format!("{error}, {of}"))?);
            positions.push(running.position());
        }
        let start = Position {
            epoch: first,
            batches: 0,
        };
        ensure!(
            positions[0] == start,
            "it begins at {:?}, {of}",
            positions[0]
        );
        let mut ended = suite.start(&files, &options, epochs.clone());
        while ended.next()?.is_some() {}
        let end = ended.position();
        ensure!(
            batches.is_empty() || (end.epoch, end.batches) == (epochs.end, 0),
            "it ends at {end:?}, {of}"
        );

        // Some of them, the first and the last among them.
        let every = 1 + batches.len() / 8;
        let last = positions.len() - 1;
        for k in (0..last).step_by(every).chain([last]) {
            options.threads = 1 + random.below(4);
            let position = positions[k];
            let files = any_source(suite, &written, &options, &mut random);
            let mut going_on = suite.start_after(
                &files,
                &options,
                position.batches,
                position.epoch..epochs.end,
            );
            ensure!(
                going_on.position() == position,
                "at {:?} after {k} batches, not {position:?}, {of}",
                going_on.position()
            );
            for (number, batch) in batches.iter().enumerate().skip(k) {
                let item = going_on.next()?;
                let next = item.ok_or_else(|| format!("no batch {number} after {k}, {of}"))?;
                let next = next.map_err(|error| format!("{error} after {k} batches, {of}"))?;
                ensure!(next == *batch, "another batch {number} after {k}, {of}");
                ensure!(
                    going_on.position() == positions[number + 1],
                    "at {:?} after batch {number}, {of}",
                    going_on.position()
                );
            }
            ensure!(going_on.next()?.is_none(), "a batch after the last, {of}");
        }
    }
    Ok(())
}

/// Nothing is prepared that has no more unread records, and more batches than an epoch has are an error.
pub(super) fn goes_on_there(suite: &Suite<'_>) -> Result<(), String> {
    let (blocks, len) = (12, 10);
    let written = data(2, blocks, len);
    let (rows, files) = (all(&written), suite.files(&written));
    // The blocks as they are framed: their lengths, and where they end.
    let framed = written.iter().flat_map(|file| suite.format.framed(file));
    let ends: Vec<(usize, usize)> = framed
        .scan(0, |end, block| {
            *end += block.len();
            Some((block.len(), *end))
        })
        .collect();
    for threads in [1, 3] {
        let mut options = Options::new(7);
        options.threads = threads;
        let count = rows.len().div_ceil(7);
        for given in 0..=count {
            let mut running = suite.start_after(&files, &options, given as u64, 0..1);
            let mut found = Vec::new();
            while let Some(item) = running.next()? {
                found.extend(item.map_err(|error| format!("{error} after {given} batches"))?);
            }
            let read = (7 * given).min(rows.len());
            ensure!(found == rows[read..], "other rows after {given} batches");
            let unread: usize = ends
                .iter()
                .filter(|(_, end)| *end > read)
                .map(|(len, _)| len)
                .sum();
            let prepared = running.prepared_records();
            ensure!(
                prepared <= unread as u64,
                "{prepared} records prepared after {given} batches, {unread} are in unread blocks"
            );
        }
        for buffer in [0, 30] {
            options.shuffle_buffer_size = buffer;
            let mut running = suite.start_after(&files, &options, count as u64 + 1, 0..1);
            ensure!(
                matches!(running.next()?, Some(Err(_))),
                "no error after more batches than there are"
            );
        }
    }
    Ok(())
}
