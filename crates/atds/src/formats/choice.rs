//! Which format files have, and what each format gives a data set.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use atds_format::{Format, Layout, Location};
use avro_decode::{Inferred, LeftOut, Sampled};
use tensor_batch::BatchSpec;

#[cfg(feature = "btable")]
use super::btable;
#[cfg(feature = "tfrecord")]
use super::tfrecord;
use crate::avro;
use crate::avro::records::RecordOptions;
use crate::avro::schema::FileSchemas;
use crate::features::{Feature, FeatureError, Features};
use crate::source::{OnceInputs, Reading, Stop};
use crate::state::OptionsPrint;
use crate::tolerate::FaultLog;
use crate::{DatasetBuilder, Error, ErrorKind};

/// A format of row files.
///
/// A data set has files of one format. The name of a file tells which, by its ending; the first bytes tell
/// it of a file with another name; a file that has neither is taken for Avro. Option
/// [`format`](DatasetBuilder::format) insists on one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileFormat {
    /// `avro`: Avro container files, `*.avro`.
    Avro,
    /// `btable`: BTable files, `*.btable`.
    #[cfg(feature = "btable")]
    BTable,
    /// `tfrecord`: TFRecord files of `tf.train.Example` or `SequenceExample`, `*.tfrecord` and
    /// `*.tfrecords`, also compressed.
    #[cfg(feature = "tfrecord")]
    TfRecord,
}

/// What a format gives a data set that was asked of it.
pub(crate) struct Chosen {
    pub(crate) format: Arc<dyn Format>,
    pub(crate) log: Arc<FaultLog>,
    /// The columns of the features.
    pub(crate) spec: BatchSpec,
    pub(crate) options_print: OptionsPrint,
    pub(crate) schemas: FileSchemas,
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) sampled: Vec<Sampled>,
}

/// The record counts of a file's blocks.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    /// The sync marker; zeros in formats that have none.
    pub(crate) marker: [u8; 16],
    /// Number of records of each block.
    pub(crate) blocks: Arc<[u64]>,
    /// Where the blocks are; `None` if that is not known, or of a packed file, or if there are bytes after the
    /// last block.
    pub(crate) layout: Option<Layout>,
}

/// The blocks of a file that is counted.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    start: Option<u64>,
    records: Vec<u64>,
    sizes: Vec<u64>,
}

impl Counted {
    /// Adds a block of `records` records, which takes `size` bytes from byte `offset` of the unpacked file on.
    pub(crate) fn push(&mut self, offset: u64, size: u64, records: u64) {
        self.start.get_or_insert(offset);
        self.records.push(records);
        self.sizes.push(size);
    }

    /// The counts of a file with this marker; `is_whole` says whether the blocks are the whole file as it lies
    /// there, after its header.
    pub(crate) fn finish(self, marker: [u8; 16], is_whole: bool) -> Counts {
        let blocks: Arc<[u64]> = self.records.into();
        let start = self.start.filter(|_| is_whole);
        let layout = start.and_then(|start| Layout::new(start, blocks.clone(), self.sizes.into()));
        Counts {
            marker,
            blocks,
            layout,
        }
    }
}

/// A name without the number of a shard at its end: `train.tfrecord` of `train.tfrecord-00000-of-00128`.
pub(crate) fn without_shard(name: &str) -> &str {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let shard = name.rsplit_once("-of-").and_then(|(before, shards)| {
        let (whole, shard) = before.rsplit_once('-')?;
        (is_number(shard) && is_number(shards)).then_some(whole)
    });
    shard.unwrap_or(name)
}

impl FileFormat {
    /// Number of bytes that tell a format. A pipe is not read further, as another program may still write it.
    pub(crate) const HEAD: u64 = 12;

    /// All formats.
    pub const ALL: &[FileFormat] = &[
        FileFormat::Avro,
        #[cfg(feature = "btable")]
        FileFormat::BTable,
        #[cfg(feature = "tfrecord")]
        FileFormat::TfRecord,
    ];

