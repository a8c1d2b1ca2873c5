//! What TFRecord files give a data set: the plan of the features, and features inferred from records.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atds_features::{Feature, Features};
use atds_tfrecord::{
    Checksums, Frame, Framer, Inference, Plan, PlanOptions, Records, Scan, Scanned, with_dimensions,
};
use avro_decode::{Inferred, Sampled};
use bytes::Bytes;

use super::{TfRecordFormat, framing, framing_error};
use crate::avro::file_blocks::in_file;
use crate::avro::records::RecordOptions;
use crate::formats::{Chosen, Counted, Counts};
use crate::source::{OnceInputs, Packing, Reading, Stop, open_local};
use crate::state::OptionsPrint;
use crate::{DatasetBuilder, Error};

/// Compiles the features, which are inferred from the first records if there are none.
///
/// # Errors
/// As [`DatasetBuilder::build`].
pub(crate) fn choose(
    builder: &DatasetBuilder,
    files: &[PathBuf],
    inputs: &OnceInputs,
) -> Result<Chosen, Error> {
    let must = "left out: TFRecord files have no schemas";
    Error::check(builder.plan.reader_schema.is_none(), "reader_schema", must)?;
    let reading = &builder.run.reading;
    check_start(&files[0], inputs)?;
    let inferred = match &builder.features {
        Some(_) => Inferred::default(),
        None => infer(builder, files, inputs)?,
    };
    if builder.check_files {
        for (number, file) in files.iter().enumerate().skip(1) {
            if (builder.on_check)(number, files.len()).is_break() {
                break;
            }
            // What a pipe has is known when its turn comes.
            if !inputs.has(file) {
                check_start(file, inputs)?;
            }
        }
    }
    builder.check_packed(inputs)?;
    let features = builder.features.clone().unwrap_or(inferred.features);
    let options_print = OptionsPrint::new(&features, &builder.plan, reading);
    let layout = |feature: Feature| match builder.layout {
        Some(layout) => feature.with_layout(layout),
        None => feature,
    };
    let features = features.into_iter().map(with_dimensions);
    let features = Features::new(features.map(layout))?;
    let mut options = PlanOptions::default();
    if reading.tolerate.checksum {
        options.checksums = Checksums::Count;
    }
    let plan = Plan::compile(&features, options);
    let plan = plan.map_err(|error| of_file(atds_format::Error::format(error), &files[0]))?;
    Ok(Chosen {
        spec: features.spec().clone(),
        format: Arc::new(TfRecordFormat {
            plan: Arc::new(plan),
            framing: framing(reading),
        }),
        log: Arc::default(),
        options_print,
        schemas: Default::default(),
        left_out: Vec::new(),
        sampled: [builder.sampled.clone(), inferred.sampled].concat(),
    })
}

/// The features of the first records of the first file that has any. The log says what they have.
///
/// # Errors
/// The file cannot be read, its first records are damaged, or no file has records with values.
pub(crate) fn infer(
    builder: &DatasetBuilder,
    files: &[PathBuf],
    inputs: &OnceInputs,
) -> Result<Inferred, Error> {
    let most = match builder.sample_records {
        0 => 1,
        records => records,
    };
    for path in files {
        let mut inference = Inference::default();
        sample(path, inputs, &builder.run.reading, most, &mut inference)?;
        let inferred = inference.features();
        if inferred.features.is_empty() {
            continue;
        }
        for seen in &inferred.seen {
            log::info!("{}: {seen}", path.display());
        }
        for (key, reason) in &inferred.left_out {
            let path = path.display();
            log::warn!(
                "{path}: the key '{}' is left out: it {reason}",
                key.escape_debug()
            );
        }
        let mut found = Inferred::default();
        let records = inference.records();
        for feature in &inferred.features {
            if inferred.fixed.contains(&feature.name) {
                let sampled = Sampled::new(&*feature.name, feature.expression(), records);
                found.sampled.push(sampled);
            }
        }
        found.features = inferred.features;
        return Ok(found);
    }
    let must = "given: no file has a record with values to infer them from";
    Error::check(false, "features", must)?;
    Ok(Inferred::default())
}

/// Adds the first records of a file, at most `most`, in its first block or two.
fn sample(
    path: &Path,
    inputs: &OnceInputs,
    options: &RecordOptions,
    most: u64,
    inference: &mut Inference,
) -> Result<(), Error> {
    let reading = open(path, inputs)?;
    let packing = reading.packing;
    let located = |error| in_file(error, path, packing);
    let mut blocks = Framing::new(reading, options);
    while inference.records() < most
        && let Some(block) = blocks.next(path)?
    {
        let left = most - inference.records();
        for record in Records::new(&block.payload).take(left as usize) {
            let record = record.map_err(|error| located(framing_error(error, block.index)))?;
            let added = match record.verify() {
                Err(_) if options.tolerate.checksum => Ok(()),
                Err(kind) => Err(atds_format::Error::format(kind)),
                Ok(()) => inference
                    .add(record.data)
                    .map_err(atds_format::Error::format),
            };
            added.map_err(|error| {
                let mut error = located(error.at(block.offset + record.offset as u64));
                error.place.block = Some(block.index);
                error
            })?;
        }
    }
    Ok(())
}

