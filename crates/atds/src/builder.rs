//! The options of a dataset.

use std::path::Path;
use std::sync::Arc;

use avro_decode::{Feature, Features, LeftOut, OutOfBounds, PlanOptions, Schema};
use tensor_batch::Layout;

use crate::dataset::{Dataset, Settings};
use crate::engine::EngineOptions;
use crate::files::Files;
use crate::limits::{
    DEFAULT_MEMORY_LIMIT, DEFAULT_PREFETCH, DEFAULT_READER_BUFFER_SIZE, MAX_PREFETCH,
    MAX_READER_BUFFER_SIZE, MAX_THREADS,
};
use crate::planner::Batching;
use crate::plans::{Plans, infer_all, parse_schema};
use crate::reader::Order;
use crate::source::{FileBlocks, Opener, ReadOptions};
use crate::{Error, ErrorKind, Threads};

impl Dataset {
    /// A dataset of `files` (files, globs or folders, one or several) in
    /// batches of `batch_size` records.
    pub fn builder(files: impl Into<Files>, batch_size: usize) -> DatasetBuilder {
        DatasetBuilder::new(files.into(), batch_size)
    }
}

/// Builds a [`Dataset`]; every option has a default.
#[derive(Clone, Debug)]
#[must_use]
pub struct DatasetBuilder {
    files: Files,
    features: Option<Vec<Feature>>,
    layout: Option<Layout>,
    plan: PlanOptions,
    engine: EngineOptions,
    read: ReadOptions,
    shuffle_files: bool,
    shuffle_blocks: bool,
    epochs: u64,
    memory_limit: u64,
}

impl DatasetBuilder {
    fn new(files: Files, batch_size: usize) -> Self {
        DatasetBuilder {
            files,
            features: None,
            layout: None,
            plan: PlanOptions::default(),
            engine: EngineOptions {
                batching: Batching {
                    batch_size,
                    shuffle_buffer_size: 0,
                    drop_remainder: false,
                    seed: 0,
                },
                prefetch: DEFAULT_PREFETCH,
                threads: Threads::Auto,
            },
            read: ReadOptions {
                mmap: false,
                buffer_size: DEFAULT_READER_BUFFER_SIZE,
            },
            shuffle_files: false,
            shuffle_blocks: false,
            epochs: 1,
            memory_limit: DEFAULT_MEMORY_LIMIT,
        }
    }

    /// The features to read; the fields not among them are skipped. Without,
    /// they are inferred from the first file's schema, or the reader's where
    /// there is one, see [`infer`](crate::infer).
    pub fn features<F: Into<Feature>>(mut self, features: impl IntoIterator<Item = F>) -> Self {
        self.features = Some(features.into_iter().map(Into::into).collect());
        self
    }

    /// The schema that records are read as, by Avro's schema resolution: fields
    /// that a file lacks have this schema's defaults, renamed fields are found
    /// by its aliases, numbers are promoted to its types. Without, features are
    /// found in each file's own schema.
    pub fn reader_schema(mut self, schema: impl Into<Arc<Schema>>) -> Self {
        self.plan.reader_schema = Some(schema.into());
        self
    }

    /// Whether a last batch of fewer than `batch_size` records is left out (no
    /// by default). What is left out is counted in the statistics.
    pub fn drop_remainder(mut self, drop: bool) -> Self {
        self.engine.batching.drop_remainder = drop;
        self
    }

    /// Bytes read from a file at a time (128 KiB by default).
    pub fn reader_buffer_size(mut self, bytes: usize) -> Self {
        self.read.buffer_size = bytes;
        self
    }

    /// Records that are shuffled together, besides those of the batch: before
    /// each batch the window holds at least `batch_size + records` unread ones,
    /// and the batch is drawn from all of it. 0, the default, does not shuffle:
    /// records come in file order.
    pub fn shuffle_buffer_size(mut self, records: usize) -> Self {
        self.engine.batching.shuffle_buffer_size = records;
        self
    }

    /// Threads that inflate and decode, besides the one that reads: a number,
    /// or as many as pay ([`Threads::Auto`], the default). The batches are the
    /// same for any number.
    pub fn threads(mut self, threads: Threads) -> Self {
        self.engine.threads = threads;
        self
    }

    /// The seed of all shuffling (0 by default). Seed and epoch fix the order.
    pub fn seed(mut self, seed: u64) -> Self {
        self.engine.batching.seed = seed;
        self
    }

    /// How many times the files are read (once by default), each time in an
    /// order of its own if anything is shuffled. Batches do not reach from one
    /// epoch into the next.
    pub fn epochs(mut self, epochs: u64) -> Self {
        self.epochs = epochs;
        self
    }

