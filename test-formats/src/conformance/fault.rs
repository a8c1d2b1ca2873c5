//! Deliberate faults, around the pipeline: in its options, its files, or what it gives out.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use atds_format::{ByteSource, Format, Location};
use atds_pipeline::{
    Batches, Error, ErrorKind, Files, Options, Pipeline, Position, Rest, Skipped, Stats, Stream,
};
use tensor_batch::{Batch, BatchSpec, ColumnSpec, DType};

use super::probe::{Probe, ProbeFormat, ProbeSource};
use super::suite::PATIENCE;
use crate::{Row, TestFormat};

/// A fault, which a check must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// Each block comes twice.
    RepeatBlock,
    /// Nothing is shuffled by the buffer.
    IgnoreShuffleBuffer,
    /// Each iteration has another seed.
    ForgetSeed,
    /// All seeds are the same one.
    ConstantSeed,
    /// All layers, ranks and workers draw from one stream.
    ConstantStream,
    /// All epochs have the order of the first.
    IgnoreEpoch,
    /// Files come in order.
    KeepFileOrder,
    /// Blocks come in order.
    KeepBlockOrder,
    /// Runs of blocks come in order.
    KeepRunOrder,
    /// Files take no turns.
    IgnoreTurns,
    /// The last epoch is not read.
    LoseEpoch,
    /// A slice begins one record late.
    ShiftSlice,
    /// A slice is the whole.
    IgnoreSlice,
    /// All records are read, whatever split they are in.
    ForgetSplit,
    /// With several threads, the second batch comes before the first.
    SwapBatches,
    /// Batches have a row fewer than they should.
    ShrinkBatches,
    /// A block without records ends its file.
    StopAtEmptyBlock,
    /// The remainder is kept where it should be dropped, and dropped where it should be kept.
    InvertDropRemainder,
    /// There is no memory limit.
    IgnoreLimit,
    /// With several threads, the memory limit is twice what it should be.
    DoubleLimit,
    /// The limit that an error names is too small.
    NameLessMemory,
    /// A thread runs on after the iteration was dropped.
    LeakThread,
    /// Stopping does not stop.
    NeverStop,
    /// Batches are made ahead without end.
    IgnorePrefetch,
    /// The damaged row is given out.
    KeepBadRow,
    /// The error does not say where it occurred.
    ForgetRecord,
    /// A batch comes after the error.
    GoOnAfterError,
    /// Damage of the framing ends a file without an error.
    DamageIsEnd,
    /// Damage of a payload or a record ends the iteration without an error.
    LoseDamage,
    /// An answer that is shorter than its range ends the file.
    ShortAnswerIsEnd,
    /// A read that fails ends the file without an error.
    LoseSourceError,
    /// The parts of a payload are swapped.
    SwapRanges,
    /// A source that waits is not told that the iteration was stopped.
    ForgetCancel,
    /// The shuffle buffer is twice as large as it should be.
    DoubleShuffleBuffer,
    /// A small piece of a file is taken for its end.
    SmallPieceIsEnd,
    /// Nothing is read after damage of the framing.
    NeverResync,
    /// Seeking changes no position.
    SeekNowhere,
    /// The last row of a read is not decoded.
    LoseLastRow,
    /// The last batch that was given out before comes again.
    ForgetGiven,
    /// The records that the last readers before have read come again.
    ForgetLayer,
    /// Provenance names the record after each.
    ShiftProvenance,
    /// Damage is an error although it is to be left out.
    ForgetChoice,
}

/// An iteration, with its fault.
#[derive(Debug)]
pub(super) struct Running<'a> {
    format: &'a dyn TestFormat,
    fault: Option<Fault>,
    pipeline: Option<Pipeline>,
    batches: Batches,
    /// Epochs that a faulty iteration has still to start.
    epochs_left: u64,
    /// Items that come before those of the pipeline, the last first.
    pending: Vec<Result<Vec<Row>, Error>>,
    is_started: bool,
    /// The files and the numbers of the records of the last batch, if the options ask for them.
    pub(super) provenance: Vec<[i64; 2]>,
    column: Option<String>,
    mask: Option<String>,
    /// Number of rows of the last batch, with those that the mask says were not read.
    pub(super) batch_rows: usize,
    threads: usize,
    files: Arc<dyn Files>,
    /// Number of rows that were decoded. Each thread that decodes holds it.
    pub(super) decoded: Arc<AtomicU64>,
}

