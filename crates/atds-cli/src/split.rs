//! Flags for reading one of several splits.

use std::path::PathBuf;

use atds::interface::Interface;
use atds::{DatasetBuilder, Split, SplitBy};

/// Flags for reading one of several splits.
#[derive(Debug, clap::Args)]
pub(crate) struct SplitArgs {
    /// Read the records of this split alone, one of --splits
    #[arg(long, value_name = "NAME", requires = "splits")]
    split: Option<String>,
    /// All splits, each with its part of the records, such as train=0.98,valid=0.01,test=0.01
    #[arg(long, value_name = "NAME=PART,...", requires = "split", value_delimiter = ',', value_parser = part)]
    splits: Vec<(String, f64)>,
    /// What splits are made of: record; block, so that other blocks are not decompressed; or a field, by --index [default: record]
    #[arg(long, value_name = "WHAT", requires = "split", value_parser = by)]
    split_by: Option<SplitBy>,
    /// The index of the files, which `atds index` writes: splits by a field need it, and others by block read less
    #[arg(long, value_name = "INDEX")]
    index: Option<PathBuf>,
    /// A folder that all files are in: splits tell files by their paths below it [default: by their names]
    #[arg(long, value_name = "FOLDER")]
    root: Option<PathBuf>,
}

impl SplitArgs {
    /// A data set with these options.
    pub(crate) fn apply(&self, mut builder: DatasetBuilder) -> DatasetBuilder {
        if let Some(name) = &self.split {
            let split = Split::new(name, self.splits.iter().cloned());
            builder = builder.split(split.by(self.split_by.clone().unwrap_or_default()));
        }
        if let Some(index) = &self.index {
            builder = builder.index(index.clone());
        }
        match &self.root {
            Some(folder) => builder.root(folder.clone()),
            None => builder,
        }
    }
}

fn part(text: &str) -> Result<(String, f64), String> {
    let must = || "must be a name and its part, such as train=0.9".to_owned();
    let (name, part) = text.rsplit_once('=').ok_or_else(must)?;
    let part = part.parse().map_err(|_| must())?;
    Ok((name.to_owned(), part))
}

fn by(text: &str) -> Result<SplitBy, String> {
    let message = |error| Interface::Command.message(error);
    text.parse().map_err(|error: atds::Error| message(error))
}
