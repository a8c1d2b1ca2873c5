//! The options of a dataset.

use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use atds_features::{Feature, Features};
use atds_pipeline::Options;
use avro_decode::{Inferred, OutOfBounds, PlanOptions, Sampled, Schema};
use tensor_batch::Layout;

use crate::avro::file_blocks::read_header;
use crate::avro::inference::{infer_features, inference_warnings};
use crate::avro::plans::Plans;
use crate::avro::records::RecordOptions;
use crate::avro::schema::FileSchemas;
use crate::avro::{SampleOptions, sample_lengths};
use crate::dataset::{Dataset, RunOptions, Settings};
use crate::files::Files;
use crate::formats::avro::{AvroFormat, BufferPool};
use crate::iteration::NO_SHUFFLING;
use crate::limits::{
    DEFAULT_INFER_SAMPLE, DEFAULT_PREFETCH, MAX_PREFETCH, MAX_THREADS, default_memory_limit,
};
use crate::source::{Mappings, OnceInputs};
use crate::stats::Trace;
use crate::{Error, ErrorKind, Threads, Tolerate};

impl Dataset {
    /// A builder of a dataset of `files` (one or several files, globs or folders) in batches of
    /// `batch_size` records.
    pub fn builder(files: impl Into<Files>, batch_size: usize) -> DatasetBuilder {
        let mut pipeline = Options::new(batch_size);
        pipeline.prefetch = DEFAULT_PREFETCH;
        pipeline.memory_limit = default_memory_limit(1);
        DatasetBuilder {
            files: files.into(),
            features: None,
            layout: None,
            plan: PlanOptions::default(),
            run: RunOptions {
                pipeline,
                threads: Threads::Auto,
                cores: None,
                keep_threads: false,
                mmap: false,
                reading: RecordOptions::default(),
                epochs: 1,
            },
            check_files: true,
            on_check: Arc::new(|_, _| ControlFlow::Continue(())),
            schemas: None,
            sample_records: DEFAULT_INFER_SAMPLE,
            sampled: Vec::new(),
        }
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
    run: RunOptions,
    check_files: bool,
    on_check: OnCheck,
    schemas: Option<FileSchemas>,
    sample_records: u64,
    sampled: Vec<Sampled>,
}

/// The function that is called after each checked file.
type OnCheck = Arc<dyn Fn(usize, usize) -> ControlFlow<()> + Send + Sync>;

impl fmt::Debug for DatasetBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = &self.run;
        f.debug_struct("DatasetBuilder")
            .field("files", &self.files)
            .field("features", &self.features.as_ref().map(Vec::len))
            .field("batch_size", &run.pipeline.batch_size)
            .field("threads", &run.threads)
            .field("epochs", &run.epochs)
            .finish_non_exhaustive()
    }
}

/// Methods that set an option: the name, the value, and where it is kept.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($value:ident: $type:ty) => $($field:ident).+;)*) => {
        impl DatasetBuilder {
            $($(#[$doc])*
            pub fn $name(mut self, $value: $type) -> Self {
                self.$($field).+ = $value.into();
                self
            })*
        }
    };
}

