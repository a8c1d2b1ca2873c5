//! The iteration over the batches of a data set.

use std::fmt;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use atds_features::words::counted;
use tensor_batch::Batch;

use crate::damage::{SkipWatch, Skipped};
use crate::dataset::Settings;
use crate::state::State;
use crate::stats::{Stats, StatsHandle};
use crate::{Dataset, Error};

/// An iterator over the batches of a dataset, prefetched by threads.
///
/// The first error is the last item; the batches before it are whole. Dropping the iterator stops
/// the threads and waits for them.
pub struct Batches {
    batches: atds_pipeline::Batches,
    /// Why the iteration could not begin: it has no batches.
    failed: Option<Error>,
    settings: Arc<Settings>,
    /// The epoch after the last.
    until: u64,
    watch: SkipWatch,
    is_over: bool,
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches")
            .field("batches", &self.batches)
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}

impl Batches {
    /// The batches of `epochs`, up to epoch `until`, without the first `given` ones of the first epoch.
    pub(crate) fn start(
        settings: &Arc<Settings>,
        given: u64,
        epochs: impl Iterator<Item = u64> + Send + 'static,
        until: u64,
    ) -> Self {
        let watch = SkipWatch::new(&settings.run.skips, || {
            let settings = settings.clone();
            Dataset { settings }.num_records()
        });
        let (watch, failed) = match watch {
            Ok(watch) => (watch, settings.claim().err()),
            Err(error) => (SkipWatch::nothing(), Some(error)),
        };
        let pipeline = settings.pipeline();
        let mut batches = match &failed {
            None => pipeline.iter_after(given, epochs),
            Some(_) => pipeline.iter(0..0),
        };
        let (epoch, skipped) = settings.skipped_before;
        if given > 0 && batches.stats().position.epoch == epoch {
            batches.set_skipped_before(skipped);
        }
        Batches {
            batches,
            failed,
            settings: settings.clone(),
            until,
            watch,
            is_over: false,
        }
    }

    /// Where the iteration is, after the last batch that was given out: [`Dataset::resume`] goes on there.
    /// A batch that ends early before an error does not count as given out.
    ///
    /// The first state of a data set takes as long as framing its files, which reads a few bytes of each
    /// block; others take some microseconds.
    ///
    /// # Errors
    /// A file cannot be read, its framing is damaged, or it can be read only once.
    pub fn state(&self) -> Result<State, Error> {
        let dataset = Dataset {
            settings: self.settings.clone(),
        };
        let stats = self.stats();
        let state = dataset.state_at(stats.position, self.until)?;
        Ok(match stats.position.batches {
            // Nothing of the epoch was given out.
            0 => state,
            _ => state.with_skipped(stats.epoch_skipped),
        })
    }

    /// The epoch after the last.
    pub fn until(&self) -> u64 {
        self.until
    }

    /// Figures up to now.
    pub fn stats(&self) -> Stats {
        self.batches.stats()
    }

    /// The figures from any thread, also while this one waits for a batch and
    /// after the iteration is dropped.
    pub fn stats_handle(&self) -> StatsHandle {
        self.batches.stats_handle()
    }

    /// What each thread does now, or waits for, see
    /// [`StatsHandle::describe_waits`].
    pub fn describe_waits(&self) -> String {
        self.batches.describe_waits()
    }

    /// The next item of the iterator, or [`Poll::Pending`] if it is not ready after `timeout`; then
    /// call this again. A `timeout` of zero does not wait.
    pub fn next_within(&mut self, timeout: Duration) -> Poll<Option<Result<Batch, Error>>> {
        if let Some(error) = self.failed.take() {
            // It is the last item.
            self.batches.stop_within(Duration::MAX);
            self.end();
            return Poll::Ready(Some(Err(error)));
        }
        if self.is_over {
            return Poll::Ready(None);
        }
        let next = self.batches.next_within(timeout);
        if self.settings.run.pipeline.skip_damage
            && next.is_ready()
            && let Err(error) = self.watch_skipped()
        {
            self.failed = Some(error);
            if matches!(next, Poll::Ready(None)) {
                return self.next_within(timeout);
            }
        }
        if matches!(next, Poll::Ready(None | Some(Err(_)))) {
            self.end();
        }
        next.map_err(|error| self.settings.error(error))
    }

    /// Tells of damage that was left out since this was called last. An error if it is too much.
    fn watch_skipped(&mut self) -> Result<(), Error> {
        let new = self.skipped(self.watch.told());
        self.watch.tell(&new)?;
        let rank = self.settings.run.pipeline.stream.rank;
        self.watch.check(&self.batches.stats(), rank)
    }

    /// The damage that was left out of the batches given out until now, in the order in which it was met,
    /// from that of number `from` on. Each place is listed once, at most 65,536 of them; the
    /// [statistics](Self::stats) count all. [Files](Dataset::skipped_files) that were left out as a whole are
    /// not among them.
    pub fn skipped(&self, from: usize) -> Vec<Skipped> {
        let skipped = self.batches.skipped(from).into_iter();
        let skipped = skipped.map(|skipped| self.settings.skipped(skipped));
        skipped.collect()
    }

    /// Ends the iteration: stops its threads, and waits for them at most for `timeout`. Returns
    /// whether they have stopped; if not, this can be called again.
    pub fn stop_within(&mut self, timeout: Duration) -> bool {
        let stopped = self.batches.stop_within(timeout);
        if stopped {
            self.end();
        }
        stopped
    }

    /// Logs what was passed over, once.
    fn end(&mut self) {
        if !std::mem::replace(&mut self.is_over, true) {
            let tolerated = self.stats().tolerated;
            if !tolerated.is_empty() {
                log::warn!("passed over in all: {tolerated}");
            }
            let (records, bytes) = (self.stats().skipped_records, self.stats().skipped_bytes);
            if records > 0 || bytes > 0 {
                log::warn!(
                    "left out for damage in all: {}, and {} whose records are not known",
                    counted(records, "record"),
                    counted(bytes, "byte")
                );
            }
        }
    }
}

impl Iterator for Batches {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        // Without an end: it is later than any time that the clock has.
        match self.next_within(Duration::MAX) {
            Poll::Ready(item) => item,
            Poll::Pending => None,
        }
    }
}

impl std::iter::FusedIterator for Batches {}

impl Drop for Batches {
    fn drop(&mut self) {
        // The threads stop before the figures are logged.
        self.batches.stop_within(Duration::MAX);
        self.end();
    }
}
