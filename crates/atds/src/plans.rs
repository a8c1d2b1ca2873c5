//! Plans for the files of a dataset, one per schema.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use avro_block::Header;
use avro_decode::{Features, Inferred, Plan, PlanOptions, Schema};
use tensor_batch::BatchSpec;

use crate::block::FileContext;
use crate::{Error, ErrorKind};

/// Compiles each schema that files bring against the features asked for.
#[derive(Debug)]
pub(crate) struct Plans {
    features: Features,
    options: PlanOptions,
    by_schema: Mutex<HashMap<String, Arc<Plan>>>,
}

impl Plans {
    pub(crate) fn new(features: Features, options: PlanOptions) -> Self {
        Plans {
            features,
            options,
            by_schema: Mutex::default(),
        }
    }

    pub(crate) fn spec(&self) -> &BatchSpec {
        self.features.spec()
    }

    /// What the blocks of the file at `path` need, by its `header`.
    pub(crate) fn context(&self, header: &Header, path: &Path) -> Result<FileContext, Error> {
        let mut plans = self
            .by_schema
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let plan = match plans.get(header.schema()) {
            Some(plan) => plan.clone(),
            None => {
                let plan = Arc::new(self.compile(header).map_err(|e| e.in_file(path))?);
                plans.insert(header.schema().to_owned(), plan.clone());
                plan
            }
        };
        Ok(FileContext {
            path: path.to_owned(),
            codec: header.codec(),
            plan,
            skipper: None,
        })
    }

    fn compile(&self, header: &Header) -> Result<Plan, Error> {
        let schema = Arc::new(parse_schema(header)?);
        Plan::compile(&schema, &self.features, &self.options)
            .map_err(|error| Error::new(ErrorKind::Plan(Box::new(error))))
    }
}

/// The schema in a file's header.
pub(crate) fn parse_schema(header: &Header) -> Result<Schema, Error> {
    Schema::parse(header.schema()).map_err(|error| Error::new(ErrorKind::Schema(error)))
}

/// The features of a schema; an error rather than only some of them.
pub(crate) fn infer_all(schema: &Schema) -> Result<Inferred, Error> {
    let inferred = avro_decode::infer(schema);
    if inferred.truncated {
        let limit = avro_decode::limits::MAX_INFERRED_FIELDS;
        return Err(Error::new(ErrorKind::TooManyFields { limit }));
    }
    Ok(inferred)
}