    /// Whether the order of the files is shuffled each epoch (no by default).
    pub fn shuffle_files(mut self, shuffle: bool) -> Self {
        self.shuffle_files = shuffle;
        self
    }

    /// Whether the order of the blocks in each file is shuffled each epoch (no
    /// by default). The files' blocks are indexed for it, which reads a few
    /// bytes of each.
    pub fn shuffle_blocks(mut self, shuffle: bool) -> Self {
        self.shuffle_blocks = shuffle;
        self
    }

    /// Batches that wait ready for the caller at most, besides the one that is
    /// being made (2 by default).
    pub fn prefetch(mut self, batches: usize) -> Self {
        self.engine.prefetch = batches;
        self
    }

    /// Gives all sparse and varlen columns this layout, over what each says.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = Some(layout);
        self
    }

    /// Bytes of blocks, compressed and inflated, and of batches that are held at
    /// most (4 GiB by default). Where they are reached, reading, inflating and
    /// batching wait for the caller to take a batch. A window and a batch that
    /// need more than seven eighths are an error; the last eighth is what may be
    /// read ahead. Not counted are what each thread works with (the blocks it
    /// inflates at a time, the rows it decodes), how many records each block gives to batches
    /// that are planned (40 bytes for each), memory kept to be used again, and
    /// batches that the caller holds.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// Whether files are mapped into memory rather than read (no by default).
    /// Mapping saves a copy. A file that is cut short while it is mapped ends
    /// the process (`SIGBUS` on Unix); its length is checked now and then, which
    /// finds most such files in time, but not all. Map files that nobody writes
    /// to.
    pub fn mmap(mut self, mmap: bool) -> Self {
        self.read.mmap = mmap;
        self
    }

    /// What to do with sparse entries that have an index outside their
    /// dimension: an error by default.
    pub fn out_of_bounds(mut self, choice: OutOfBounds) -> Self {
        self.plan.out_of_bounds = choice;
        self
    }

    /// Looks up the files, reads the first one's header and compiles the
    /// features against its schema.
    ///
    /// # Errors
    /// A file that is missing, a folder or a pattern without files; options out
    /// of their range; a first file that is not Avro; features that its schema
    /// does not have.
    pub fn build(self) -> Result<Dataset, Error> {
        if self.engine.batching.batch_size == 0 {
            return Err(Error::option("batch_size", "above 0"));
        }
        if self.read.buffer_size == 0 {
            return Err(Error::option("reader_buffer_size", "above 0"));
        }
        if self.read.buffer_size > MAX_READER_BUFFER_SIZE {
            return Err(Error::option("reader_buffer_size", "at most 1 GiB"));
        }
        if self.engine.prefetch > MAX_PREFETCH {
            return Err(Error::option("prefetch", "at most 1024"));
        }
        if let Threads::Fixed(threads) | Threads::UpTo(threads) = self.engine.threads
            && !(1..=MAX_THREADS).contains(&threads)
        {
            return Err(Error::option("threads", "from 1 to 1024, or automatic"));
        }
        if self.features.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::option("features", "at least one, or not given"));
        }
        let files = self.files.resolve()?;
        let first = FileBlocks::open(&files[0], &mut Opener::once(self.read))?;
        let (features, left_out) = match self.features {
            Some(features) => (features, Vec::new()),
            None => {
                let reader = self.plan.reader_schema.as_deref();
                infer_features(&first, &files[0], reader)?
            }
        };
        let layout = |feature: Feature| match self.layout {
            Some(layout) => feature.with_layout(layout),
            None => feature,
        };
        let features = Features::new(features.into_iter().map(layout))?;
        if features.spec().columns().is_empty() {
            return Err(Error::new(ErrorKind::NoFeatures).in_file(&files[0]));
        }
        let plans = Plans::new(features, self.plan);
        plans.context(first.header(), &files[0])?;
        Ok(Dataset::new(Settings {
            order: Order {
                files: files.into(),
                seed: self.engine.batching.seed,
                shuffle_files: self.shuffle_files,
                shuffle_blocks: self.shuffle_blocks,
                slice: None,
            },
            plans: Arc::new(plans),
            left_out,
            engine: self.engine,
            read: self.read,
            epochs: self.epochs,
            memory_limit: self.memory_limit,
            kept: Arc::default(),
        }))
    }
}

fn infer_features(
    first: &FileBlocks,
    path: &Path,
    reader: Option<&Schema>,
) -> Result<(Vec<Feature>, Vec<LeftOut>), Error> {
    let inferred = match reader {
        Some(reader) => infer_all(reader)?,
        None => {
            let schema = parse_schema(first.header()).map_err(|error| error.in_file(path))?;
            infer_all(&schema).map_err(|error| error.in_file(path))?
        }
    };
    Ok((inferred.features, inferred.left_out))
}
