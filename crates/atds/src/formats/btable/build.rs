//! What BTables give a data set: the features compiled against the labels of its files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use atds_btable::{Frame, Framer, RowReader};
use atds_features::{Feature, Features};
use avro_decode::Inferred;
use tensor_batch::DType;

use super::{BLOCK_BYTES, BTableError, BTableFormat, Request, framing};
use crate::avro::records::RecordOptions;
use crate::formats::{Chosen, Counted, Counts};
use crate::source::{OnceInputs, Packing, Reading, Stop};
use crate::state::OptionsPrint;
use crate::{DatasetBuilder, Error};

/// Reads the header of the first file, of all files if they are checked, and compiles the features against
/// their labels.
///
/// # Errors
/// As [`DatasetBuilder::build`].
pub(crate) fn choose(
    builder: &DatasetBuilder,
    files: &[PathBuf],
    inputs: &OnceInputs,
) -> Result<Chosen, Error> {
    let must = "left out: BTables have no schemas";
    Error::check(builder.plan.reader_schema.is_none(), "reader_schema", must)?;
    let labels = read_labels(&files[0], inputs)?;
    let features = match &builder.features {
        Some(features) => features.clone(),
        None => inferred(&labels),
    };
    let options_print = OptionsPrint::new(&features, &builder.plan, &builder.run.reading);
    let layout = |feature: Feature| match builder.layout {
        Some(layout) => feature.with_layout(layout),
        None => feature,
    };
    let features = Features::new(features.into_iter().map(layout))?;
    let request = Request::new(features, labels);
    let request = request.map_err(|error| of_file(error, &files[0]))?;
    if builder.check_files {
        for (number, file) in files.iter().enumerate().skip(1) {
            if (builder.on_check)(number, files.len()).is_break() {
                break;
            }
            // What a pipe has is known when its turn comes.
            if !inputs.has(file) {
                let plan = request.plan(&read_labels(file, inputs)?);
                plan.map_err(|error| of_file(error, file))?;
            }
        }
    }
    builder.check_packed(inputs)?;
    Ok(Chosen {
        spec: request.spec().clone(),
        format: Arc::new(BTableFormat {
            request: Arc::new(request),
            block_bytes: BLOCK_BYTES,
        }),
        log: Arc::default(),
        options_print,
        schemas: Default::default(),
        left_out: Vec::new(),
        sampled: Vec::new(),
    })
}

/// The features of a table by default: all columns as one sparse feature.
///
/// # Errors
/// The first file cannot be read, or does not begin as a table does.
pub(crate) fn infer(files: &[PathBuf], inputs: &OnceInputs) -> Result<Inferred, Error> {
    let mut found = Inferred::default();
    found.features = inferred(&read_labels(&files[0], inputs)?);
    Ok(found)
}

pub(crate) fn inferred(labels: &[String]) -> Vec<Feature> {
    let shape = labels.len() as i64;
    vec![Feature::sparse("x", &[shape], DType::Float64).at("@")]
}

/// Reads the labels of the file at `path`, and little more.
///
/// # Errors
/// The file cannot be read, or does not begin as a table does.
pub(crate) fn read_labels(path: &Path, inputs: &OnceInputs) -> Result<Arc<[String]>, Error> {
    let reading = match inputs.begin(path)? {
        Some(stream) => stream.reading(),
        None => Reading::open(path, &Stop::default()),
    };
    let reading = reading.map_err(|error| Error::io(error, path))?;
    inputs.packed.note(path, reading.packing);
    let table = RowReader::new(reading.reader);
    let table = table.map_err(|error| in_file(framing(error, 0), path, reading.packing))?;
    Ok(table.labels().clone())
}

/// Counts the rows of a file, by blocks, in one pass.
///
/// # Errors
/// The file cannot be read, or its framing is damaged.
pub(crate) fn count(path: &Path, options: &RecordOptions) -> Result<Counts, Error> {
    let reading = Reading::open(path, &Stop::default());
    let Reading {
        mut reader,
        packing,
    } = reading.map_err(|error| Error::io(error, path))?;
    let mut framer = Framer::new().with_block_bytes(BLOCK_BYTES);
    let mut counted = Counted::default();
    let located = |error| in_file(error, path, packing);
    loop {
        let index = framer.block_index();
        match framer
            .next()
            .map_err(|error| located(framing(error, index)))?
        {
            Frame::Block(block) => {
                counted.push(block.offset, block.payload.len() as u64, block.rows);
            }
            Frame::NeedMore(_) => {
                let mut piece = vec![0; options.buffer_size];
                match std::io::Read::read(&mut reader, &mut piece) {
                    Ok(0) => framer.end(),
                    Ok(read) => {
                        piece.truncate(read);
                        framer.push(piece.into());
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(Error::io(error, path)),
                }
            }
            Frame::End => break,
            _ => {}
        }
    }
    Ok(counted.finish([0; 16], packing.is_none()))
}

/// The error of a table in the file at `path`.
#[cold]
fn of_file(error: BTableError, path: &Path) -> Error {
    in_file(atds_format::Error::format(error), path, None)
}

#[cold]
fn in_file(error: atds_format::Error, path: &Path, packing: Option<Packing>) -> Error {
    let mut error = Error::from(atds_pipeline::Error::of_format(error, &path.into()));
    error.place.unpacked = packing.is_some();
    error
}
