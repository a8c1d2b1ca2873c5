//! Infers dense features from a sample of records: a list is dense if it always has one length.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use atds_features::feature::FeatureKind;
use atds_features::path::{Path, Step};
use atds_features::{Feature, Features};
use avro_block::{Block, DecompressBuffer, Decompressor, Header};
use avro_decode::{Inferred, Plan, PlanOptions, Sampled};
use tensor_batch::{BatchBuilder, GatherTask, Layout};

use crate::avro::file_blocks::FileBlocks;
use crate::avro::inferred::listed_as;
use crate::avro::inspect::Seen;
use crate::avro::plans::parse_text;
use crate::limits::{
    DEFAULT_READER_BUFFER_SIZE as BUFFER_SIZE, SAMPLE_BLOCKS, SAMPLE_ENOUGH, SAMPLE_FILES,
};
use crate::source::{OnceInputs, Stop};
use crate::tolerate::Lenience;
use crate::{Error, avro};

/// Options of sampling.
pub(crate) struct SampleOptions<'a> {
    /// Maximum number of records that are sampled.
    pub(crate) records: u64,
    pub(crate) plan: &'a PlanOptions,
    pub(crate) lenience: Lenience,
    /// Maximum decompressed size in bytes of a block that is sampled.
    pub(crate) max_bytes: usize,
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
    let through_maps = through_maps(&inferred.features);
    let is_varlen = |feature: &&Feature| matches!(feature.kind, FeatureKind::Varlen { .. });
    let lists = inferred.features.iter().filter(is_varlen);
    // Maps of equal size do not mean that other maps have that size.
    let lists = lists.filter(|feature| !through_maps.contains(&*feature.name));
    let lists: Vec<Feature> = lists.cloned().collect();
    if lists.is_empty() || options.records == 0 {
        return;
    }
    let sample = match Sample::read(files, options) {
        Ok(Some(sample)) => sample,
        Ok(None) => return,
        Err(error) => return log::debug!("no records are sampled: {error}"),
    };
    match sample.dense(&lists, options) {
        Ok(dense) => sample.apply(inferred, dense),
        Err(error) => log::debug!("{}: no records are sampled: {error}", sample.path.display()),
    }
}

/// The names of features that read keys of maps, or values in maps.
fn through_maps(features: &[Feature]) -> HashSet<String> {
    let paths = features.iter().filter_map(|feature| {
        let path = Path::parse(feature.expression()).ok()?;
        Some((&feature.name, path.steps))
    });
    let paths: Vec<(&String, Vec<Step>)> = paths.collect();
    let mut maps: Vec<&[Step]> = Vec::new();
    for (_, steps) in &paths {
        if let [map @ .., Step::Keys] = &steps[..] {
            maps.push(map);
        }
    }
    let through = |steps: &[Step]| {
        let mut maps = maps.iter();
        // The feature reads the map's keys or its values.
        maps.any(|map| steps.len() > map.len() && steps.starts_with(map))
    };
    let through = paths.iter().filter(|(_, steps)| through(steps));
    through.map(|(name, _)| (*name).clone()).collect()
}

/// The first records of a file.
struct Sample {
    path: PathBuf,
    header: Header,
    blocks: Vec<Block>,
    /// Whether the file may have more blocks.
    has_more: bool,
}

impl Sample {
    /// The first records of the first file with records; `None` if no file has any.
    fn read(files: &[PathBuf], options: &SampleOptions<'_>) -> Result<Option<Sample>, Error> {
        for (number, path) in files.iter().enumerate().take(SAMPLE_FILES) {
            let sample = if options.inputs.has(path) {
                // So far only the first file's header was read.
                if number > 0 {
                    return Ok(None);
                }
                let Some(stream) = options.inputs.stream(path).filter(|one| one.is_begun()) else {
                    continue;
                };
                let reading = stream.reading();
                let blocks = FileBlocks::read(path, reading, BUFFER_SIZE, &options.lenience)?;
                // The next blocks of a pipe may take long to arrive.
                Sample::of_blocks(path, blocks, 1)
            } else {
                let stop = Stop::default();
                let blocks = FileBlocks::open(path, BUFFER_SIZE, &options.lenience, &stop)?;
                Sample::of_blocks(path, blocks, SAMPLE_ENOUGH)
            };
            if !sample.blocks.is_empty() {
                return Ok(Some(sample));
            }
        }
        Ok(None)
    }

