//! Order: in file order, shuffled, by seed and epoch.

use std::sync::Arc;

use atds_pipeline::{Files, Options, Stream};

use super::suite::{FileRows, Suite, all, data, ensure, repeated, same_rows};
use crate::Row;

/// Without shuffling, rows come as they were written.
pub(super) fn in_order(suite: &Suite<'_>) -> Result<(), String> {
    let files = data(3, 5, 9);
    let (written, files) = (all(&files), suite.files(&files));
    for threads in [1, 4] {
        let mut options = Options::new(7);
        options.threads = threads;
        let rows = suite.run(&files, &options, 0..1)?.whole()?;
        ensure!(
            rows == written,
            "{} rows, {} were written, or another order",
            rows.len(),
            written.len()
        );
    }
    Ok(())
}

/// With a shuffle buffer, each row comes once, in another order.
pub(super) fn shuffled(suite: &Suite<'_>) -> Result<(), String> {
    let files = data(3, 5, 9);
    let (written, files) = (all(&files), suite.files(&files));
    for buffer in [2, 20, 100, 10_000] {
        let mut options = Options::new(7);
        options.shuffle_buffer_size = buffer;
        let outcome = suite.run(&files, &options, 0..1)?;
        let (lens, rows) = (outcome.lens(), outcome.whole()?);
        ensure!(
            same_rows(&rows, &written),
            "a buffer of {buffer} loses or repeats rows"
        );
        ensure!(rows != written, "a buffer of {buffer} does not shuffle");
        ensure!(
            lens[..19].iter().all(|&len| len == 7),
            "batches of {lens:?} rows"
        );
    }
    Ok(())
}

/// A batch is drawn from all records that the buffer and the batch hold by whole blocks, and from no
/// record after them.
pub(super) fn window(suite: &Suite<'_>) -> Result<(), String> {
    const BATCH: usize = 10;
    const BUFFER: usize = 50;
    const BLOCK: usize = 9;
    let files = suite.files(&data(1, 40, BLOCK));
    let first_window = (BATCH + BUFFER).next_multiple_of(BLOCK);
    let mut furthest = 0;
    for seed in 0..20 {
        let mut options = Options::new(BATCH);
        (options.seed, options.shuffle_buffer_size) = (seed, BUFFER);
        let outcome = suite.run(&files, &options, 0..1)?;
        for (drawn, batch) in outcome.batches.iter().enumerate() {
            let held = (BATCH * drawn + BATCH + BUFFER).next_multiple_of(BLOCK);
            let last = batch.iter().map(|row| row.label as usize).max();
            let last = last.ok_or("an empty batch")?;
            ensure!(
                last < held,
                "row {last} in batch {drawn}, when {held} rows are held"
            );
            if drawn == 0 {
                furthest = furthest.max(last);
            }
        }
        outcome.whole()?;
    }
    ensure!(
        furthest >= first_window - BLOCK,
        "no first batch has a row after {furthest}, of {first_window} rows that are held"
    );
    Ok(())
}

/// The order is that of the seed, also in a second iteration and beside another one.
pub(super) fn same_seed(suite: &Suite<'_>) -> Result<(), String> {
    let files = suite.files(&data(3, 5, 9));
    let mut options = Options::new(7);
    (options.seed, options.shuffle_buffer_size) = (3, 50);
    let first = suite.run(&files, &options, 0..2)?;
    let mut other = suite.start(&files, &options, 0..2);
    let _ = other.next()?;
    let second = suite.run(&files, &options, 0..2)?;
    ensure!(first.batches == second.batches, "two iterations differ");
    Ok(())
}

/// Another seed gives another order of the same rows.
pub(super) fn other_seed(suite: &Suite<'_>) -> Result<(), String> {
    let files = data(3, 5, 9);
    let (written, files) = (all(&files), suite.files(&files));
    let mut orders = Vec::new();
    for seed in [0, 1, 2, u64::MAX] {
        let mut options = Options::new(7);
        (options.seed, options.shuffle_buffer_size) = (seed, 50);
        let rows = suite.run(&files, &options, 0..1)?.whole()?;
        ensure!(
            same_rows(&rows, &written),
            "seed {seed} loses or repeats rows"
        );
        ensure!(
            !orders.contains(&rows),
            "seed {seed} has the order of another one"
        );
        orders.push(rows);
    }
    Ok(())
}

/// Each layer, rank and worker draws from the window on its own. The orders of files and of blocks are
/// the same for all of them.
pub(super) fn other_stream(suite: &Suite<'_>) -> Result<(), String> {
    let files = data(3, 5, 9);
    let (written, files) = (all(&files), suite.files(&files));
    let mut options = Options::new(7);
    (options.shuffle_files, options.shuffle_blocks) = (true, true);
    let (mut window_orders, mut file_orders) = (Vec::new(), Vec::new());
    for numbers in [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]] {
        let [layer, rank, worker] = numbers;
        options.stream = Stream {
            layer,
            rank,
            worker,
        };
        options.shuffle_buffer_size = 50;
        let rows = suite.run(&files, &options, 0..1)?.whole()?;
        ensure!(
            same_rows(&rows, &written),
            "stream {numbers:?} loses or repeats rows"
        );
        ensure!(
            !window_orders.contains(&rows),
            "stream {numbers:?} has the order of another one"
        );
        window_orders.push(rows);
        options.shuffle_buffer_size = 0;
        file_orders.push(suite.run(&files, &options, 0..1)?.whole()?);
    }
    file_orders.dedup();
    ensure!(
        file_orders.len() == 1,
        "files or blocks have an order for each stream"
    );
    Ok(())
}

