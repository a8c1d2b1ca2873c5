//! Why a data set does not go on from a state.

use std::fmt;
use std::path::PathBuf;

use super::STATE_VERSION;
use crate::{Error, ErrorKind};

/// Why a data set does not go on from a state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateMismatch {
    /// A state of a later version of this library.
    Version {
        /// The version of the state.
        found: u32,
    },
    /// An option was another.
    Option {
        /// The option.
        name: &'static str,
        /// Its value when the state was taken, and now; `None` where that is long.
        values: Option<(String, String)>,
    },
    /// There were more or fewer files.
    FileCount {
        /// Number of files when the state was taken.
        saved: u64,
        /// Number of files now.
        now: u64,
    },
    /// A file is another, or has changed.
    File {
        /// The file.
        path: PathBuf,
        /// What of it is not the same: "name", "size".
        what: &'static str,
    },
    /// Several files are others, or have changed.
    Files {
        /// What of them is not the same.
        what: &'static str,
    },
    /// Its epoch is after the last of its iteration.
    Epochs {
        /// The epoch.
        epoch: u64,
        /// The epoch after the last of the iteration.
        until: u64,
    },
    /// The epoch has fewer batches than were given out.
    Batches {
        /// The batches of the epoch that were given out.
        batches: u64,
    },
    /// It is of another number of ranks or workers, or another `uneven`.
    World {
        /// What is another.
        what: &'static str,
        /// Its value when the state was taken.
        saved: String,
        /// Its value now.
        now: String,
    },
    /// It is of another rank, worker or slice.
    Reader {
        /// Of whom it is.
        saved: String,
        /// Who reads now.
        now: String,
    },
    /// It is a merged state, and the data set is a slice of its own.
    Slice,
}

impl StateMismatch {
    /// Whether other ranks or workers, or another batch size, may go on with the states of all ranks and
    /// workers, [merged](super::State::merge).
    pub fn is_of_others(&self) -> bool {
        match self {
            StateMismatch::World { .. } => true,
            StateMismatch::Option { name, .. } => *name == "batch_size",
            _ => false,
        }
    }
}

/// Advice for going on with other readers.
const MERGE: &str = ": merge the states of all ranks and workers to go on so";

impl fmt::Display for StateMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StateMismatch::Version { found } => write!(
                f,
                "it has version {found}, and this library reads versions 1 to {STATE_VERSION}"
            ),
            StateMismatch::Option {
                name,
                values: Some((saved, now)),
            } => {
                write!(f, "`{name}` was {saved} when it was taken, and is {now}")?;
                match *name {
                    "batch_size" => f.write_str(MERGE),
                    "shard_by" => f.write_str(": give what it was"),
                    _ => Ok(()),
                }
            }
            StateMismatch::Option { name, values: None } => {
                write!(f, "`{name}` was another when it was taken")
            }
            StateMismatch::FileCount { saved, now } => {
                write!(
                    f,
                    "there were {saved} files when it was taken, and there are {now}"
                )
            }
            StateMismatch::File { path, what } => write!(
                f,
                "{} is not the file that it was when it was taken: another {what}",
                path.display()
            ),
            StateMismatch::Files { what } => write!(
                f,
                "several files are not those that there were when it was taken: other {what}s"
            ),
            StateMismatch::Epochs { epoch, until } => {
                write!(
                    f,
                    "it is of epoch {epoch} of an iteration up to epoch {until}"
                )
            }
            StateMismatch::Batches { batches } => {
                write!(
                    f,
                    "the epoch has fewer than the {batches} batches that were given out"
                )
            }
            StateMismatch::World { what, saved, now } => write!(
                f,
                "{what} was {saved} when it was taken, and is {now}{MERGE}"
            ),
            StateMismatch::Reader { saved, now } => {
                write!(f, "it is of {saved}, and this is {now}")
            }
            StateMismatch::Slice => write!(
                f,
                "it is merged from the states of all ranks, and this data set reads a slice that is no rank's"
            ),
        }
    }
}

impl From<StateMismatch> for Error {
    #[cold]
    fn from(mismatch: StateMismatch) -> Self {
        Error::new(ErrorKind::State(mismatch))
    }
}
