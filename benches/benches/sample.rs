//! Drawing a batch from a window of small blocks, as in the `ads` files, and of large blocks.

use std::time::Duration;

use atds_shuffle::Sampler;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const BATCH_SIZE: u64 = 1_024;

fn sample(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sample");
    for (blocks, records) in [(1_152, 8), (20, 500)] {
        let unread = vec![records; blocks];
        let mut counts = vec![0; blocks];
        let mut sampler = Sampler::new(0, 0);
        group.throughput(Throughput::Elements(blocks as u64));
        group.bench_function(format!("{blocks} blocks of {records}"), |bencher| {
            bencher.iter(|| {
                sampler.draw(&unread, BATCH_SIZE, &mut counts);
                counts[0]
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = sample
}
criterion_main!(benches);
