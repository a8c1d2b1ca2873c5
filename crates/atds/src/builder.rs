//! The options of a dataset.

use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use avro_decode::{Feature, Features, Inferred, OutOfBounds, PlanOptions, Sampled, Schema};
use tensor_batch::Layout;

use crate::dataset::{Dataset, Settings};
use crate::engine::EngineOptions;
use crate::files::Files;
use crate::limits::{
    DEFAULT_INFER_SAMPLE, DEFAULT_MEMORY_LIMIT, DEFAULT_PREFETCH, DEFAULT_READER_BUFFER_SIZE,
    MAX_PREFETCH, MAX_THREADS,
};
use crate::once::OnceInputs;
use crate::planner::Batching;
use crate::plans::{Plans, infer_features, warn_of};
use crate::reader::Order;
use crate::sample::{SampleOptions, sample_lengths};
use crate::schemas::FileSchemas;
use crate::source::{Headers, Lenience, ReadOptions, check_depth, no_shuffling};
use crate::{Error, Threads, Tolerate};

impl Dataset {
    /// A dataset of `files` (files, globs or folders, one or several) in
    /// batches of `batch_size` records.
    pub fn builder(files: impl Into<Files>, batch_size: usize) -> DatasetBuilder {
        DatasetBuilder::new(files.into(), batch_size)
    }
}

/// Builds a [`Dataset`]; every option has a default.
#[derive(Clone)]
#[must_use]
pub struct DatasetBuilder {
    files: Files,
    features: Option<Vec<Feature>>,
    layout: Option<Layout>,
    plan: PlanOptions,
    strict: bool,
    engine: EngineOptions,
    read: ReadOptions,
    shuffle_files: bool,
    shuffle_blocks: bool,
    epochs: u64,
    memory_limit: u64,
    check_files: bool,
    on_check: OnCheck,
    schemas: Option<FileSchemas>,
    sample_records: u64,
    sampled: Vec<Sampled>,
}

/// What is called after each file that is checked.
#[derive(Clone)]
struct OnCheck(Arc<dyn Fn(usize, usize) -> ControlFlow<()> + Send + Sync>);

impl fmt::Debug for DatasetBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatasetBuilder")
            .field("files", &self.files)
            .field("features", &self.features.as_ref().map(Vec::len))
            .field("engine", &self.engine)
            .field("read", &self.read)
            .field("epochs", &self.epochs)
            .field("memory_limit", &self.memory_limit)
            .finish_non_exhaustive()
    }
}

impl DatasetBuilder {
    fn new(files: Files, batch_size: usize) -> Self {
        DatasetBuilder {
            files,
            features: None,
            layout: None,
            plan: PlanOptions::default(),
            strict: false,
            engine: EngineOptions {
                batching: Batching {
                    batch_size,
                    shuffle_buffer_size: 0,
                    drop_remainder: false,
                    seed: 0,
                },
                prefetch: DEFAULT_PREFETCH,
                threads: Threads::Auto,
                keep_threads: false,
                is_live: false,
            },
            read: ReadOptions {
                mmap: false,
                buffer_size: DEFAULT_READER_BUFFER_SIZE,
                lenience: Lenience::default(),
            },
            shuffle_files: false,
            shuffle_blocks: false,
            epochs: 1,
            memory_limit: DEFAULT_MEMORY_LIMIT,
            check_files: true,
            on_check: OnCheck(Arc::new(|_, _| ControlFlow::Continue(()))),
            schemas: None,
            sample_records: DEFAULT_INFER_SAMPLE,
            sampled: Vec::new(),
        }
    }

    /// Whether folders are searched with all folders below them (no by default).
    pub fn recursive(mut self, recursive: bool) -> Self {
        self.files = self.files.recursive(recursive);
        self
    }

