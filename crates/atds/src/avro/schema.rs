//! Avro schemas: of the records of files and messages, and those that a reader gives. Of files, the schema
//! in each header is read once.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use atds_pipeline::Progress;
use avro_block::Header;
use avro_decode::{Inferred, infer};
#[doc(inline)]
pub use avro_decode::{Schema, SchemaError, SchemaPath, SchemaPaths, paths};

use crate::avro::file_blocks::read_header;
use crate::avro::inference::{Merged, infer_features};
use crate::avro::plans::parse_text;
use crate::formats::FileFormat;
use crate::limits::{HEADER_THREADS, MAX_SCHEMA_BYTES};
use crate::lock::lock;
use crate::source::OnceInputs;
use crate::{Error, ErrorKind, Files};

/// The schemas in the headers of files, each distinct one once, in the order of
/// the files.
///
/// A [`Dataset`](crate::Dataset) reads them when it is built, and compiles the
/// features against each. Another process that builds a data set of the same
/// files needs only the schemas of [`Dataset::schemas`](crate::Dataset::schemas),
/// see [`DatasetBuilder::schemas`](crate::DatasetBuilder::schemas).
#[derive(Clone, Default)]
pub struct FileSchemas {
    schemas: Vec<FileSchema>,
    /// The error of the first file whose header cannot be read. Later files are not read.
    pub(crate) fault: Option<Error>,
    /// Whether a data set was built with these schemas before.
    pub(crate) were_checked: bool,
}

/// A schema, and the first of the files that have it.
#[derive(Clone, Debug)]
struct FileSchema {
    file: usize,
    /// The text; `None` beyond [`MAX_SCHEMA_BYTES`], and the file is then read again.
    text: Option<Arc<str>>,
}

impl fmt::Debug for FileSchemas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (schemas, fault) = (self.schemas.len(), &self.fault);
        write!(f, "FileSchemas {{ schemas: {schemas}, fault: {fault:?} }}")
    }
}

impl FileSchemas {
    /// Looks up `files`, and reads their headers on several threads. `on_check` is called after
    /// each file, from any of the threads, with the number of files read and the number of all
    /// files. It can stop reading.
    ///
    /// A file that cannot be read, or is not Avro, is no error here. Building a data set raises the
    /// error, after the check of earlier files.
    ///
    /// Files of another format have no schemas.
    ///
    /// # Errors
    /// As [`Files::resolve`]; files of two formats.
    pub fn read(
        files: &Files,
        on_check: impl Fn(usize, usize) -> ControlFlow<()> + Sync,
    ) -> Result<FileSchemas, Error> {
        let found = files.look_up()?;
        if files.format_of(&found)? != FileFormat::Avro {
            return Ok(FileSchemas::default());
        }
        Ok(Self::read_all(&found, files.inputs(), on_check))
    }

    /// Reads the header of the first file only.
    ///
    /// # Errors
    /// As [`read`](FileSchemas::read).
    pub fn read_first(files: &Files) -> Result<FileSchemas, Error> {
        let found = files.look_up()?;
        let first = &found[..1];
        if files.format_of(&found)? != FileFormat::Avro {
            return Ok(FileSchemas::default());
        }
        Ok(Self::read_all(first, files.inputs(), |_, _| {
            ControlFlow::Continue(())
        }))
    }

    /// Reads the headers of files that were looked up.
    pub(crate) fn read_all(
        files: &[PathBuf],
        inputs: &OnceInputs,
        on_check: impl Fn(usize, usize) -> ControlFlow<()> + Sync,
    ) -> FileSchemas {
        let (found, hasher) = (Mutex::new(Found::default()), RandomState::new());
        let next = || lock(&found).next(files);
        let read = || {
            while let Some((file, path)) = next() {
                // Pipes and other special files are not waited for; they are checked when they are
                // opened. The first file is always read, because it determines the columns.
                let once = inputs.has(path);
                let header = (file == 0 || !once).then(|| read_header(path, inputs));
                let header = header.map(|header| {
                    let hashed = |header: Header| (hasher.hash_one(header.schema()), header);
                    header.map(hashed)
                });
                // An input that can be read only once cannot be read again for its schema.
                let checked = lock(&found).add(file, header, file == 0 || once, files.len());
                if on_check(checked, files.len()).is_break() {
                    lock(&found).fault = Some((0, stopped()));
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..files.len().min(HEADER_THREADS) {
                // Fewer threads also suffice.
                let thread = thread::Builder::new().name("atds-headers".to_owned());
                if thread.spawn_scoped(scope, read).is_err() {
                    break;
                }
            }
            read();
        });
        let found = found.into_inner();
        found.unwrap_or_else(PoisonError::into_inner).finish()
    }

    /// Each schema's text, after the number of the first file that has it, counted
    /// from 0.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        let schemas = self.schemas.iter();
        schemas.filter_map(|schema| Some((schema.file, schema.text.as_deref()?)))
    }

    /// The features of the first file's schema, as [`infer`] has
    /// them, with a mask where another file's schema allows a null or lacks the
    /// field, and numbers as wide as another file needs. Logs a warning of the
    /// fields that only other files have.
    ///
    /// # Errors
    /// A header that cannot be read, an invalid schema, a schema with too many fields, or one
    /// without features.
    pub fn infer(&self, files: &[PathBuf]) -> Result<Inferred, Error> {
        self.infer_by(files, false)
    }

