//! The options of a dataset.

mod checks;

use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use atds_features::Feature;
use atds_pipeline::Options;
use avro_decode::{Inferred, OutOfBounds, PlanOptions, Sampled, Schema};
use tensor_batch::Layout;

use crate::avro::records::RecordOptions;
use crate::avro::schema::FileSchemas;
use crate::damage::{MaxSkipped, OnError, SkipOptions, Skipped};
use crate::dataset::{Dataset, RunOptions, Settings};
use crate::files::Files;
use crate::formats::{FileFormat, two_formats};
use crate::index::FileIndex;
use crate::interface::Interface;
use crate::limits::{DEFAULT_INFER_SAMPLE, DEFAULT_PREFETCH, default_memory_limit};
use crate::shares::ShardBy;
use crate::source::Mappings;
use crate::split::Split;
use crate::state::{Reader, hashes_of, names_of};
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
                on_error: OnError::Raise,
                mask: "mask".to_owned(),
                skips: SkipOptions::default(),
                shard_by: ShardBy::default(),
            },
            check_files: true,
            on_check: Arc::new(|_, _| ControlFlow::Continue(())),
            schemas: None,
            sample_records: DEFAULT_INFER_SAMPLE,
            sampled: Vec::new(),
            index: None,
            root: None,
            split: None,
        }
    }
}

/// Builds a [`Dataset`]; every option has a default.
#[derive(Clone)]
#[must_use]
pub struct DatasetBuilder {
    pub(crate) files: Files,
    pub(crate) features: Option<Vec<Feature>>,
    pub(crate) layout: Option<Layout>,
    pub(crate) plan: PlanOptions,
    pub(crate) run: RunOptions,
    pub(crate) check_files: bool,
    pub(crate) on_check: OnCheck,
    pub(crate) schemas: Option<FileSchemas>,
    pub(crate) sample_records: u64,
    pub(crate) sampled: Vec<Sampled>,
    index: Option<PathBuf>,
    root: Option<PathBuf>,
    pub(crate) split: Option<Arc<Split>>,
}

