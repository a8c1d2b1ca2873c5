//! Infers dense features from a sample of records: a list is dense if it always has one length.

use std::path::PathBuf;
use std::sync::Arc;

use atds_features::feature::FeatureKind;
use atds_features::path::{Path, Step};
use atds_features::{Feature, Features};
use avro_decode::{Inferred, Plan, PlanOptions, Sampled};
use tensor_batch::{BatchBuilder, GatherTask, Layout};

use crate::avro::file_blocks::FileBlocks;
use crate::avro::inference::listed;
use crate::avro::inspect::Seen;
use crate::avro::plans::parse_text;
use crate::avro::records::RecordOptions;
use crate::formats::avro::decode_error;
use crate::interface::quoted;
use crate::limits::{
    DEFAULT_READER_BUFFER_SIZE as BUFFER_SIZE, SAMPLE_BLOCKS, SAMPLE_ENOUGH, SAMPLE_FILES,
};
use crate::source::{OnceInputs, Reading, Stop};
use crate::{Error, avro};

/// Options of sampling.
pub(crate) struct SampleOptions<'a> {
    /// Maximum number of records that are sampled.
    pub(crate) records: u64,
    pub(crate) plan: &'a PlanOptions,
    pub(crate) reading: RecordOptions,
    /// Maximum memory of sampling in bytes. Records that take much of it are not sampled.
    pub(crate) memory_limit: u64,
    pub(crate) inputs: &'a OnceInputs,
}

/// Makes a varlen feature of `inferred` dense if all its lists have one length in the first records
/// of `files`. Reads one block or a few of one file, and nothing without varlen features. Faults in
/// these records are reported only when they are read as data.
pub(crate) fn sample_lengths(
    inferred: &mut Inferred,
    files: &[PathBuf],
    options: &SampleOptions<'_>,
) {
    let maps = maps(&inferred.features);
    let is_varlen = |feature: &&Feature| matches!(feature.kind, FeatureKind::Varlen { .. });
    let lists = inferred.features.iter().filter(is_varlen);
    // Maps of equal size do not mean that other maps have that size.
    let lists = lists.filter(|feature| !reads_any(feature, &maps));
    let lists: Vec<Feature> = lists.cloned().collect();
    if lists.is_empty() || options.records == 0 {
        return;
    }
    match Sample::read(files, &lists, options) {
        Ok(Some(sample)) => sample.apply(inferred),
        Ok(None) => {}
        Err(error) => log::debug!("no records are sampled: {error}"),
    }
}

/// The paths of the maps whose keys are a feature.
fn maps(features: &[Feature]) -> Vec<Vec<Step>> {
    let map = |feature: &Feature| {
        let mut steps = Path::parse(feature.expression()).ok()?.steps;
        (steps.pop() == Some(Step::Keys)).then_some(steps)
    };
    features.iter().filter_map(map).collect()
}

/// Whether a feature reads keys of one of the maps, or values in it.
fn reads_any(feature: &Feature, maps: &[Vec<Step>]) -> bool {
    Path::parse(feature.expression()).is_ok_and(|Path { steps, .. }| {
        let is_in = |map: &Vec<Step>| steps.len() > map.len() && steps.starts_with(map);
        maps.iter().any(is_in)
    })
}

/// What the first records of a file show.
struct Sample {
    path: PathBuf,
    /// The features whose lists have one length, as dense features.
    dense: Vec<Feature>,
    /// Number of records that were sampled.
    records: u64,
}

impl Sample {
    /// The first records of the first file with records; `None` if no file has any.
    fn read(
        files: &[PathBuf],
        lists: &[Feature],
        options: &SampleOptions<'_>,
    ) -> Result<Option<Sample>, Error> {
        let memory = usize::try_from(options.memory_limit).unwrap_or(usize::MAX);
        let reading = RecordOptions {
            // The payload, what it is decompressed to, the decoder's window, and columns.
            max_block_bytes: options.reading.max_block_bytes.min(memory / 4),
            buffer_size: BUFFER_SIZE,
            ..options.reading
        };
        for (number, path) in files.iter().enumerate().take(SAMPLE_FILES) {
            // The next blocks of a pipe may take long to arrive.
            let (opened, enough) = match options.inputs.begin(path)? {
                // So far only the first file's header was read.
                Some(_) if number > 0 => return Ok(None),
                Some(stream) if stream.is_begun() => (stream.reading(), 1),
                Some(_) => continue,
                None => (Reading::open(path, &Stop::default()), SAMPLE_ENOUGH),
            };
            let blocks = FileBlocks::new(path, opened, &reading)?;
            let sample = Sample::of_blocks(blocks, (enough, memory), lists, options)?;
            if sample.records > 0 {
                return Ok(Some(sample));
            }
        }
        Ok(None)
    }

