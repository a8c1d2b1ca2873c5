//! Shared parts of the benchmarks: sample files and their blocks, the [yardstick](handwritten), and the
//! [versions] for records.
//!
//! ```
//! use atds::Codec;
//! use atds_benches::SampleFiles;
//!
//! let files = SampleFiles::ads(100, 2, Codec::Deflate);
//! let blocks: Vec<_> = files.mapped().into_iter().flat_map(atds_benches::blocks).collect();
//! assert_eq!(blocks.iter().map(|block| block.count).sum::<u64>(), 100);
//! ```

#![forbid(unsafe_code)]

pub mod handwritten;
pub mod runs;
pub mod versions;

use std::fs::File;
use std::path::{Path, PathBuf};

use atds::Codec;
use atds_generate::{GenerateOptions, Generated, Preset, generate};
use avro_block::{Block, MappedBlocks, map_file};
use bytes::Bytes;
use tempfile::TempDir;

/// Generated files, removed when dropped. The same arguments give the same bytes.
#[derive(Debug)]
pub struct SampleFiles {
    folder: TempDir,
    generated: Generated,
}

impl SampleFiles {
    /// `records` records of [`Preset::Ads`] in `files` files. A block has 16,000 decompressed bytes, 8
    /// or 9 records.
    ///
    /// # Panics
    ///
    /// If the files cannot be written.
    pub fn ads(records: u64, files: usize, codec: Codec) -> Self {
        let mut options = GenerateOptions::new(Preset::Ads, records);
        options.files = files;
        options.codec = codec;
        Self::generate(&options)
    }

    /// The files that `options` describe, in a temporary folder.
    ///
    /// # Panics
    ///
    /// If the files cannot be written.
    pub fn generate(options: &GenerateOptions) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let generated = generate(folder.path(), options).expect("sample files");
        SampleFiles { folder, generated }
    }

    /// The folder of the files, which has no other files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The files, in the order of their records.
    pub fn paths(&self) -> &[PathBuf] {
        &self.generated.files
    }

    /// Total bytes of the files.
    pub fn raw_bytes(&self) -> u64 {
        self.generated.raw_bytes
    }

    /// Total records of the files.
    pub fn records(&self) -> u64 {
        self.generated.records
    }

    /// Each file, mapped into memory.
    ///
    /// # Panics
    ///
    /// If a file cannot be mapped.
    pub fn mapped(&self) -> Vec<Bytes> {
        let map = |path| map_file(&File::open(path).expect("a sample file")).expect("a mapping");
        self.paths().iter().map(map).collect()
    }
}

/// The blocks of the file `bytes`, with compressed payloads.
///
/// # Panics
///
/// If `bytes` is not a whole Avro file.
pub fn blocks(bytes: Bytes) -> Vec<Block> {
    let blocks = MappedBlocks::from_bytes(bytes).expect("a header");
    blocks.map(|block| block.expect("a whole block")).collect()
}
