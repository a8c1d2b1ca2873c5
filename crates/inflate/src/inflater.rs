//! Many streams through a few lanes.

use std::fmt;

use crate::bits::Window;
use crate::{Error, LANES};
use crate::kernel::Kernel;
use crate::lane::{Lane, Progress};
use crate::stream::Stream;

/// Inflates streams, several at a time. It holds a quarter of a megabyte of tables, made once.
pub struct Inflater {
    lanes: Box<[Lane]>,
    /// Windows that go on behind their payload, or are not read at all.
    tails: Box<[Window; LANES]>,
    kernel: Kernel,
}

impl Inflater {
    /// An inflater with the fastest loops that this processor can run.
    pub fn new() -> Self {
        Self::with_kernel(Kernel::detect())
    }

    /// An inflater with loops that any processor can run, which is what the others are held
    /// against.
    pub fn portable() -> Self {
        Self::with_kernel(Kernel::Generic)
    }

    fn with_kernel(kernel: Kernel) -> Self {
        Inflater {
            lanes: vec![Lane::new(); LANES].into(),
            tails: Box::new([[0; _]; LANES]),
            kernel,
        }
    }

    /// Inflates all `streams`, and says in each what became of it. None has a bearing on another.
    ///
    /// Streams are taken in their order, and about [`LANES`] are in progress at a time: it pays to
    /// give that many or more, of about the same size.
    pub fn inflate(&mut self, streams: &mut [Stream<'_>]) {
        let mut waiting = streams.iter_mut();
        let mut running: [Option<&mut Stream<'_>>; LANES] = [const { None }; LANES];
        loop {
            let tails = self.tails.iter_mut();
            for ((lane, tail), slot) in self.lanes.iter_mut().zip(tails).zip(&mut running) {
                while slot.is_none() {
                    let Some(stream) = waiting.next() else { break };
                    let begun = lane.start(stream, tail);
                    if settle(lane, stream, begun) == Progress::Running {
                        *slot = Some(stream);
                    }
                }
            }
            // As few lanes as have all that run between them.
            let is_running = |slot: &Option<_>| slot.is_some();
            let Some(first) = running.iter().position(is_running) else {
                return;
            };
            let last = running.iter().rposition(is_running).unwrap_or(first);
            let (lanes, running) = (&mut self.lanes[first..=last], &mut running[first..=last]);
            let tails = &mut self.tails[first..=last];
            let mut windows = [&[0; _]; LANES];
            for (((window, lane), tail), slot) in windows.iter_mut().zip(&mut *lanes).zip(&mut *tails).zip(&mut *running) {
                if let Some(stream) = slot {
                    *window = lane.window(stream.payload, tail);
                }
            }
            let steps = self.kernel.run(lanes, &windows);
            for ((lane, tail), slot) in lanes.iter_mut().zip(tails).zip(running) {
                if let Some(stream) = slot {
                    let done = lane.finish(self.kernel, steps, stream, tail);
                    if settle(lane, stream, done) == Progress::Ended {
                        *slot = None;
                    }
                }
            }
        }
    }

    /// Inflates one stream.
    pub fn inflate_one(&mut self, mut stream: Stream<'_>) -> Result<usize, Error> {
        self.inflate(std::slice::from_mut(&mut stream));
        stream.result
    }
}

/// Writes down what became of a stream, if it is at its end, one way or the other.
fn settle(lane: &mut Lane, stream: &mut Stream<'_>, result: Result<Progress, Error>) -> Progress {
    stream.result = match result {
        Ok(Progress::Running) => return Progress::Running,
        Ok(Progress::Ended) => Ok(lane.written()),
        Err(error) => Err(error),
    };
    lane.park();
    Progress::Ended
}

impl Default for Inflater {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflater").field("kernel", &self.kernel).finish_non_exhaustive()
    }
}
