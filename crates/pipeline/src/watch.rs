//! What each thread of an iteration does: for a trace, and to tell what waits for what.

use std::cell::Cell;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use atds_format::Location;

use crate::block::Block;
use crate::ops::{Op, Queued};
use crate::trace::{Event, Trace};

/// The numbers of the threads of an iteration. Worker 0 and the others follow.
pub(crate) const CONSUMER: usize = 0;
pub(crate) const PLANNER: usize = 1;
pub(crate) const FIRST_WORKER: usize = 2;

/// Events of a thread that are written together.
const WRITTEN_TOGETHER: usize = 256;

thread_local! {
    /// The number of this thread in its iteration. A thread that the pipeline has not started is a
    /// consumer.
    static NUMBER: Cell<usize> = const { Cell::new(CONSUMER) };
}

/// What the threads of one iteration do. Each thread writes for itself, so nobody waits here.
#[derive(Debug)]
pub(crate) struct Watch {
    threads: Box<[Mutex<Thread>]>,
    /// With the number of the iteration in the trace.
    trace: Option<(Trace, u64)>,
}

#[derive(Debug, Default)]
struct Thread {
    /// What the thread does, and what it waits for in it; nothing if it does not run.
    spans: Vec<(What, Instant)>,
    /// Bytes that the op which runs has leased, and the most that it had.
    leased: u64,
    most_leased: u64,
    /// What ended and is not written.
    events: Vec<Event>,
}

/// What a thread does, or what it waits for.
#[derive(Clone, Debug)]
pub(crate) struct What {
    /// In a trace.
    pub(crate) name: &'static str,
    /// In a trace: `op`, `join`, `read`, `wait` or `batch`. A thread that runs has none.
    pub(crate) category: &'static str,
    /// For people, who read numbers and file after it.
    text: &'static str,
    pub(crate) numbers: Vec<(&'static str, u64)>,
    pub(crate) file: Option<Location>,
}

pub(crate) const JOIN: What = What::new("join", "join", "lays columns end to end of");
pub(crate) const OPEN: What = What::new("open", "read", "opens");
pub(crate) const LIST: What = What::new("list", "read", "looks for the blocks of");
pub(crate) const READ: What = What::new("read", "read", "reads");
pub(crate) const FOR_BATCH: What = What::wait("wait for a batch", "waits for");
pub(crate) const FOR_BYTES: What = What::wait("wait for bytes", "waits for bytes from");
pub(crate) const FOR_EARLIER: What =
    What::wait("wait for earlier batches", "waits for those before its");
pub(crate) const FOR_MEMORY: What = What::wait("wait for memory", "waits for memory");
pub(crate) const FOR_OP: What = What::wait("wait for an op", "waits for an op");
pub(crate) const FOR_PREPARE: What =
    What::wait("wait for a prepare", "waits until another has prepared");
pub(crate) const FOR_ROOM: What = What::wait("wait for room", "waits for room in the queue of ops");

impl What {
    const fn new(name: &'static str, category: &'static str, text: &'static str) -> Self {
        What {
            name,
            category,
            text,
            numbers: Vec::new(),
            file: None,
        }
    }

    const fn wait(name: &'static str, text: &'static str) -> Self {
        What::new(name, "wait", text)
    }

    pub(crate) fn with(mut self, numbers: &[(&'static str, u64)]) -> Self {
        self.numbers.extend(numbers);
        self
    }

    pub(crate) fn in_file(mut self, location: &Location) -> Self {
        self.file = Some(location.clone());
        self
    }

    pub(crate) fn in_block(self, block: &Block) -> Self {
        self.with(&[("block", block.index)])
            .in_file(&block.file.location)
    }

    pub(crate) fn op(queued: &Queued) -> Self {
        let pieces = match &queued.op {
            Op::Prepare(blocks) => {
                let bytes = blocks.iter().map(|early| early.block.payload.bytes).sum();
                // A group has a block.
                return What::new("prepare", "op", "prepares")
                    .with(&[("blocks", blocks.len() as u64), ("bytes", bytes)])
                    .in_block(&blocks[0].block);
            }
            Op::Make(pieces) => pieces,
        };
        let (piece, batch) = (pieces[0].number as u64, &pieces[0].batch);
        let of_batch = [("batch", batch.number)];
        let again: &[_] = if queued.is_alone {
            &[("again", 1)]
        } else {
            &[]
        };
        let what = match batch.pieces.len() as u64 {
            1 => What::new("batches", "op", "makes")
                .with(&of_batch)
                .with(&[("batches", pieces.len() as u64)]),
            pieces => What::new("piece", "op", "makes")
                .with(&[("piece", piece), of_batch[0]])
                .with(&[("pieces", pieces)]),
        };
        let what = what.with(&[("rows", queued.rows)]).with(again);
        match pieces[0].plan().reads.first() {
            Some(first) => what.in_block(&first.block),
            None => what,
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)?;
        for (at, (name, number)) in self.numbers.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma} {name} {number}")?;
        }
        let of = if self.numbers.is_empty() { "" } else { " of" };
        match &self.file {
            Some(file) => write!(f, "{of} '{}'", file.to_string().escape_debug()),
            None => Ok(()),
        }
    }
}

impl Watch {
    pub(crate) fn new(workers: usize, trace: Option<&Trace>) -> Self {
        let threads = (0..FIRST_WORKER + workers).map(|_| Mutex::default());
        let watch = Watch {
            threads: threads.collect(),
            trace: trace.map(|trace| (trace.clone(), trace.begin_iteration())),
        };
        watch.run(CONSUMER, "does something else");
        watch
    }

