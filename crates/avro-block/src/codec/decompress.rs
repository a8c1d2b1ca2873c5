//! Decompressing payloads of any codec.

use super::{Codec, DecompressBuffer, DecompressError};
use crate::limits::{FIRST_RATIO, MAX_GUESSED_RATIO, MIN_DECOMPRESS_BYTES};

/// Decompresses payloads, one after another. Keep one per thread: it holds the codecs' working memory,
/// made when a codec is first met, and learns how far payloads decompress.
#[derive(Debug, Default)]
pub struct Decompressor {
    ratio: Ratio,
    pub(super) tolerates_checksums: bool,
    pub(super) bad_checksums: u64,
    #[cfg(feature = "deflate")]
    deflate: super::deflate::Decompress,
    #[cfg(feature = "zstandard")]
    pub(super) zstandard: super::zstandard::Decompress,
}

/// A payload to decompress together with others, by [`Decompressor::decompress_many`].
#[derive(Debug)]
#[doc(hidden)]
pub struct DecompressJob<'a> {
    /// The payload.
    pub payload: &'a [u8],
    /// Takes what it decompresses to, in place of what is there.
    pub out: &'a mut DecompressBuffer,
    /// Most bytes to decompress to.
    pub limit: usize,
    /// What became of it.
    pub result: Result<(), DecompressError>,
}

impl<'a> DecompressJob<'a> {
    /// A payload that is not decompressed yet.
    pub fn new(payload: &'a [u8], out: &'a mut DecompressBuffer, limit: usize) -> Self {
        DecompressJob {
            payload,
            out,
            limit,
            result: Ok(()),
        }
    }
}

impl Decompressor {
    /// Allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a payload with a wrong checksum, or a snappy payload without one, is decompressed
    /// nevertheless (no at first): with snappy, zstandard and xz. bzip2's checksums are always
    /// held against the payload.
    pub fn set_tolerates_checksums(&mut self, tolerates: bool) {
        self.tolerates_checksums = tolerates;
    }

    /// Payloads decompressed so far whose checksum was wrong or missing.
    pub fn bad_checksums(&self) -> u64 {
        self.bad_checksums
    }

    /// Decompresses one block's `payload` into `out`, in place of what is there.
    ///
    /// `out` grows to `limit` bytes at most, and in proportion to what the payload really holds;
    /// no size that the payload declares is believed beyond what its codec can encode. With
    /// [`Codec::Null`] the payload is copied; who can do without should use it as it is.
    ///
    /// A stream may be followed by nothing, except: zstandard frames, bzip2 streams and xz streams
    /// may follow one another, and bytes after the end of a deflate stream are passed over, since
    /// writers exist that leave zlib's checksum there.
    ///
    /// # Errors
    ///
    /// If the codec is not compiled in, if the payload is corrupt or ends early, if its checksum
    /// is wrong (snappy, bzip2, xz, and zstandard where it has one), or if it holds more than
    /// `limit` bytes. `out` then holds no payload.
    pub fn decompress(
        &mut self,
        codec: Codec,
        payload: &[u8],
        out: &mut DecompressBuffer,
        limit: usize,
    ) -> Result<(), DecompressError> {
        out.clear();
        let mut result = self.decompress_with(codec, payload, out, limit);
        if let Err(error) = result {
            result = self.refused(error, codec, payload, out, limit);
        }
        match result {
            Ok(()) => self.ratio.learn(payload.len(), out.len()),
            Err(_) => out.clear(),
        }
        result
    }