    /// The name, as the option `format` has it.
    pub fn name(self) -> &'static str {
        match self {
            FileFormat::Avro => "avro",
            #[cfg(feature = "btable")]
            FileFormat::BTable => "btable",
            #[cfg(feature = "tfrecord")]
            FileFormat::TfRecord => "tfrecord",
        }
    }

    /// The name in sentences.
    pub fn title(self) -> &'static str {
        match self {
            FileFormat::Avro => "Avro",
            #[cfg(feature = "btable")]
            FileFormat::BTable => "BTable",
            #[cfg(feature = "tfrecord")]
            FileFormat::TfRecord => "TFRecord",
        }
    }

    /// The endings of the names of files.
    pub fn suffixes(self) -> &'static [&'static str] {
        match self {
            FileFormat::Avro => &[".avro"],
            #[cfg(feature = "btable")]
            FileFormat::BTable => &[".btable", ".btable.gz", ".btable.zst"],
            #[cfg(feature = "tfrecord")]
            FileFormat::TfRecord => &[
                ".tfrecord",
                ".tfrecords",
                ".tfrecord.gz",
                ".tfrecords.gz",
                ".tfrecord.zlib",
                ".tfrecords.zlib",
            ],
        }
    }

    /// The format that the name of a file tells. A suffix for a packing counts as part of the name only
    /// where it is a suffix of the format.
    pub fn of_name(path: &Path) -> Option<FileFormat> {
        let name = path.file_name()?.to_string_lossy();
        Self::ALL
            .iter()
            .copied()
            .find(|format| format.has_name(&name))
    }

    /// Whether a file of this name is of the format: its ending tells it, before the number of a shard
    /// as in `train.tfrecord-00000-of-00128`.
    pub(crate) fn has_name(self, name: &str) -> bool {
        let name = without_shard(name);
        self.suffixes().iter().any(|end| name.ends_with(end))
    }

    /// The format that the first bytes of a file, unpacked, tell.
    pub(crate) fn of_head(head: &[u8]) -> Option<FileFormat> {
        let is_of = |format: &FileFormat| match format {
            FileFormat::Avro => head.starts_with(&avro_block::MAGIC),
            #[cfg(feature = "btable")]
            FileFormat::BTable => btable::is_table(head),
            #[cfg(feature = "tfrecord")]
            FileFormat::TfRecord => atds_tfrecord::begins_record(head),
        };
        Self::ALL.iter().copied().find(is_of)
    }

    /// The format that the content of a file tells.
    fn of_content(path: &Path, inputs: &OnceInputs) -> Result<Option<FileFormat>, Error> {
        let reading = match inputs.begin(path)? {
            Some(stream) => stream.reading(),
            None => Reading::open(path, &Stop::default()),
        };
        let reading = reading.map_err(|error| Error::io(error, path))?;
        inputs.packed.note(path, reading.packing);
        let mut head = Vec::new();
        let read = reading.reader.take(Self::HEAD).read_to_end(&mut head);
        // A file that cannot be read is an error when its turn comes.
        Ok(read.ok().and_then(|_| Self::of_head(&head)))
    }

    /// The format of the files of a data set, of which there is one at least.
    ///
    /// # Errors
    /// The names tell two formats, or the first file cannot be opened.
    pub(crate) fn of_files(files: &[PathBuf], inputs: &OnceInputs) -> Result<FileFormat, Error> {
        let mut named = files
            .iter()
            .filter_map(|path| Some((Self::of_name(path)?, path.as_path())));
        let Some((format, first)) = named.next() else {
            return Ok(Self::of_content(&files[0], inputs)?.unwrap_or(FileFormat::Avro));
        };
        match named.find(|(other, _)| *other != format) {
            Some(other) => Err(two((format, first), other)),
            None => Ok(format),
        }
    }

    /// What this format gives a data set of `files` with the options of `builder`.
    ///
    /// # Errors
    /// As [`DatasetBuilder::build`].
    pub(crate) fn choose(
        self,
        builder: &DatasetBuilder,
        files: &[PathBuf],
        inputs: &OnceInputs,
    ) -> Result<Chosen, Error> {
        match self {
            FileFormat::Avro => avro::build::choose(builder, files, inputs),
            #[cfg(feature = "btable")]
            FileFormat::BTable => btable::build::choose(builder, files, inputs),
            #[cfg(feature = "tfrecord")]
            FileFormat::TfRecord => tfrecord::build::choose(builder, files, inputs),
        }
    }

    /// As [`DatasetBuilder::infer`].
    pub(crate) fn infer(
        self,
        builder: &DatasetBuilder,
        files: &[PathBuf],
        inputs: &OnceInputs,
    ) -> Result<Inferred, Error> {
        match self {
            FileFormat::Avro => avro::build::infer(builder, files, inputs),
            #[cfg(feature = "btable")]
            FileFormat::BTable => btable::build::infer(files, inputs),
            #[cfg(feature = "tfrecord")]
            FileFormat::TfRecord => tfrecord::build::infer(builder, files, inputs),
        }
    }

    /// Reads what is at the start of a file.
    ///
    /// # Errors
    /// The file cannot be opened, or does not begin as files of the format do.
    pub(crate) fn check_start(self, path: &Path, inputs: &OnceInputs) -> Result<(), Error> {
        match self {
            FileFormat::Avro => avro::file_blocks::read_header(path, inputs).map(drop),
            #[cfg(feature = "btable")]
            FileFormat::BTable => btable::build::read_labels(path, inputs).map(drop),
            #[cfg(feature = "tfrecord")]
            FileFormat::TfRecord => tfrecord::build::check_start(path, inputs),
        }
    }

    /// The sync marker of a file; zeros in formats that have none.
    ///
    /// # Errors
    /// As [`check_start`](Self::check_start).
    pub(crate) fn marker(self, path: &Path) -> Result<[u8; 16], Error> {
        match self {
            FileFormat::Avro => {
                let header = avro::file_blocks::read_header(path, &OnceInputs::default())?;
                Ok(header.sync().0)
            }
            #[cfg(feature = "btable")]
            FileFormat::BTable => Ok([0; 16]),
            #[cfg(feature = "tfrecord")]
            FileFormat::TfRecord => Ok([0; 16]),
        }
    }

    /// Checks features for files of this format, as far as that is possible without a file, and assigns
    /// their columns.
    ///
    /// ```
    /// use atds::{Feature, FileFormat, tensors::DType};
    ///
    /// let features = FileFormat::Avro.features(vec![Feature::dense("age", &[], DType::Int32)])?;
    /// assert_eq!(features.spec().columns()[0].name, "age");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Features::new`] and, for Avro, [`Features::check_names`].
    pub fn features(self, features: Vec<Feature>) -> Result<Features, FeatureError> {
        match self {
            FileFormat::Avro => {
                let features = Features::new(features)?;
                features.check_names()?;
                Ok(features)
            }
            #[cfg(feature = "btable")]
            FileFormat::BTable => Features::new(features),
            #[cfg(feature = "tfrecord")]
            FileFormat::TfRecord => {
                Features::new(features.into_iter().map(atds_tfrecord::with_dimensions))
            }
        }
    }

    /// Counts the records of a file.
    ///
    /// # Errors
    /// The file cannot be read, or its framing is damaged.
    pub(crate) fn count(self, path: &Path, options: &RecordOptions) -> Result<Counts, Error> {
        match self {
            FileFormat::Avro => avro::file_blocks::block_counts(path, options),
            #[cfg(feature = "btable")]
            FileFormat::BTable => btable::build::count(path, options),
            #[cfg(feature = "tfrecord")]
            FileFormat::TfRecord => tfrecord::build::count(path, options),
        }
    }
}

