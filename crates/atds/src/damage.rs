//! Damage: whether it is an error or left out, and what was left out.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::{Value, json};

use crate::interface::Interface;
use crate::stats::Stats;
use crate::{Error, ErrorKind};
use atds_features::words::counted;
use atds_format::Location;

/// What becomes of damage.
///
/// Errors of the system, such as a file that cannot be read, and a memory limit that does not suffice are
/// errors for each choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnError {
    /// `raise`: it is an error, and the batches before it are whole.
    #[default]
    Raise,
    /// `skip_block`: a block that cannot be framed, checked or decompressed is left out. A record that cannot
    /// be decoded is left out, and with it the rest of its block if the next record cannot be found. Plans
    /// depend on record counts alone: a batch that loses rows is shorter, it may have none, and is never
    /// filled up. So order, positions and the number of batches stay what they were.
    SkipBlock,
    /// `skip_file`: a file that has any damage is left out as a whole. For this the data set reads all files
    /// once when it is built, and then has the others: so all ranks leave out the same files. Damage that
    /// comes later is an error.
    SkipFile,
}

impl OnError {
    const NAMES: [(&str, OnError); 3] = [
        ("raise", OnError::Raise),
        ("skip_block", OnError::SkipBlock),
        ("skip_file", OnError::SkipFile),
    ];
}

impl FromStr for OnError {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let found = OnError::NAMES.iter().find(|(known, _)| *known == name);
        let must = "raise, skip_block or skip_file";
        found
            .map(|&(_, choice)| choice)
            .ok_or_else(|| Error::option("on_error", must))
    }
}

impl fmt::Display for OnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = OnError::NAMES.iter().find(|(_, choice)| choice == self);
        f.write_str(found.map_or("", |(name, _)| name))
    }
}

/// How much an iteration may leave out of an epoch before it is an error after all.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum MaxSkipped {
    /// A number of records.
    Records(u64),
    /// A part of the records of the epoch, from 0 to 1: of a slice, of its own.
    Fraction(f64),
}

/// Damage, and what was left out for it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Skipped {
    /// The damage, with its file, offset, block, record and field as far as each is known.
    pub error: Error,
    /// Number of records that it costs, counted in the file. `None` if that is not known: the framing is
    /// damaged.
    pub records: Option<u64>,
    /// Number of bytes of the file that it costs; `None` for records of a block.
    pub bytes: Option<u64>,
}

impl Skipped {
    /// A file that is left out as a whole for `error`.
    ///
    /// # Errors
    /// `error` is no damage of the file.
    pub(crate) fn of_file(error: Error) -> Result<Self, Error> {
        let is_damage = matches!(
            error.kind,
            ErrorKind::Avro(_)
                | ErrorKind::Format(_)
                | ErrorKind::Unpack { .. }
                | ErrorKind::TooManyRecords { .. }
        );
        let path = error.place.location.as_ref().and_then(Location::path);
        let (true, Some(path)) = (is_damage, path) else {
            return Err(error);
        };
        let bytes = std::fs::metadata(path).map(|metadata| metadata.len()).ok();
        Ok(Skipped {
            error,
            records: None,
            bytes,
        })
    }

    /// The file.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.error.place.location.as_ref()?.path()
    }

    /// The damage as a JSON object with the names that options have in `interface`, as in the lines of a [log](crate::DatasetBuilder::skip_log): `file`,
    /// `offset`, `block`, `record`, `records`, `bytes`, `reason`. What is not known is `null`.
    pub fn to_json(&self, interface: Interface) -> Value {
        let place = &self.error.place;
        json!({
            "file": place.location.as_ref().map(ToString::to_string),
            "offset": place.offset,
            "block": place.block,
            "record": place.record,
            "records": self.records,
            "bytes": self.bytes,
            "reason": interface.message(&self.error),
        })
    }
}

impl From<atds_pipeline::Skipped> for Skipped {
    #[cold]
    fn from(skipped: atds_pipeline::Skipped) -> Self {
        Skipped {
            error: skipped.error.into(),
            records: skipped.records,
            bytes: skipped.bytes,
        }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let records = self.records.map(|records| counted(records, "record"));
        let bytes = self.bytes.map(|bytes| counted(bytes, "byte"));
        let both = [records, bytes].into_iter().flatten();
        let both = both.collect::<Vec<_>>().join(", ");
        write!(f, "left out {both}: {}", self.error)
    }
}

/// The options of what is left out, but for whether.
#[derive(Clone, Debug)]
pub(crate) struct SkipOptions {
    pub(crate) interface: Interface,
    pub(crate) max: Option<MaxSkipped>,
    pub(crate) log: Option<PathBuf>,
}

impl Default for SkipOptions {
    fn default() -> Self {
        SkipOptions {
            interface: Interface::Rust,
            max: None,
            log: None,
        }
    }
}

/// Follows what an iteration leaves out.
#[derive(Debug)]
pub(crate) struct SkipWatch {
    interface: Interface,
    /// The most records that may be left out of an epoch.
    max: Option<u64>,
    log: Option<(PathBuf, File)>,
    /// Number of places of damage that were told.
    told: usize,
    /// The files that were named in the log of the program.
    named: BTreeSet<String>,
}

impl SkipWatch {
    /// `records` is the number of records of an epoch, if a part of them may be left out.
    pub(crate) fn new(
        options: &SkipOptions,
        records: impl FnOnce() -> Result<u64, Error>,
    ) -> Result<Self, Error> {
        let max = match options.max {
            None => None,
            Some(MaxSkipped::Records(max)) => Some(max),
            Some(MaxSkipped::Fraction(part)) => Some((records()? as f64 * part) as u64),
        };
        let open = |path: &PathBuf| {
            let file = File::options().create(true).append(true).open(path);
            let file = file.map_err(|error| Error::io(error, path))?;
            Ok::<_, Error>((path.clone(), file))
        };
        Ok(SkipWatch {
            interface: options.interface,
            max,
            log: options.log.as_ref().map(open).transpose()?,
            told: 0,
            named: BTreeSet::new(),
        })
    }

    /// For an iteration that has failed.
    pub(crate) fn nothing() -> Self {
        SkipWatch {
            interface: Interface::Rust,
            max: None,
            log: None,
            told: 0,
            named: BTreeSet::new(),
        }
    }

    /// The number of places of damage that were told.
    pub(crate) fn told(&self) -> usize {
        self.told
    }

    /// Tells of damage that is new: each in the file, the first of a file in the program's log.
    pub(crate) fn tell(&mut self, new: &[Skipped]) -> Result<(), Error> {
        self.told += new.len();
        for skipped in new {
            let location = skipped.error.place.location.as_ref();
            let name = location.map(ToString::to_string).unwrap_or_default();
            if self.named.insert(name) {
                log::warn!("{skipped}; other damage of this file is counted");
            }
            if let Some((path, file)) = &mut self.log {
                let written = writeln!(file, "{}", skipped.to_json(self.interface));
                let written: io::Result<()> = written.and_then(|()| file.flush());
                written.map_err(|error| Error::io(error, &*path))?;
            }
        }
        Ok(())
    }

    /// An error if more than it may be was left out of the epoch.
    pub(crate) fn check(&self, stats: &Stats, rank: u64) -> Result<(), Error> {
        let skipped = stats.epoch_skipped.records;
        match self.max {
            Some(max) if skipped > max => {
                let epoch = stats.position.epoch;
                Err(Error::new(ErrorKind::TooManySkipped {
                    skipped,
                    max,
                    epoch,
                    rank,
                }))
            }
            _ => Ok(()),
        }
    }
}
