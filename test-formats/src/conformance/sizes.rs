//! Sizes: threads, batches, blocks, and what is left of an epoch.

use atds_pipeline::Options;

use super::suite::{Suite, all, data, ensure, repeated, rows, same_rows};

/// Options of speed give the same batches: numbers of threads, sizes of ops and of reads, the prefetch,
/// and any memory limit that suffices.
pub(super) fn threads(suite: &Suite<'_>) -> Result<(), String> {
    let files = suite.files(&data(3, 11, 23));
    for (batch_size, buffer) in [(1, 0), (64, 0), (64, 300), (10, 40), (10_000, 0)] {
        let with = |change: &dyn Fn(&mut Options)| {
            let mut options = Options::new(batch_size);
            (options.threads, options.shuffle_buffer_size) = (3, buffer);
            change(&mut options);
            options
        };
        let mut ways = vec![with(&|options| options.threads = 1)];
        ways.extend([2, 3, 16].map(|threads| with(&|options| options.threads = threads)));
        for rows in [1, 20, 1_000].map(Some) {
            ways.push(with(&|options| options.op_rows = rows));
            ways.push(with(&|options| options.piece_rows = rows));
        }
        ways.extend([1, 64, 1 << 20].map(|bytes| with(&|options| options.read_size = bytes)));
        ways.extend([0, 1, 50].map(|prefetch| with(&|options| options.prefetch = prefetch)));
        ways.extend([1 << 20, u64::MAX].map(|limit| with(&|options| options.memory_limit = limit)));
        let mut first = None;
        for options in ways {
            let outcome = suite.run(&files, &options, 0..2)?;
            ensure!(
                outcome.error.is_none(),
                "an error: {:?}, {options:?}",
                outcome.error
            );
            let first = first.get_or_insert_with(|| outcome.batches.clone());
            ensure!(*first == outcome.batches, "other batches of {options:?}");
        }
    }
    Ok(())
}

/// Batches have the size that was asked for, but for the last.
pub(super) fn batch_sizes(suite: &Suite<'_>) -> Result<(), String> {
    let files = data(2, 10, 13);
    let (written, files) = (all(&files), suite.files(&files));
    for batch_size in [1, 2, 7, 64, 259, 260, 261, 1 << 20] {
        for (threads, buffer) in [(1, 0), (4, 0), (4, 50)] {
            let mut options = Options::new(batch_size);
            (options.threads, options.shuffle_buffer_size) = (threads, buffer);
            let outcome = suite.run(&files, &options, 0..1)?;
            let expected: Vec<_> = written.chunks(batch_size).map(<[_]>::len).collect();
            let lens = outcome.lens();
            ensure!(
                lens == expected,
                "batches of {lens:?} rows for a size of {batch_size}"
            );
            ensure!(same_rows(&outcome.whole()?, &written), "other rows");
        }
    }
    Ok(())
}

/// Blocks may be small, large and empty, and so may files.
pub(super) fn blocks(suite: &Suite<'_>) -> Result<(), String> {
    let mut files = vec![vec![], vec![vec![]], vec![vec![], vec![]]];
    files.extend(data(1, 30, 1));
    files.push(vec![
        rows(100, 9),
        vec![],
        vec![],
        rows(200, 1),
        rows(300, 9),
        vec![],
    ]);
    files.push(vec![]);
    files.push(vec![rows(1000, 1000), rows(2000, 3)]);
    files.push(vec![vec![], rows(3000, 2)]);
    let (written, files) = (all(&files), suite.files(&files));
    for threads in [1, 3] {
        for batch_size in [1, 10, 1000, 3000] {
            let mut options = Options::new(batch_size);
            options.threads = threads;
            let found = suite.run(&files, &options, 0..2)?.whole()?;
            ensure!(
                found == repeated(&written, 2),
                "other rows in batches of {batch_size}"
            );
            options.shuffle_buffer_size = 400;
            let found = suite.run(&files, &options, 0..1)?.whole()?;
            ensure!(same_rows(&found, &written), "other rows, shuffled");
        }
    }
    let empty = suite.files(&[vec![], vec![vec![]]]);
    for files in [&empty, &suite.files(&[])] {
        let outcome = suite.run(files, &Options::new(10), 0..1_000_000)?;
        ensure!(outcome.batches.is_empty(), "batches of no rows");
        outcome.whole()?;
    }
    Ok(())
}

/// The last batch of an epoch is left out if it is asked for, and only then.
pub(super) fn drop_remainder(suite: &Suite<'_>) -> Result<(), String> {
    let files = data(1, 5, 9);
    let (written, files) = (all(&files), suite.files(&files));
    for (threads, buffer) in [(1, 0), (3, 0), (3, 30)] {
        for drop_remainder in [false, true] {
            let mut options = Options::new(10);
            (options.threads, options.shuffle_buffer_size) = (threads, buffer);
            options.drop_remainder = drop_remainder;
            let outcome = suite.run(&files, &options, 0..2)?;
            let epoch: &[usize] = if drop_remainder {
                &[10; 4]
            } else {
                &[10, 10, 10, 10, 5]
            };
            let lens = outcome.lens();
            ensure!(
                lens == epoch.repeat(2),
                "batches of {lens:?} rows, {drop_remainder}"
            );
            let found = outcome.whole()?;
            ensure!(buffer > 0 || found[..40] == written[..40], "other rows");
        }
    }
    // Nothing is left of any epoch: the iteration ends, and does not run through all of them.
    let mut options = Options::new(46);
    options.drop_remainder = true;
    let outcome = suite.run(&files, &options, 0..u64::MAX)?;
    ensure!(
        outcome.batches.is_empty(),
        "batches of {:?} rows",
        outcome.lens()
    );
    outcome.whole()?;
    Ok(())
}
