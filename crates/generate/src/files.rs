//! Writes generated records to files.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use avro_block::{Codec, SyncMarker, Writer, WriterOptions};

use crate::encoder::RecordEncoder;
use crate::error::{GenerateError, GenerateErrorKind};
use crate::limits::MAX_FILES;
use crate::new_files::NewFiles;
use crate::random::Random;
use crate::shape::RecordShape;

/// Options of generated files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GenerateOptions {
    /// The shape of the records.
    pub shape: RecordShape,
    /// Number of records in all files together.
    pub records: u64,
    /// Number of files that the records are split over, as evenly as possible: 1 to [`MAX_FILES`], 1
    /// by default.
    pub files: usize,
    /// Codec of the files. Default [`Codec::Null`].
    pub codec: Codec,
    /// Decompressed size of a block in bytes. Default 16,000.
    pub block_bytes: usize,
    /// Whether arrays are written with their size in bytes, so that readers can skip them. Their
    /// counts are then negative (Avro 1.12, "Arrays"). Default false.
    pub byte_sizes: bool,
    /// The seed, which fixes every value and every byte of the files. The values do not depend on
    /// the number of files, the codec or the size of the blocks.
    pub seed: u64,
    /// A flag that cancels: soon after it becomes true, generating fails with
    /// [`GenerateErrorKind::Cancelled`].
    pub cancelled: Option<Arc<AtomicBool>>,
}

impl GenerateOptions {
    /// The default options for `records` records of `shape`, such as a [`Preset`](crate::Preset).
    pub fn new(shape: impl Into<RecordShape>, records: u64) -> Self {
        GenerateOptions {
            shape: shape.into(),
            records,
            files: 1,
            codec: Codec::Null,
            block_bytes: 16_000,
            byte_sizes: false,
            seed: 0,
            cancelled: None,
        }
    }
}

/// The generated files and their sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Generated {
    /// The files, in the order of their records.
    pub files: Vec<PathBuf>,
    /// Records in all files together.
    pub records: u64,
    /// Size of all files together in bytes.
    pub raw_bytes: u64,
    /// Decompressed size of all records together in bytes.
    pub decompressed_bytes: u64,
}

/// Writes records to `part-00000.avro`, `part-00001.avro`, .. in the folder `dir`, which is made
/// if it does not exist. Existing files of these names are replaced when all new files are
/// complete.
///
/// # Errors
///
/// If the number of files is out of range, if the folder holds other Avro files, if writing fails,
/// or if it is cancelled. New files are then removed, and existing files are unchanged.
pub fn generate(
    dir: impl AsRef<Path>,
    options: &GenerateOptions,
) -> Result<Generated, GenerateError> {
    generate_with_progress(dir, options, |_| ())
}

