//! Traces: what each thread did when, in Chrome's trace format.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Map, Value, json};

use crate::watch::What;

/// Writes what the threads of iterations do, in Chrome's trace format: JSON that
/// <https://ui.perfetto.dev> and `chrome://tracing` show.
///
/// Each iteration is a process of its own, each of its threads has a name. There is an event for each
/// op (`prepare`, `batches`, `piece`), each join, opened file, read and wait, and each batch that was given out. Their
/// arguments are file, block, batch, rows and bytes; times are in µs. A thread keeps some hundred
/// events, and writes them together. A trace that was cut off can be shown, too.
///
/// An error of the writer ends the trace, not the iteration: it is logged, and
/// [`finish`](Self::finish) returns it.
#[derive(Clone)]
pub struct Trace(Arc<Output>);

struct Output {
    started: Instant,
    iterations: AtomicU64,
    sink: Mutex<Sink>,
}

#[derive(Default)]
struct Sink {
    /// `None` after an error, or the end.
    writer: Option<Box<dyn Write + Send>>,
    has_events: bool,
    error: Option<io::Error>,
}

/// What a thread has done.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) what: What,
    pub(crate) start: Instant,
    /// `None` for an instant.
    pub(crate) end: Option<Instant>,
}

impl Trace {
    /// A trace that is written to `writer`.
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        Trace(Arc::new(Output {
            started: Instant::now(),
            iterations: AtomicU64::new(0),
            sink: Mutex::new(Sink {
                writer: Some(Box::new(writer)),
                ..Sink::default()
            }),
        }))
    }

    /// Writes the end of the trace. Iterations that have not ended write no more.
    ///
    /// # Errors
    /// The first error of the writer since the trace began.
    pub fn finish(&self) -> io::Result<()> {
        let mut sink = self.0.lock();
        sink.finish();
        sink.error.take().map_or(Ok(()), Err)
    }

    /// The number of an iteration that begins now.
    pub(crate) fn begin_iteration(&self) -> u64 {
        let iteration = self.0.iterations.fetch_add(1, Relaxed) + 1;
        let name = format!("iteration {iteration}");
        self.0.lock().write(&[json!({
            "name": "process_name", "ph": "M", "pid": iteration, "args": {"name": name},
        })]);
        iteration
    }

    /// Names a thread of an iteration. Threads are shown in the order of their numbers.
    pub(crate) fn name_thread(&self, iteration: u64, thread: usize, name: &str) {
        let event = |of, args| json!({"name": of, "ph": "M", "pid": iteration, "tid": thread, "args": args});
        self.0.lock().write(&[
            event("thread_name", json!({"name": name})),
            event("thread_sort_index", json!({"sort_index": thread})),
        ]);
    }

    /// Writes events of a thread of an iteration.
    pub(crate) fn write(&self, iteration: u64, thread: usize, events: &[Event]) {
        let us = |from: Instant, to: Instant| (to - from).as_nanos() as f64 / 1e3;
        let events = events.iter().map(|Event { what, start, end }| {
            let numbers = what.numbers.iter();
            let mut args: Map<_, _> = numbers
                .map(|&(name, number)| (name.to_owned(), number.into()))
                .collect();
            if let Some(file) = &what.file {
                args.insert("file".to_owned(), file.to_string().into());
            }
            let mut event = json!({
                "name": what.name, "cat": what.category, "args": args, "pid": iteration,
                "tid": thread, "ts": us(self.0.started, *start), "ph": "X",
            });
            match end {
                Some(end) => event["dur"] = us(*start, *end).into(),
                None => (event["ph"], event["s"]) = ("i".into(), "t".into()),
            }
            event
        });
        let events: Vec<Value> = events.collect();
        self.0.lock().write(&events);
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").finish_non_exhaustive()
    }
}

impl Output {
    fn lock(&self) -> MutexGuard<'_, Sink> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.lock().finish();
    }
}

impl Sink {
    fn write(&mut self, events: &[Value]) {
        for event in events {
            let before = if self.has_events { ",\n" } else { "[\n" };
            self.has_events = true;
            self.put(&format!("{before}{event}"));
        }
    }

    fn finish(&mut self) {
        self.put(if self.has_events { "\n]\n" } else { "[]\n" });
        if let Some(Err(error)) = self.writer.take().map(|mut writer| writer.flush()) {
            self.fail(error);
        }
    }

    fn put(&mut self, text: &str) {
        if let Some(writer) = &mut self.writer
            && let Err(error) = writer.write_all(text.as_bytes())
        {
            self.fail(error);
        }
    }

    #[cold]
    fn fail(&mut self, error: io::Error) {
        log::warn!("the trace ends here, since it cannot be written: {error}");
        self.writer = None;
        self.error = Some(error);
    }
}
