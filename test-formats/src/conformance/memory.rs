//! The memory limit.

use atds_pipeline::{ErrorKind, Options};

use super::suite::{Suite, data, ensure};

/// The largest limit in bytes that must not suffice: a row has more than its part of them.
const TOO_SMALL: u64 = 256;

/// The smallest limit in bytes that must suffice: many times the files.
const AMPLE: u64 = 4 << 20;

/// A limit is held, or it is an error; the batches are the same whatever the number of threads.
pub(super) fn memory_limit(suite: &Suite<'_>) -> Result<(), String> {
    let files = suite.files(&data(2, 20, 50));
    for (batch_size, buffer) in [(100, 0), (2000, 0), (50, 500)] {
        let mut options = Options::new(batch_size);
        (options.shuffle_buffer_size, options.read_size) = (buffer, 256);
        let whole = suite.run(&files, &options, 0..1)?;
        ensure!(whole.error.is_none(), "an error: {:?}", whole.error);
        for threads in [1, 2, 16] {
            for limit in (6..24).map(|bits| 1 << bits) {
                (options.threads, options.memory_limit) = (threads, limit);
                let of = format!("{limit} bytes, {threads} threads, batches of {batch_size}");
                let outcome = suite.run(&files, &options, 0..1)?;
                let Some(error) = &outcome.error else {
                    ensure!(outcome.batches == whole.batches, "other batches: {of}");
                    ensure!(limit > TOO_SMALL, "no error: {of}");
                    continue;
                };
                let is_limit = matches!(error.kind, ErrorKind::MemoryLimit { .. });
                ensure!(is_limit, "another error: {error}: {of}");
                // Between the two it depends on which batches are ready at a time.
                ensure!(limit < AMPLE, "an error: {error}: {of}");
                let (rows, found) = (whole.rows(), outcome.rows());
                ensure!(
                    rows.starts_with(&found),
                    "other rows before the error: {of}"
                );
            }
        }
    }
    Ok(())
}
