//! A dataset: what it reads.

mod shards;

use std::fmt;
use std::mem;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use atds_format::Format;
use atds_pipeline::{BlockCache, Options, Position, Progress, SkippedCounts, Slice, SpareMemory};
use atds_sched::{Costs, ThreadPool, Threads};
use avro_decode::{LeftOut, Sampled};
use tensor_batch::{Batch, BatchSpec};

use crate::avro::records::RecordOptions;
use crate::avro::schema::FileSchemas;
use crate::damage::{OnError, SkipOptions, Skipped};
use crate::formats::{Counts, FileFormat};
use crate::index::FileIndex;
use crate::lock::lock;
use crate::shares::ShardBy;
use crate::source::{Mappings, OnceInputs};
use crate::state::{
    self, BlockCounts, FilePrints, Hash, Layers, Looked, OptionsPrint, Reader, State,
    StateMismatch, sum,
};
use crate::tolerate::FaultLog;
use crate::{Batches, Error, ErrorKind};

/// A data set: Avro files, read as batches.
///
/// A dataset is a description: each [`iter`](Dataset::iter) reads the files with its own threads.
/// Iterations share memory for decompressed blocks, and mapped files up to the memory limit. They share
/// threads only with [`keep_threads`](crate::DatasetBuilder::keep_threads).
#[derive(Clone)]
pub struct Dataset {
    pub(crate) settings: Arc<Settings>,
}

impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = &self.settings.run;
        f.debug_struct("Dataset")
            .field("files", &self.files().len())
            .field("first_file", &self.files().first())
            .field("batch_size", &run.pipeline.batch_size)
            .field("threads", &run.threads)
            .field("epochs", &run.epochs)
            .field("columns", self.spec())
            .finish_non_exhaustive()
    }
}

/// The settings that [`DatasetBuilder::build`] has checked.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) files: Arc<[PathBuf]>,
    /// The columns of a batch.
    pub(crate) spec: BatchSpec,
    pub(crate) file_format: FileFormat,
    pub(crate) format: Arc<dyn Format>,
    /// The log of tolerated faults.
    pub(crate) log: Arc<FaultLog>,
    pub(crate) schemas: Arc<FileSchemas>,
    pub(crate) left_out: Vec<LeftOut>,
    /// The features that are dense by a sample.
    pub(crate) sampled: Vec<Sampled>,
    pub(crate) run: RunOptions,
    pub(crate) inputs: Arc<OnceInputs>,
    // What one iteration leaves for the next:
    /// The mapped files, if files are mapped.
    pub(crate) mappings: Option<Arc<Mappings>>,
    pub(crate) threads: Arc<ThreadPool>,
    /// What decoding costs.
    pub(crate) costs: Arc<Costs>,
    /// What is known of the blocks of files.
    pub(crate) blocks: Arc<BlockCache>,
    /// The memory of iterations that are over.
    pub(crate) spare: Arc<SpareMemory>,
    /// What a state says of options and files.
    pub(crate) options_print: Arc<OptionsPrint>,
    pub(crate) file_prints: Arc<Mutex<Option<Arc<FilePrints>>>>,
    pub(crate) file_names: Arc<[Hash]>,
    /// The counts of records that were given.
    pub(crate) index: Arc<FileIndex>,
    /// The reader: its rank and worker. `None` for a slice that is the share of no rank.
    pub(crate) reader: Option<Reader>,
    /// Those who have read some of an epoch before, and number of records that they have left.
    pub(crate) layers: (Layers, u64),
    /// The files that were left out as a whole.
    pub(crate) skipped_files: Arc<[Skipped]>,
    /// The epoch in which a state was taken, and what damage had cost of it.
    pub(crate) skipped_before: (u64, SkippedCounts),
    /// The flag that cancels counting.
    pub(crate) cancelled: Option<Arc<AtomicBool>>,
}

