//! Decompression, in decompressed bytes per second: each codec on blocks of the same records; deflate by
//! other libraries on the same blocks; several blocks at a time, of other data too.

use std::time::Duration;

use atds::Codec;
use atds_benches::SampleFiles;
use avro_block::{DecompressBuffer, DecompressJob, Decompressor};
use bytes::Bytes;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};

/// A limit above each block of the sample files.
const MAX_BLOCK_BYTES: usize = 1 << 20;

fn inflate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("inflate");
    for codec in Codec::ALL {
        let payloads = payloads(codec);
        group.throughput(Throughput::Bytes(inflated_bytes(codec, &payloads)));
        group.bench_function(codec.name(), |bencher| {
            let (mut inflater, mut out) = (Decompressor::new(), DecompressBuffer::new());
            bencher.iter(|| {
                for payload in &payloads {
                    inflater
                        .decompress(codec, payload, &mut out, MAX_BLOCK_BYTES)
                        .expect("a sound payload");
                }
                out.len()
            });
        });
    }
    group.finish();
}

/// Each library reuses its state and its buffer for all blocks, as `atds-codec` does.
fn deflate_libraries(criterion: &mut Criterion) {
    let payloads = payloads(Codec::Deflate);
    let mut group = criterion.benchmark_group("deflate");
    group.throughput(Throughput::Bytes(inflated_bytes(Codec::Deflate, &payloads)));
    compare(&mut group, "", &payloads);

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

/// Blocks of other contents than the sample files.
fn other_blocks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("deflate of other data");
    for (name, payloads) in other_data::blocks() {
        group.throughput(Throughput::Bytes(inflated_bytes(Codec::Deflate, &payloads)));
        compare(&mut group, name, &payloads);
    }
    group.finish();
}

/// `payloads` by libdeflate one by one, and by `atds-inflate` eight at a time.
fn compare(group: &mut BenchmarkGroup<'_, WallTime>, data: &str, payloads: &[Bytes]) {
    let name =
        |library: &str| format!("{data}{}{library}", if data.is_empty() { "" } else { ", " });
    group.bench_function(name("libdeflate"), |bencher| {
        let mut decoder = libdeflater::Decompressor::new();
        let mut out = vec![0; MAX_BLOCK_BYTES];
        bencher.iter(|| {
            for payload in payloads {
                let inflated = decoder.deflate_decompress(payload, &mut out);
                assert!(inflated.is_ok());
            }
        });
    });
    group.bench_function(name("atds-inflate, eight at a time"), |bencher| {
        let mut inflater = Decompressor::new();
        let mut buffers = vec![DecompressBuffer::new(); 8];
        bencher.iter(|| {
            for payloads in payloads.chunks(buffers.len()) {
                let jobs = payloads.iter().zip(&mut buffers);
                let mut jobs: Vec<_> = jobs
                    .map(|(payload, out)| DecompressJob::new(payload, out, MAX_BLOCK_BYTES))
                    .collect();
                inflater.decompress_many(Codec::Deflate, &mut jobs);
                assert!(jobs.iter().all(|job| job.result.is_ok()));
            }
        });
    });
}

fn payloads(codec: Codec) -> Vec<Bytes> {
    let file = SampleFiles::ads(2_048, 1, codec).mapped().remove(0);
    let blocks = atds_benches::blocks(file);
    blocks.into_iter().map(|block| block.payload).collect()
}

fn inflated_bytes(codec: Codec, payloads: &[Bytes]) -> u64 {
    let (mut inflater, mut out) = (Decompressor::new(), DecompressBuffer::new());
    let mut inflated = |payload: &Bytes| {
        let result = inflater.decompress(codec, payload, &mut out, MAX_BLOCK_BYTES);
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
    targets = inflate, deflate_libraries, other_blocks
}
criterion_main!(benches);

/// Blocks of other kinds, compressed by libdeflate at its default level. Always the same.
mod other_data {
    use avro_block::Compressor;
    use bytes::Bytes;

    use atds::Codec;

    /// The name and some 400 KB of each kind.
    pub(super) fn blocks() -> Vec<(&'static str, Vec<Bytes>)> {
        const LEN: usize = 400_000;
        let words = [
            "the ", "of ", "reads ", "blocks ", "a ", "record ", "schema ", "and ", "is ", "in ",
            "field\n", "values, ", "which ", "to ", "file ", "are ",
        ];
        let text =
            noise(1).flat_map(|n| words[((n % 256 * (n >> 8 & 255)) >> 12) as usize].bytes());
        let floats = noise(2).flat_map(|n| (n as f32 / 1e9 - 1.0).to_le_bytes());
        let varints = noise(3).map(|n| (n & 63) as u8 * 2 + u8::from(n & 0x700 == 0) * 128);
        let text: Vec<u8> = text.take(LEN).collect();
        vec![
            ("blocks of 1,000 bytes", compressed(&text[..LEN / 4], 1_000)),
            ("text", compressed(&text, 16_000)),
            (
                "floats",
                compressed(&floats.take(LEN).collect::<Vec<_>>(), 16_000),
            ),
            (
                "varints",
                compressed(&varints.take(LEN).collect::<Vec<_>>(), 16_000),
            ),
            ("zeros", compressed(&vec![0; LEN], 16_000)),
            ("blocks of 64,000 bytes", compressed(&text, 64_000)),
        ]
    }

    fn compressed(bytes: &[u8], block: usize) -> Vec<Bytes> {
        let mut compressor = Compressor::new(Codec::Deflate, None).expect("a compressor");
        let mut compress = |block: &[u8]| {
            let mut payload = Vec::new();
            let result = compressor.compress(block, &mut payload);
            result.expect("anything can be compressed");
            Bytes::from(payload)
        };
        bytes.chunks(block).map(&mut compress).collect()
    }

    /// The high bits of a linear congruential generator.
    fn noise(seed: u64) -> impl Iterator<Item = u64> {
        let mut state = seed;
        std::iter::repeat_with(move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 33
        })
    }
}
