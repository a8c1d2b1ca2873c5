//! Slices of the records: shards and ranks.

use std::ops::Range;

use atds_pipeline::{Options, Slice};

use super::suite::{FileRows, Suite, all, data, ensure, same_rows};

/// Slices of any number are disjoint, and together they are the whole in order.
pub(super) fn shards(suite: &Suite<'_>) -> Result<(), String> {
    let mut written = data(3, 4, 7);
    written.insert(1, Vec::new());
    written[2].insert(2, Vec::new());
    let (rows, files) = (all(&written), suite.files(&written));
    for shards in [1, 2, 3, 7, 100] {
        let (mut found, mut by_blocks, mut by_runs) = (Vec::new(), Vec::new(), Vec::new());
        let mut shuffled = Options::new(10);
        let mut runs = shuffled.clone();
        (shuffled.shuffle_files, shuffled.shuffle_blocks) = (true, true);
        (runs.shuffle_runs, runs.run_bytes) = (true, 1);
        let whole = suite.run(&files, &shuffled, 3..4)?.whole()?;
        let whole_runs = suite.run(&files, &runs, 3..4)?.whole()?;
        for records in parts(rows.len(), shards) {
            let len = (records.end - records.start) as usize;
            let mut options = Options::new(10);
            options.slice = Some(slice(&written, records.clone()));
            let part = suite.run(&files, &options, 0..1)?.whole()?;
            ensure!(
                part.len() == len,
                "{} rows in the slice {records:?}",
                part.len()
            );
            found.extend(part);
            shuffled.slice = options.slice.clone();
            by_blocks.extend(suite.run(&files, &shuffled, 3..4)?.whole()?);
            runs.slice = options.slice.clone();
            by_runs.extend(suite.run(&files, &runs, 3..4)?.whole()?);
        }
        ensure!(found == rows, "{shards} shards are not the whole");
        ensure!(
            by_blocks == whole,
            "{shards} shards of shuffled files and blocks are not the whole"
        );
        ensure!(
            by_runs == whole_runs,
            "{shards} shards of shuffled runs are not the whole"
        );
    }
    Ok(())
}

/// In each epoch, the workers of all ranks together read each row once. Each of them reads other rows
/// in each epoch, and the same ones with any number of threads.
pub(super) fn ranks(suite: &Suite<'_>) -> Result<(), String> {
    let written = data(3, 4, 7);
    let (rows, files) = (all(&written), suite.files(&written));
    for (ranks, workers) in [(2, 1), (3, 1), (2, 2)] {
        let of = format!("{ranks} ranks of {workers} workers");
        let mut read = [Vec::new(), Vec::new(), Vec::new()];
        for (part, records) in parts(rows.len(), ranks * workers).enumerate() {
            let mut options = Options::new(5);
            options.slice = Some(slice(&written, records));
            (options.shuffle_files, options.shuffle_blocks) = (true, true);
            (options.shuffle_buffer_size, options.threads) = (20, 2);
            options.stream.rank = (part / workers) as u64;
            options.stream.worker = (part % workers) as u64;
            let mut epochs = Vec::new();
            for (epoch, read) in (0..).zip(&mut read) {
                let found = suite.run(&files, &options, epoch..epoch + 1)?;
                options.threads = 5;
                let again = suite.run(&files, &options, epoch..epoch + 1)?;
                ensure!(
                    found.batches == again.batches,
                    "other batches of 5 threads, {of}"
                );
                let mut found = found.whole()?;
                read.extend_from_slice(&found);
                found.sort();
                epochs.push(found);
            }
            ensure!(
                epochs.iter().any(|epoch| *epoch != epochs[0]),
                "the same rows in each epoch, {of}"
            );
        }
        for (epoch, read) in read.iter().enumerate() {
            ensure!(same_rows(read, &rows), "{of} do not share epoch {epoch}");
        }
    }
    Ok(())
}

/// `n` parts of `rows` rows.
pub(super) fn parts(rows: usize, n: usize) -> impl Iterator<Item = Range<u64>> {
    (0..n).map(move |i| (rows * i / n) as u64..(rows * (i + 1) / n) as u64)
}

/// The records `records` of the files, in any epoch's order of them.
pub(super) fn slice(files: &[FileRows], records: Range<u64>) -> Slice {
    let counts = files
        .iter()
        .map(|file| file.iter().map(Vec::len).sum::<usize>() as u64);
    Slice {
        records,
        file_records: counts.collect(),
    }
}
