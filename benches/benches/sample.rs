//! Drawing batches from windows of small blocks, as in the `ads` files, and of larger ones: time a row,
//! the blocks that are added among it.

use std::time::Duration;

use atds_shuffle::{Stream, Window, window_target};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn sample(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sample");
    for records in [8, 20, 50, 500] {
        for (batch_size, buffer) in [(1_024, 8_192), (64, 8_192), (1_024, 100_000)] {
            let mut window = Window::new(0, 0, Stream::default());
            group.throughput(Throughput::Elements(batch_size));
            let name = format!("{batch_size} of {buffer}, {records} a block");
            group.bench_function(name, |bencher| {
                bencher.iter(|| {
                    while window.records() < window_target(batch_size, buffer) {
                        window.push(records);
                    }
                    let mut slots = 0;
                    window.draw(batch_size, |slot, _| slots += slot);
                    slots
                });
            });
        }
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