/// What the option `format` must be.
const MUST: &str = if cfg!(all(feature = "btable", feature = "tfrecord")) {
    "avro, btable or tfrecord"
} else if cfg!(feature = "btable") {
    "avro or btable"
} else if cfg!(feature = "tfrecord") {
    "avro or tfrecord"
} else {
    "avro"
};

impl FromStr for FileFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let mut all = Self::ALL.iter().copied();
        let found = all.find(|format| format.name() == name);
        found.ok_or_else(|| Error::option("format", MUST))
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cold]
fn two(first: (FileFormat, &Path), other: (FileFormat, &Path)) -> Error {
    let (other, path) = other;
    let first = (first.0, first.1.to_owned());
    Error::new(ErrorKind::TwoFormats { first, other }).in_file(path)
}

/// An error of a file of a data set whose files are of `format`: that there are two formats, if the content
/// of the file tells another one than the other files have.
#[cold]
pub(crate) fn two_formats(
    error: Error,
    format: FileFormat,
    files: &[PathBuf],
    inputs: &OnceInputs,
) -> Error {
    let is_fault = match &error.kind {
        ErrorKind::Avro(_) | ErrorKind::Format(_) => true,
        #[cfg(feature = "btable")]
        ErrorKind::BTable(_) => true,
        _ => false,
    };
    let path = error.place.location.as_ref().and_then(Location::path);
    // A file without a header begins with a block.
    let is_at_start = error.place.block.is_none_or(|block| block == 0);
    let (true, Some(path)) = (is_fault && is_at_start, path) else {
        return error;
    };
    let Some(first) = files.iter().find(|file| *file != path) else {
        return error;
    };
    if inputs.has(path) {
        return error;
    }
    match FileFormat::of_content(path, inputs) {
        Ok(Some(other)) if other != format => two((format, first), (other, path)),
        _ => error,
    }
}
