//! The memory limit.

use std::sync::Arc;

use atds_pipeline::{ErrorKind, Files, Options};

use super::suite::{Outcome, Suite, data, ensure};

/// Which batches are ready at a time decides whether another one fits a limit that hardly does. So
/// many doublings of the limit are in doubt, and those for which each thread holds a batch.
const DOUBT: u32 = 2;

/// A limit is held or is an error, whatever the number of threads; the batches are the same.
pub(super) fn memory_limit(suite: &Suite<'_>) -> Result<(), String> {
    let files = suite.files(&data(2, 20, 50));
    for (batch_size, buffer) in [(100, 0), (2000, 0), (50, 500)] {
        let mut options = Options::new(batch_size);
        (options.shuffle_buffer_size, options.read_size) = (buffer, 256);
        let whole = suite.run(&files, &options, 0..1)?;
        ensure!(whole.error.is_none(), "an error: {:?}", whole.error);
        let mut alone = None;
        for threads in [1u32, 2, 16] {
            options.threads = threads as usize;
            let least = least_limit(suite, &files, &options, &whole)?;
            let least = least.ok_or("8 MiB do not suffice, or 64 bytes do")?;
            let alone = *alone.get_or_insert(least);
            let range = alone.saturating_sub(DOUBT)..=alone + threads.ilog2() + DOUBT;
            ensure!(
                range.contains(&least),
                "batches of {batch_size} from {buffer}: {threads} threads need 1 << {least} bytes, \
                 one needs 1 << {alone}"
            );
        }
    }
    Ok(())
}

/// The least power of two from which on all limits suffice; `None` if none does, or all do.
fn least_limit(
    suite: &Suite<'_>,
    files: &Arc<dyn Files>,
    options: &Options,
    whole: &Outcome,
) -> Result<Option<u32>, String> {
    let mut least = None;
    let bits = 6..24;
    for limit in bits.clone().rev() {
        let mut options = options.clone();
        options.memory_limit = 1 << limit;
        let outcome = suite.run(files, &options, 0..1)?;
        match &outcome.error {
            None => {
                ensure!(
                    outcome.batches == whole.batches,
                    "other batches under a limit"
                );
                least = Some(limit);
            }
            Some(error) => {
                let is_limit = matches!(error.kind, ErrorKind::MemoryLimit { .. });
                ensure!(is_limit, "another error under a limit: {error}");
                let (rows, found) = (whole.rows(), outcome.rows());
                ensure!(rows.starts_with(&found), "other rows before the error");
                break;
            }
        }
    }
    Ok(least.filter(|&least| least > bits.start))
}
