//! Inflating: every codec on blocks of the same records, in bytes of records per second; and
//! deflate by the libraries that `avro-block` could use instead.

use std::time::Duration;

use atds::Codec;
use atds_benches::SampleFiles;
use avro_block::{InflateBuffer, Inflater};
use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Above any block of the sample files.
const MAX_BLOCK_BYTES: usize = 1 << 20;

fn inflate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("inflate");
    for codec in Codec::ALL {
        let payloads = payloads(codec);
        group.throughput(Throughput::Bytes(inflated_bytes(codec, &payloads)));
        group.bench_function(codec.name(), |bencher| {
            let (mut inflater, mut out) = (Inflater::new(), InflateBuffer::new());
            bencher.iter(|| {
                for payload in &payloads {
                    inflater
                        .inflate(codec, payload, &mut out, MAX_BLOCK_BYTES)
                        .expect("a sound payload");
                }
                out.len()
            });
        });
    }
    group.finish();
}

/// Each library keeps its state and its buffer from block to block, as `avro-block` does.
fn deflate_libraries(criterion: &mut Criterion) {
    let payloads = payloads(Codec::Deflate);
    let mut group = criterion.benchmark_group("deflate");
    group.throughput(Throughput::Bytes(inflated_bytes(Codec::Deflate, &payloads)));

    group.bench_function("flate2, zlib-rs", |bencher| {
        let mut state = flate2::Decompress::new(false);
        let mut out = vec![0; MAX_BLOCK_BYTES];
        bencher.iter(|| {
            for payload in &payloads {
                state.reset(false);
                let finish = flate2::FlushDecompress::Finish;
                let status = state.decompress(payload, &mut out, finish);
                assert_eq!(status.ok(), Some(flate2::Status::StreamEnd));
            }
            state.total_out()
        });
    });

    group.bench_function("miniz_oxide", |bencher| {
        use miniz_oxide::inflate::TINFLStatus;
        use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

        let flags = inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let mut state = DecompressorOxide::new();
        let mut out = vec![0; MAX_BLOCK_BYTES];
        bencher.iter(|| {
            for payload in &payloads {
                state.init();
                let (status, _, _) = decompress(&mut state, payload, &mut out, 0, flags);
                assert_eq!(status, TINFLStatus::Done);
            }
        });
    });
    group.finish();
}

fn payloads(codec: Codec) -> Vec<Bytes> {
    let file = SampleFiles::ads(2_048, 1, codec).mapped().remove(0);
    let blocks = atds_benches::blocks(file);
    blocks.into_iter().map(|block| block.payload).collect()
}

fn inflated_bytes(codec: Codec, payloads: &[Bytes]) -> u64 {
    let (mut inflater, mut out) = (Inflater::new(), InflateBuffer::new());
    let mut inflated = |payload: &Bytes| {
        let result = inflater.inflate(codec, payload, &mut out, MAX_BLOCK_BYTES);
        result.expect("a sound payload");
        out.len() as u64
    };
    payloads.iter().map(&mut inflated).sum()
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = inflate, deflate_libraries
}
criterion_main!(benches);
