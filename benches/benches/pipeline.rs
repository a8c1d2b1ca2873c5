//! The whole pipeline: an epoch over a folder of mapped files, in the page cache. Batches are dropped.
//! Starting and ending the threads is part of an epoch. The hand-written loop reads the same files.

use std::hint::black_box;
use std::time::Duration;

use atds::{Codec, Dataset, Threads};
use atds_benches::SampleFiles;
use atds_benches::handwritten::HandwrittenLoop;
use atds_generate::Preset;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const BATCH_SIZE: usize = 1_024;
const SHUFFLE_BUFFER_SIZE: usize = 8_192;

fn pipeline(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pipeline");
    for codec in [Codec::Null, Codec::Deflate] {
        let files = SampleFiles::ads(16_384, 4, codec);
        group.throughput(Throughput::Elements(files.records()));
        for threads in [1, 2] {
            for (order, shuffle_buffer_size) in [("in order", 0), ("shuffled", SHUFFLE_BUFFER_SIZE)]
            {
                let dataset = Dataset::builder(files.folder(), BATCH_SIZE)
                    .features(Preset::Ads.features())
                    .shuffle_buffer_size(shuffle_buffer_size)
                    .threads(Threads::Fixed(threads))
                    .mmap(true)
                    .build()
                    .expect("a dataset of the preset");
                group.bench_function(format!("{codec}, threads {threads}, {order}"), |bencher| {
                    bencher.iter(|| assert_eq!(epoch(&dataset), files.records()));
                });
            }
        }
        if codec == Codec::Null {
            let mut by_hand = HandwrittenLoop::new(BATCH_SIZE);
            group.bench_function("null, by hand", |bencher| {
                bencher.iter(|| {
                    let records = by_hand.epoch(files.paths(), |batch| {
                        black_box(batch);
                    });
                    assert_eq!(records.expect("sound files"), files.records());
                });
            });
        }
    }
    group.finish();
}

/// Number of records of all batches.
fn epoch(dataset: &Dataset) -> u64 {
    let batches = dataset.iter();
    batches
        .map(|batch| batch.expect("sound files").rows() as u64)
        .sum()
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = pipeline
}
criterion_main!(benches);
