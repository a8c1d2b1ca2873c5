//! Traces: what each thread did when, in Chrome's trace format.

use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use atds_format::Location;
use serde_json::{Value, json};

use crate::watch::{At, What};

/// Writes what the threads of iterations do, in Chrome's trace format: JSON that
/// <https://ui.perfetto.dev> and `chrome://tracing` show.
///
/// Each iteration is a process of its own, each of its threads has a name. There is an event for each
/// op (`prepare`, `batches`, `piece`), each read, each wait, and each batch that was given out. Their
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

    /// The part of an iteration that begins now.
    pub(crate) fn iteration(&self) -> IterationTrace {
        let process = self.0.iterations.fetch_add(1, Relaxed) + 1;
        let iteration = IterationTrace {
            output: self.0.clone(),
            process,
        };
        iteration.write_json(json!({
            "name": "process_name", "ph": "M", "pid": process,
            "args": {"name": format!("iteration {process}")},
        }));
        iteration
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").finish_non_exhaustive()
    }
}

/// The part of a trace that one iteration writes.
pub(crate) struct IterationTrace {
    output: Arc<Output>,
    process: u64,
}

impl fmt::Debug for IterationTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("IterationTrace");
        debug
            .field("process", &self.process)
            .finish_non_exhaustive()
    }
}

impl IterationTrace {
    /// Names the thread with number `thread`.
    pub(crate) fn name(&self, thread: usize, name: &str) {
        for (of, value) in [
            ("thread_name", json!({"name": name})),
            ("thread_sort_index", json!({"sort_index": thread})),
        ] {
            self.write_json(json!({
                "name": of, "ph": "M", "pid": self.process, "tid": thread, "args": value,
            }));
        }
    }

    /// Writes events of the thread with number `thread`.
    pub(crate) fn write(&self, thread: usize, events: &[Event]) {
        let texts = events.iter().map(|event| {
            let mut json = event.to_json(self.output.started);
            json["pid"] = self.process.into();
            json["tid"] = thread.into();
            json.to_string()
        });
        let texts: Vec<String> = texts.collect();
        self.output.lock().write(&texts);
    }

    fn write_json(&self, event: Value) {
        self.output.lock().write(&[event.to_string()]);
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
    fn write(&mut self, events: &[String]) {
        if events.is_empty() {
            return;
        }
        let before = if self.has_events { ",\n" } else { "[\n" };
        self.has_events = true;
        self.put(&format!("{before}{}", events.join(",\n")));
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

/// What a thread did.
#[derive(Debug)]
pub(crate) struct Event {
    did: Did,
    start: Instant,
    end: Instant,
    bytes: u64,
}

#[derive(Debug)]
enum Did {
    Span(What),
    GiveOut { batch: u64, rows: u64 },
}

impl Event {
    /// The span of `what` from `start` until now, in which `bytes` were leased.
    pub(crate) fn span(what: What, start: Instant, bytes: u64) -> Self {
        Event {
            did: Did::Span(what),
            start,
            end: Instant::now(),
            bytes,
        }
    }

    /// A batch that is given out now.
    pub(crate) fn batch(batch: u64, rows: u64, bytes: u64) -> Self {
        let now = Instant::now();
        Event {
            did: Did::GiveOut { batch, rows },
            start: now,
            end: now,
            bytes,
        }
    }

    /// The event without its process and thread.
    fn to_json(&self, started: Instant) -> Value {
        let us =
            |from: Instant, to: Instant| to.saturating_duration_since(from).as_nanos() as f64 / 1e3;
        let (name, category, args) = match &self.did {
            Did::Span(what) => described(what, self.bytes),
            Did::GiveOut { batch, rows } => {
                let args = json!({"batch": batch, "rows": rows, "bytes": self.bytes});
                ("batch", "batch", args)
            }
        };
        let mut event = json!({
            "name": name, "cat": category, "args": args, "ts": us(started, self.start),
        });
        match self.did {
            Did::Span(_) => {
                event["ph"] = "X".into();
                event["dur"] = us(self.start, self.end).into();
            }
            Did::GiveOut { .. } => {
                // An instant of the thread.
                event["ph"] = "i".into();
                event["s"] = "t".into();
            }
        }
        event
    }
}

/// The name, the category and the arguments of an event.
fn described(what: &What, leased: u64) -> (&'static str, &'static str, Value) {
    let file = |location: &Location| location.to_string();
    let of = |at: &At| json!({"file": file(at.location()), "block": at.block});
    let of_plan = |at: &Option<At>| at.as_ref().map_or_else(|| json!({}), of);
    match what {
        What::Prepare { at, blocks, bytes } => {
            let mut args = of(at);
            args["blocks"] = (*blocks).into();
            args["bytes"] = (*bytes).into();
            ("prepare", "op", args)
        }
        What::Batches {
            at,
            first,
            batches,
            rows,
            is_again,
        } => {
            let mut args = of_plan(at);
            args["batch"] = (*first).into();
            args["batches"] = (*batches).into();
            args["rows"] = (*rows).into();
            args["bytes"] = leased.into();
            args["again"] = (*is_again).into();
            ("batches", "op", args)
        }
        What::Join(batch) => ("join", "join", json!({"batch": batch})),
        What::Piece {
            at,
            batch,
            piece,
            pieces,
            rows,
        } => {
            let mut args = of_plan(at);
            args["batch"] = (*batch).into();
            args["piece"] = (*piece).into();
            args["pieces"] = (*pieces).into();
            args["rows"] = (*rows).into();
            args["bytes"] = leased.into();
            ("piece", "op", args)
        }
        What::Read { location, range } => {
            let bytes = range.end.saturating_sub(range.start);
            let args = json!({"file": file(location), "offset": range.start, "bytes": bytes});
            ("read", "read", args)
        }
        What::Open(location) => ("open", "read", json!({"file": file(location)})),
        What::ForOp => ("wait for an op", "wait", json!({})),
        What::ForPrepare(at) => ("wait for a prepare", "wait", of(at)),
        What::ForMemory => ("wait for memory", "wait", json!({})),
        What::ForEarlier(batch) => ("wait for earlier batches", "wait", json!({"batch": batch})),
        What::ForRoom => ("wait for room", "wait", json!({})),
        What::ForBytes { location, offset } => {
            let args = json!({"file": file(location), "offset": offset});
            ("wait for bytes", "wait", args)
        }
        What::ForBatch(batch) => ("wait for a batch", "wait", json!({"batch": batch})),
    }
}
