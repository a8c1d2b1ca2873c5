//! Plans for the files of a dataset, one per schema.

use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use atds_features::{Feature, Features};
use avro_decode::limits::MAX_DEVIATIONS;
use avro_decode::{Absent, Meanings, Plan, PlanError, PlanOptions, Schema, SchemaError, Skipper};
use tensor_batch::BatchSpec;

use crate::avro::schema::FileSchemas;
use crate::interface::quoted;
use crate::limits::MAX_SCHEMA_BYTES;
use crate::lock::lock;
use crate::{Error, avro};

/// Compiles the features against each schema of the files.
#[derive(Debug)]
pub(crate) struct Plans {
    features: Features,
    options: PlanOptions,
    /// The level at which a field that a file lacks is logged.
    lacking: log::Level,
    /// Whether the schemas of files must follow the specification.
    strict: bool,
    known: Mutex<Known>,
}

/// What decodes the records of one schema.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) plan: Plan,
    /// Finds the ends of records that are not read.
    pub(crate) skipper: Skipper,
}

/// The schemas so far.
#[derive(Debug, Default)]
struct Known {
    by_schema: HashMap<String, Arc<Compiled>>,
    /// Size of the schemas in bytes.
    bytes: usize,
    /// The first file that the features fit.
    first: Option<PathBuf>,
    /// The expressions whose values no schema has, each with a file.
    absent: Vec<(Absent, PathBuf)>,
    /// The expressions that were logged as missing in a file.
    logged: HashSet<(String, String)>,
    /// The meanings of the columns.
    meanings: Meanings,
}

impl Plans {
    pub(crate) fn new(
        features: Features,
        options: PlanOptions,
        lacking: log::Level,
        strict: bool,
    ) -> Self {
        let known = Known {
            meanings: meanings_of_reader(&features, &options),
            ..Known::default()
        };
        Plans {
            features,
            options,
            lacking,
            strict,
            known: Mutex::new(known),
        }
    }

    pub(crate) fn spec(&self) -> &BatchSpec {
        self.features.spec()
    }

    /// Checks the features against all `schemas`. Returns the schemas that add to the meanings of
    /// columns. Another process that gets these has the same columns.
    ///
    /// # Errors
    /// The first file that the features do not fit, or that cannot be read.
    pub(crate) fn check(
        &self,
        schemas: &FileSchemas,
        files: &[PathBuf],
    ) -> Result<FileSchemas, Error> {
        let mut telling = Vec::new();
        for (number, (file, text)) in schemas.texts(files).enumerate() {
            let text = text?;
            let compiled = self.compile(&text, &files[file]);
            let found_later = |error| self.found_later(error, schemas, number, files);
            let (_, tells) = compiled.map_err(found_later)?;
            if tells {
                telling.push((file, text));
            }
        }
        match &schemas.fault {
            Some(fault) => Err(fault.clone()),
            None => Ok(telling.into_iter().collect()),
        }
    }

    /// Whether no schema so far has an expression's values, or defines their meaning.
    pub(crate) fn lacks_any(&self) -> bool {
        let known = lock(&self.known);
        !known.absent.is_empty() || !known.meanings.cover(&self.features)
    }

    /// An error if no schema has an expression's values.
    pub(crate) fn check_found(&self) -> Result<(), Error> {
        match lock(&self.known).absent.first() {
            Some((absent, file)) => Err(missing_everywhere(absent).in_file(file)),
            None => Ok(()),
        }
    }

    /// What decodes the records of a file, which have this schema, and whether the schema adds to the
    /// meanings of columns.
    pub(crate) fn compile(
        &self,
        schema: &str,
        file: &Path,
    ) -> Result<(Arc<Compiled>, bool), Error> {
        let known = &mut *lock(&self.known);
        if let Some(compiled) = known.by_schema.get(schema) {
            return Ok((compiled.clone(), false));
        }
        let is_first = known.first.is_none();
        let (absent, meanings) = (known.absent.len(), known.meanings.len());
        let parsed = parse_by(schema, self.strict).map_err(|error| error.in_file(file))?;
        let options = options_for(&self.options, &known.meanings, quoted(file.display()));
        let skipper = Skipper::with_max_depth(&parsed, self.options.decode.max_depth);
        let plan = Plan::compile(&Arc::new(parsed), &self.features, &options);
        let plan = plan.map_err(|error| self.refused(known, error).in_file(file))?;
        known.meanings = plan.meanings().clone();
        for absent in plan.absent() {
            let key = (absent.error.feature.clone(), absent.expression.clone());
            if known.logged.insert(key) {
                let told = format!("{}; its values are missing there", absent.error);
                log::log!(self.lacking, "{}: {told}", file.display());
            }
        }
        known.note(&plan, file);
        if known.bytes.saturating_add(schema.len()) > MAX_SCHEMA_BYTES {
            known.by_schema.clear();
            known.bytes = 0;
        }
        known.bytes += schema.len();
        let compiled = Arc::new(Compiled { plan, skipper });
        known.by_schema.insert(schema.to_owned(), compiled.clone());
        let tells = is_first || known.absent.len() < absent || known.meanings.len() > meanings;
        Ok((compiled, tells))
    }