/// The options of an iteration.
#[derive(Clone, Debug)]
pub(crate) struct RunOptions {
    /// The options of the pipeline, but for the number of threads and how files are read.
    pub(crate) pipeline: Options,
    pub(crate) threads: Threads,
    /// For tests: the number of cores that `threads` sees.
    pub(crate) cores: Option<usize>,
    /// Whether threads wait for the next iteration.
    pub(crate) keep_threads: bool,
    pub(crate) mmap: bool,
    /// How files are read.
    pub(crate) reading: RecordOptions,
    pub(crate) on_error: OnError,
    /// The name of the mask, if there is one.
    pub(crate) mask: String,
    pub(crate) skips: SkipOptions,
    pub(crate) epochs: u64,
    pub(crate) shard_by: ShardBy,
}

impl Dataset {
    pub(crate) fn new(settings: Settings) -> Self {
        Dataset {
            settings: Arc::new(settings),
        }
    }

    /// The files, in the order in which an unshuffled iteration reads them.
    pub fn files(&self) -> &[PathBuf] {
        &self.settings.files
    }

    /// The columns of a batch, sorted by name.
    pub fn spec(&self) -> &BatchSpec {
        &self.settings.spec
    }

    /// The schemas that determine the columns: the first file's, and those of later files with
    /// fields that it lacks. Another process that builds the same data set with these schemas reads
    /// no headers, see [`DatasetBuilder::schemas`](crate::DatasetBuilder::schemas).
    pub fn schemas(&self) -> &FileSchemas {
        &self.settings.schemas
    }

