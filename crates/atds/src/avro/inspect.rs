//! Inspection of files: the contents of a file, found by reading all of it.

mod nulls;
mod seen;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use atds_features::Feature;
use atds_features::feature::FeatureKind;
use avro_block::Header;
use avro_decode::limits::MAX_DECODE_DEPTH;
use avro_decode::{DecodeErrorKind, Inferred, LeftOut, Rounded, Schema, SchemaError};
use tensor_batch::{DType, Layout};

use crate::avro::file_blocks::{FileBlocks, whole_index};
use crate::avro::inference::infer_all;
use crate::avro::plans::{not_by_the_specification, parse_by};
use crate::avro::records::{RecordOptions, Records};
use crate::avro::schema::FileSchemas;
use crate::files::local_path;
use crate::limits::{DEFAULT_SAMPLE, MAX_BLOCK_BYTES, default_memory_limit};
use crate::source::{OnceReader, Packing, Reading, Stop, open_input};
use crate::{Dataset, Error, ErrorKind, Files, Tolerate, avro};

pub use nulls::InspectedPath;
pub(crate) use seen::Seen;

/// Records per batch while a file is scanned.
const SCAN_BATCH: usize = 1024;

/// Bytes of a pipe that are copied before they are checked for the header of an Avro file.
const COPIED_FIRST: u64 = 1 << 20;

/// The contents of a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inspection {
    /// The file.
    pub path: PathBuf,
    /// The name of its codec.
    pub codec: String,
    /// The format that the whole file is packed with, if it is packed.
    pub packing: Option<Packing>,
    /// The schema as it stands in the header.
    pub schema_text: String,
    /// The schema.
    pub schema: Schema,
    /// The header's metadata without Avro's own (`avro.*`), in file order.
    pub metadata: Vec<(String, Vec<u8>)>,
    /// Number of blocks.
    pub blocks: u64,
    /// Number of records.
    pub records: u64,
    /// Size of the file in bytes.
    pub file_bytes: u64,
    /// Bytes of the blocks' payloads as stored in the file.
    pub raw_bytes: u64,
    /// Bytes of the blocks' payloads, decompressed.
    pub decompressed_bytes: u64,
    /// The features that fit all records. A list is dense if it has the same length in every
    /// record, otherwise varlen. A sparse dimension is one above the largest index. Decimals that
    /// no int64 holds are read as their bytes.
    pub features: Vec<Feature>,
    /// The names of the string features whose values are bytes and may not be text.
    pub binary: Vec<String>,
    /// Values that their feature rounds.
    pub rounded: Vec<Rounded>,
    /// The values that no feature reads.
    pub left_out: Vec<LeftOut>,
    /// Every path of the schema, see [`paths`](crate::avro::schema::paths), with the number of its nulls
    /// in a sample.
    pub paths: Vec<InspectedPath>,
    /// Whether there are more paths than are listed.
    pub paths_truncated: bool,
    /// Number of records in the sample, which is the beginning of the file.
    pub sampled: u64,
    /// Names, attributes and defaults of the schema that break the specification but were accepted;
    /// at most [`MAX_DEVIATIONS`](avro_decode::limits::MAX_DEVIATIONS) of them.
    pub notes: Vec<SchemaError>,
}

impl Inspection {
    /// Decompressed bytes over raw ones; 1 for a file without blocks.
    pub fn compression_ratio(&self) -> f64 {
        if self.raw_bytes == 0 {
            return 1.0;
        }
        self.decompressed_bytes as f64 / self.raw_bytes as f64
    }
}

/// Options of an inspection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InspectOptions {
    /// Number of records, from the first on, in which nulls are counted; 1,000 by default.
    pub sample: u64,
    /// Faults of the file that are tolerated; none by default.
    pub tolerate: Tolerate,
    /// Maximum size of a block in bytes, compressed and decompressed; 1 GiB by default.
    pub max_block_bytes: usize,
    /// Whether the schema must follow the specification, see
    /// [`DatasetBuilder::strict`](crate::DatasetBuilder::strict); false by default.
    pub strict: bool,
    /// Maximum memory for blocks and records in bytes, see
    /// [`DatasetBuilder::memory_limit`](crate::DatasetBuilder::memory_limit).
    pub memory_limit: u64,
    /// Maximum nesting of records, arrays, maps and unions in a value; 100 by default, at most
    /// [`DEEPEST`](avro_decode::limits::DEEPEST).
    pub max_depth: usize,
    /// A flag that cancels: soon after it becomes true, the inspection fails with
    /// [`ErrorKind::Cancelled`].
    pub cancelled: Option<Arc<AtomicBool>>,
}