    /// Samples blocks until there are `enough` records.
    fn of_blocks(
        mut blocks: FileBlocks,
        (enough, memory): (u64, usize),
        lists: &[Feature],
        options: &SampleOptions<'_>,
    ) -> Result<Sample, Error> {
        let ragged = lists.iter().cloned();
        let features = Features::new(ragged.map(|list| list.with_layout(Layout::Ragged)))?;
        let schema = Arc::new(parse_text(blocks.reader.header().schema())?);
        let plan = Plan::compile(&schema, &features, options.plan)
            .map_err(|error| Error::new(avro::ErrorKind::Plan(Box::new(error))))?;
        let mut builder = BatchBuilder::new(plan.spec().clone());
        let mut seen: Vec<Option<Seen>> = lists.iter().map(|_| None).collect();
        let (mut records, mut has_more) = (0, true);
        for _ in 0..SAMPLE_BLOCKS {
            match blocks.decompress_next() {
                Ok(true) => {}
                Ok(false) => {
                    has_more = false;
                    break;
                }
                // It cannot be sampled, and the lists in it may be longer.
                Err(_) => break,
            }
            let block = blocks.block.as_ref();
            let (count, payload) = block.map_or((0, 0), |block| (block.count, block.payload.len()));
            let rows = count.min(options.records - records);
            if count == 0 {
                continue;
            }
            if rows == 0 {
                break;
            }
            let left = memory.saturating_sub(payload + 2 * blocks.data.len());
            for mut slots in builder.slots(&[rows as usize]) {
                // Columns that grow take up to 2.5 times their size.
                slots.set_room(left / 5 * 2);
                plan.execute(&blocks.data, 0, rows as usize, &mut slots)
                    .map_err(|error| blocks.locate(decode_error(error, 0)))?;
            }
            builder.gather().into_iter().for_each(GatherTask::run);
            let batch = builder.finish();
            for (list, seen) in lists.iter().zip(&mut seen) {
                let column = batch.column(&list.name).expect("a column of each feature");
                match seen {
                    Some(seen) => seen.add(&column),
                    None => *seen = Some(Seen::new(&column)),
                }
            }
            records += rows;
            if rows < count || records >= enough {
                break;
            }
        }
        let dense = lists.iter().zip(seen).filter_map(|(list, seen)| {
            let feature = seen?.feature(list.clone());
            matches!(feature.kind, FeatureKind::Dense { .. }).then_some(feature)
        });
        // A single record does not show that other records have the same length.
        let shows = records > 1 || !has_more;
        Ok(Sample {
            dense: dense.filter(|_| shows).collect(),
            path: blocks.path,
            records,
        })
    }

    /// Replaces the varlen features by the dense ones, and logs it.
    fn apply(self, inferred: &mut Inferred) {
        if self.dense.is_empty() {
            return;
        }
        let columns = self.dense.iter().map(|feature| {
            let shape = match &feature.kind {
                FeatureKind::Dense { shape, .. } => shape.iter().flatten().collect(),
                _ => Vec::new(),
            };
            format!("{} {shape:?}", quoted(&feature.name))
        });
        log::info!(
            "{}: inferred as dense, because all lists of the {} sampled records have \
             the same length: {}. A longer list, or without a mask a shorter one, will be an \
             error: name such a column in `features`",
            self.path.display(),
            self.records,
            listed(columns)
        );
        for feature in self.dense {
            let sampled = Sampled::new(&feature.name, feature.expression(), self.records);
            inferred.sampled.push(sampled);
            let mut features = inferred.features.iter_mut();
            if let Some(slot) = features.find(|one| one.name == feature.name) {
                *slot = feature;
            }
        }
    }
}
