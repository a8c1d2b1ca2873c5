//! Copies records from random places in memory, with and without a prefetch of the next record.

use std::time::Duration;

use avro_decode::prefetch;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Bytes of a record of the `ads` files.
const RECORD: usize = 2_000;

/// Number of records of a window with its read parts, which does not fit the caches.
const RECORDS: usize = 32_768;

/// Number of records of a batch.
const BATCH: usize = 1_024;

fn copies(criterion: &mut Criterion) {
    let bytes = vec![1; RECORDS * RECORD];
    let mut out = vec![0; RECORD];
    let mut group = criterion.benchmark_group("prefetch");
    group.throughput(Throughput::Elements(BATCH as u64));
    for (name, ahead) in [("not asked for", false), ("asked for one ahead", true)] {
        let mut record = 0;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for _ in 0..BATCH {
                    // An odd step visits all records, and neighbours far apart.
                    let next = (record + 12_345) % RECORDS;
                    if ahead {
                        prefetch(&bytes, next * RECORD, (next + 1) * RECORD);
                    }
                    out.copy_from_slice(&bytes[record * RECORD..][..RECORD]);
                    record = next;
                }
                out[0]
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
    targets = copies
}
criterion_main!(benches);
