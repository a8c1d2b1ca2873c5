//! Identifies the compressed format of bytes that their codec refuses.

use std::fmt;

/// A compressed format that is recognised by its first bytes.
///
/// Raw deflate, raw snappy and brotli are missing, since their data begins with no magic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CompressedFormat {
    /// Gzip (RFC 1952).
    Gzip,
    /// Zstandard (RFC 8878).
    Zstandard,
    /// bzip2.
    Bzip2,
    /// xz.
    Xz,
    /// The output of Unix' `compress` (`.Z`).
    Compress,
    /// An LZ4 frame.
    Lz4,
    /// Snappy's framing format. [`Codec::Snappy`](crate::Codec::Snappy) is the raw format.
    SnappyFrames,
    /// zlib (RFC 1950): deflate with a header and a checksum.
    Zlib,
    /// lzop.
    Lzop,
    /// Zip.
    Zip,
}

use CompressedFormat::*;

/// The first bytes of formats.
const MAGICS: [(&[u8], CompressedFormat); 10] = [
    (b"\x1f\x8b", Gzip),
    (b"\x28\xb5\x2f\xfd", Zstandard),
    (b"BZh", Bzip2),
    (b"\xfd7zXZ\0", Xz),
    (b"\x1f\x9d", Compress),
    (b"\x04\x22\x4d\x18", Lz4),
    (b"\xff\x06\0\0sNaPpY", SnappyFrames),
    (b"\x89LZO\0\r\n\x1a\n", Lzop),
    (b"PK\x03\x04", Zip),
    (b"PK\x05\x06", Zip),
];

impl CompressedFormat {
    /// The format that begins with the bytes that `data` begins with; `None` if there is none.
    ///
    /// [`Zlib`](Self::Zlib) is recognised by two bytes, which other data may begin with by chance:
    /// text that begins with `x^`, for example.
    pub fn detect(data: &[u8]) -> Option<Self> {
        let magic = MAGICS.iter().find(|(magic, _)| data.starts_with(magic));
        match magic {
            Some(&(_, format)) => Some(format),
            None => is_zlib(data).then_some(Zlib),
        }
    }

    /// The format's name, with its article: "gzip data", "a zip archive".
    pub fn name(self) -> &'static str {
        match self {
            Gzip => "gzip data",
            Zstandard => "zstandard data",
            Bzip2 => "bzip2 data",
            Xz => "xz data",
            Compress => "data of the program compress (.Z)",
            Lz4 => "LZ4 data",
            SnappyFrames => "data in Snappy's framing format",
            Zlib => "zlib data",
            Lzop => "lzop data",
            Zip => "a zip archive",
        }
    }
}

impl fmt::Display for CompressedFormat {
    /// The format's name, with its article.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether `data` begins with zlib's two header bytes: deflate, a window of at most 32 KiB, and
/// their check.
fn is_zlib(data: &[u8]) -> bool {
    match data {
        &[method, flags, ..] => {
            method & 0x0f == 8
                && method >> 4 <= 7
                && u16::from_be_bytes([method, flags]).is_multiple_of(31)
        }
        _ => false,
    }
}