    /// As [`infer`](Self::infer); with `takes_later` with a feature for each field of any file. Fields that
    /// the first file lacks come last, and have a mask.
    pub(crate) fn infer_by(&self, files: &[PathBuf], takes_later: bool) -> Result<Inferred, Error> {
        let mut texts = self.texts(files);
        let Some((first, text)) = texts.next() else {
            let fault = self.fault.clone();
            return Err(fault.unwrap_or_else(|| Error::new(ErrorKind::NoFiles)));
        };
        let schema = text.and_then(|text| parse_text(&text));
        let inferred = schema.and_then(|schema| infer_features(&schema));
        let inferred = inferred.map_err(|error| error.in_file(&files[first]))?;
        let mut merged = Merged::new(inferred, takes_later);
        for (file, text) in texts {
            // The check of the features finds faults of other files.
            if let Ok(schema) = text.and_then(|text| parse_text(&text)) {
                merged.add(&infer(&schema), file);
            }
        }
        Ok(merged.finish(files))
    }

    /// The schemas with the numbers of their files; large schemas that were not kept are read
    /// again.
    pub(crate) fn texts<'s>(
        &'s self,
        files: &'s [PathBuf],
    ) -> impl Iterator<Item = (usize, Result<Arc<str>, Error>)> + 's {
        self.schemas.iter().map(|schema| {
            let text = match &schema.text {
                Some(text) => Ok(text.clone()),
                None => read_header(&files[schema.file], &OnceInputs::default())
                    .map(|header| header.schema().into()),
            };
            (schema.file, text)
        })
    }

    pub(crate) fn push(&mut self, file: usize, text: &str) {
        let text = Some(text.into());
        self.schemas.push(FileSchema { file, text });
    }
}

impl FromIterator<(usize, Arc<str>)> for FileSchemas {
    /// The schemas of a data set that was built before, each with the number of its
    /// file.
    fn from_iter<I: IntoIterator<Item = (usize, Arc<str>)>>(schemas: I) -> Self {
        let with_text = |(file, text)| FileSchema {
            file,
            text: Some(text),
        };
        FileSchemas {
            schemas: schemas.into_iter().map(with_text).collect(),
            fault: None,
            were_checked: true,
        }
    }
}

/// What threads that read headers have found.
#[derive(Default)]
struct Found {
    /// The file to be read next.
    next: usize,
    /// Number of files that were read.
    checked: usize,
    /// The time of the last progress message in the log, or of the first file.
    progress: Option<Progress>,
    /// The schemas by the hashes of their texts. A collision of hashes is as unlikely as a hardware
    /// fault. The second schema would then be checked when its file is opened.
    schemas: HashMap<u64, FileSchema>,
    /// Bytes of the texts.
    bytes: usize,
    /// The first faulty file; the first file of all, if the caller has stopped.
    fault: Option<(usize, Error)>,
}

impl Found {
    /// The file to be read next. Files are taken in order, so all files before the first faulty one are
    /// read.
    fn next<'f>(&mut self, files: &'f [PathBuf]) -> Option<(usize, &'f PathBuf)> {
        let file = self.next;
        self.next += 1;
        let is_late = self.fault.as_ref().is_some_and(|fault| file > fault.0);
        Some((file, files.get(file).filter(|_| !is_late)?))
    }

    /// Adds the schema of a file, after its hash. The text is kept if it `must` be, or if there is memory
    /// for it. Returns the number of files that were read, of `total`.
    fn add(
        &mut self,
        file: usize,
        header: Option<Result<(u64, Header), Error>>,
        must: bool,
        total: usize,
    ) -> usize {
        match header {
            Some(Ok((hash, header))) => {
                let text = header.schema();
                let known = self.schemas.entry(hash).or_insert_with(|| {
                    self.bytes = self.bytes.saturating_add(text.len());
                    let text = (self.bytes <= MAX_SCHEMA_BYTES).then(|| text.into());
                    FileSchema { file, text }
                });
                known.file = known.file.min(file);
                if must {
                    known.text.get_or_insert_with(|| text.into());
                }
            }
            Some(Err(error)) if self.fault.as_ref().is_none_or(|fault| file < fault.0) => {
                self.fault = Some((file, error));
            }
            _ => {}
        }
        self.checked += 1;
        let progress = self.progress.get_or_insert_default();
        progress.note(self.checked as u64, total as u64, || {
            format!("read the headers of {} of {total} files", self.checked)
        });
        self.checked
    }

    fn finish(self) -> FileSchemas {
        let before = self.fault.as_ref().map_or(usize::MAX, |(file, _)| *file);
        let mut schemas: Vec<_> = self.schemas.into_values().collect();
        schemas.retain(|schema| schema.file < before);
        schemas.sort_by_key(|schema| schema.file);
        FileSchemas {
            schemas,
            fault: self.fault.map(|(_, error)| error),
            were_checked: false,
        }
    }
}

#[cold]
fn stopped() -> Error {
    let error = std::io::Error::new(std::io::ErrorKind::Interrupted, "stopped");
    Error::new(ErrorKind::Io(Arc::new(error)))
}
