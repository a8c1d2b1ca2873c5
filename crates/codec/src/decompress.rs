//! Decompressing payloads of any codec.

#[cfg(feature = "deflate")]
use crate::limits::DEFLATE_GROUP;
use crate::limits::{FIRST_RATIO, MAX_GUESSED_RATIO, MIN_DECOMPRESS_BYTES};
use crate::{Codec, DecompressBuffer, DecompressError};

/// Decompresses payloads, one after another.
///
/// Keep one per thread. It holds the codecs' working memory, which is allocated on first use, and
/// it learns the compression ratio of the payloads.
#[derive(Debug, Default)]
pub struct Decompressor {
    ratio: Ratio,
    pub(crate) tolerates_checksums: bool,
    pub(crate) bad_checksums: u64,
    #[cfg(feature = "deflate")]
    deflate: crate::deflate::Decompress,
    #[cfg(feature = "zstandard")]
    pub(crate) zstandard: crate::zstandard::Decompress,
}

/// A payload to decompress together with others, by [`Decompressor::decompress_many`].
#[derive(Debug)]
#[non_exhaustive]
pub struct DecompressJob<'a> {
    /// The payload.
    pub payload: &'a [u8],
    /// The buffer for the decompressed bytes; its contents are replaced.
    pub out: &'a mut DecompressBuffer,
    /// Maximum number of decompressed bytes.
    pub limit: usize,
    /// The outcome of decompressing the payload.
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
    /// Creates a decompressor; allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether snappy, zstandard and xz payloads with a wrong checksum, and snappy payloads
    /// without one, are decompressed nevertheless. Off by default. A wrong bzip2 checksum is always
    /// an error.
    pub fn set_tolerates_checksums(&mut self, tolerates: bool) {
        self.tolerates_checksums = tolerates;
    }

    /// Number of payloads decompressed so far whose checksum was wrong or missing.
    pub fn bad_checksums(&self) -> u64 {
        self.bad_checksums
    }

    /// Decompresses `payload` into `out`, and replaces the contents of `out`.
    ///
    /// `out` grows to `limit` bytes at most, in proportion to the real contents of the payload. A
    /// size that the payload declares is trusted only as far as its codec can encode it. With
    /// [`Codec::Null`] the payload is copied; callers that can use the payload itself should do so.
    ///
    /// Zstandard frames, bzip2 streams and xz streams may follow one another. Bytes after the end
    /// of a deflate stream are ignored, since some writers leave zlib's checksum there. Any other
    /// bytes after a stream are an error.
    ///
    /// # Errors
    ///
    /// If the codec is not compiled in, if the payload is corrupt or ends early, or if it holds
    /// more than `limit` bytes. Also if its checksum is wrong (snappy, bzip2, xz, and zstandard if
    /// it has one). `out` is then empty.
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

    /// Decompresses several payloads, each as [`decompress`](Self::decompress) does,
    /// and sets each job's `result`. The jobs are independent of one another.
    ///
    /// With [`Codec::Deflate`] on a processor with AVX2 and BMI2, this is up to 1.5 times as fast
    /// as single calls. Give [`preferred_group`](Self::preferred_group) payloads of similar size at
    /// a time. With other codecs, or fewer than three payloads, the speed is that of single calls.
    pub fn decompress_many(&mut self, codec: Codec, jobs: &mut [DecompressJob<'_>]) {
        #[cfg(feature = "deflate")]
        if codec == Codec::Deflate && crate::deflate::pays_together(jobs.len()) {
            return self.decompress_together(jobs);
        }
        for job in jobs {
            job.result = self.decompress(codec, job.payload, job.out, job.limit);
        }
    }

    /// Number of payloads to give to one call of [`decompress_many`](Self::decompress_many): enough
    /// that the decoder's latencies are hidden, and few enough that the output is still in cache
    /// when it is read. 1 if the codec gains nothing from several payloads.
    pub fn preferred_group(codec: Codec) -> usize {
        match codec {
            #[cfg(feature = "deflate")]
            Codec::Deflate => DEFLATE_GROUP,
            _ => 1,
        }
    }

    /// Number of payloads that [`decompress_many`](Self::decompress_many) decompresses side by
    /// side. A group that is no multiple of this number ends more slowly.
    pub fn lanes(codec: Codec) -> usize {
        match codec {
            #[cfg(feature = "deflate")]
            Codec::Deflate => atds_inflate::LANES,
            _ => 1,
        }
    }

    /// Memory in bytes that the decoder of `payload` takes for itself, as the headers in the payload say:
    /// its dictionary or window. It is there only while the payload is decompressed. Less than 64 KiB
    /// is 0.
    pub fn working_memory(codec: Codec, payload: &[u8]) -> u64 {
        match codec {
            #[cfg(feature = "zstandard")]
            Codec::Zstandard => crate::zstandard::working_memory(payload),
            #[cfg(feature = "bzip2")]
            Codec::Bzip2 => crate::bzip2::working_memory(payload),
            #[cfg(feature = "xz")]
            Codec::Xz => crate::xz::working_memory(payload),
            _ => {
                let _ = payload;
                0
            }
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
                // Decompress alone, so that the error does not depend on the number of jobs.
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
            Codec::Snappy => crate::snappy::decompress(payload, out, limit),
            #[cfg(feature = "zstandard")]
            Codec::Zstandard => self.zstandard.decompress(payload, out, limit),
            #[cfg(feature = "bzip2")]
            Codec::Bzip2 => crate::bzip2::decompress(payload, out, limit),
            #[cfg(feature = "xz")]
            Codec::Xz => crate::xz::decompress(payload, out, limit),
            #[allow(unreachable_patterns)] // Reachable if a codec is not compiled in.
            codec => Err(DecompressError::Disabled(codec)),
        }
    }
}

fn copy(payload: &[u8], out: &mut DecompressBuffer, limit: usize) -> Result<(), DecompressError> {
    if payload.len() > limit {
        return Err(DecompressError::TooLarge { limit });
    }
    out.grow_to(payload.len(), limit)?;
    out.free(limit)[..payload.len()].copy_from_slice(payload);
    out.advance(payload.len());
    Ok(())
}

/// Decompressed bytes per compressed byte of the last payload, in sixteenths.
#[derive(Debug)]
struct Ratio(usize);

impl Ratio {
    const ONE: usize = 16;

    /// Grows `out` to the expected size of the decompressed `payload`, if `out` is far too small.
    fn prepare(
        &self,
        payload: &[u8],
        out: &mut DecompressBuffer,
        limit: usize,
    ) -> Result<(), DecompressError> {
        let guess = self.guess(payload.len()).min(limit);
        // A caller whose buffer fits most payloads wants no larger buffer.
        if out.capacity() < guess - guess / 4 {
            out.grow_to(guess, limit)
        } else {
            Ok(())
        }
    }

    /// Expected decompressed size of a payload of `len` bytes, plus an eighth.
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
