//! The memory limit.

use atds_pipeline::{ErrorKind, Options};

use super::suite::{Suite, data, ensure};

/// A limit is held or is an error, the same for any number of threads.
pub(super) fn memory_limit(suite: &Suite<'_>) -> Result<(), String> {
    let files = suite.files(&data(2, 20, 50));
    for (batch_size, buffer) in [(100, 0), (2000, 0), (50, 500)] {
        let mut options = Options::new(batch_size);
        options.shuffle_buffer_size = buffer;
        options.read_size = 256;
        let whole = suite.run(&files, &options, 0..1)?;
        ensure!(whole.error.is_none(), "an error: {:?}", whole.error);
        let (mut refused, mut held) = (0, 0);
        for limit in (6..24).map(|bits| 1u64 << bits) {
            let mut is_refused = None;
            for threads in [1, 16] {
                (options.memory_limit, options.threads) = (limit, threads);
                let mut batches = suite.start(&files, &options, 0..1);
                let (mut found, mut error) = (Vec::new(), None);
                while let Some(item) = batches.next()? {
                    match item {
                        Ok(batch) => found.push(batch),
                        Err(other) => error = Some(other),
                    }
                }
                match &error {
                    None => ensure!(found == whole.batches, "other batches under {limit} bytes"),
                    Some(error) => {
                        let is_limit = matches!(error.kind, ErrorKind::MemoryLimit { .. });
                        ensure!(is_limit, "another error under {limit} bytes: {error}");
                        let rows = whole.rows();
                        ensure!(rows.starts_with(&found.concat()), "other rows before it");
                    }
                }
                let is_refused = is_refused.get_or_insert(error.is_some());
                ensure!(
                    *is_refused == error.is_some(),
                    "{limit} bytes suffice for 1 or for 16 threads only"
                );
            }
            match is_refused {
                Some(true) => refused += 1,
                _ => held += 1,
            }
        }
        ensure!(refused > 0, "64 bytes suffice for batches of {batch_size}");
        ensure!(held > 0, "8 MiB do not suffice for batches of {batch_size}");
    }
    Ok(())
}