    /// The features to read; the fields not among them are skipped. Without,
    /// they are inferred from the reader's schema, or else from the files', and from
    /// [a sample](Self::sample_records) of records, see [`infer`](Self::infer).
    ///
    /// A field, or a branch of a union, that a file's schema lacks is missing in
    /// each of its records: the feature's default stands for it, and its mask is
    /// false. A feature that has neither is an error, and so is one of a field that
    /// all files lack. With a reader's schema, that schema says what there is.
    pub fn features<F: Into<Feature>>(mut self, features: impl IntoIterator<Item = F>) -> Self {
        self.features = Some(features.into_iter().map(Into::into).collect());
        self
    }

    /// The records that are looked at where features are inferred, at most: lists that all
    /// have one length there are dense, which the log says, and a list of another length
    /// is an error that says so. A block or a few of the first file are read for it. 1,000
    /// by default; with 0 the schemas alone say what the features are.
    pub fn sample_records(mut self, records: u64) -> Self {
        self.sample_records = records;
        self
    }

    /// Which of the given features were [inferred](Self::infer) from a sample,
    /// for the error of a list that has another length.
    pub fn sampled_features(mut self, sampled: impl IntoIterator<Item = Sampled>) -> Self {
        self.sampled = sampled.into_iter().collect();
        self
    }

    /// The schema that records are read as, by Avro's schema resolution: fields
    /// that a file lacks have this schema's defaults, renamed fields are found
    /// by its aliases, numbers are promoted to its types, times are converted to
    /// its units. Without, features are found in each file's own schema; what
    /// their columns mean (the unit of times, the scale of decimals read as
    /// integers, the numbers of symbols, the form of uuids) is what the first file
    /// that has them says, and other files are converted to that, or an error.
    pub fn reader_schema(mut self, schema: impl Into<Arc<Schema>>) -> Self {
        self.plan.reader_schema = Some(schema.into());
        self
    }

    /// Whether the headers of all files are read when the data set is built (yes by
    /// default), on several threads, and the features held against each distinct
    /// schema. Without, a file's header is read when the file is opened, and its
    /// faults come then: only those of the first file are read when the data set is
    /// built, and of those after it until each field that is asked for has been
    /// found.
    pub fn check_files(mut self, check: bool) -> Self {
        self.check_files = check;
        self
    }

    /// Calls `on_check` after each file whose header was read to
    /// [check](Self::check_files) it, from any of several threads, with the number
    /// of files read and the number of all. It can stop the check, which is an
    /// error then.
    pub fn on_check(
        mut self,
        on_check: impl Fn(usize, usize) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.on_check = OnCheck(Arc::new(on_check));
        self
    }