impl<'a> Running<'a> {
    pub(super) fn start(
        format: &'a dyn TestFormat,
        fault: Option<Fault>,
        files: &Arc<dyn Files>,
        options: &Options,
        mut given: u64,
        mut epochs: Range<u64>,
    ) -> Self {
        let probe = Arc::new(Probe::new(fault));
        let decoded = probe.decoded.clone();
        let inner = files.clone();
        let files: Arc<dyn Files> = Arc::new(ProbeFiles { inner, probe });
        let options = faulty_options(fault, options);
        let threads = options.threads;
        let column = options.provenance.clone();
        let mask = options.mask.clone();
        let mut columns = format.spec().columns().to_vec();
        columns.extend(
            mask.iter()
                .map(|name| ColumnSpec::dense(name, &[], DType::Bool)),
        );
        columns.extend(
            column
                .iter()
                .map(|name| ColumnSpec::dense(name, &[2], DType::Int64)),
        );
        let spec = BatchSpec::new(columns).expect("the names differ");
        let pipeline = Pipeline::new(spec, files.clone(), options);
        let mut epochs_left = 0;
        match fault {
            Some(Fault::LoseEpoch) => epochs.end = epochs.end.saturating_sub(1).max(epochs.start),
            Some(Fault::IgnoreEpoch) => {
                epochs_left = epochs.end - epochs.start - 1;
                epochs = 0..1;
            }
            Some(Fault::ForgetGiven) => given = given.saturating_sub(1),
            _ => {}
        }
        Running {
            format,
            fault,
            batches: pipeline.iter_after(given, epochs),
            pipeline: (epochs_left > 0).then_some(pipeline),
            epochs_left,
            pending: Vec::new(),
            is_started: false,
            provenance: Vec::new(),
            column,
            mask,
            batch_rows: 0,
            threads,
            files,
            decoded,
        }
    }

    /// The next item, which must come.
    pub(super) fn next(&mut self) -> Result<Option<Result<Vec<Row>, Error>>, String> {
        if let Some(item) = self.pending.pop() {
            return Ok(Some(item));
        }
        let mut item = self.next_batch()?;
        if item.is_none() && self.epochs_left > 0 {
            self.epochs_left -= 1;
            let pipeline = self.pipeline.as_ref().expect("kept for the epochs");
            self.batches = pipeline.iter(0..1);
            item = self.next_batch()?;
        }
        let is_first = !std::mem::replace(&mut self.is_started, true);
        match (self.fault, &mut item) {
            (Some(Fault::SwapBatches), Some(Ok(_))) if is_first && self.threads > 1 => {
                let second = self.next_batch()?;
                self.pending.extend(item.take());
                item = second;
            }
            (Some(Fault::KeepBadRow), Some(Err(_))) => {
                self.pending.extend(item.take());
                item = Some(Ok(vec![Row::default()]));
            }
            (Some(Fault::LoseDamage), Some(Err(error))) if error.place.block.is_some() => {
                item = None;
            }
            (Some(Fault::NameLessMemory), Some(Err(error))) => {
                if let ErrorKind::MemoryLimit { needed, .. } = &mut error.kind {
                    *needed -= *needed / 4;
                }
            }
            (Some(Fault::GoOnAfterError), Some(Err(_))) => {
                self.pending.push(Ok(vec![Row::default()]));
            }
            (Some(Fault::ForgetRecord), Some(Err(error))) => {
                (error.place.block, error.place.record) = (None, None);
            }
            _ => {}
        }
        Ok(item)
    }

    fn next_batch(&mut self) -> Result<Option<Result<Vec<Row>, Error>>, String> {
        match self.batches.next_within(PATIENCE) {
            Poll::Ready(item) => Ok(item.map(|item| item.map(|batch| self.rows(&batch)))),
            Poll::Pending => Err(format!("no batch within {PATIENCE:?}")),
        }
    }

    fn rows(&mut self, batch: &Batch) -> Vec<Row> {
        if let Some(column) = &self.column {
            let cells = batch.dense::<i64>(column).expect("a dense column");
            let shift = i64::from(self.fault == Some(Fault::ShiftProvenance));
            let places = cells.chunks(2).map(|cell| [cell[0], cell[1] + shift]);
            self.provenance = places.collect();
        }
        self.batch_rows = batch.rows();
        let rows = self.format.rows(batch);
        let Some(mask) = &self.mask else {
            return rows;
        };
        let mask = batch.dense::<bool>(mask).expect("a dense column");
        let is_zero = |row: &Row| *row == Row::default();
        let both = rows.into_iter().zip(mask);
        // A row of zeros whose mask is true, or another whose mask is false, is found by who compares.
        let read = both.filter(|(row, is_read)| **is_read || !is_zero(row));
        read.map(|(row, _)| row).collect()
    }

