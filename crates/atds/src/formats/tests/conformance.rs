//! The conformance suite for Avro, over the facade's own byte sources.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use atds_features::{Feature, Features};
use atds_format::{Decoder, FileInfo, Format, Next};
#[cfg(feature = "deflate")]
use atds_format::{PrepareJob, Scratch};
use atds_test_formats::{Row, TestFile, TestFormat, conformance};
#[cfg(feature = "deflate")]
use avro_block::Compressor;
use avro_block::{Codec, SyncMarker, Writer, WriterOptions};
use avro_decode::PlanOptions;
use bytes::Bytes;
use tempfile::TempDir;
use tensor_batch::{BatchSpec, DType, Layout};

use crate::avro::plans::Plans;
use crate::avro::records::RecordOptions;
use crate::formats::avro::AvroFormat;
use crate::formats::avro::buffers::BufferPool;
use crate::source::stream::Stream;
use crate::source::{Mappings, OnceInputs, open};

conformance!(avro_null_read, &AvroFiles::new(Codec::Null, false));
conformance!(avro_null_mapped, &AvroFiles::new(Codec::Null, true));
#[cfg(feature = "deflate")]
conformance!(avro_deflate_read, &AvroFiles::new(Codec::Deflate, false));
#[cfg(feature = "zstandard")]
conformance!(
    avro_zstandard_mapped,
    &AvroFiles::new(Codec::Zstandard, true)
);

const SCHEMA: &str = r#"{"type": "record", "name": "R", "fields": [
    {"name": "label", "type": "long"},
    {"name": "numbers", "type": {"type": "array", "items": "long"}}]}"#;

/// Writes Avro files.
#[derive(Clone)]
struct AvroFiles {
    codec: Codec,
    /// The mappings of files, if they are mapped.
    mappings: Option<Arc<Mappings>>,
    inputs: Arc<OnceInputs>,
}

impl fmt::Debug for AvroFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = if self.mappings.is_some() {
            "mapped"
        } else {
            "read"
        };
        write!(f, "Avro ({}, {access})", self.codec)
    }
}

#[test]
fn files_of_one_schema_and_codec_have_one_decoder() {
    let file = |codec| AvroFiles::new(codec, false).write_blocks(&[Vec::new()], None);
    let [null, again] = [Codec::Null, Codec::Null].map(file);
    let mut tolerate = RecordOptions::default();
    tolerate.tolerate.trailing_block_bytes = true;
    for (reading, is_shared) in [(RecordOptions::default(), true), (tolerate, false)] {
        let format = AvroFiles::format_of(reading);
        let first = decoder(&format, &null);
        assert_eq!(Arc::ptr_eq(&first, &decoder(&format, &again)), is_shared);
        if Codec::Snappy.is_enabled() {
            let other = decoder(&format, &file(Codec::Snappy));
            assert!(other.prepares() && !Arc::ptr_eq(&first, &other));
            assert!(!Arc::ptr_eq(&other, &decoder(&format, &null)));
        }
    }
}

#[cfg(feature = "deflate")]
#[test]
fn damaged_blocks_give_their_memory_back() {
    let mut good = Vec::new();
    let mut compressor = Compressor::new(Codec::Deflate, None).expect("deflate is there");
    let written = compressor.compress(&[7; 10_000], &mut good);
    written.expect("memory takes bytes");
    let mut bad = good.clone();
    bad.truncate(good.len() - 1);
    let format = AvroFiles::format_of(RecordOptions::default());
    let file = AvroFiles::new(Codec::Deflate, false).write_blocks(&[Vec::new()], None);
    let (decoder, mut scratch) = (decoder(&format, &file), Scratch::default());
    let mut is_good = |payload: &[u8], limit| {
        let parts = [Bytes::copy_from_slice(payload)];
        let mut jobs = [PrepareJob::new(&parts, limit)];
        decoder.prepare(&mut jobs, &mut scratch);
        jobs[0].result.is_ok()
    };
    assert!(is_good(&good, 1 << 20));
    // The arena has some 3,000 parts of this length.
    for _ in 0..4_000 {
        assert!(!is_good(&bad, 1 << 20) && !is_good(&good, 5_000));
    }
    let mut buffer = format.buffers.take(10_000);
    assert!(!buffer.take_memory().is_empty(), "no part is left");
}

/// The decoder of a file.
fn decoder(format: &AvroFormat, bytes: &[u8]) -> Arc<dyn Decoder> {
    let location = Path::new("a.avro").into();
    let file = FileInfo {
        location: &location,
        size: Some(bytes.len() as u64),
        payloads: true,
        layout: None,
    };
    let mut blocks = format.open(&file).expect("it is an Avro file");
    loop {
        match blocks.next().expect("the header is good") {
            Next::Decoder(decoder) => return decoder,
            _ => blocks.push(0, Bytes::copy_from_slice(bytes)),
        }
    }
}

impl AvroFiles {
    fn format_of(reading: RecordOptions) -> AvroFormat {
        AvroFormat {
            plans: Arc::new(Self::plans()),
            reading,
            buffers: Arc::new(BufferPool::new(u64::MAX, true)),
            log: Arc::default(),
            last_decoder: Arc::default(),
        }
    }

