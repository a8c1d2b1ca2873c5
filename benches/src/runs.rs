//! Decompresses and decodes blocks of sample files to batches, without a pipeline.

use std::sync::Arc;

use atds::Codec;
use atds_generate::{GenerateOptions, Preset};
use avro_block::{DecompressBuffer, DecompressJob, Decompressor};
use avro_decode::{Features, Plan, PlanOptions, Schema};
use bytes::Bytes;
use tensor_batch::{Batch, BatchBuilder};

use crate::SampleFiles;

/// The first records of a block.
#[derive(Clone, Debug)]
pub struct Run {
    /// Codec of the block.
    pub codec: Codec,
    /// All records of the block, compressed.
    pub payload: Bytes,
    /// Number of records to read.
    pub records: usize,
}

/// `batches` lists of runs, each with `batch_size` records in all. The files are made with
/// `options`, but the number of records in `options` is ignored. The rest of a batch's last block
/// is dropped.
pub fn runs(mut options: GenerateOptions, batches: usize, batch_size: usize) -> Vec<Vec<Run>> {
    options.records = ((batches + 1) * batch_size) as u64;
    let codec = options.codec;
    let file = SampleFiles::generate(&options).mapped().remove(0);
    let mut blocks = crate::blocks(file).into_iter();
    let batch = |_| {
        let mut missing = batch_size;
        let mut runs = Vec::new();
        while missing > 0 {
            let block = blocks.next().expect("blocks to spare");
            let records = missing.min(block.count as usize);
            missing -= records;
            runs.push(Run {
                codec,
                payload: block.payload,
                records,
            });
        }
        runs
    };
    (0..batches).map(batch).collect()
}

/// A plan for some features of a preset, with the memory of its batches.
#[derive(Debug)]
pub struct Decoder {
    inflater: Decompressor,
    /// Buffers of the blocks that are decompressed together, as in the pipeline.
    inflated: [DecompressBuffer; TOGETHER],
    plan: Plan,
    builder: BatchBuilder,
}

impl Decoder {
    /// Compiles the plan.
    ///
    /// # Panics
    ///
    /// If the preset lacks a feature.
    pub fn new(preset: Preset, features: &Features) -> Self {
        let schema = Schema::parse(&preset.schema()).expect("the preset's schema");
        let plan = Plan::compile(&Arc::new(schema), features, &PlanOptions::default());
        Decoder {
            inflater: Decompressor::new(),
            inflated: [(); TOGETHER].map(|()| DecompressBuffer::new()),
            plan: plan.expect("features of the preset"),
            builder: BatchBuilder::new(features.spec().clone()),
        }
    }

    /// The batch of all records of `runs`.
    ///
    /// # Panics
    ///
    /// If the records are not those of the preset.
    pub fn batch(&mut self, runs: &[Run]) -> Batch {
        let rows = runs.iter().map(|run| run.records).sum();
        for mut slots in self.builder.slots(&[rows]) {
            for runs in runs.chunks(TOGETHER) {
                inflate(&mut self.inflater, runs, &mut self.inflated);
                for (run, inflated) in runs.iter().zip(&self.inflated) {
                    let records: &[u8] = match run.codec {
                        Codec::Null => &run.payload,
                        _ => inflated,
                    };
                    self.plan
                        .execute(records, 0, run.records, &mut slots)
                        .expect("records of the preset");
                }
            }
        }
        let gather = self.builder.gather();
        gather.into_iter().for_each(|task| task.run());
        self.builder.finish()
    }
}

/// Decompresses runs of one codec, each to its buffer.
fn inflate(inflater: &mut Decompressor, runs: &[Run], buffers: &mut [DecompressBuffer]) {
    let Some(codec) = runs.first().map(|run| run.codec) else {
        return;
    };
    if codec == Codec::Null {
        return;
    }
    let jobs = runs.iter().zip(buffers);
    let mut jobs: Vec<_> = jobs
        .map(|(run, buffer)| DecompressJob::new(&run.payload, buffer, MAX_BLOCK_BYTES))
        .collect();
    inflater.decompress_many(codec, &mut jobs);
    for job in jobs {
        job.result.expect("a sound payload");
    }
}

/// Number of blocks that are decompressed together.
const TOGETHER: usize = 8;

/// A limit above each block of the sample files.
const MAX_BLOCK_BYTES: usize = 1 << 16;
