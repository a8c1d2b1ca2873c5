use std::fmt;

/// Number of values, and of faults, that were passed over by the user's choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// Sparse entries with an index outside their dimension.
    pub dropped_entries: u64,
    /// Lists that were truncated to their dimension.
    pub truncated_lists: u64,
    /// Faults that were tolerated.
    pub tolerated: Tolerated,
}

impl Tally {
    /// Adds `other`.
    pub fn add(&mut self, other: &Tally) {
        self.dropped_entries += other.dropped_entries;
        self.truncated_lists += other.truncated_lists;
        self.tolerated.add(&other.tolerated);
    }
}

/// Counters of faults of files that were tolerated, as the user has asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tolerated {
    /// Bytes left in blocks after their records.
    pub trailing_block_bytes: u64,
    /// Bytes after the last blocks of files.
    pub trailing_file_bytes: u64,
    /// Blocks whose checksum was wrong or missing.
    pub bad_checksums: u64,
    /// Texts that were not UTF-8, in values that were read.
    pub replaced_texts: u64,
}

impl Tolerated {
    /// Each counter with the noun that it counts, in the singular if the counter is 1.
    pub fn figures(&self) -> [(u64, &'static str); 4] {
        let counters = [
            self.trailing_block_bytes,
            self.trailing_file_bytes,
            self.bad_checksums,
            self.replaced_texts,
        ];
        std::array::from_fn(|i| {
            let (one, several) = Self::NOUNS[i];
            (counters[i], if counters[i] == 1 { one } else { several })
        })
    }

    const NOUNS: [(&str, &str); 4] = [
        (
            "byte in a block after its records",
            "bytes in blocks after their records",
        ),
        (
            "byte after the last block of a file",
            "bytes after the last blocks of files",
        ),
        ("wrong or missing checksum", "wrong or missing checksums"),
        ("text that is not UTF-8", "texts that are not UTF-8"),
    ];

    /// Whether there was no fault.
    pub fn is_empty(&self) -> bool {
        *self == Tolerated::default()
    }

    /// Adds `other`.
    pub fn add(&mut self, other: &Tolerated) {
        self.trailing_block_bytes += other.trailing_block_bytes;
        self.trailing_file_bytes += other.trailing_file_bytes;
        self.bad_checksums += other.bad_checksums;
        self.replaced_texts += other.replaced_texts;
    }
}

/// The counters that are not 0, separated by commas.
impl fmt::Display for Tolerated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = self.figures().into_iter().filter(|(n, _)| *n > 0);
        let figures: Vec<_> = figures.map(|(n, of)| format!("{n} {of}")).collect();
        f.write_str(&figures.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_kind_is_no_plural() {
        let mut tolerated = Tolerated {
            trailing_block_bytes: 1,
            trailing_file_bytes: 1,
            bad_checksums: 1,
            replaced_texts: 1,
        };
        assert_eq!(
            tolerated.to_string(),
            "1 byte in a block after its records, 1 byte after the last block of a file, \
             1 wrong or missing checksum, 1 text that is not UTF-8"
        );
        tolerated.add(&tolerated.clone());
        assert_eq!(
            tolerated.to_string(),
            "2 bytes in blocks after their records, 2 bytes after the last blocks of files, \
             2 wrong or missing checksums, 2 texts that are not UTF-8"
        );
    }
}
