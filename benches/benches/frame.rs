//! Framing: a mapped file to its blocks, with compressed payloads.

use std::time::Duration;

use atds::Codec;
use atds_benches::SampleFiles;
use avro_block::MappedBlocks;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn frame(criterion: &mut Criterion) {
    let files = SampleFiles::ads(8_192, 1, Codec::Null);
    let bytes = files.mapped().remove(0);
    let blocks = atds_benches::blocks(bytes.clone()).len();

    let mut group = criterion.benchmark_group("frame");
    group.throughput(Throughput::Elements(blocks as u64));
    group.bench_function("mapped", |bencher| {
        bencher.iter(|| {
            let blocks = MappedBlocks::from_bytes(bytes.clone()).expect("a header");
            blocks
                .map(|block| block.expect("a block").count)
                .sum::<u64>()
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = frame
}
criterion_main!(benches);