fn open(path: &Path, inputs: &OnceInputs) -> Result<Reading, Error> {
    let reading = match inputs.begin(path)? {
        Some(stream) => stream.reading(),
        None => Reading::open(path, &Stop::default()),
    };
    let reading = reading.map_err(|error| Error::io(error, path))?;
    inputs.packed.note(path, reading.packing);
    Ok(reading)
}

/// The blocks of a file that is read from its start on.
struct Framing {
    reader: Box<dyn Read + Send>,
    packing: Option<Packing>,
    buffer_size: usize,
    framer: Framer,
}

impl Framing {
    fn new(reading: Reading, options: &RecordOptions) -> Self {
        Framing {
            reader: reading.reader,
            packing: reading.packing,
            buffer_size: options.buffer_size,
            framer: Framer::new(framing(options)),
        }
    }

    fn next(&mut self, path: &Path) -> Result<Option<atds_tfrecord::Block>, Error> {
        loop {
            let index = self.framer.next_index();
            let frame = self.framer.next();
            let located = |error| in_file(framing_error(error, index), path, self.packing);
            match frame.map_err(located)? {
                Frame::Block(block) => return Ok(Some(block)),
                Frame::NeedMore(_) => {
                    let mut piece = vec![0; self.buffer_size];
                    match self.reader.read(&mut piece) {
                        Ok(0) => self.framer.end(),
                        Ok(read) => {
                            piece.truncate(read);
                            self.framer.push(Bytes::from(piece));
                        }
                        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(Error::io(error, path)),
                    }
                }
                Frame::End => return Ok(None),
                _ => {}
            }
        }
    }
}

/// Reads the first bytes of a file.
///
/// # Errors
/// The file cannot be opened, or does not begin with a record.
pub(crate) fn check_start(path: &Path, inputs: &OnceInputs) -> Result<(), Error> {
    /// The size of a record's length and its checksum.
    const HEAD: u64 = 12;
    let Reading { reader, packing } = open(path, inputs)?;
    let mut head = Vec::new();
    let read = reader.take(HEAD).read_to_end(&mut head);
    read.map_err(|error| Error::io(error, path))?;
    let mut framer = Framer::default();
    framer.push(head.into());
    match framer.next() {
        // The record, or the file, may end anywhere: reading it shows that.
        Ok(_) => Ok(()),
        Err(error) => Err(in_file(framing_error(error, 0), path, packing)),
    }
}

/// Counts the records of a file by their lengths; of a packed file, by reading all of it.
///
/// # Errors
/// The file cannot be read, or its framing is damaged.
pub(crate) fn count(path: &Path, options: &RecordOptions) -> Result<Counts, Error> {
    let (file, packing) = open_local(path).map_err(|error| Error::io(error, path))?;
    let mut counted = Counted::default();
    if packing.is_some() {
        let reading = Reading::open(path, &Stop::default());
        let reading = reading.map_err(|error| Error::io(error, path))?;
        let mut framing = Framing::new(reading, options);
        while let Some(block) = framing.next(path)? {
            counted.push(block.offset, block.payload.len() as u64, block.records);
        }
    } else {
        let metadata = file.metadata();
        let size = metadata.map_err(|error| Error::io(error, path))?.len();
        let mut scan = Scan::new(size, framing(options));
        loop {
            let index = scan.next_index();
            let scanned = scan.next();
            match scanned.map_err(|error| in_file(framing_error(error, index), path, None))? {
                Scanned::Block(entry) => counted.push(entry.offset, entry.len, entry.records),
                Scanned::Need { range, sequential } => {
                    let len = match sequential {
                        true => options.buffer_size,
                        false => (range.end - range.start) as usize,
                    };
                    let mut piece = vec![0; len];
                    let read = crate::source::read_full(&file, &mut piece, range.start);
                    piece.truncate(read.map_err(|error| Error::io(error, path))?);
                    scan.push(range.start, piece.into());
                }
                _ => break,
            }
        }
    }
    Ok(counted.finish([0; 16], packing.is_none()))
}

/// The error of a file, or of the features for it.
#[cold]
fn of_file(error: atds_format::Error, path: &Path) -> Error {
    in_file(error, path, None)
}
