//! Decoding: decompressed blocks to batches, on one thread. The blocks do not fit the caches. Each
//! iteration makes the next batch.

use std::time::Duration;

use atds_benches::handwritten::{AdsBatch, Cursor};
use atds_benches::runs::{Decoder, Run, runs};
use atds_generate::{GenerateOptions, Preset};
use avro_decode::feature::FeatureKind;
use avro_decode::{Feature, Features, PlanOptions, Schema, Skipper, Value, reference};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const BATCH_SIZE: usize = 1_024;
const BATCHES: usize = 32;

fn decode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode");
    group.throughput(Throughput::Elements(BATCH_SIZE as u64));

    let ads = GenerateOptions::new(Preset::Ads, 0);
    let mut with_byte_sizes = ads.clone();
    with_byte_sizes.byte_sizes = true;
    let nullable = GenerateOptions::new(Preset::AdsNullable, 0);
    let ways = [
        ("all features", &ads, all(Preset::Ads)),
        ("all features, dense by expressions", &ads, by_expressions()),
        ("all features, sparse by keys", &ads, by_keys()),
        (
            "all features, nullable",
            &nullable,
            all(Preset::AdsNullable),
        ),
        ("one scalar", &ads, one_scalar()),
        (
            "one scalar, arrays with byte sizes",
            &with_byte_sizes,
            one_scalar(),
        ),
    ];
    for (name, options, features) in ways {
        let preset = options.shape.preset().expect("a preset");
        let batches = runs(options.clone(), BATCHES, BATCH_SIZE);
        group.bench_function(name, |bencher| {
            let mut decoder = Decoder::new(preset, &features);
            let mut batches = batches.iter().cycle();
            bencher.iter(|| decoder.batch(batches.next().expect("an endless cycle")));
        });
    }

    let batches = runs(ads, BATCHES, BATCH_SIZE);
    let schema = Schema::parse(&Preset::Ads.schema()).expect("the preset's schema");
    group.bench_function("no feature, records skipped", |bencher| {
        let skipper = Skipper::new(&schema);
        let mut batches = batches.iter().cycle();
        bencher.iter(|| {
            for run in batches.next().expect("an endless cycle") {
                let end = skipper.skip(&run.payload, 0, run.records as u64);
                assert!(end.expect("records of the preset") <= run.payload.len());
            }
        });
    });
    group.bench_function("all features, by hand", |bencher| {
        let mut batch = AdsBatch::new(BATCH_SIZE);
        let mut batches = batches.iter().cycle();
        bencher.iter(|| by_hand(&mut batch, batches.next().expect("an endless cycle")));
    });

    let features = all(Preset::Ads);
    group.bench_function("all features, reference decoder", |bencher| {
        let mut batches = batches.iter().cycle();
        bencher.iter(|| {
            let records = values(&schema, batches.next().expect("an endless cycle"));
            reference::tensors(&schema, &records, &features, &PlanOptions::default())
                .expect("records of the preset")
        });
    });
    group.finish();
}

fn all(preset: Preset) -> Features {
    Features::new(preset.features()).expect("the preset's features")
}

/// The dense features as path expressions, which should cost nothing.
fn by_expressions() -> Features {
    let features = Preset::Ads.features().into_iter().map(|feature| {
        let FeatureKind::Dense { shape, .. } = &feature.kind else {
            return feature;
        };
        let expression = format!("{}{}", feature.name, "[*]".repeat(shape.len()));
        feature.at(expression)
    });
    Features::new(features).expect("the preset's features")
}

/// The sparse features by the keys of their record's arrays.
fn by_keys() -> Features {
    let features = Preset::Ads.features().into_iter().map(|feature| {
        let FeatureKind::Sparse { shape, .. } = &feature.kind else {
            return feature;
        };
        let keys: Vec<String> = (0..shape.len()).map(|i| format!("indices{i}[*]")).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        Feature::sparse_keys(&feature.name, &keys, "values[*]", shape, feature.dtype)
            .already_sorted()
    });
    Features::new(features).expect("the preset's features")
}

fn one_scalar() -> Features {
    let mut features = Preset::Ads.features();
    features.retain(|feature| feature.name == "s_label");
    Features::new(features).expect("a feature of the preset")
}

fn by_hand(batch: &mut AdsBatch, runs: &[Run]) {
    batch.clear();
    for run in runs {
        let mut cursor = Cursor::new(&run.payload);
        for _ in 0..run.records {
            let pushed = batch.push_record(&mut cursor);
            pushed.expect("records of the preset");
        }
    }
}

fn values(schema: &Schema, runs: &[Run]) -> Vec<Value> {
    let mut values = Vec::with_capacity(BATCH_SIZE);
    for run in runs {
        let mut position = 0;
        for _ in 0..run.records {
            let value = reference::decode(schema, schema.root(), &run.payload, &mut position);
            values.push(value.expect("a record of the preset"));
        }
    }
    values
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = decode
}
criterion_main!(benches);