/// Each epoch has an order of its own, which does not depend on where the iteration began.
pub(super) fn other_epoch(suite: &Suite<'_>) -> Result<(), String> {
    let files = data(3, 5, 9);
    let (written, files) = (all(&files), suite.files(&files));
    let mut options = Options::new(7);
    (options.shuffle_buffer_size, options.threads) = (50, 2);
    let rows = suite.run(&files, &options, 0..3)?.whole()?;
    ensure!(
        rows.len() == 3 * written.len(),
        "{} rows in three epochs",
        rows.len()
    );
    let mut orders: Vec<_> = rows.chunks(written.len()).collect();
    for (epoch, order) in orders.iter().enumerate() {
        ensure!(
            same_rows(order, &written),
            "epoch {epoch} loses or repeats rows"
        );
        let range = epoch as u64..epoch as u64 + 1;
        let alone = suite.run(&files, &options, range)?.whole()?;
        ensure!(alone == **order, "epoch {epoch} alone has another order");
    }
    orders.sort();
    orders.dedup();
    ensure!(orders.len() == 3, "two epochs have the same order");
    Ok(())
}

/// Files come in another order, each of them whole and in order.
pub(super) fn shuffled_files(suite: &Suite<'_>) -> Result<(), String> {
    let files = data(8, 2, 5);
    let mut options = Options::new(7);
    options.shuffle_files = true;
    let pieces: Vec<_> = files.iter().map(|file| file.concat()).collect();
    shuffled_pieces(suite, &suite.files(&files), &options, &pieces)
}

/// The blocks of each file come in another order, each of them whole and in order.
pub(super) fn shuffled_blocks(suite: &Suite<'_>) -> Result<(), String> {
    let files = data(2, 12, 5);
    let mut options = Options::new(7);
    options.shuffle_blocks = true;
    let (all_files, first_file) = (suite.files(&files), suite.files(&files[..1]));
    shuffled_pieces(suite, &all_files, &options, &framed(suite, &files))?;
    shuffled_pieces(suite, &first_file, &options, &framed(suite, &files[..1]))?;
    // The files keep their order.
    let (rows, first) = (
        suite.run(&all_files, &options, 0..1)?.whole()?,
        suite.run(&first_file, &options, 0..1)?.whole()?,
    );
    ensure!(
        rows.starts_with(&first),
        "blocks of several files are mixed"
    );
    Ok(())
}

/// Runs of blocks of all files come in another order, each of them whole and in order.
pub(super) fn shuffled_runs(suite: &Suite<'_>) -> Result<(), String> {
    let mut options = Options::new(7);
    options.shuffle_runs = true;
    // Files that are shorter than a run.
    let short = data(8, 2, 5);
    let pieces: Vec<_> = short.iter().map(|file| file.concat()).collect();
    shuffled_pieces(suite, &suite.files(&short), &options, &pieces)?;
    let files = data(3, 12, 5);
    options.run_bytes = 1;
    for threads in [1, 3] {
        options.threads = threads;
        let source = suite.files(&files);
        shuffled_pieces(suite, &source, &options, &framed(suite, &files))?;
        let rows = suite.run(&source, &options, 0..1)?.whole()?;
        let file = |row: &Row| row.label / 60;
        let changes = rows
            .windows(2)
            .filter(|pair| file(&pair[0]) != file(&pair[1]));
        ensure!(changes.count() > 4, "files are not mixed");
    }
    Ok(())
}

/// The blocks of all files.
fn framed(suite: &Suite<'_>, files: &[FileRows]) -> Vec<Vec<Row>> {
    let files = files.iter().map(|file| suite.format.framed(file));
    files.collect::<Vec<_>>().concat()
}

fn shuffled_pieces(
    suite: &Suite<'_>,
    files: &Arc<dyn Files>,
    options: &Options,
    pieces: &[Vec<Row>],
) -> Result<(), String> {
    let mut orders = Vec::new();
    for epoch in 0..3 {
        let rows = suite.run(files, options, epoch..epoch + 1)?.whole()?;
        ensure!(
            same_rows(&rows, &pieces.concat()),
            "epoch {epoch} loses or repeats rows"
        );
        let (mut order, mut rest) = (Vec::new(), &rows[..]);
        while let Some(piece) = pieces
            .iter()
            .find(|piece| !piece.is_empty() && rest.starts_with(piece))
        {
            order.push(piece.clone());
            rest = &rest[piece.len()..];
        }
        ensure!(rest.is_empty(), "epoch {epoch} mixes rows");
        ensure!(order != pieces, "epoch {epoch} is in order");
        ensure!(
            !orders.contains(&order),
            "epoch {epoch} has the order of another one"
        );
        orders.push(order);
    }
    Ok(())
}

/// An iteration has the epochs that it was asked for, each with a remainder of its own.
pub(super) fn epochs(suite: &Suite<'_>) -> Result<(), String> {
    let files = data(2, 2, 5);
    let (written, files) = (all(&files), suite.files(&files));
    for threads in [1, 3] {
        let mut options = Options::new(8);
        options.threads = threads;
        let last = u64::MAX - 1..u64::MAX;
        for (epochs, n) in [(0..3, 3), (7..9, 2), (4..4, 0), (last, 1)] {
            let outcome = suite.run(&files, &options, epochs.clone())?;
            let lens = outcome.lens();
            ensure!(
                lens == [8, 8, 4].repeat(n),
                "batches of {lens:?} rows in epochs {epochs:?}"
            );
            ensure!(
                outcome.whole()? == repeated(&written, n),
                "other rows in epochs {epochs:?}"
            );
        }
    }
    Ok(())
}
