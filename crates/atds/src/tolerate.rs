//! Faults of files that a reader can tolerate.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Mutex;

use atds_format::Location;

use crate::Error;
use crate::limits::MAX_NAMED_FAULTS;
use crate::lock::lock;

/// The faults of files or messages that are tolerated: none by default.
///
/// Tolerated faults are counted in the [statistics](crate::stats::Stats) and logged.
///
/// ```
/// use atds::Tolerate;
///
/// let tolerate: Tolerate = "checksum,utf8".parse()?;
/// assert!(tolerate.checksum && tolerate.utf8 && !tolerate.trailing_file_bytes);
/// assert_eq!(tolerate.to_string(), "checksum,utf8");
/// # Ok::<(), atds::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Tolerate {
    /// `trailing-block-bytes`: bytes left in a block, or a message, after its records. They are
    /// not read.
    pub trailing_block_bytes: bool,
    /// `trailing-file-bytes`: bytes after the last block that are no part of the file, such as
    /// padding, a newline, or another file. They are not read. Damage is still an error;
    /// [`TrailingBytes::LeaveOut`](avro_block::TrailingBytes::LeaveOut) says how the two are told
    /// apart.
    pub trailing_file_bytes: bool,
    /// `checksum`: a wrong checksum of a block that is compressed with snappy, zstandard or xz,
    /// or a missing checksum of snappy. The block is read as it is. Checksums of bzip2 are always
    /// checked.
    pub checksum: bool,
    /// `utf8`: text that is not UTF-8. Each run of invalid bytes becomes U+FFFD.
    pub utf8: bool,
}

impl Tolerate {
    /// The names of all faults.
    pub const NAMES: [&str; 4] = [
        "trailing-block-bytes",
        "trailing-file-bytes",
        "checksum",
        "utf8",
    ];

    /// No fault.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// All faults.
    pub fn everything() -> Self {
        let mut all = Self::default();
        all.flags().into_iter().for_each(|flag| *flag = true);
        all
    }

    /// Also tolerates the fault `name`.
    ///
    /// # Errors
    /// A name that is none of [`NAMES`](Self::NAMES).
    pub fn with(mut self, name: &str) -> Result<Self, Error> {
        let must = "of trailing-block-bytes, trailing-file-bytes, checksum and utf8";
        let known = Self::NAMES.iter().position(|known| *known == name);
        let at = known.ok_or_else(|| Error::option("tolerate", must))?;
        *self.flags()[at] = true;
        Ok(self)
    }

    /// The flags in the order of [`NAMES`](Self::NAMES).
    fn flags(&mut self) -> [&mut bool; 4] {
        [
            &mut self.trailing_block_bytes,
            &mut self.trailing_file_bytes,
            &mut self.checksum,
            &mut self.utf8,
        ]
    }
}

/// Names, separated by commas; an empty text is no fault.
impl FromStr for Tolerate {
    type Err = Error;

    fn from_str(names: &str) -> Result<Self, Error> {
        let names = names.split(',').map(str::trim);
        names
            .filter(|name| !name.is_empty())
            .try_fold(Tolerate::nothing(), Tolerate::with)
    }
}

/// Names, separated by commas.
impl fmt::Display for Tolerate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut own = *self;
        let named = Self::NAMES.into_iter().zip(own.flags());
        let named = named.filter_map(|(name, is_set)| is_set.then_some(name));
        f.write_str(&named.collect::<Vec<_>>().join(","))
    }
}

/// Names files with tolerated faults in the log of a data set: the lines so far.
#[derive(Debug, Default)]
pub(crate) struct FaultLog(Mutex<BTreeSet<String>>);

impl FaultLog {
    /// Names a file in the log, once for each fault, unless many were named already.
    #[cold]
    pub(crate) fn name(&self, file: &Location, what: &str) {
        let mut named = lock(&self.0);
        let line = format!("{file}: passed over: {what}");
        if named.len() > MAX_NAMED_FAULTS || !named.insert(line.clone()) {
            return;
        }
        match named.len() > MAX_NAMED_FAULTS {
            false => log::warn!("{line}"),
            true => log::warn!("more faults of files are passed over"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        assert_eq!("".parse::<Tolerate>().ok(), Some(Tolerate::nothing()));
        let all = Tolerate::NAMES.join(",");
        assert_eq!(all.parse::<Tolerate>().ok(), Some(Tolerate::everything()));
        assert_eq!(Tolerate::everything().to_string(), all);
        for name in Tolerate::NAMES {
            let mut one: Tolerate = name.parse().expect("a name");
            assert_eq!(one.to_string(), name);
            assert_eq!(one.flags().into_iter().filter(|flag| **flag).count(), 1);
        }
        let error = "checksum, utf-8".parse::<Tolerate>().expect_err("no name");
        assert!(
            error.to_string().starts_with("`tolerate` must be of "),
            "{error}"
        );
    }
}