setters! {
    /// Sets whether the folders inside a folder are searched too (false by default).
    recursive(recursive: bool) => files.recursive;

    /// Sets the maximum number of records that are sampled to infer features (1,000 by default). A
    /// list that has one length in the sample becomes dense, which is logged, and a list of another
    /// length is an error. The sample reads the first blocks of the first file. 0 infers from the
    /// schemas alone.
    sample_records(records: u64) => sample_records;

    /// Sets whether the headers of all files are read, on several threads, when the data set is
    /// built, and the features checked against each distinct schema (true by default). If false, a
    /// file's header is read and checked when the file is opened. The build then reads only the
    /// header of the first file, and further headers until each field of the features is found.
    check_files(check: bool) => check_files;

    /// Sets the schemas of the files, so that the build does not read them: all schemas, or those
    /// in [`Dataset::schemas`] of a data set of the same files and features.
    schemas(schemas: FileSchemas) => schemas;

    /// Sets whether a last batch of fewer than `batch_size` records is dropped (false by default).
    /// The statistics count the dropped records.
    drop_remainder(drop: bool) => run.pipeline.drop_remainder;

    /// Sets the size of a read from a file in bytes (128 KiB by default).
    reader_buffer_size(bytes: usize) => run.reading.buffer_size;

    /// Sets the size of the shuffle buffer in records, besides those of the batch. Before each
    /// batch the window holds at least `batch_size + records` unread records, and the batch is
    /// drawn from all of them. 0, the default, keeps the order of the files.
    shuffle_buffer_size(records: usize) => run.pipeline.shuffle_buffer_size;

    /// Sets the number of threads that read local files, decompress and decode, besides the one that
    /// plans the batches. [`Threads::Auto`], the default, chooses it by load. The batches do not depend
    /// on it.
    threads(threads: Threads) => run.threads;

    /// For tests: sets the number of cores that [`Threads::Auto`] sees.
    #[doc(hidden)]
    cores(cores: usize) => run.cores;

    /// Sets whether the threads of an iteration are kept for the next iteration (false by default).
    /// Kept threads end with the data set.
    keep_threads(keep: bool) => run.keep_threads;

    /// Sets the seed of all shuffling (0 by default). Seed and epoch fix the order.
    seed(seed: u64) => run.pipeline.seed;

    /// Sets the number of epochs (1 by default). Shuffled epochs have different orders. No batch
    /// has records of two epochs.
    epochs(epochs: u64) => run.epochs;

    /// Sets whether the order of the files is shuffled each epoch (false by default).
    shuffle_files(shuffle: bool) => run.pipeline.shuffle_files;

    /// Sets whether the order of the blocks in each file is shuffled each epoch (false by default).
    /// This indexes the blocks, which reads a few bytes of each. Files that are packed as a whole
    /// have no index and are an error.
    shuffle_blocks(shuffle: bool) => run.pipeline.shuffle_blocks;

    /// Sets the maximum number of batches that are ready before the caller asks for them (2 by
    /// default; 0 counts as 1). Batches that are being made then come on top, within the [memory
    /// limit](Self::memory_limit).
    prefetch(batches: usize) => run.pipeline.prefetch;

    /// Sets the layout of all sparse and varlen columns, instead of the features' layouts.
    layout(layout: Layout) => layout;

    /// Sets whether the schemas of files must follow the specification (false by default): letters,
    /// digits and underscores in names, each name defined once, defaults that match their types. If
    /// false, such faults are accepted, see [`Schema::parse_lenient`].
    strict(strict: bool) => run.reading.strict;

    /// Sets the maximum memory in bytes of an iteration: of buffers that files are read into, of
    /// blocks, compressed and decompressed, and of batches. At the limit, reading, decompressing and
    /// batching wait until the caller takes a batch. A window and a batch that do not fit are an error
    /// for any number of threads. Batches that the caller holds do not count, nor do planned batches
    /// (some dozen bytes for each block).
    ///
    /// The default is [`default_memory_limit`]: 4 GiB, or less if the machine or the container has
    /// little memory.
    memory_limit(bytes: u64) => run.pipeline.memory_limit;

    /// Writes what the threads of each iteration do to `trace` (nowhere by default), in Chrome's trace
    /// format.
    ///
    /// ```
    /// # use atds_generate::{generate, GenerateOptions, Preset};
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// # generate(folder, &GenerateOptions::new(Preset::Ads, 1_000))?;
    /// # let path = folder.join("trace.json");
    /// use atds::stats::Trace;
    ///
    /// let trace = Trace::new(std::fs::File::create(path)?);
    /// let dataset = atds::Dataset::builder(folder, 64).trace(trace.clone()).build()?;
    /// for batch in dataset.iter() {
    ///     batch?;
    /// }
    /// trace.finish()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    trace(trace: Trace) => run.pipeline.trace;

    /// Sets whether files are mapped into memory rather than read (false by default). Mapping saves
    /// a copy. Truncating a mapped file ends the process (`SIGBUS` on Unix). The length is checked
    /// now and then, which finds most truncated files in time, but not all. Map only files that no
    /// program writes to. Files that are packed as a whole are unpacked, and not mapped.
    mmap(mmap: bool) => run.mmap;

    /// Sets the maximum size of a block in bytes, compressed and decompressed (1 GiB by default). A
    /// larger block is an error. A block is held whole in memory, so this limits the effect of a
    /// damaged size.
    max_block_bytes(bytes: usize) => run.reading.max_block_bytes;

    /// Sets the maximum nesting of records, arrays, maps and unions in a value (100 by default, at
    /// most [`DEEPEST`](avro_decode::limits::DEEPEST)): only recursive types come near it.
    max_depth(depth: usize) => run.reading.max_depth;

    /// Sets the treatment of sparse entries with an index outside their dimension: an error by
    /// default.
    out_of_bounds(choice: OutOfBounds) => plan.out_of_bounds;

    /// Sets the faults of files that are tolerated (none by default). They are counted in the
    /// [statistics](crate::stats::Stats) and logged.
    tolerate(tolerate: Tolerate) => run.reading.tolerate;
}