    /// Says that this thread has the number `number`, and `runs`, until the result is dropped.
    pub(crate) fn thread(&self, number: usize, runs: &'static str) -> Span<'_> {
        NUMBER.set(number);
        self.run(number, runs);
        Span(self)
    }

    fn run(&self, number: usize, text: &'static str) {
        if let Some((trace, iteration)) = &self.trace {
            trace.name_thread(*iteration, number, &thread_name(number));
        }
        let what = What::new("run", "", text);
        self.lock(number).spans.push((what, Instant::now()));
    }

    /// Says that this thread does `what`, until the result is dropped.
    pub(crate) fn begin(&self, what: What) -> Span<'_> {
        let mut thread = self.lock(NUMBER.get());
        thread.spans.push((what, Instant::now()));
        Span(self)
    }

    /// Says that the consumer waits for batch `batch`, from now on or still.
    pub(crate) fn wait_for_batch(&self, batch: u64) {
        let mut consumer = self.lock(CONSUMER);
        if consumer.spans.len() == 1 {
            let what = FOR_BATCH.with(&[("batch", batch)]);
            consumer.spans.push((what, Instant::now()));
        }
    }

    /// Says that batch `batch` was given out.
    pub(crate) fn give_out(&self, batch: u64, rows: u64, bytes: u64) {
        let mut consumer = self.lock(CONSUMER);
        let waits = consumer.spans.len() > 1;
        let waited = waits.then(|| consumer.spans.pop()).flatten();
        if self.trace.is_some() {
            let now = Instant::now();
            let event = |what, start, end| Event { what, start, end };
            let waited = waited.map(|(what, start)| event(what, start, Some(now)));
            let numbers = [("batch", batch), ("rows", rows), ("bytes", bytes)];
            let given = What::new("batch", "batch", "").with(&numbers);
            let given = event(given, now, None);
            consumer.events.extend(waited.into_iter().chain([given]));
            drop(consumer);
            self.write(CONSUMER, WRITTEN_TOGETHER);
        }
    }

    /// Says how much the op of this thread has leased.
    pub(crate) fn set_leased(&self, bytes: u64) {
        let mut thread = self.lock(NUMBER.get());
        thread.leased = bytes;
        thread.most_leased = thread.most_leased.max(bytes);
    }

    /// Writes the events of this thread if they are many. No lock of the pipeline may be held.
    pub(crate) fn write_some(&self) {
        self.write(NUMBER.get(), WRITTEN_TOGETHER);
    }

    /// Writes all events, once the threads have ended.
    pub(crate) fn finish(&self) {
        for number in 0..self.threads.len() {
            self.write(number, 1);
        }
    }

    fn write(&self, number: usize, least: usize) {
        let Some((trace, iteration)) = &self.trace else {
            return;
        };
        let mut thread = self.lock(number);
        if thread.events.len() >= least {
            let events = std::mem::take(&mut thread.events);
            drop(thread);
            trace.write(*iteration, number, &events);
        }
    }

    /// What each thread does, as text, and the bytes that its op has leased: the consumer, the planning
    /// thread, and the workers that run.
    pub(crate) fn describe(&self) -> Vec<(String, u64)> {
        let threads = (0..self.threads.len()).filter_map(|number| {
            let (name, thread) = (thread_name(number), self.lock(number));
            let does = match thread.describe() {
                None if number >= FIRST_WORKER => return None,
                None => "does not run".to_owned(),
                Some(does) => does,
            };
            Some((format!("{name}: {does}"), thread.leased))
        });
        threads.collect()
    }

    /// The state of thread `number`; of the consumer, if another iteration has given the number.
    fn lock(&self, number: usize) -> MutexGuard<'_, Thread> {
        let thread = self.threads.get(number).unwrap_or(&self.threads[CONSUMER]);
        thread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn thread_name(number: usize) -> String {
    match number {
        CONSUMER => "consumer".to_owned(),
        PLANNER => "planning thread".to_owned(),
        worker => format!("worker {}", worker - FIRST_WORKER),
    }
}

/// What a thread does, until this is dropped.
#[must_use]
#[derive(Debug)]
pub(crate) struct Span<'a>(&'a Watch);

impl Drop for Span<'_> {
    fn drop(&mut self) {
        let mut thread = self.0.lock(NUMBER.get());
        let Some((mut what, start)) = thread.spans.pop() else {
            return;
        };
        if what.category == "op" {
            thread.leased = 0;
            let most = std::mem::take(&mut thread.most_leased);
            if what.numbers.iter().all(|(name, _)| *name != "bytes") {
                what.numbers.push(("bytes", most));
            }
        }
        if self.0.trace.is_none() || what.category.is_empty() {
            return;
        }
        // A wait ends while the flow's lock is held, under which nothing is written.
        let writes = what.category != "wait";
        let end = Some(Instant::now());
        thread.events.push(Event { what, start, end });
        drop(thread);
        if writes {
            self.0.write_some();
        }
    }
}

impl Thread {
    /// What the thread does and waits for; `None` if it does not run.
    fn describe(&self) -> Option<String> {
        match &self.spans[..] {
            [] => None,
            [(runs, _)] => Some(runs.to_string()),
            [_, spans @ ..] => {
                let spans = spans.iter().map(|(what, start)| {
                    let seconds = start.elapsed().as_secs_f64();
                    format!("{what} since {seconds:.3} s")
                });
                Some(spans.collect::<Vec<_>>().join("; "))
            }
        }
    }
}
