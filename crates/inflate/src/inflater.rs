//! Many streams through a few lanes.

use std::fmt;
use std::iter::Peekable;
use std::ops::Range;

use crate::bits::Window;
use crate::copy::prefetch_start;
use crate::kernel::Kernel;
use crate::lane::{Lane, Progress};
use crate::room::Task;
use crate::tokens::Tokens;
use crate::{Error, LANES, Stream};

/// Inflates streams, several at a time. It holds some 300 KB of tables, made once.
pub struct Inflater {
    lanes: Box<[Lane]>,
    /// The lanes' windows where they go on behind a payload.
    tails: Box<[Window; LANES]>,
    /// What a lane's lookups amount to, while it is written.
    tokens: Box<Tokens>,
    kernel: Kernel,
}

/// What the lanes are at, each with its tag.
type Running<'a, T> = [Option<(T, Task<'a>)>; LANES];

impl Inflater {
    /// An inflater with the fastest loops that this processor can run.
    pub fn new() -> Self {
        Self::with_kernel(Kernel::detect())
    }

    /// An inflater with each kind of loops that this processor can run, the fastest first: what
    /// [`new`](Self::new) gives. The last has those that any processor can run, which the others
    /// are held against.
    pub fn of_each_kind() -> impl Iterator<Item = Self> {
        Kernel::all().map(Self::with_kernel)
    }

    /// Whether this processor has what makes several streams at once faster than one after another:
    /// AVX2 and BMI2. Without them a decoder of single streams is the better choice.
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

    /// Inflates all `streams` and calls `done` for each as it ends, with its tag and how many bytes
    /// of its room were inflated. None has a bearing on another.
    ///
    /// Streams are taken in their order, [`LANES`] of them being in progress at a time, and one more
    /// being taken before that, so that its first bytes are at hand; they may end in another. It
    /// pays to give that many or more, of about the same size.
    pub fn inflate<'a, T>(
        &mut self,
        streams: impl IntoIterator<Item = (T, Stream<'a>)>,
        mut done: impl FnMut(T, Result<usize, Error>),
    ) {
        let mut streams = streams.into_iter().peekable();
        let mut running = [const { None }; LANES];
        loop {
            self.start(&mut streams, &mut running, &mut done);
            let Some(lanes) = extent(&running) else {
                return;
            };
            let steps = self.look_up(lanes.clone(), &running);
            for nth in lanes {
                let Some((_, task)) = &mut running[nth] else {
                    continue;
                };
                let lane = &mut self.lanes[nth];
                let progress = lane.finish(
                    self.kernel,
                    steps,
                    &mut self.tokens,
                    task,
                    &mut self.tails[nth],
                );
                self.settle(nth, progress, &mut running, &mut done);
            }
        }
    }

    /// Gives a stream to each lane that has none.
    fn start<'a, T>(
        &mut self,
        streams: &mut Peekable<impl Iterator<Item = (T, Stream<'a>)>>,
        running: &mut Running<'a, T>,
        done: &mut impl FnMut(T, Result<usize, Error>),
    ) {
        for nth in 0..LANES {
            while running[nth].is_none()
                && let Some((tag, stream)) = streams.next()
            {
                if let Some((_, next)) = streams.peek_mut() {
                    // A lane reads a header by itself, and all of its tables are made meanwhile.
                    prefetch_start(next.payload);
                    prefetch_start(next.room.bytes());
                }
                let (_, task) = running[nth].insert((tag, Task::new(stream)));
                let progress = self.lanes[nth].start(task, &mut self.tails[nth]);
                self.settle(nth, progress, running, done);
            }
        }
    }

    /// Makes the lookups of some lanes, and returns how many.
    fn look_up<T>(&mut self, lanes: Range<usize>, running: &Running<'_, T>) -> usize {
        let mut windows = [&[0; _]; LANES];
        let tails = self.tails[lanes.clone()].iter_mut();
        for ((nth, tail), window) in lanes.clone().zip(tails).zip(&mut windows) {
            if let Some((_, task)) = &running[nth] {
                *window = self.lanes[nth].window(task.payload, tail);
            }
        }
        self.kernel.run(&mut self.lanes[lanes], &windows)
    }

    /// Says what became of a stream, if it is at its end, one way or the other.
    fn settle<T>(
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

/// As few lanes as have all that run between them; `None` if none does.
fn extent<T>(running: &Running<'_, T>) -> Option<Range<usize>> {
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
