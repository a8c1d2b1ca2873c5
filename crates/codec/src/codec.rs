//! The codecs and their properties. Names are those of Avro 1.12, "Required Codecs" and "Optional
//! Codecs".

use std::fmt;
use std::ops::RangeInclusive;

/// A compression codec, with the payload format that Avro files have.
///
/// Every codec has a variant even if it is not compiled in. So files can be described without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// No compression.
    Null,
    /// Raw deflate (RFC 1951), without zlib's header and checksum.
    Deflate,
    /// Snappy's raw format, then the CRC-32 of the decompressed bytes, big-endian.
    Snappy,
    /// Zstandard (RFC 8878).
    Zstandard,
    /// bzip2.
    Bzip2,
    /// xz.
    Xz,
}

impl Codec {
    /// All codecs.
    pub const ALL: [Self; 6] = [
        Self::Null,
        Self::Deflate,
        Self::Snappy,
        Self::Zstandard,
        Self::Bzip2,
        Self::Xz,
    ];

    /// The codec of this name: what `avro.codec` in the header of an Avro file says.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|codec| codec.name() == name)
    }

    /// The names of the codecs that are compiled in, separated by commas, for messages.
    pub fn enabled_names() -> String {
        let enabled = Self::ALL.into_iter().filter(|codec| codec.is_enabled());
        let names: Vec<_> = enabled.map(Self::name).collect();
        names.join(", ")
    }

    /// The codec that `name` probably means, for messages: its own name, another spelling of it, or
    /// the name of a program or format.
    pub fn suggest(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "none" | "uncompressed" | "" => Self::Null,
            "zlib" | "gzip" | "gz" | "deflated" => Self::Deflate,
            "snappy-java" | "snappyblock" => Self::Snappy,
            "zstd" | "zst" => Self::Zstandard,
            "bzip" | "bz2" => Self::Bzip2,
            "lzma" | "lzma2" => Self::Xz,
            name => return Self::from_name(name),
        })
    }

    /// The codec's name in the header of an Avro file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Deflate => "deflate",
            Self::Snappy => "snappy",
            Self::Zstandard => "zstandard",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        }
    }

    /// Whether this is [`Codec::Null`]: a payload is the data itself.
    pub fn is_null(self) -> bool {
        self == Self::Null
    }

    /// Upper bound on decompressed bytes per payload byte: the maximum of the format, rounded up to
    /// a power of two.
    pub fn max_expansion(self) -> u64 {
        match self {
            Self::Null => 1,
            // A copy element of three bytes yields 64 bytes.
            Self::Snappy => 1 << 5,
            // A match of two bits yields 258 bytes.
            Self::Deflate => 1 << 11,
            // A run block of four bytes yields 128 KiB.
            Self::Zstandard => 1 << 16,
            // bzip2 shortens runs twice: about 40 bytes yield 45 MB.
            Self::Bzip2 | Self::Xz => 1 << 21,
        }
    }

    /// Whether this build can decompress and compress with this codec (cargo feature of the same
    /// name).
    pub fn is_enabled(self) -> bool {
        match self {
            Self::Null => true,
            Self::Deflate => cfg!(feature = "deflate"),
            Self::Snappy => cfg!(feature = "snappy"),
            Self::Zstandard => cfg!(feature = "zstandard"),
            Self::Bzip2 => cfg!(feature = "bzip2"),
            Self::Xz => cfg!(feature = "xz"),
        }
    }

    /// The levels of the codec's compressor, fastest first; `None` if it has no levels.
    pub fn levels(self) -> Option<RangeInclusive<i32>> {
        match self {
            Self::Null | Self::Snappy => None,
            Self::Deflate => Some(0..=12),
            Self::Zstandard => Some(1..=22),
            Self::Bzip2 => Some(1..=9),
            Self::Xz => Some(0..=9),
        }
    }
}

impl fmt::Display for Codec {
    /// The codec's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