    /// The error of features that do not fit a file's schema.
    #[cold]
    fn refused(&self, known: &Known, error: PlanError) -> Error {
        match &known.first {
            Some(first) if may_be_covered(&error, &self.features) => {
                Error::new(missing(&error, Some(first)))
            }
            _ => Error::new(avro::ErrorKind::Plan(Box::new(error))),
        }
    }

    /// The error of the first file, with the name of a later file that has the missing field.
    #[cold]
    fn found_later(
        &self,
        error: Error,
        schemas: &FileSchemas,
        number: usize,
        files: &[PathBuf],
    ) -> Error {
        let Some(avro::ErrorKind::Plan(lacking)) = error.kind.avro() else {
            return error;
        };
        if !may_be_covered(lacking, &self.features) {
            return error;
        }
        let later = schemas.texts(files).skip(number + 1).take(TRIED_LATER);
        for (file, text) in later {
            if text.is_ok_and(|text| self.compile(&text, &files[file]).is_ok()) {
                let kind = missing(lacking, Some(&files[file])).into();
                return Error { kind, ..error };
            }
        }
        error
    }
}

/// Whether a default or a mask of the feature would prevent the error.
pub(crate) fn may_be_covered(error: &PlanError, features: &Features) -> bool {
    let mut features = features.iter();
    let feature = features.find(|feature| feature.name == error.feature);
    let has_nothing = |feature: &Feature| {
        let missing = &feature.missing;
        missing.default.is_none() && missing.mask.is_none() && missing.row_mask.is_none()
    };
    error.is_absent() && feature.is_some_and(has_nothing)
}

/// Maximum number of schemas that are searched for a field.
const TRIED_LATER: usize = 64;

impl Known {
    /// Records the fields and meanings of a plan.
    fn note(&mut self, plan: &Plan, file: &Path) {
        let absent = plan.absent();
        if self.first.is_none() {
            self.first = Some(file.to_owned());
            let absent = absent.iter().cloned();
            self.absent = absent.map(|one| (one, file.to_owned())).collect();
            return;
        }
        self.absent.retain_mut(|(before, first)| {
            let Some(now) = absent.iter().find(|now| now.is_same(before)) else {
                return false;
            };
            // Only this file may have the name that was meant.
            if before.error.nearest().is_none() && now.error.nearest().is_some() {
                before.clone_from(now);
                *first = file.to_owned();
            }
            true
        });
    }
}

/// The error for an expression whose values no schema has.
#[cold]
pub(crate) fn missing_everywhere(absent: &Absent) -> Error {
    Error::new(missing(&absent.error, None))
}

/// The error of a field that a schema lacks, and the file that has it, if one has.
#[cold]
fn missing(error: &PlanError, found_in: Option<&Path>) -> avro::ErrorKind {
    avro::ErrorKind::MissingField {
        error: Box::new(error.clone()),
        found_in: found_in.map(|file| quoted(file.display())),
    }
}

/// The meanings of columns in the reader's schema; empty without one.
pub(crate) fn meanings_of_reader(features: &Features, options: &PlanOptions) -> Meanings {
    let Some(reader) = &options.reader_schema else {
        return Meanings::default();
    };
    let mut of_reader = options_for(options, &Meanings::default(), "the reader's schema");
    of_reader.reader_schema = None;
    // The first file raises errors of the features.
    match Plan::compile(reader, features, &of_reader) {
        Ok(plan) => plan.meanings().clone(),
        Err(_) => Meanings::default(),
    }
}

/// The options for the schema of `origin`, with the `meanings` of columns in earlier schemas.
pub(crate) fn options_for(
    options: &PlanOptions,
    meanings: &Meanings,
    origin: impl Display,
) -> PlanOptions {
    let mut options = options.clone();
    options.meanings = meanings.clone();
    options.origin = Some(origin.to_string().into());
    options
}

/// The schema of a file; with `strict` it must follow the specification.
pub(crate) fn parse_by(text: &str, strict: bool) -> Result<Schema, Error> {
    let schema = parse_text(text)?;
    if strict && let Some(fault) = not_by_the_specification(&schema).into_iter().next() {
        return Err(Error::new(avro::ErrorKind::Schema(fault)));
    }
    Ok(schema)
}

/// The first [`MAX_DEVIATIONS`] names, attributes and defaults of a schema that break the
/// specification.
pub(crate) fn not_by_the_specification(schema: &Schema) -> Vec<SchemaError> {
    let defaults = schema.check_defaults().err().unwrap_or_default();
    let all = schema.deviations().iter().cloned().chain(defaults);
    all.take(MAX_DEVIATIONS).collect()
}

/// The schema of a header's text.
pub(crate) fn parse_text(text: &str) -> Result<Schema, Error> {
    Schema::parse_lenient(text).map_err(|error| Error::new(avro::ErrorKind::Schema(error)))
}
