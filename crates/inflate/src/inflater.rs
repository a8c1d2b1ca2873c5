//! Decompresses many streams in a few lanes.

use std::fmt;
use std::ops::Range;

use crate::bits::Span;
use crate::kernel::Kernel;
use crate::lane::{Lane, Progress};
use crate::output::ActiveStream;
use crate::tokens::Tokens;
use crate::{Error, LANES, Stream};

/// Decompresses streams, several at a time. It owns some 300 KB of tables.
pub struct Inflater {
    lanes: Box<[Lane]>,
    /// Copies of the lanes' spans that cross the end of a payload.
    tails: Box<[Span; LANES]>,
    /// The literals and matches of one lane, until they are written.
    tokens: Box<Tokens>,
    kernel: Kernel,
}

/// The stream of each lane, with its tag.
type Running<'a, T> = [Option<(T, ActiveStream<'a>)>; LANES];

impl Inflater {
    /// An inflater with the fastest kernel of this processor.
    pub fn new() -> Self {
        Self::with_kernel(Kernel::detect())
    }

    /// An inflater for each kernel of this processor, the fastest first, as [`new`](Self::new)
    /// picks it. The last kernel runs on any processor; tests compare the others with it.
    #[doc(hidden)]
    pub fn of_each_kind() -> impl Iterator<Item = Self> {
        Kernel::all().map(Self::with_kernel)
    }

    /// Whether this processor has AVX2 and BMI2. Without them, a decoder of single streams is
    /// faster.
    pub fn is_fast() -> bool {
        Kernel::detect() != Kernel::Generic
    }

    fn with_kernel(kernel: Kernel) -> Self {
        Inflater {
            lanes: vec![Lane::new(); LANES].into(),
            tails: Box::new([[0; _]; LANES]),
            tokens: Box::new(Tokens::NONE),
            kernel,
        }
    }

    /// Decompresses all `streams`. At the end of each stream it calls `done` with the stream's tag
    /// and its number of decompressed bytes. An error in one stream does not affect the others.
    ///
    /// Streams start in their order and may end in another. [`LANES`] of them are in progress at a
    /// time. At least [`LANES`] streams of about the same size are fastest.
    pub fn inflate<'a, T>(
        &mut self,
        streams: impl IntoIterator<Item = (T, Stream<'a>)>,
        mut done: impl FnMut(T, Result<usize, Error>),
    ) {
        let mut streams = streams.into_iter();
        let mut running = [const { None }; LANES];
        loop {
            self.start(&mut streams, &mut running, &mut done);
            let Some(lanes) = active_range(&running) else {
                return;
            };
            let lookups = self.look_up(lanes.clone(), &running);
            for nth in lanes {
                let Some((_, stream)) = &mut running[nth] else {
                    continue;
                };
                let lane = &mut self.lanes[nth];
                let progress = lane.finish(
                    self.kernel,
                    lookups,
                    &mut self.tokens,
                    stream,
                    &mut self.tails[nth],
                );
                self.report(nth, progress, &mut running, &mut done);
            }
        }
    }

    /// Gives a stream to each lane that has none.
    fn start<'a, T>(
        &mut self,
        streams: &mut impl Iterator<Item = (T, Stream<'a>)>,
        running: &mut Running<'a, T>,
        done: &mut impl FnMut(T, Result<usize, Error>),
    ) {
        for nth in 0..LANES {
            while running[nth].is_none()
                && let Some((tag, stream)) = streams.next()
            {
                let (_, stream) = running[nth].insert((tag, ActiveStream::new(stream)));
                let progress = self.lanes[nth].start(stream, &mut self.tails[nth]);
                self.report(nth, progress, running, done);
            }
        }
    }

    /// Runs the lookups of `lanes`, and returns the number of lookups of each.
    fn look_up<T>(&mut self, lanes: Range<usize>, running: &Running<'_, T>) -> usize {
        let mut spans = [&[0; _]; LANES];
        let tails = self.tails[lanes.clone()].iter_mut();
        for ((nth, tail), span) in lanes.clone().zip(tails).zip(&mut spans) {
            if let Some((_, stream)) = &running[nth] {
                *span = self.lanes[nth].span(stream.payload, tail);
            }
        }
        self.kernel.run(&mut self.lanes[lanes], &spans)
    }

    /// Calls `done` if the stream has ended or failed.
    fn report<T>(
        &mut self,
        nth: usize,
        progress: Result<Progress, Error>,
        running: &mut Running<'_, T>,
        done: &mut impl FnMut(T, Result<usize, Error>),
    ) {
        let lane = &mut self.lanes[nth];
        let result = match progress {
            Ok(Progress::Running) => return,
            Ok(Progress::Ended) => Ok(lane.written()),
            Err(error) => Err(error),
        };
        lane.park();
        if let Some((tag, _)) = running[nth].take() {
            done(tag, result);
        }
    }
}

/// The smallest range of lanes with all running streams; `None` if no stream runs.
fn active_range<T>(running: &Running<'_, T>) -> Option<Range<usize>> {
    let first = running.iter().position(Option::is_some)?;
    let last = running.iter().rposition(Option::is_some)?;
    Some(first..last + 1)
}

impl Default for Inflater {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflater")
            .field("kernel", &self.kernel)
            .finish_non_exhaustive()
    }
}
