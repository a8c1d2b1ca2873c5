//! The sample files, generated if they do not exist.

use std::fs;
use std::path::PathBuf;

use atds::Codec;
use atds_generate::{GenerateOptions, Preset, generate};
use avro_block::{Block, MappedBlocks, map_file};
use tempfile::TempDir;

use crate::Result;

/// Number of records of a data set, unless a comparison says otherwise.
pub(crate) const RECORDS: u64 = 40_960;

/// Number of files of a data set.
const FILES: usize = 8;

/// A folder of data sets, each in a folder of its own.
#[derive(Debug)]
pub(crate) struct Data {
    folder: PathBuf,
    /// A temporary folder, removed at the end.
    _temporary: Option<TempDir>,
}

impl Data {
    /// Data sets in `folder`, or in a temporary folder.
    pub(crate) fn new(folder: Option<PathBuf>) -> Result<Self> {
        Ok(match folder {
            Some(folder) => Data {
                folder,
                _temporary: None,
            },
            None => {
                let temporary = tempfile::tempdir()?;
                Data {
                    folder: temporary.path().to_owned(),
                    _temporary: Some(temporary),
                }
            }
        })
    }

    /// [`RECORDS`] records of `preset`.
    pub(crate) fn of(&self, preset: Preset, codec: Codec) -> Result<Files> {
        let mut options = GenerateOptions::new(preset, RECORDS);
        options.codec = codec;
        self.generated(&format!("{preset}-{codec}"), options)
    }

    /// The data set `name` in [`FILES`] files. If it does not exist, it is generated from `options`. A
    /// name must always have the same options.
    pub(crate) fn generated(&self, name: &str, mut options: GenerateOptions) -> Result<Files> {
        let folder = self.folder.join(name);
        if !folder.exists() {
            // The folder has another name until it is complete.
            let unfinished = self.folder.join(format!("{name}.unfinished"));
            options.files = FILES;
            generate(&unfinished, &options)?;
            fs::rename(&unfinished, &folder)?;
        }
        Files::list(folder)
    }
}

/// The files of a data set.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    pub(crate) folder: PathBuf,
    /// The files in the order of their records.
    pub(crate) paths: Vec<PathBuf>,
}

impl Files {
    /// The files in `folder`.
    pub(crate) fn list(folder: PathBuf) -> Result<Self> {
        let entries = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path()));
        let mut paths: Vec<PathBuf> = entries.collect::<Result<_>>()?;
        paths.sort();
        Ok(Files { folder, paths })
    }

    /// Two data sets with half of the files each.
    pub(crate) fn halves(&self) -> [Files; 2] {
        let (one, other) = self.paths.split_at(self.paths.len() / 2);
        [one, other].map(|paths| Files {
            folder: self.folder.clone(),
            paths: paths.to_vec(),
        })
    }

    /// All blocks in mapped memory, with compressed payloads.
    pub(crate) fn blocks(&self) -> Result<Vec<Block>> {
        let mut blocks = Vec::new();
        for path in &self.paths {
            for block in MappedBlocks::from_bytes(map_file(&fs::File::open(path)?)?)? {
                blocks.push(block?);
            }
        }
        Ok(blocks)
    }

    /// Bytes of all payloads.
    pub(crate) fn payload_bytes(&self) -> Result<u64> {
        let blocks = self.blocks()?;
        Ok(blocks.iter().map(|block| block.payload.len() as u64).sum())
    }
}