    /// The first block with records, and further blocks until there are `enough` records.
    fn of_blocks(path: &std::path::Path, mut blocks: FileBlocks, enough: u64) -> Sample {
        let mut sample = Sample {
            path: path.to_owned(),
            header: blocks.header().clone(),
            blocks: Vec::new(),
            has_more: false,
        };
        let mut records = 0;
        for _ in 0..SAMPLE_BLOCKS {
            let Some(Ok(block)) = blocks.next() else {
                return sample;
            };
            if block.count > 0 {
                records += block.count;
                sample.blocks.push(block);
            }
            if records >= enough {
                break;
            }
        }
        sample.has_more = true;
        sample
    }

    /// The features whose lists have one length, as dense features, and the number of records
    /// sampled.
    fn dense(
        &self,
        lists: &[Feature],
        options: &SampleOptions<'_>,
    ) -> Result<(Vec<Feature>, u64), Error> {
        let ragged = lists.iter().cloned();
        let features = Features::new(ragged.map(|list| list.with_layout(Layout::Ragged)))?;
        let schema = Arc::new(parse_text(self.header.schema())?);
        let plan = Plan::compile(&schema, &features, options.plan)
            .map_err(|error| Error::new(avro::ErrorKind::Plan(Box::new(error))))?;
        let mut decompressor = Decompressor::new();
        decompressor.set_tolerates_checksums(options.lenience.tolerate.checksum);
        let mut data = DecompressBuffer::new();
        let mut builder = BatchBuilder::new(plan.spec().clone());
        let mut seen: Vec<Option<Seen>> = lists.iter().map(|_| None).collect();
        let mut records = 0;
        for block in &self.blocks {
            let codec = self.header.codec();
            decompressor
                .decompress(codec, &block.payload, &mut data, options.max_bytes)
                .map_err(|error| Error::new(avro::ErrorKind::Container(error.into())))?;
            let rows = block.count.min(options.records - records);
            for mut slots in builder.slots(&[rows as usize]) {
                slots.set_room(options.max_bytes);
                plan.execute(&data, 0, rows as usize, &mut slots)
                    .map_err(|error| Error::decode(error, 0))?;
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
            if records == options.records {
                break;
            }
        }
        let has_more =
            self.has_more || self.blocks.iter().map(|block| block.count).sum::<u64>() > records;
        if records == 1 && has_more {
            // A single record does not show that other records have the same length.
            return Ok((Vec::new(), records));
        }
        let features = lists.iter().zip(seen).filter_map(|(list, seen)| {
            let feature = seen?.feature(list.clone());
            matches!(feature.kind, FeatureKind::Dense { .. }).then_some(feature)
        });
        Ok((features.collect(), records))
    }

    /// Replaces the varlen features by the dense ones, and logs it.
    fn apply(&self, inferred: &mut Inferred, (dense, records): (Vec<Feature>, u64)) {
        if dense.is_empty() {
            return;
        }
        let columns = dense.iter().map(|feature| {
            let shape = match &feature.kind {
                FeatureKind::Dense { shape, .. } => shape.iter().flatten().collect(),
                _ => Vec::new(),
            };
            format!("'{}' {shape:?}", feature.name.escape_debug())
        });
        log::info!(
            "{}: inferred as dense, because all lists of the {records} sampled records have \
             the same length: {}. A longer list, or without a mask a shorter one, will be an \
             error: name such a column in `features`",
            self.path.display(),
            listed_as(columns)
        );
        for feature in dense {
            inferred
                .sampled
                .push(Sampled::new(&feature.name, feature.expression(), records));
            if let Some(slot) = inferred
                .features
                .iter_mut()
                .find(|one| one.name == feature.name)
            {
                *slot = feature;
            }
        }
    }
}