    /// The fields that cannot be a tensor, if the features were inferred.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.settings.left_out
    }

    /// The features that were inferred as dense, because all lists of a
    /// [sample](crate::DatasetBuilder::sample_records) have one length.
    pub fn sampled(&self) -> &[Sampled] {
        &self.settings.sampled
    }

    /// Size of all files in bytes; `None` if a file is a pipe, whose size is unknown.
    ///
    /// # Errors
    /// A file does not exist any more.
    pub fn total_bytes(&self) -> Result<Option<u64>, Error> {
        let found = |file| std::fs::metadata(file).map_err(|error| Error::io(error, file));
        let sizes = self.files().iter().map(|file| Ok(found(file)?.len()));
        let total = sizes.sum::<Result<_, Error>>()?;
        Ok(self.settings.inputs.paths().is_empty().then_some(total))
    }

    /// Number of records of an epoch: of all files, see [`file_records`](Dataset::file_records), or
    /// of the slice, if this is a slice. Of a split, it is the number of its records.
    ///
    /// # Errors
    /// As for [`file_records`](Dataset::file_records).
    pub fn num_records(&self) -> Result<u64, Error> {
        if let Some(Slice { records, .. }) = &self.settings.run.pipeline.slice {
            return Ok(records.end - records.start);
        }
        Ok(sum(&self.file_records()?))
    }

    /// Number of records of each file, of those in the [split](crate::DatasetBuilder::split). They are counted once for a data set, by reading a few bytes of every
    /// block, unless they are in an [index](crate::DatasetBuilder::index); a file that has another size or
    /// time since is counted again. A slice has the counts that it was made with, and a share of whole files 0
    /// for files of others. Files that are packed as a
    /// whole are unpacked to count them, which takes about as long as reading them, and is logged.
    ///
    /// # Errors
    /// A file cannot be read, its framing is damaged, or it can be read only once.
    pub fn file_records(&self) -> Result<Arc<[u64]>, Error> {
        if let Some(slice) = &self.settings.run.pipeline.slice {
            return Ok(slice.file_records.clone());
        }
        let reason = "its records cannot be counted before they are read";
        self.settings.inputs.refuse(reason)?;
        Ok(self.file_prints(true, true)?.file_records().collect())
    }

    /// Whether the numbers of records are known without counting: they were counted before, or an
    /// [index](crate::DatasetBuilder::index) has every file as it is now.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn is_counted(&self) -> Result<bool, Error> {
        let settings = &*self.settings;
        let prints = lock(&settings.file_prints).clone();
        let is_counted = prints.is_some_and(|prints| prints.are_counted());
        if is_counted || settings.run.pipeline.slice.is_some() {
            return Ok(true);
        }
        for path in self.files() {
            if settings.index.counts(path)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Number of records that the readers of a [merged](State::merge) state have left to all that go on
    /// together; `None` if this is not the [rest](Self::rest) of an epoch.
    pub fn records_left(&self) -> Option<u64> {
        let (layers, left) = &self.settings.layers;
        (!layers.is_empty()).then_some(*left)
    }

    /// Ends the threads that wait for the next iteration of the data set and of its slices, see
    /// [`keep_threads`](crate::DatasetBuilder::keep_threads). Running iterations continue, and the
    /// next iteration starts threads.
    pub fn end_threads(&self) {
        self.settings.threads.end();
    }

    /// The same data set with another [seed](crate::DatasetBuilder::seed): that of a [state](State::seed), if
    /// no seed was chosen.
    pub fn with_seed(&self, seed: u64) -> Dataset {
        self.with(|pipeline| pipeline.seed = seed)
    }

    /// The same data set, whose states are those of `other`. `other` has the same files and options but for
    /// its features, and so reads the same records in the same batches.
    pub fn with_states_of(&self, other: &Dataset) -> Dataset {
        let mut settings = Settings::clone(&self.settings);
        settings.options_print = other.settings.options_print.clone();
        settings.file_prints = other.settings.file_prints.clone();
        Dataset::new(settings)
    }

    /// The same data set with a flag that cancels counting: soon after it becomes true, or at the end of the
    /// file whose blocks are being counted, [`file_records`](Self::file_records) and other calls that count
    /// records fail with [`ErrorKind::Cancelled`]. Iterations end when they are dropped.
    pub fn cancelled_by(&self, cancelled: Arc<AtomicBool>) -> Dataset {
        let mut settings = Settings::clone(&self.settings);
        settings.cancelled = Some(cancelled);
        Dataset::new(settings)
    }

    /// The data set with other options of the pipeline.
    fn with(&self, change: impl FnOnce(&mut Options)) -> Dataset {
        let mut settings = Settings::clone(&self.settings);
        change(&mut settings.run.pipeline);
        Dataset::new(settings)
    }

    fn change(&mut self, change: impl FnOnce(&mut Settings)) {
        change(Arc::make_mut(&mut self.settings));
    }

    /// The batches of all epochs, from epoch 0.
    pub fn iter(&self) -> Batches {
        self.epochs(0..self.settings.run.epochs)
    }

    /// The batches of one epoch.
    pub fn epoch(&self, epoch: u64) -> Batches {
        Batches::start(&self.settings, 0, epoch..=epoch, epoch.saturating_add(1))
    }

    /// The batches of several epochs, one epoch after another. The threads go on to the next epoch
    /// while batches of this one are made.
    pub fn epochs(&self, epochs: Range<u64>) -> Batches {
        self.epochs_after(0, epochs)
    }

    /// The batches of several epochs without the first `given` ones of the first epoch, as
    /// [`resume`](Self::resume) reads them, for positions that are saved in another way than as a [`State`].
    pub fn epochs_after(&self, given: u64, epochs: Range<u64>) -> Batches {
        Batches::start(&self.settings, given, epochs.clone(), epochs.end)
    }

    /// The batches that would have come next when `state` was taken, in this process or another: those
    /// left of its epoch, and of the epochs after it that the iteration had.
    ///
    /// The files are framed first, which reads a few bytes of each block, unless this data set has done
    /// so. Blocks before the position are not read or decompressed again.
    ///
    /// ```
    /// # use atds_generate::{generate, GenerateOptions, Preset};
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// # generate(folder, &GenerateOptions::new(Preset::Ads, 1_000))?;
    /// let dataset = atds::Dataset::builder(folder, 64).shuffle_buffer_size(500).build()?;
    /// let mut batches = dataset.iter();
    /// let first = batches.next().transpose()?;
    /// let state = serde_json::to_string(&batches.state()?)?;
    /// drop(batches);
    ///
    /// let mut batches = dataset.resume(&serde_json::from_str(&state)?)?;
    /// assert_eq!(batches.by_ref().count(), 15);
    /// # let _ = first;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Files or options that fix the order or the values are others than when the state was taken, a file
    /// cannot be read, or it can be read only once.
    pub fn resume(&self, state: &State) -> Result<Batches, Error> {
        let rest = self.rest(state)?;
        Ok(rest.epochs_after(state.batches, state.epoch..state.until))
    }

    /// The data set that goes on from `state`, as [`resume`](Self::resume) has it. If the state is
    /// [merged](State::merge), or of readers that have gone on from such a state, its epoch is only what they
    /// have left.
    ///
    /// # Errors
    /// As for [`resume`](Self::resume).
    pub fn rest(&self, state: &State) -> Result<Dataset, Error> {
        let mut rest = self.clone();
        rest.change(|settings| {
            settings.layers = Default::default();
            settings.run.pipeline.rest = None;
        });
        let position = Position {
            epoch: state.epoch,
            batches: 0,
        };
        // A file may have been replaced since it was looked at.
        let prints = rest.file_prints(true, rest.states_count())?;
        state.check(&rest.state_at(position, 0)?, self.files())?;
        if !state.layers().is_empty() {
            let reader = rest.settings.reader.ok_or(StateMismatch::Slice)?;
            let files = prints.file_records().collect();
            let options = &rest.settings.run.pipeline;
            let left = state.layers().leave(state.epoch, files, &reader, options)?;
            rest.change(|settings| {
                settings.layers = (state.layers().clone(), left.records);
                settings.run.pipeline.rest = Some(Arc::new(left.rest));
            });
        }
        state.check_reader(&rest.state_at(position, 0)?)?;
        // Of a merged state, it is what damage has cost of all.
        if !state.is_merged() {
            let state::Skipped { records, bytes } = state.skipped;
            let skipped = SkippedCounts { records, bytes };
            rest.change(|settings| settings.skipped_before = (state.epoch, skipped));
        }
        Ok(rest)
    }

    /// The state of an iteration up to epoch `until` that is at a position of its
    /// [statistics](Batches::stats).
    ///
    /// # Errors
    /// As for [`Batches::state`].
    pub fn state_at(&self, position: Position, until: u64) -> Result<State, Error> {
        let settings = &self.settings;
        let (options, pipeline) = (&settings.options_print, &settings.run.pipeline);
        let files = &self.file_prints(false, self.states_count())?.sums;
        let whose = (pipeline, settings.reader.as_ref(), &settings.layers.0);
        Ok(State::new(position, until, whose, options, files))
    }

    /// The files that were left out as a whole, with the damage of each: see
    /// [`OnError::SkipFile`](crate::OnError::SkipFile).
    pub fn skipped_files(&self) -> &[Skipped] {
        &self.settings.skipped_files
    }

    pub(crate) fn with_skipped_files(&self, skipped: Vec<Skipped>) -> Dataset {
        for skipped in &skipped {
            log::warn!("the file is left out: {}", skipped.error);
        }
        let mut settings = Settings::clone(&self.settings);
        settings.skipped_files = skipped.into();
        Dataset::new(settings)
    }

    /// Reads the files, and returns the first damage of each that has any. After an error that ends the
    /// reading, later files were not read.
    pub(crate) fn find_damage(&self) -> Result<Vec<Skipped>, Error> {
        let mut settings = Settings::clone(&self.settings);
        let pipeline = &mut settings.run.pipeline;
        (pipeline.skip_damage, pipeline.drop_remainder) = (true, false);
        (pipeline.shuffle_files, pipeline.shuffle_blocks) = (false, false);
        (pipeline.shuffle_buffer_size, pipeline.mask) = (0, None);
        // Files are left out whatever split is read.
        (pipeline.split, settings.blocks) = (None, Arc::default());
        settings.run.skips = SkipOptions::default();
        let mut progress = Progress::every(pipeline.logged_every);
        let bytes = self.total_bytes()?.unwrap_or(0);
        let mut batches = Dataset::new(settings).epoch(0);
        let mut error = None;
        while let Some(batch) = batches.next() {
            error = batch.err();
            let read = batches.stats().raw_bytes;
            progress.note(read, bytes, || {
                format!("looked for damage in {read} of {bytes} bytes")
            });
        }
        let mut found: Vec<Skipped> = Vec::new();
        for skipped in batches.skipped(0) {
            if found.iter().all(|known| known.path() != skipped.path()) {
                found.push(skipped);
            }
        }
        if let Some(error) = error {
            found.push(Skipped::of_file(error)?);
        }
        Ok(found)
    }

    /// Whether the files were framed for a state: the next takes microseconds.
    pub fn is_framed(&self) -> bool {
        lock(&self.settings.file_prints).is_some()
    }

    /// Number of records of each block of each file, in file order, of those in the
    /// [split](crate::DatasetBuilder::split). The files are framed for them once for
    /// a data set, which reads a few bytes of each block, and all of a packed file.
    ///
    /// # Errors
    /// As for [`Batches::state`].
    pub fn block_records(&self) -> Result<Vec<Arc<[u64]>>, Error> {
        let prints = self.file_prints(false, true)?;
        let files = 0..self.files().len();
        let records = files.map(|file| prints.block_records(file).unwrap_or_default());
        Ok(records.collect())
    }

    /// Whether records are counted for states. Those of whole files do without: the same readers go on.
    fn states_count(&self) -> bool {
        self.settings.run.shard_by == ShardBy::Record
    }

    /// What a state says of the files that are read. If `again`, files that were replaced since are seen. If
    /// `counts`, their records are counted.
    fn file_prints(&self, again: bool, counts: bool) -> Result<Arc<FilePrints>, Error> {
        let settings = &*self.settings;
        let known = lock(&settings.file_prints).clone();
        if let Some(known) = &known
            && !again
            && (known.are_counted() || !counts)
        {
            return Ok(known.clone());
        }
        let reason = "an iteration of it cannot go on where it was";
        settings.inputs.refuse(reason)?;
        let pipeline = settings
            .run
            .pipeline
            .skip_damage
            .then(|| self.settings.pipeline());
        let mut is_logged = false;
        let mut progress = Progress::every(settings.run.pipeline.logged_every);
        let files = self.files().len();
        let flag = settings.cancelled.as_deref();
        let is_cancelled = || flag.is_some_and(|cancelled| cancelled.load(Relaxed));
        let look = |file: usize| {
            if is_cancelled() {
                return Err(Error::new(ErrorKind::Cancelled));
            }
            let (path, reading) = (&settings.files[file], &settings.run.reading);
            let format = settings.file_format;
            if !counts {
                return Ok((format.marker(path)?, None));
            }
            progress.note(file as u64, files as u64, || {
                format!("counted the records of {file} of {files} files")
            });
            if let Some(packing) = settings.inputs.packed.packing(path)
                && !mem::replace(&mut is_logged, true)
            {
                log::warn!(
                    "{}: the whole file is packed as {packing}, so that counting its records takes as long \
                     as reading it; this is done once for the data set. Readers that share whole files, \
                     shard_by=\"file\", count none",
                    path.display()
                );
            }
            let found = if let Some(pipeline) = &pipeline {
                let blocks = pipeline.block_records(file);
                Counts {
                    marker: format.marker(path)?,
                    blocks: blocks.map_err(|error| settings.error(error))?,
                    layout: None,
                }
            } else if let Some(counts) = settings.index.counts(path)? {
                counts.clone()
            } else {
                format.count(path, reading)?
            };
            let members = match &settings.run.pipeline.split {
                None => Ok(Some(found.blocks.clone())),
                Some(split) => split.count(file, &found.blocks, &is_cancelled),
            };
            let members = members.map_err(|error| Error::from(error).in_file(path))?;
            let members = members.ok_or_else(|| Error::new(ErrorKind::Cancelled))?;
            let Counts { marker, blocks, .. } = found;
            Ok((marker, Some(BlockCounts { blocks, members })))
        };
        let looked = Looked {
            own: settings.run.pipeline.files.as_deref(),
            counts,
            states_count: self.states_count(),
        };
        let names = &settings.file_names;
        let found = FilePrints::new(self.files(), names, looked, known.as_deref(), look)?;
        let found = Arc::new(found);
        *lock(&settings.file_prints) = Some(found.clone());
        Ok(found)
    }
}

impl IntoIterator for &Dataset {
    type Item = Result<Batch, Error>;
    type IntoIter = Batches;

    fn into_iter(self) -> Batches {
        self.iter()
    }
}