    fn new(codec: Codec, is_mapped: bool) -> Self {
        AvroFiles {
            codec,
            mappings: is_mapped.then(|| Arc::new(Mappings::new(1 << 20))),
            inputs: Arc::default(),
        }
    }

    fn plans() -> Plans {
        let features = Features::new([
            Feature::dense("label", &[], DType::Int64),
            Feature::varlen("numbers", &[-1], DType::Int64).with_layout(Layout::Ragged),
        ]);
        let features = features.expect("the features are right");
        Plans::new(features, PlanOptions::default(), log::Level::Debug, true)
    }

    /// A file in a folder of its own, which is removed with the last user.
    fn file_on_disk(&self, name: &str, bytes: &[u8]) -> TestFile {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("the file can be written");
        let (inputs, mappings) = (self.inputs.clone(), self.mappings.clone());
        let location = path.as_path().into();
        TestFile::new(location, move || {
            let _in: &TempDir = &folder;
            open(&path, mappings.as_ref(), &inputs)
        })
    }

    fn write_blocks(&self, blocks: &[Vec<Row>], damaged: Option<(usize, usize)>) -> Vec<u8> {
        let mut options = WriterOptions::with_codec(self.codec);
        options.sync = Some(SyncMarker(*b"-- the marker --"));
        let mut writer = Writer::new(Vec::new(), SCHEMA, options).expect("memory takes bytes");
        for (block, rows) in blocks.iter().enumerate() {
            let mut records = Vec::new();
            for (row, Row { label, numbers }) in rows.iter().enumerate() {
                // A number of more than 64 bits, where the label begins, or the last of many: much is read before.
                let is_damaged = damaged == Some((block, row));
                let is_long = numbers.len() > 100;
                let mut number = |value: &i64, is_bad: bool| {
                    records.extend_from_slice(&[0xff; 10][..if is_bad { 10 } else { 0 }]);
                    long(*value, &mut records);
                };
                number(label, is_damaged && !is_long);
                if !numbers.is_empty() {
                    number(&(numbers.len() as i64), false);
                    let last = numbers.len() - 1;
                    let all = numbers.iter().enumerate();
                    all.for_each(|(at, value)| number(value, is_damaged && is_long && at == last));
                }
                long(0, &mut records);
            }
            let written = writer.write_block(rows.len() as u64, &records);
            written.expect("memory takes bytes");
        }
        writer.finish().expect("memory takes bytes")
    }
}

impl TestFormat for AvroFiles {
    fn format(&self) -> Arc<dyn Format> {
        Arc::new(Self::format_of(RecordOptions::default()))
    }

    fn spec(&self) -> BatchSpec {
        Self::plans().spec().clone()
    }

    fn write(&self, blocks: &[Vec<Row>]) -> Vec<u8> {
        self.write_blocks(blocks, None)
    }

    fn write_damaged(&self, blocks: &[Vec<Row>], block: usize, row: usize) -> Vec<u8> {
        self.write_blocks(blocks, Some((block, row)))
    }

    fn resyncs(&self) -> bool {
        true
    }

    /// A file of the local file system, read or mapped.
    fn file(&self, name: &str, bytes: Vec<u8>) -> TestFile {
        self.file_on_disk(name, &bytes)
    }

    /// A pipe; with a codec, a file that is packed as a whole.
    fn stream(&self, name: &str, bytes: Vec<u8>) -> TestFile {
        #[cfg(feature = "deflate")]
        if self.codec == Codec::Deflate {
            let packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            let mut packed = packed;
            packed.write_all(&bytes).expect("memory takes bytes");
            return self.file_on_disk(name, &packed.finish().expect("memory takes bytes"));
        }
        let (inputs, path) = (self.inputs.clone(), Path::new("pipe").join(name));
        let bytes: Arc<[u8]> = bytes.into();
        TestFile::new(path.as_path().into(), move || {
            Ok(Arc::new(Stream::of_file(pipe(&bytes)?, &path, &inputs)))
        })
    }
}

/// The end of a pipe, to which a thread writes `bytes`.
fn pipe(bytes: &Arc<[u8]>) -> io::Result<File> {
    let (reader, mut writer) = io::pipe()?;
    let bytes = bytes.clone();
    thread::spawn(move || {
        for piece in bytes.chunks(1000) {
            if writer.write_all(piece).is_err() {
                // The iteration was dropped.
                return;
            }
        }
    });
    #[cfg(unix)]
    let reader = std::os::fd::OwnedFd::from(reader);
    #[cfg(windows)]
    let reader = std::os::windows::io::OwnedHandle::from(reader);
    Ok(reader.into())
}

/// Writes a number as Avro does.
fn long(value: i64, to: &mut Vec<u8>) {
    let mut left = ((value << 1) ^ (value >> 63)) as u64;
    while left > 0x7f {
        to.push(left as u8 | 0x80);
        left >>= 7;
    }
    to.push(left as u8);
}
