//! The sample files, made where they are not there yet.

use std::fs;
use std::path::{Path, PathBuf};

use atds::Codec;
use atds::generate::{GenerateOptions, Preset, generate};
use avro_block::{Block, MappedBlocks, map_file};
use tempfile::TempDir;

use crate::Result;

/// Records of a data set, unless a comparison says otherwise.
pub(crate) const RECORDS: u64 = 40_960;

/// Files of a data set.
const FILES: usize = 8;

/// A folder of data sets, each in a folder of its own.
#[derive(Debug)]
pub(crate) struct Data {
    folder: PathBuf,
    /// Removed at the end.
    _temporary: Option<TempDir>,
}

impl Data {
    /// Keeps data sets in `folder`; without, in one that is removed at the end.
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
        self.generated(preset, codec, RECORDS)
    }

    pub(crate) fn generated(&self, preset: Preset, codec: Codec, records: u64) -> Result<Files> {
        let name = format!("{preset}-{codec}-{records}");
        self.made(&name, |folder| {
            let mut options = GenerateOptions::new(preset, records);
            (options.files, options.codec) = (FILES, codec);
            generate(folder, &options)?;
            Ok(())
        })
    }

    /// The data set `name`, which `make` writes to a folder if it is not there yet.
    pub(crate) fn made(&self, name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<Files> {
        let folder = self.folder.join(name);
        if !folder.exists() {
            // Under another name until it is whole.
            let unfinished = self.folder.join(format!("{name}.unfinished"));
            fs::create_dir_all(&unfinished)?;
            make(&unfinished)?;
            fs::rename(&unfinished, &folder)?;
        }
        Files::list(folder)
    }
}

/// The files of a data set.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    pub(crate) folder: PathBuf,
    /// In the order of their names.
    pub(crate) paths: Vec<PathBuf>,
}

impl Files {
    fn list(folder: PathBuf) -> Result<Self> {
        let entries = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path()));
        let mut paths: Vec<PathBuf> = entries.collect::<Result<_>>()?;
        paths.sort();
        Ok(Files { folder, paths })
    }

    /// All blocks, in mapped memory, their payloads still compressed.
    pub(crate) fn blocks(&self) -> Result<Vec<Block>> {
        let mut blocks = Vec::new();
        for path in &self.paths {
            for block in MappedBlocks::from_bytes(map_file(&fs::File::open(path)?)?)? {
                blocks.push(block?);
            }
        }
        Ok(blocks)
    }
}