/// As [`generate`], but also calls `progress` regularly, and at the end, with the number of records
/// written so far.
///
/// # Errors
/// As [`generate`].
pub fn generate_with_progress(
    dir: impl AsRef<Path>,
    options: &GenerateOptions,
    mut progress: impl FnMut(u64),
) -> Result<Generated, GenerateError> {
    let dir = dir.as_ref();
    if !(1..=MAX_FILES).contains(&options.files) {
        let files = options.files;
        return Err(GenerateErrorKind::FileCount { files }.into());
    }
    let names: Vec<String> = (0..options.files)
        .map(|i| format!("part-{i:05}.avro"))
        .collect();
    if let Some(other) = other_file(dir, &names).map_err(|error| GenerateError::io(error, dir))? {
        return Err(GenerateErrorKind::FolderInUse.at(&other));
    }

    let files = NewFiles::new(dir, &names).map_err(|error| GenerateError::io(error, dir))?;
    let job = Job {
        options,
        files: &files,
        schema: options.shape.schema(),
        next: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let (raw_bytes, decompressed_bytes) = thread::scope(|scope| {
        let (sender, receiver) = channel();
        let workers: Vec<_> = (0..threads.min(files.len()))
            .map_while(|_| {
                let (job, sender) = (&job, sender.clone());
                let work = move || job.work(&sender);
                thread::Builder::new().spawn_scoped(scope, work).ok()
            })
            .collect();
        // If no thread can be started, this thread writes all files.
        let own = workers.is_empty().then(|| job.work(&sender));
        drop(sender);
        let mut written = 0;
        for records in receiver {
            written += records;
            progress(written);
        }
        let others = workers.into_iter().map(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        own.into_iter()
            .chain(others)
            .try_fold((0, 0), |(raw, decompressed), bytes| {
                let (more_raw, more_decompressed) = bytes?;
                Ok::<_, GenerateError>((raw + more_raw, decompressed + more_decompressed))
            })
    })?;
    let files = files.publish();
    Ok(Generated {
        records: options.records,
        raw_bytes,
        decompressed_bytes,
        files: files.map_err(|(path, error)| GenerateError::io(error, &path))?,
    })
}

/// An Avro file of the folder besides `names`, if there is one: readers of the folder would read it
/// too.
fn other_file(dir: &Path, names: &[String]) -> io::Result<Option<PathBuf>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let is_avro = path
            .extension()
            .is_some_and(|extension| extension == "avro");
        let name = path.file_name().and_then(|name| name.to_str());
        let is_ours =
            name.is_some_and(|name| names.binary_search_by(|n| n.as_str().cmp(name)).is_ok());
        if is_avro && !is_ours {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// The state that threads share. Each thread takes the next file until there are no more.
struct Job<'a> {
    options: &'a GenerateOptions,
    files: &'a NewFiles,
    schema: String,
    next: AtomicUsize,
    failed: AtomicBool,
}

impl Job<'_> {
    /// Writes files and reports the number of records. Returns the raw and the decompressed bytes.
    fn work(&self, progress: &Sender<u64>) -> Result<(u64, u64), GenerateError> {
        let mut encoder = RecordEncoder::new(self.options.shape.clone(), self.options.seed)
            .with_byte_sizes(self.options.byte_sizes);
        let (mut raw, mut decompressed) = (0, 0);
        while let Some(i) = self.take() {
            self.check_cancelled()?;
            let result = self.write(i, &mut encoder, progress);
            if result.is_err() {
                self.failed.store(true, Ordering::Relaxed);
            }
            let (more_raw, more_decompressed) = result?;
            raw += more_raw;
            decompressed += more_decompressed;
        }
        Ok((raw, decompressed))
    }

    /// The next file to write; none if another thread failed.
    fn take(&self) -> Option<usize> {
        let i = self.next.fetch_add(1, Ordering::Relaxed);
        (i < self.files.len() && !self.failed.load(Ordering::Relaxed)).then_some(i)
    }

    /// An error if the caller has cancelled.
    fn check_cancelled(&self) -> Result<(), GenerateError> {
        match &self.options.cancelled {
            Some(cancelled) if cancelled.load(Ordering::Relaxed) => {
                Err(GenerateErrorKind::Cancelled.into())
            }
            _ => Ok(()),
        }
    }

    fn write(
        &self,
        i: usize,
        encoder: &mut RecordEncoder,
        progress: &Sender<u64>,
    ) -> Result<(u64, u64), GenerateError> {
        // The final path of the file, for errors.
        let path = self.files.published(i);
        let write_error = |error| GenerateError::write(error, path);
        let file =
            File::create(self.files.path(i)).map_err(|error| GenerateError::io(error, path))?;
        let file = BufWriter::with_capacity(FILE_BUFFER, file);
        let mut writer =
            Writer::new(file, &self.schema, self.writer_options(i)).map_err(write_error)?;

        let mut record = Vec::new();
        let (mut decompressed, mut untold) = (0, 0);
        for index in self.records(i) {
            record.clear();
            encoder.encode(index, &mut record);
            writer.append(&record).map_err(write_error)?;
            decompressed += record.len() as u64;
            untold += 1;
            if untold == PROGRESS_RECORDS {
                if self.failed.load(Ordering::Relaxed) {
                    break;
                }
                self.check_cancelled()?;
                // The receiver is gone only if its thread panicked.
                let _ = progress.send(untold);
                untold = 0;
            }
        }
        writer.flush_block().map_err(write_error)?;
        let raw = writer.bytes_written();
        writer.finish().map_err(write_error)?;
        let _ = progress.send(untold);
        Ok((raw, decompressed))
    }

    /// The range of records of file `i`. Files differ by at most one record.
    fn records(&self, i: usize) -> Range<u64> {
        let (records, files) = (u128::from(self.options.records), self.files.len() as u128);
        let start = |i: usize| (records * i as u128 / files) as u64;
        start(i)..start(i + 1)
    }

    fn writer_options(&self, i: usize) -> WriterOptions {
        let mut marker = [0; SyncMarker::LEN];
        // Streams of records count from 0 up, streams of files from the maximum down.
        let mut random = Random::new(self.options.seed, u64::MAX - i as u64);
        for half in marker.chunks_mut(8) {
            half.copy_from_slice(&random.bits().to_le_bytes());
        }
        let mut options = WriterOptions::with_codec(self.options.codec);
        options.block_bytes = self.options.block_bytes;
        options.sync = Some(SyncMarker(marker));
        let preset = self.options.shape.preset();
        let preset = preset.map(|preset| ("atds.preset".to_owned(), preset.name().into()));
        let seed = ("atds.seed".to_owned(), self.options.seed.to_string().into());
        options.metadata = preset.into_iter().chain([seed]).collect();
        options
    }
}

/// Size of the write buffer in bytes.
const FILE_BUFFER: usize = 256 * 1024;

/// Number of records between two calls of the progress function.
const PROGRESS_RECORDS: u64 = 256;
