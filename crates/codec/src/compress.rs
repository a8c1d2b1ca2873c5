//! Compressing payloads of any codec.

use std::fmt;

use crate::{Codec, CompressError};

/// Compresses payloads with one codec at one level, one after another.
pub struct Compressor {
    codec: Codec,
    engine: Engine,
}

/// The working state of each codec.
enum Engine {
    Null,
    #[cfg(feature = "deflate")]
    Deflate(crate::deflate::Compress),
    #[cfg(feature = "snappy")]
    Snappy(Box<crate::snappy::Compress>),
    #[cfg(feature = "zstandard")]
    Zstandard(crate::zstandard::Compress),
    #[cfg(feature = "bzip2")]
    Bzip2(Option<i32>),
    #[cfg(feature = "xz")]
    Xz(Option<i32>),
}

impl Compressor {
    /// Creates a compressor of `level`, or of the codec's default: 6 for deflate and xz, 3 for
    /// zstandard, 9 for bzip2.
    ///
    /// # Errors
    ///
    /// If the codec is not compiled in, or has no such level.
    pub fn new(codec: Codec, level: Option<i32>) -> Result<Self, CompressError> {
        if let Some(level) = level {
            let known = codec.levels().is_some_and(|levels| levels.contains(&level));
            if !known {
                return Err(CompressError::BadLevel { codec, level });
            }
        }
        let engine = match codec {
            Codec::Null => Engine::Null,
            #[cfg(feature = "deflate")]
            Codec::Deflate => Engine::Deflate(crate::deflate::Compress::new(level)),
            #[cfg(feature = "snappy")]
            Codec::Snappy => Engine::Snappy(Box::new(crate::snappy::Compress::new())),
            #[cfg(feature = "zstandard")]
            Codec::Zstandard => Engine::Zstandard(crate::zstandard::Compress::new(level)?),
            #[cfg(feature = "bzip2")]
            Codec::Bzip2 => Engine::Bzip2(level),
            #[cfg(feature = "xz")]
            Codec::Xz => Engine::Xz(level),
            #[allow(unreachable_patterns)] // Reachable if a codec is not compiled in.
            codec => return Err(CompressError::Disabled(codec)),
        };
        Ok(Self { codec, engine })
    }

    /// The codec.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// Compresses `decompressed` into `out`, and replaces the contents of `out`.
    ///
    /// # Errors
    ///
    /// If the codec's library fails, as snappy does above 4 GiB.
    pub fn compress(
        &mut self,
        decompressed: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), CompressError> {
        match &mut self.engine {
            Engine::Null => {
                out.clear();
                out.extend_from_slice(decompressed);
                Ok(())
            }
            #[cfg(feature = "deflate")]
            Engine::Deflate(engine) => engine.compress(decompressed, out),
            #[cfg(feature = "snappy")]
            Engine::Snappy(engine) => engine.compress(decompressed, out),
            #[cfg(feature = "zstandard")]
            Engine::Zstandard(engine) => engine.compress(decompressed, out),
            #[cfg(feature = "bzip2")]
            Engine::Bzip2(level) => crate::bzip2::compress(*level, decompressed, out),
            #[cfg(feature = "xz")]
            Engine::Xz(level) => crate::xz::compress(*level, decompressed, out),
        }
    }
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressor")
            .field("codec", &self.codec)
            .finish_non_exhaustive()
    }
}