    /// Decompresses several blocks' payloads, each as [`decompress`](Self::decompress) does, and says in each
    /// what became of it. None has a bearing on another.
    ///
    /// With [`Codec::Deflate`] and a processor that has AVX2 and BMI2, that many at once are up to
    /// half as fast again: give some eight at a time, of about the same size, so that they are
    /// still in cache when they are read. With other codecs, and with fewer than three payloads, it
    /// is the same.
    #[doc(hidden)]
    pub fn decompress_many(&mut self, codec: Codec, jobs: &mut [DecompressJob<'_>]) {
        #[cfg(feature = "deflate")]
        if codec == Codec::Deflate && super::deflate::pays_together(jobs.len()) {
            return self.decompress_together(jobs);
        }
        for job in jobs {
            job.result = self.decompress(codec, job.payload, job.out, job.limit);
        }
    }

    #[cfg(feature = "deflate")]
    fn decompress_together(&mut self, jobs: &mut [DecompressJob<'_>]) {
        for job in &mut *jobs {
            job.out.clear();
            job.result = self.ratio.prepare(job.payload, job.out, job.limit);
        }
        self.deflate.decompress_together(jobs);
        for job in jobs {
            match &job.result {
                Ok(()) => self.ratio.learn(job.payload.len(), job.out.len()),
                // So that the error does not depend on how many there are.
                Err(_) => {
                    job.result = self.decompress(Codec::Deflate, job.payload, job.out, job.limit)
                }
            }
        }
    }

    fn decompress_with(
        &mut self,
        codec: Codec,
        payload: &[u8],
        out: &mut DecompressBuffer,
        limit: usize,
    ) -> Result<(), DecompressError> {
        match codec {
            Codec::Null | Codec::Snappy => {} // Both know their size.
            _ => self.ratio.prepare(payload, out, limit)?,
        }
        match codec {
            Codec::Null => copy(payload, out, limit),
            #[cfg(feature = "deflate")]
            Codec::Deflate => self.deflate.decompress(payload, out, limit),
            #[cfg(feature = "snappy")]
            Codec::Snappy => super::snappy::decompress(payload, out, limit),
            #[cfg(feature = "zstandard")]
            Codec::Zstandard => self.zstandard.decompress(payload, out, limit),
            #[cfg(feature = "bzip2")]
            Codec::Bzip2 => super::bzip2::decompress(payload, out, limit),
            #[cfg(feature = "xz")]
            Codec::Xz => super::xz::decompress(payload, out, limit),
            #[allow(unreachable_patterns)] // Not where a codec is left out.
            codec => Err(DecompressError::Disabled(codec)),
        }
    }
}

fn copy(payload: &[u8], out: &mut DecompressBuffer, limit: usize) -> Result<(), DecompressError> {
    if payload.len() > limit {
        return Err(DecompressError::TooLarge { limit });
    }
    out.grow_to(payload.len(), limit)?;
    out.spare(limit)[..payload.len()].copy_from_slice(payload);
    out.advance(payload.len());
    Ok(())
}

/// How far the last payload decompressed, in sixteenths.
#[derive(Debug)]
struct Ratio(usize);

impl Ratio {
    const ONE: usize = 16;

    /// Makes room in `out` for what `payload` may decompress to, if there is far too little.
    fn prepare(
        &self,
        payload: &[u8],
        out: &mut DecompressBuffer,
        limit: usize,
    ) -> Result<(), DecompressError> {
        let guess = self.guess(payload.len()).min(limit);
        // Who gives a buffer that has room for most payloads wants no larger one.
        match out.capacity() < guess - guess / 4 {
            true => out.grow_to(guess, limit),
            false => Ok(()),
        }
    }

    /// Room for a payload of `len` bytes, with an eighth to spare.
    fn guess(&self, len: usize) -> usize {
        let guess = (len / Self::ONE + 1).saturating_mul(self.0);
        guess.saturating_add(guess / 8).max(MIN_DECOMPRESS_BYTES)
    }

    fn learn(&mut self, len: usize, decompressed: usize) {
        let ratio = decompressed.saturating_mul(Self::ONE).div_ceil(len.max(1));
        self.0 = ratio.clamp(Self::ONE, MAX_GUESSED_RATIO * Self::ONE);
    }
}

impl Default for Ratio {
    fn default() -> Self {
        Self(FIRST_RATIO * Self::ONE)
    }
}