/// What is shuffled of all files together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shuffle {
    /// Nothing.
    #[default]
    None,
    /// Runs of consecutive blocks of a file, each 1 MiB or longer unless its file is shorter. Seed and
    /// epoch fix their order. Files that can be read only once, or that are packed as a whole, are an error.
    Blocks,
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
    /// Sets the format that the files have. By default their [names or first bytes](FileFormat) tell it, and
    /// a folder has the files of all formats.
    format(format: FileFormat) => files.format;

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

    /// Sets the [index](crate::index) that has the records of the files, so that this process does not
    /// count them (none by default). Files that it lacks, or that have changed since, are counted, with a
    /// warning in the log. With [`OnError::SkipBlock`] all are counted.
    index(path: PathBuf) => index;

    /// Sets the folder that all files are in, in whatever folders below it (none by default). A
    /// [state](crate::state::State) then knows the files by their paths below it, so that all can be moved
    /// together, and no longer by their names alone, which may be the same in several folders. So does a
    /// [split](Self::split).
    root(folder: PathBuf) => root;

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

    /// Adds a dense int64 column of this name, of shape `[2]`, with the place of each row's record: the
    /// number of its file in [`Dataset::files`], and the number of the record in the file, both counted
    /// from 0 (no such column by default). It is right whatever is shuffled or left out. Rows of zeros
    /// under a false [`mask`](Self::mask) have zeros here, too: they are no record's.
    ///
    /// ```
    /// # use atds_generate::{generate, GenerateOptions, Preset};
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// # generate(folder, &GenerateOptions::new(Preset::Ads, 1_000))?;
    /// let builder = atds::Dataset::builder(folder, 64).shuffle_buffer_size(500);
    /// let dataset = builder.provenance("place".to_owned()).build()?;
    /// for batch in dataset.iter() {
    ///     for place in batch?.dense::<i64>("place")?.chunks(2) {
    ///         let (file, record) = (&dataset.files()[place[0] as usize], place[1]);
    ///         assert!(file.starts_with(folder) && record < 1_000);
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    provenance(name: String) => run.pipeline.provenance;

    /// For tests: sets the number of bytes of a run of blocks.
    #[doc(hidden)]
    run_bytes(bytes: u64) => run.pipeline.run_bytes;

    /// For tests: sets the time between two lines of the log that say how far going on is.
    #[doc(hidden)]
    logged_every(every: Duration) => run.pipeline.logged_every;

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
    /// blocks, compressed and decompressed, of the list of a file's blocks where they are shuffled or a
    /// part of them is read (some 300 bytes a block), and of batches. At the limit, reading,
    /// decompressing and batching wait until the caller takes a batch. A window and a batch that do not
    /// fit are an error for any number of threads. Batches that the caller holds do not count, nor do
    /// planned batches (some dozen bytes for each block).
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

    /// Sets what becomes of damage: an error by default, see [`OnError`]. What is left out is counted in the
    /// [statistics](crate::stats::Stats), listed by [`Batches::skipped`](crate::Batches::skipped), and named
    /// in the log once for each file.
    ///
    /// With [`drop_remainder`](Self::drop_remainder), batches keep their shape: the rows that damage has
    /// cost are zeros, and the column [`mask`](Self::mask) is false for them.
    on_error(choice: OnError) => run.on_error;

    /// Sets the name of the bool column that says which rows were read, where batches keep their shape
    /// although damage is left out: `mask` by default.
    mask(name: String) => run.mask;

    /// Sets the interface whose names options have in texts of the [log of damage](Self::skip_log).
    #[doc(hidden)]
    interface(interface: Interface) => run.skips.interface;

    /// Sets the file to which each place of damage that is left out is added, as a line of JSON: see
    /// [`Skipped::to_json`](crate::damage::Skipped::to_json). None by default.
    skip_log(path: PathBuf) => run.skips.log;

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

    /// Sets how much may be left out of an epoch (all by default). Beyond it the iteration ends with an
    /// error, after the batch that lost the record. Where the framing is damaged it is not known how many
    /// records are lost: the number is estimated from the blocks of the file before, and is at least one.
    ///
    /// A [fraction](MaxSkipped::Fraction) needs the number of records of an epoch: an iteration begins with
    /// counting them, unless this is a slice.
    pub fn max_skipped(mut self, max: MaxSkipped) -> Self {
        self.run.skips.max = Some(max);
        self
    }

    /// Sets what is shuffled of all files together, each epoch, before the shuffle buffer
    /// ([`Shuffle::None`] by default). With [`Shuffle::Blocks`], the blocks of all files are listed before
    /// the first batch, which reads a few bytes of each, and once for a data set unless a file changes. So
    /// damage that the list finds is an error before the first batch, unless
    /// [`on_error`](Self::on_error) leaves it out.
    ///
    /// ```
    /// # use atds_generate::{generate, GenerateOptions, Preset};
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// # generate(folder, &GenerateOptions::new(Preset::Ads, 1_000))?;
    /// use atds::Shuffle;
    ///
    /// let builder = atds::Dataset::builder(folder, 64).shuffle(Shuffle::Blocks);
    /// let dataset = builder.shuffle_buffer_size(500).seed(7).build()?;
    /// assert_eq!(dataset.iter().count(), 16);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shuffle(mut self, shuffle: Shuffle) -> Self {
        self.run.pipeline.shuffle_runs = shuffle == Shuffle::Blocks;
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
    pub fn build(mut self) -> Result<Dataset, Error> {
        if self.run.on_error == OnError::SkipFile {
            return self.without_damaged_files();
        }
        self.run.pipeline.skip_damage = self.run.on_error == OnError::SkipBlock;
        let keeps_rows = self.run.pipeline.skip_damage && self.run.pipeline.drop_remainder;
        self.run.pipeline.mask = keeps_rows.then(|| self.run.mask.clone());
        self.check_options()?;
        let files = self.files.look_up()?;
        let inputs = self.files.inputs().clone();
        self.check_once(&inputs)?;
        let names = names_of(&files, self.root.as_deref())?;
        let has_root = self.root.is_some();
        let index = match &self.index {
            // The counts would be those of the file before it was damaged.
            Some(_) if self.run.pipeline.skip_damage => {
                log::info!("the index is not used, since `on_error` leaves blocks out");
                FileIndex::default()
            }
            Some(path) => FileIndex::read(path, &files)?,
            None => FileIndex::default(),
        };
        let (split, on_error) = (self.split.as_deref(), self.run.on_error);
        let split = Split::compiled(split, &index, on_error, &files, &names)?;
        self.run.pipeline.split = split;
        let format = self.files.format_of(&files)?;
        let chosen = format.choose(&self, &files, &inputs);
        let chosen = chosen.map_err(|error| two_formats(error, format, &files, &inputs))?;
        let spec = checks::with_own_columns(&chosen.spec, &self.run.pipeline)?;
        let memory_limit = self.run.pipeline.memory_limit;
        let split = self.split.as_deref().map(Split::print);
        let print = chosen.options_print.with_split(split);
        let print = print.sharded_by(self.run.shard_by);
        Ok(Dataset::new(Settings {
            files,
            file_format: format,
            format: chosen.format,
            log: chosen.log,
            spec,
            schemas: chosen.schemas.into(),
            left_out: chosen.left_out,
            sampled: chosen.sampled,
            mappings: self.run.mmap.then(|| Arc::new(Mappings::new(memory_limit))),
            run: self.run,
            inputs,
            threads: Arc::default(),
            costs: Arc::default(),
            blocks: Arc::default(),
            spare: Arc::default(),
            options_print: Arc::new(print),
            file_prints: Arc::default(),
            reader: Some(Reader::ALL),
            layers: Default::default(),
            skipped_files: Arc::default(),
            skipped_before: Default::default(),
            cancelled: None,
            file_names: hashes_of(&names, has_root),
            index: Arc::new(index),
        }))
    }

    /// The data set of the files without any damage: all are read for this, in the order in which they were
    /// given.
    fn without_damaged_files(mut self) -> Result<Dataset, Error> {
        let files = self.files.look_up()?;
        let inputs = self.files.inputs().clone();
        inputs.refuse("leave `on_error` \"skip_file\" out, which reads each file twice")?;
        self.run.on_error = OnError::Raise;
        let (mut healthy, mut skipped) = (Vec::new(), Vec::new());
        let format = self.files.format_of(&files)?;
        for path in files.iter() {
            match format.check_start(path, &inputs) {
                Ok(()) => healthy.push(path.clone()),
                Err(error) => skipped.push(Skipped::of_file(error)?),
            }
        }
        loop {
            if healthy.is_empty() {
                let files = files.len();
                return Err(Error::new(ErrorKind::AllSkipped { files }));
            }
            let mut builder = self.clone();
            builder.files = self.files.only(&healthy);
            builder.schemas = None;
            let dataset = builder.build()?;
            let damaged = dataset.find_damage()?;
            if damaged.is_empty() {
                return Ok(dataset.with_skipped_files(skipped));
            }
            let is_damaged = |path: &PathBuf| {
                damaged
                    .iter()
                    .any(|skipped: &Skipped| skipped.path() == Some(path))
            };
            healthy.retain(|path| !is_damaged(path));
            skipped.extend(damaged);
        }
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
        self.files
            .format_of(&files)?
            .infer(self, &files, self.files.inputs())
    }
}
