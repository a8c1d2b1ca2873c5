//! Runs of varints by each kernel that this machine can run. As in a record, each run starts at the end
//! of the run before.

use std::time::Duration;

use avro_decode::encode::write_long;
use avro_decode::varints::Kernels;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};

/// Number of values of an iteration, for any length of runs. Their bytes stay in the fastest cache.
const VALUES: usize = 4_096;

const LENGTHS: [usize; 3] = [8, 32, 128];

/// A function from a random number to a value.
type Value = fn(u64) -> u64;

fn varints(criterion: &mut Criterion) {
    let widths: [(&str, Value); 2] = [
        ("longs below 1,000", |random| random % 1_000),
        ("longs of 1 to 10 bytes", |random| random >> (random % 64)),
    ];
    for (name, value) in widths {
        let data = data(value);
        let mut group = criterion.benchmark_group(name);
        let mut out = vec![0; VALUES];
        each(&mut group, |kernels, length| {
            let mut rest = &data[..];
            for run in out.chunks_exact_mut(length) {
                let len = kernels.longs(rest, run).expect("good varints");
                rest = &rest[len..];
            }
        });
    }

    let data = data(|random| random % 5_000_000);
    let mut group = criterion.benchmark_group("indices below 5,000,000, with their row");
    let mut out = vec![[0; 2]; VALUES];
    each(&mut group, |kernels, length| {
        let (mut rest, mut extent) = (&data[..], 0);
        for run in out.chunks_exact_mut(length) {
            let len = kernels.coordinates::<false>(rest, 7, 5_000_000, &mut extent, run);
            rest = &rest[len.expect("good varints")..];
        }
    });
    group.finish();

    let mut group = criterion.benchmark_group("indices below 5,000,000, skipped");
    each(&mut group, |kernels, length| {
        let mut rest = &data[..];
        for _ in 0..VALUES / length {
            let len = kernels.skip(rest, length).expect("as many varints");
            rest = &rest[len..];
        }
    });
    group.finish();
}

/// Runs of each length by each kernel.
fn each(group: &mut BenchmarkGroup<'_, WallTime>, mut read: impl FnMut(Kernels, usize)) {
    group.throughput(Throughput::Elements(VALUES as u64));
    for length in LENGTHS {
        for kernels in Kernels::available() {
            let name = format!("{} a run, {}", length, kernels.name());
            group.bench_function(name, |bencher| bencher.iter(|| read(kernels, length)));
        }
    }
}

/// Varints of random values.
fn data(value: impl Fn(u64) -> u64) -> Vec<u8> {
    let mut data = Vec::new();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..VALUES {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        write_long(&mut data, value(random) as i64);
    }
    data
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(500));
    targets = varints
}
criterion_main!(benches);