    /// Where the iteration is.
    pub(super) fn position(&self) -> Position {
        self.batches.stats().position
    }

    /// Number of records in blocks that were prepared.
    pub(super) fn prepared_records(&self) -> u64 {
        self.batches.stats().prepared_records
    }

    /// The damage that was left out.
    pub(super) fn skipped(&self) -> Vec<Skipped> {
        self.batches.skipped(0)
    }

    /// Figures up to now.
    pub(super) fn stats(&self) -> Stats {
        self.batches.stats()
    }

    /// Stops the iteration; returns whether it has stopped.
    pub(super) fn stop_within(&mut self, timeout: Duration) -> bool {
        self.fault == Some(Fault::NeverStop) || self.batches.stop_within(timeout)
    }

    /// Ends the iteration, and returns the number of what its threads still hold.
    pub(super) fn end(self) -> usize {
        let Running {
            fault,
            pipeline,
            batches,
            files,
            decoded,
            ..
        } = self;
        drop((pipeline, batches));
        if fault == Some(Fault::LeakThread) {
            thread::spawn(move || {
                thread::sleep(Duration::from_secs(1));
                drop(files);
            });
        } else {
            drop(files);
        }
        Arc::strong_count(&decoded) - 1
    }
}

fn faulty_options(fault: Option<Fault>, options: &Options) -> Options {
    /// Number of iterations that were started.
    static STARTED: AtomicU64 = AtomicU64::new(0);
    let mut options = options.clone();
    let Some(fault) = fault else {
        return options;
    };
    match fault {
        Fault::DoubleShuffleBuffer => options.shuffle_buffer_size *= 2,
        Fault::IgnoreShuffleBuffer => options.shuffle_buffer_size = 0,
        Fault::ForgetSeed => options.seed = STARTED.fetch_add(1, Relaxed),
        Fault::ConstantSeed => options.seed = 0,
        Fault::ConstantStream => options.stream = Stream::default(),
        Fault::KeepFileOrder => options.shuffle_files = false,
        Fault::KeepBlockOrder => options.shuffle_blocks = false,
        Fault::KeepRunOrder => options.shuffle_runs = false,
        Fault::IgnoreTurns => options.interleave = None,
        Fault::IgnoreSlice => options.slice = None,
        Fault::ForgetSplit => options.split = None,
        Fault::ForgetLayer => {
            options.rest = options.rest.take().map(|rest| {
                let mut rest = Rest::clone(&rest);
                rest.layers.pop();
                Arc::new(rest)
            });
        }
        Fault::ForgetChoice => options.skip_damage = false,
        Fault::ShrinkBatches => options.batch_size = (options.batch_size - 1).max(1),
        Fault::InvertDropRemainder => options.drop_remainder = !options.drop_remainder,
        Fault::IgnoreLimit => options.memory_limit = 1 << 40,
        Fault::DoubleLimit if options.threads > 1 => options.memory_limit *= 2,
        Fault::IgnorePrefetch => options.prefetch = 1 << 20,
        Fault::ShiftSlice => {
            if let Some(slice) = &mut options.slice {
                slice.records.start = (slice.records.start + 1).min(slice.records.end);
            }
        }
        _ => {}
    }
    options
}

#[derive(Debug)]
struct ProbeFiles {
    inner: Arc<dyn Files>,
    probe: Arc<Probe>,
}

impl Files for ProbeFiles {
    fn len(&self) -> usize {
        self.inner.len()
    }

    fn location(&self, file: usize) -> Location {
        self.inner.location(file)
    }

    fn source(&self, file: usize) -> io::Result<Arc<dyn ByteSource>> {
        let inner = self.inner.source(file)?;
        Ok(Arc::new(ProbeSource::new(inner, self.probe.fault)))
    }

    fn format(&self, file: usize) -> Arc<dyn Format> {
        Arc::new(ProbeFormat {
            inner: self.inner.format(file),
            probe: self.probe.clone(),
        })
    }

    fn version(&self, file: usize) -> Option<u64> {
        self.inner.version(file)
    }
}