    /// The schemas of the files, which are then not read when the data set is
    /// built: all of them, or those that a data set of the same files and features
    /// says in [`Dataset::schemas`].
    pub fn schemas(mut self, schemas: FileSchemas) -> Self {
        self.schemas = Some(schemas);
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

    /// Threads that decompress and decode, besides the one that reads: a number,
    /// or as many as pay ([`Threads::Auto`], the default). The batches are the
    /// same for any number.
    pub fn threads(mut self, threads: Threads) -> Self {
        self.engine.threads = threads;
        self
    }

    /// Whether the threads of an iteration wait for the next one of the data set (no by default):
    /// they then end with the data set, and no epoch starts threads anew.
    pub fn keep_threads(mut self, keep: bool) -> Self {
        self.engine.keep_threads = keep;
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
    /// bytes of each. Files that are packed as a whole have no index: they are an error.
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

    /// Whether the schemas of files must be by the specification (no by default):
    /// letters, digits and underscores in names, each name defined once, defaults
    /// that match their types. Otherwise a file is read whatever its schema has
    /// there, see [`Schema::parse_lenient`].
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Bytes of blocks, compressed and decompressed, and of batches that are held at
    /// most (4 GiB by default). Where they are reached, reading, decompressing and
    /// batching wait for the caller to take a batch. A window and a batch that
    /// need more than seven eighths are an error; the last eighth is what may be
    /// read ahead. Not counted are what each thread works with (the blocks it
    /// decompresses at a time, the rows it decodes), how many records each block gives to batches
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
    /// to. Files that are packed as a whole are unpacked, and not mapped.
    pub fn mmap(mut self, mmap: bool) -> Self {
        self.read.mmap = mmap;
        self
    }

    /// What is wrong with files and read nevertheless (nothing by default). It is counted in the
    /// [statistics](crate::stats::Stats) and logged.
    pub fn tolerate(mut self, tolerate: Tolerate) -> Self {
        self.read.lenience.tolerate = tolerate;
        self.plan.decode.replace_invalid_utf8 = tolerate.utf8;
        self
    }

    /// Bytes that a block may have at most, compressed and decompressed (1 GiB by default): a larger
    /// one is an error. A block is held whole, so this bounds what a damaged size costs.
    pub fn max_block_bytes(mut self, bytes: usize) -> Self {
        self.read.lenience.max_block_bytes = bytes;
        self
    }

    /// Records, arrays, maps and unions that may be open at once in a value (100 by default, at most
    /// [`DEEPEST`](avro_decode::limits::DEEPEST)): only recursive types come near it.
    pub fn max_depth(mut self, depth: usize) -> Self {
        self.plan.decode.max_depth = depth;
        self
    }

    /// What to do with sparse entries that have an index outside their
    /// dimension: an error by default.
    pub fn out_of_bounds(mut self, choice: OutOfBounds) -> Self {
        self.plan.out_of_bounds = choice;
        self
    }

    /// Looks up the files, reads their headers and compiles the features against
    /// each distinct schema.
    ///
    /// # Errors
    /// A file that is missing, a folder or a pattern without files; options out
    /// of their range; the first file that is not Avro, or whose schema the
    /// features do not fit.
    pub fn build(self) -> Result<Dataset, Error> {
        if self.engine.batching.batch_size == 0 {
            return Err(Error::option("batch_size", "above 0"));
        }
        self.read.check()?;
        check_depth(self.plan.decode.max_depth)?;
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
        let files = self.files.look_up()?;
        let inputs = self.files.inputs().clone();
        self.check_once(&inputs)?;
        let headers = Headers {
            options: self.read,
            inputs: &inputs,
        };
        let schemas = self.read_schemas(&files, &headers);
        let OnCheck(on_check) = self.on_check.clone();
        let inferred = match &self.features {
            Some(_) => Inferred::default(),
            None => self.infer_from(&files, &schemas)?,
        };
        if self.shuffle_blocks
            && let Some((path, packing)) = inputs.packed()
        {
            return Err(no_shuffling(packing, &path));
        }
        warn_of(&inferred);
        let features = self.features.unwrap_or(inferred.features);
        let layout = |feature: Feature| match self.layout {
            Some(layout) => feature.with_layout(layout),
            None => feature,
        };
        let features = Features::new(features.into_iter().map(layout))?;
        let were_checked = schemas.were_checked;
        let level = match (were_checked, self.check_files) {
            (true, _) => log::Level::Debug,
            (false, true) => log::Level::Info,
            (false, false) => log::Level::Warn,
        };
        let plans = Plans::new(features, self.plan, level, self.strict);
        let mut schemas = plans.check(&schemas, &files)?;
        if !self.check_files && !were_checked {
            look_further(&plans, &mut schemas, &files, &headers, &*on_check);
        }
        // What is read once may have what the files lack.
        let all_read = || files.iter().skip(1).all(|file| !inputs.has(file));
        if plans.lacks_any() && all_read() {
            plans.check_found()?;
        }
        Ok(Dataset::new(Settings {
            order: Order {
                files,
                seed: self.engine.batching.seed,
                shuffle_files: self.shuffle_files,
                shuffle_blocks: self.shuffle_blocks,
                slice: None,
            },
            plans: Arc::new(plans),
            schemas: schemas.into(),
            left_out: inferred.left_out,
            sampled: [self.sampled, inferred.sampled].concat().into(),
            engine: EngineOptions {
                is_live: !inputs.is_empty(),
                ..self.engine
            },
            read: self.read,
            epochs: self.epochs,
            memory_limit: self.memory_limit,
            inputs,
            file_counts: Arc::default(),
            kept: Arc::default(),
        }))
    }

    /// The features that a data set reads where none are given: those of the reader's
    /// schema, or else of the files' schemas as [`FileSchemas::infer`] has them; and of
    /// these, varlen ones are dense whose lists all have one length in
    /// [a sample](Self::sample_records) of records. What can be read once, such as a pipe,
    /// loses nothing by it.
    ///
    /// ```no_run
    /// let features = atds::Dataset::builder("clicks/*.avro", 1).infer()?.features;
    /// std::fs::write("features.json", atds::features::to_json(&features).to_string())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Files::resolve`] and [`FileSchemas::infer`]. What is wrong with the records of
    /// the sample is no error here: they are then not looked at.
    pub fn infer(&self) -> Result<Inferred, Error> {
        let (files, inputs) = (self.files.look_up()?, self.files.inputs());
        let headers = Headers {
            options: self.read,
            inputs,
        };
        let schemas = self.read_schemas(&files, &headers);
        self.infer_from(&files, &schemas)
    }

    fn infer_from(&self, files: &[PathBuf], schemas: &FileSchemas) -> Result<Inferred, Error> {
        let mut inferred = match &self.plan.reader_schema {
            Some(reader) => infer_features(reader)?,
            None => schemas.infer(files)?,
        };
        let options = SampleOptions {
            records: self.sample_records,
            plan: &self.plan,
            lenience: self.read.lenience,
            max_bytes: usize::try_from(self.memory_limit)
                .unwrap_or(usize::MAX)
                .min(self.read.lenience.max_block_bytes),
            inputs: self.files.inputs(),
        };
        sample_lengths(&mut inferred, files, &options);
        Ok(inferred)
    }

    /// The schemas of all files, or of the first alone if they are not checked.
    fn read_schemas(&self, files: &[PathBuf], headers: &Headers<'_>) -> FileSchemas {
        match &self.schemas {
            Some(schemas) => schemas.clone(),
            None if self.check_files => {
                let OnCheck(on_check) = &self.on_check;
                FileSchemas::read_all(files, headers, &**on_check)
            }
            None => FileSchemas::read_all(&files[..1], headers, |_, _| ControlFlow::Continue(())),
        }
    }

    /// An error if an input that can be read once is asked for more.
    fn check_once(&self, inputs: &OnceInputs) -> Result<(), Error> {
        for (asked, reason) in [
            (self.epochs > 1, "set `epochs` to 1"),
            (self.shuffle_blocks, "leave `shuffle_blocks` out"),
            (self.read.mmap, "leave `mmap` out"),
        ] {
            if asked {
                inputs.refuse(reason)?;
            }
        }
        Ok(())
    }
}

/// Reads headers after the first file's until each field that is asked for has been
/// found, so that what a column means does not depend on the file that is opened
/// first. A file at fault is passed over: its error comes when it is opened.
fn look_further(
    plans: &Plans,
    schemas: &mut FileSchemas,
    files: &[PathBuf],
    headers: &Headers<'_>,
    on_check: &dyn Fn(usize, usize) -> ControlFlow<()>,
) {
    for (number, file) in files.iter().enumerate().skip(1) {
        if !plans.lacks_any() || on_check(number, files.len()).is_break() {
            return;
        }
        if !headers.inputs.has(file)
            && let Ok(header) = headers.read(file)
            && let Ok(true) = plans.add(header.schema(), file)
        {
            schemas.push(number, header.schema());
        }
    }
}
