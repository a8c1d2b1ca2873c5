//! What Avro gives a data set: the features compiled against the schemas of its files.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use atds_features::{Feature, Features};
use avro_decode::{Inferred, PlanOptions};

use crate::DatasetBuilder;
use crate::Error;
use crate::avro::file_blocks::read_header;
use crate::avro::inference::{infer_features, inference_warnings};
use crate::avro::plans::Plans;
use crate::avro::schema::FileSchemas;
use crate::avro::{SampleOptions, sample_lengths};
use crate::formats::Chosen;
use crate::formats::avro::AvroFormat;
use crate::formats::avro::buffers::BufferPool;
use crate::source::OnceInputs;
use crate::state::OptionsPrint;
use crate::tolerate::FaultLog;

/// Reads the headers of the files, and compiles the features against each distinct schema.
///
/// # Errors
/// As [`DatasetBuilder::build`].
pub(crate) fn choose(
    builder: &DatasetBuilder,
    files: &[PathBuf],
    inputs: &OnceInputs,
) -> Result<Chosen, Error> {
    let schemas = read_schemas(builder, files, inputs);
    let inferred = match &builder.features {
        Some(_) => Inferred::default(),
        None => infer_from(builder, files, inputs, &schemas)?,
    };
    builder.check_packed(inputs)?;
    for warning in inference_warnings(&inferred) {
        log::warn!("{warning}");
    }
    let (plan, reading) = (plan(builder), builder.run.reading);
    let features = builder.features.clone().unwrap_or(inferred.features);
    let options_print = OptionsPrint::new(&features, &plan, &reading);
    let layout = |feature: Feature| match builder.layout {
        Some(layout) => feature.with_layout(layout),
        None => feature,
    };
    let features = Features::new(features.into_iter().map(layout))?;
    let were_checked = schemas.were_checked;
    let level = match (were_checked, builder.check_files) {
        (true, _) => log::Level::Debug,
        (false, true) => log::Level::Info,
        (false, false) => log::Level::Warn,
    };
    let plans = Plans::new(features, plan, level, reading.strict);
    let mut schemas = plans.check(&schemas, files)?;
    if !builder.check_files && !were_checked {
        look_further(builder, &plans, &mut schemas, files, inputs);
    }
    // An input that is read only once may have fields that the files lack.
    let all_read = || files.iter().skip(1).all(|file| !inputs.has(file));
    if plans.lacks_any() && all_read() {
        plans.check_found()?;
    }
    let log = Arc::new(FaultLog::default());
    let pipeline = &builder.run.pipeline;
    Ok(Chosen {
        spec: plans.spec().clone(),
        format: Arc::new(AvroFormat {
            plans: Arc::new(plans),
            reading,
            buffers: Arc::new(BufferPool::new(
                pipeline.memory_limit,
                pipeline.is_shuffled(),
            )),
            log: log.clone(),
            last_decoder: Arc::default(),
        }),
        log,
        options_print,
        schemas,
        left_out: inferred.left_out,
        sampled: [builder.sampled.clone(), inferred.sampled].concat(),
    })
}

/// The features of the reader's schema, or else of the files' schemas.
///
/// # Errors
/// As [`FileSchemas::infer`].
pub(crate) fn infer(
    builder: &DatasetBuilder,
    files: &[PathBuf],
    inputs: &OnceInputs,
) -> Result<Inferred, Error> {
    let schemas = read_schemas(builder, files, inputs);
    infer_from(builder, files, inputs, &schemas)
}

fn infer_from(
    builder: &DatasetBuilder,
    files: &[PathBuf],
    inputs: &OnceInputs,
    schemas: &FileSchemas,
) -> Result<Inferred, Error> {
    let mut inferred = match &builder.plan.reader_schema {
        Some(reader) => infer_features(reader)?,
        None => schemas.infer(files)?,
    };
    let options = SampleOptions {
        records: builder.sample_records,
        plan: &plan(builder),
        reading: builder.run.reading,
        memory_limit: builder.run.pipeline.memory_limit,
        inputs,
    };
    sample_lengths(&mut inferred, files, &options);
    Ok(inferred)
}

/// The options of plans.
fn plan(builder: &DatasetBuilder) -> PlanOptions {
    let mut plan = builder.plan.clone();
    plan.decode = builder.run.reading.decode();
    plan
}

/// The schemas of all files, or of the first alone if they are not checked.
fn read_schemas(builder: &DatasetBuilder, files: &[PathBuf], inputs: &OnceInputs) -> FileSchemas {
    match &builder.schemas {
        Some(schemas) => schemas.clone(),
        None if builder.check_files => FileSchemas::read_all(files, inputs, &*builder.on_check),
        None => FileSchemas::read_all(&files[..1], inputs, |_, _| ControlFlow::Continue(())),
    }
}

/// Reads headers after the first file's until each field of the features is found, so that the
/// meaning of a column does not depend on the file that is opened first. A faulty file is skipped:
/// opening it raises the error.
fn look_further(
    builder: &DatasetBuilder,
    plans: &Plans,
    schemas: &mut FileSchemas,
    files: &[PathBuf],
    inputs: &OnceInputs,
) {
    for (number, file) in files.iter().enumerate().skip(1) {
        if !plans.lacks_any() || (builder.on_check)(number, files.len()).is_break() {
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
