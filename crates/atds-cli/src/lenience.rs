//! Flags for faulty or large files.

use atds::Tolerate;

use crate::{options, units};

/// Flags for faulty or large files.
#[derive(Debug, clap::Args)]
pub(crate) struct Lenience {
    /// Faults to tolerate and count: trailing-block-bytes, trailing-file-bytes, checksum, utf8
    #[arg(long, value_name = "NAME[,NAME]", default_value = "", hide_default_value = true, value_parser = options::tolerate)]
    pub(crate) tolerate: Tolerate,
    /// Maximum size of a block, compressed and decompressed [default: 1GiB]
    #[arg(long, value_name = "BYTES", value_parser = units::parse_bytes)]
    max_block_bytes: Option<u64>,
    /// Maximum nesting depth of a value, up to 300 [default: 100]
    #[arg(long, value_name = "N")]
    pub(crate) max_depth: Option<usize>,
}

impl Lenience {
    /// The maximum size of a block in bytes, if the flag is given.
    pub(crate) fn max_block_bytes(&self) -> Option<usize> {
        let bytes = self.max_block_bytes?;
        Some(usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    /// A data set with these options.
    pub(crate) fn apply(&self, mut builder: atds::DatasetBuilder) -> atds::DatasetBuilder {
        builder = builder.tolerate(self.tolerate);
        if let Some(bytes) = self.max_block_bytes() {
            builder = builder.max_block_bytes(bytes);
        }
        if let Some(depth) = self.max_depth {
            builder = builder.max_depth(depth);
        }
        builder
    }
}