impl DatasetBuilder {
    /// Sets the features to read; other fields are skipped. By default, features are inferred from
    /// the reader's schema, or else from the files' schemas, and from [a
    /// sample](Self::sample_records) of records, see [`infer`](Self::infer).
    ///
    /// If a file's schema lacks a field or a branch of a union, each of its records gets the
    /// feature's default, and the mask is false. A feature without default and mask is then an
    /// error, and so is a field that all files lack. A reader's schema, if given, determines the
    /// fields.
    pub fn features<F: Into<Feature>>(mut self, features: impl IntoIterator<Item = F>) -> Self {
        self.features = Some(features.into_iter().map(Into::into).collect());
        self
    }

    /// Sets which of the given features were [inferred](Self::infer) from a sample. Errors about
    /// lists of another length then mention the sample.
    pub fn sampled_features(mut self, sampled: impl IntoIterator<Item = Sampled>) -> Self {
        self.sampled = sampled.into_iter().collect();
        self
    }

    /// Sets the schema that records are read as, by Avro's schema resolution. Fields that a file
    /// lacks have this schema's defaults. Renamed fields are found by its aliases. Numbers are
    /// promoted to its types, and times are converted to its units. By default, features are found
    /// in each file's own schema. The first file that has a column then defines its meaning: the
    /// unit of times, the scale of decimals read as integers, the numbers of symbols, the form of
    /// uuids. Other files are converted to this meaning, or are an error.
    pub fn reader_schema(mut self, schema: impl Into<Arc<Schema>>) -> Self {
        self.plan.reader_schema = Some(schema.into());
        self
    }

    /// Calls `on_check` after each file whose header was read to [check](Self::check_files) it,
    /// from any of several threads, with the number of files read and the number of all files. It
    /// can stop the check, which makes the build fail.
    pub fn on_check(
        mut self,
        on_check: impl Fn(usize, usize) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.on_check = Arc::new(on_check);
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
        let pipeline = &self.run.pipeline;
        Error::check(pipeline.batch_size > 0, "batch_size", "above 0")?;
        self.run.reading.check()?;
        Error::check(
            pipeline.prefetch <= MAX_PREFETCH,
            "prefetch",
            "at most 1024",
        )?;
        let threads = match self.run.threads {
            Threads::Fixed(threads) | Threads::UpTo(threads) => threads,
            Threads::Auto => 1,
        };
        let is_right = (1..=MAX_THREADS).contains(&threads);
        Error::check(is_right, "threads", "from 1 to 1024, or automatic")?;
        let is_empty = self.features.as_ref().is_some_and(Vec::is_empty);
        Error::check(!is_empty, "features", "at least one, or not given")?;
        let files = self.files.look_up()?;
        let inputs = self.files.inputs().clone();
        self.check_once(&inputs)?;
        let schemas = self.read_schemas(&files, &inputs);
        let inferred = match &self.features {
            Some(_) => Inferred::default(),
            None => self.infer_from(&files, &schemas)?,
        };
        if self.run.pipeline.shuffle_blocks
            && let Some((path, packing)) = inputs.packed.first()
        {
            let reason = NO_SHUFFLING;
            return Err(Error::new(ErrorKind::Packed { packing, reason }).in_file(&path));
        }
        for warning in inference_warnings(&inferred) {
            log::warn!("{warning}");
        }
        let plan = self.plan();
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
        let plans = Plans::new(features, plan, level, self.run.reading.strict);
        let mut schemas = plans.check(&schemas, &files)?;
        if !self.check_files && !were_checked {
            look_further(&plans, &mut schemas, &files, &inputs, &*self.on_check);
        }
        // An input that is read only once may have fields that the files lack.
        let all_read = || files.iter().skip(1).all(|file| !inputs.has(file));
        if plans.lacks_any() && all_read() {
            plans.check_found()?;
        }
        let memory_limit = self.run.pipeline.memory_limit;
        Ok(Dataset::new(Settings {
            files,
            format: Arc::new(AvroFormat {
                plans: Arc::new(plans),
                reading: self.run.reading,
                buffers: Arc::new(BufferPool::new(memory_limit)),
                log: Arc::default(),
            }),
            schemas: schemas.into(),
            left_out: inferred.left_out,
            sampled: [self.sampled, inferred.sampled].concat(),
            mappings: self.run.mmap.then(|| Arc::new(Mappings::new(memory_limit))),
            run: self.run,
            inputs,
            threads: Arc::default(),
            costs: Arc::default(),
            file_counts: Arc::default(),
        }))
    }