impl InspectOptions {
    /// An error if the caller has cancelled.
    pub(crate) fn check_cancelled(&self) -> Result<(), Error> {
        match &self.cancelled {
            Some(cancelled) if cancelled.load(Ordering::Relaxed) => {
                Err(Error::new(ErrorKind::Cancelled))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn stop(&self) -> Stop {
        self.cancelled
            .clone()
            .map_or_else(Stop::default, Stop::when)
    }

    /// The blocks of a file.
    fn blocks(&self, path: &Path) -> Result<FileBlocks, Error> {
        FileBlocks::new(path, Reading::open(path, &self.stop()), &self.records())
    }

    pub(crate) fn records(&self) -> RecordOptions {
        RecordOptions {
            tolerate: self.tolerate,
            max_block_bytes: self.max_block_bytes,
            max_depth: self.max_depth,
            ..RecordOptions::default()
        }
    }
}

impl Default for InspectOptions {
    fn default() -> Self {
        InspectOptions {
            sample: DEFAULT_SAMPLE,
            tolerate: Tolerate::nothing(),
            max_block_bytes: MAX_BLOCK_BYTES,
            strict: false,
            memory_limit: default_memory_limit(1),
            max_depth: MAX_DECODE_DEPTH,
            cancelled: None,
        }
    }
}

/// Inspects a file by reading all of it. An input that can be read only once, such as a pipe, is
/// first copied to a temporary file.
///
/// # Errors
/// Any fault of the file. Values of fields that cannot be a tensor are checked in the sample only.
pub fn inspect(path: impl AsRef<Path>) -> Result<Inspection, Error> {
    inspect_with(path, &InspectOptions::default())
}

/// Inspects a file with options, by reading all of it.
///
/// # Errors
/// As [`inspect`].
pub fn inspect_with(path: impl AsRef<Path>, options: &InspectOptions) -> Result<Inspection, Error> {
    let check = |copy: &Path| check_begun(copy, options);
    let (path, found) = on_disk(path.as_ref(), options, check, |file| {
        inspect_file(file, options)
    })?;
    Ok(Inspection { path, ..found })
}

/// Checks the beginning of a file, which may end anywhere.
pub(crate) fn check_begun(path: &Path, options: &InspectOptions) -> Result<(), Error> {
    match Records::open_with(path, &options.records()) {
        Err(error) if !is_cut_short(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Inspects a file that can be read several times: `path`, or a copy of it if it can be read only once.
/// `check` looks at the beginning of the copy. Also returns the path of the file.
pub(crate) fn on_disk<T>(
    path: &Path,
    options: &InspectOptions,
    check: impl FnOnce(&Path) -> Result<(), Error>,
    inspect: impl FnOnce(&Path) -> Result<T, Error>,
) -> Result<(PathBuf, T), Error> {
    let path = local_path(path)?;
    let io = |error| Error::io(error, &path);
    let (file, once) = open_input(&path).map_err(io)?;
    if once.is_none() {
        drop(file);
        let found = inspect(&path)?;
        return Ok((path.into_owned(), found));
    }
    // The input can be read only once, but the inspection reads it several times.
    let mut reader = OnceReader::new(file, &path, &options.stop());
    let mut copy = tempfile::NamedTempFile::new().map_err(io)?;
    // The beginning is enough to reject a long input of another format.
    let io = |error| match options.check_cancelled() {
        Ok(()) => io(error),
        Err(cancelled) => cancelled,
    };
    io::copy(&mut reader.by_ref().take(COPIED_FIRST), &mut copy).map_err(io)?;
    let of_copy = |error: Error| error.in_file(&path);
    check(copy.path()).map_err(of_copy)?;
    io::copy(&mut reader, &mut copy).map_err(io)?;
    let found = inspect(copy.path()).map_err(of_copy)?;
    Ok((path.into_owned(), found))
}

/// Reads all of several files and returns the features that fit the records of all of them.
///
/// The features are as exact as those of an [`Inspection`]. A list is dense if it has one length in
/// all files. A sparse dimension is one above the largest index of any file. Numbers are as wide as
/// any file needs. A field that some files lack has a mask. An input that can be read only once is
/// not copied.
///
/// # Errors
/// As [`Files::resolve`] and [`inspect`]; also files whose schemas have no features that fit all.
pub fn inspect_features(
    files: impl Into<Files>,
    options: &InspectOptions,
) -> Result<Vec<Feature>, Error> {
    let files = files.into().looked_up()?;
    let schemas = FileSchemas::read(&files, |_, _| ControlFlow::Continue(()))?;
    let mut inferred = schemas.infer_by(&files.resolve()?, true)?;
    let (features, _) = scan_exact(&files, &schemas, &mut inferred, options)?;
    Ok(features)
}

/// Whether the error may come from a missing end of the file.
fn is_cut_short(error: &Error) -> bool {
    use avro_block::ErrorKind::{Empty, Truncated};
    match &error.kind {
        ErrorKind::Avro(kind) => {
            matches!(**kind, avro::ErrorKind::Container(Truncated { .. } | Empty))
        }
        kind => matches!(kind, ErrorKind::Unpack { .. }),
    }
}

/// Inspects a file that can be read several times.
pub(crate) fn inspect_file(path: &Path, options: &InspectOptions) -> Result<Inspection, Error> {
    let figures = Figures::read(path, options)?;
    let header = &figures.header;
    let schema = parse_by(header.schema(), options.strict).map_err(|error| error.in_file(path))?;
    let mut inferred = infer_all(&schema).map_err(|error| error.in_file(path))?;
    let (features, decompressed_bytes) = if inferred.features.is_empty() {
        (Vec::new(), decompress_all(path, options)?)
    } else {
        scan_file(path, &mut inferred, options)?
    };
    let paths = avro_decode::paths(&schema);
    let paths_truncated = paths.truncated;
    let (paths, sampled) = nulls::count(path, paths, options)?;
    let own = header.metadata().iter();
    let own = own.filter(|(key, _)| !key.starts_with("avro."));
    Ok(Inspection {
        path: path.to_owned(),
        codec: header.codec().name().to_owned(),
        schema_text: header.schema().to_owned(),
        metadata: own
            .map(|(key, value)| (key.clone(), value.to_vec()))
            .collect(),
        packing: figures.packing,
        blocks: figures.blocks,
        records: figures.records,
        file_bytes: figures.file_bytes,
        raw_bytes: figures.raw_bytes,
        decompressed_bytes,
        features,
        binary: inferred.binary,
        rounded: inferred.rounded,
        left_out: inferred.left_out,
        paths,
        paths_truncated,
        sampled,
        notes: [
            &not_by_the_specification(&schema)[..],
            schema.logical_types_not_taken(),
        ]
        .concat(),
        schema,
    })
}

/// The totals that are read from the heads of a file's blocks.
struct Figures {
    header: Header,
    packing: Option<Packing>,
    blocks: u64,
    records: u64,
    file_bytes: u64,
    raw_bytes: u64,
}

impl Figures {
    fn read(path: &Path, options: &InspectOptions) -> Result<Self, Error> {
        let Some(index) = whole_index(path, &options.records())? else {
            return Self::unpack(path, options);
        };
        let entries = &index.entries;
        let bytes = entries.iter().map(|entry| entry.len).sum::<u64>();
        Ok(Figures {
            packing: None,
            blocks: index.len() as u64,
            records: index.records(),
            file_bytes: index.header.len() + bytes + index.trailing_bytes,
            raw_bytes: entries.iter().map(|entry| entry.payload_len).sum(),
            header: index.header,
        })
    }

    /// The totals of a packed file, which has no index.
    fn unpack(path: &Path, options: &InspectOptions) -> Result<Self, Error> {
        let mut blocks = options.blocks(path)?;
        let found = std::fs::metadata(path).map_err(|error| Error::io(error, path))?;
        let mut figures = Figures {
            header: blocks.reader.header().clone(),
            packing: blocks.packing,
            blocks: 0,
            records: 0,
            file_bytes: found.len(),
            raw_bytes: 0,
        };
        for block in &mut blocks {
            options.check_cancelled()?;
            let block = block?;
            figures.blocks += 1;
            figures.records = figures.records.saturating_add(block.count);
            figures.raw_bytes += block.payload.len() as u64;
        }
        Ok(figures)
    }
}

/// The features that fit a file's records, and the decompressed bytes.
fn scan_file(
    path: &Path,
    inferred: &mut Inferred,
    options: &InspectOptions,
) -> Result<(Vec<Feature>, u64), Error> {
    let files = Files::from(path);
    let schemas = FileSchemas::read(&files, |_, _| ControlFlow::Continue(()))?;
    scan_exact(&files, &schemas, inferred, options).map_err(|error| match error.kind {
        ErrorKind::InspectMemory { .. } => error.in_file(path),
        _ => error,
    })
}

/// The features that fit the data, and the decompressed bytes. Decimals beyond int64 become
/// features of their bytes.
fn scan_exact(
    files: &Files,
    schemas: &FileSchemas,
    inferred: &mut Inferred,
    options: &InspectOptions,
) -> Result<(Vec<Feature>, u64), Error> {
    loop {
        let error = match scan(files, schemas, &inferred.features, options) {
            Ok(found) => return Ok(found),
            Err(error) => error,
        };
        let field = match error.kind.avro() {
            Some(avro::ErrorKind::Decode(DecodeErrorKind::DecimalTooLarge { .. })) => {
                &error.place.field
            }
            _ => return Err(error),
        };
        let mut features = inferred.features.iter_mut();
        let is_it = |feature: &&mut Feature| {
            field.as_deref() == Some(feature.expression()) && feature.dtype == DType::Int64
        };
        // The loop ends: each time one decimal feature becomes a string feature.
        let Some(feature) = features.find(is_it) else {
            return Err(error);
        };
        feature.dtype = DType::String;
        inferred.binary.push(feature.name.clone());
    }
}

/// The features that fit the data, and the decompressed bytes.
fn scan(
    files: &Files,
    schemas: &FileSchemas,
    inferred: &[Feature],
    options: &InspectOptions,
) -> Result<(Vec<Feature>, u64), Error> {
    // The row splits of ragged columns give the lengths of lists. The dense shape of sparse columns
    // gives the largest indices.
    let features = inferred.iter().map(|feature| match feature.kind {
        FeatureKind::Varlen { .. } => feature.clone().with_layout(Layout::Ragged),
        _ => feature.clone(),
    });
    let dataset = Dataset::builder(files.clone(), SCAN_BATCH)
        .features(features)
        .schemas(schemas.clone())
        .strict(options.strict)
        .tolerate(options.tolerate)
        .max_block_bytes(options.max_block_bytes)
        .memory_limit(options.memory_limit)
        .max_depth(options.max_depth)
        .build()?;
    let mut batches = dataset.iter();
    let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
    for batch in &mut batches {
        options.check_cancelled()?;
        for (spec, column) in batch.map_err(of_inspecting)?.columns() {
            match seen.get_mut(&spec.name) {
                Some(seen) => seen.add(&column),
                None => drop(seen.insert(spec.name.clone(), Seen::new(&column))),
            }
        }
    }
    let features = inferred
        .iter()
        .map(|feature| match seen.remove(&feature.name) {
            Some(seen) => seen.feature(feature.clone()),
            None => feature.clone(),
        });
    Ok((features.collect(), batches.stats().decompressed_bytes))
}

/// Renames the memory error: the caller did not choose this batch size and cannot make it smaller.
#[cold]
fn of_inspecting(mut error: Error) -> Error {
    if let ErrorKind::MemoryLimit { limit, needed, .. } = error.kind {
        error.kind = ErrorKind::InspectMemory { limit, needed };
    }
    error
}

/// Decompresses all blocks of a file without decoding records; returns the decompressed bytes.
fn decompress_all(path: &Path, options: &InspectOptions) -> Result<u64, Error> {
    let mut blocks = options.blocks(path)?;
    let mut bytes = 0;
    while blocks.decompress_next()? {
        options.check_cancelled()?;
        bytes += blocks.data.len() as u64;
    }
    Ok(bytes)
}