    /// The features that a data set reads by default: those of the reader's schema, or else of the
    /// files' schemas, see [`FileSchemas::infer`]. A varlen feature becomes dense if all its lists
    /// have one length in [a sample](Self::sample_records) of records. Inputs that can be read only
    /// once, such as pipes, keep the sampled records for the first iteration.
    ///
    /// ```no_run
    /// let features = atds::Dataset::builder("clicks/*.avro", 1).infer()?.features;
    /// std::fs::write("features.json", atds::features::to_json(&features).to_string())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Files::resolve`] and [`FileSchemas::infer`]. A faulty sample is no error here; it is
    /// then ignored.
    pub fn infer(&self) -> Result<Inferred, Error> {
        let files = self.files.look_up()?;
        let schemas = self.read_schemas(&files, self.files.inputs());
        self.infer_from(&files, &schemas)
    }

    fn infer_from(&self, files: &[PathBuf], schemas: &FileSchemas) -> Result<Inferred, Error> {
        let mut inferred = match &self.plan.reader_schema {
            Some(reader) => infer_features(reader)?,
            None => schemas.infer(files)?,
        };
        let options = SampleOptions {
            records: self.sample_records,
            plan: &self.plan(),
            reading: self.run.reading,
            memory_limit: self.run.pipeline.memory_limit,
            inputs: self.files.inputs(),
        };
        sample_lengths(&mut inferred, files, &options);
        Ok(inferred)
    }

    /// The options of plans.
    fn plan(&self) -> PlanOptions {
        let mut plan = self.plan.clone();
        plan.decode = self.run.reading.decode();
        plan
    }

    /// The schemas of all files, or of the first alone if they are not checked.
    fn read_schemas(&self, files: &[PathBuf], inputs: &OnceInputs) -> FileSchemas {
        match &self.schemas {
            Some(schemas) => schemas.clone(),
            None if self.check_files => FileSchemas::read_all(files, inputs, &*self.on_check),
            None => FileSchemas::read_all(&files[..1], inputs, |_, _| ControlFlow::Continue(())),
        }
    }

    /// An error if the options need to read an input twice that can be read only once.
    fn check_once(&self, inputs: &OnceInputs) -> Result<(), Error> {
        let run = &self.run;
        let reason = if run.epochs > 1 {
            "set `epochs` to 1"
        } else if run.pipeline.shuffle_blocks {
            "leave `shuffle_blocks` out"
        } else if run.mmap {
            "leave `mmap` out"
        } else {
            return Ok(());
        };
        inputs.refuse(reason)
    }
}

/// Reads headers after the first file's until each field of the features is found, so that the
/// meaning of a column does not depend on the file that is opened first. A faulty file is skipped:
/// opening it raises the error.
fn look_further(
    plans: &Plans,
    schemas: &mut FileSchemas,
    files: &[PathBuf],
    inputs: &OnceInputs,
    on_check: &dyn Fn(usize, usize) -> ControlFlow<()>,
) {
    for (number, file) in files.iter().enumerate().skip(1) {
        if !plans.lacks_any() || on_check(number, files.len()).is_break() {
            return;
        }
        if !inputs.has(file)
            && let Ok(header) = read_header(file, inputs)
            && let Ok((_, true)) = plans.compile(header.schema(), file)
        {
            schemas.push(number, header.schema());
        }
    }
}
