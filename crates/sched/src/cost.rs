//! What a block costs: running averages per record, measured per run.

/// How much of the past each run forgets: after ten runs a measurement weighs
/// about a third of a fresh one.
const KEEP: f64 = 0.9;

/// The work on one block for one batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockWork {
    /// Records of the block if it is still to be decompressed, else 0: decompressing
    /// takes the whole block.
    pub records_to_decompress: u64,
    /// Records to decode.
    pub records_to_decode: u64,
}

/// What a run took, all threads together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Records of the blocks that were decompressed.
    pub records_decompressed: u64,
    /// Nanoseconds spent decompressing them.
    pub decompress_ns: u64,
    /// Records decoded.
    pub records_decoded: u64,
    /// Nanoseconds spent decoding them.
    pub decode_ns: u64,
}

/// The costs per record of decompressing and of decoding, as averages that follow
/// the data.
#[derive(Clone, Copy, Debug, Default)]
pub struct CostModel {
    decompress: Average,
    decode: Average,
}

impl CostModel {
    /// Takes the measurements of a run in.
    pub fn observe(&mut self, observed: &Observed) {
        self.decompress
            .add(observed.decompress_ns, observed.records_decompressed);
        self.decode
            .add(observed.decode_ns, observed.records_decoded);
    }

    /// Nanoseconds to decompress a record, once known.
    pub fn decompress_ns_per_record(&self) -> Option<f64> {
        self.decompress.get()
    }

    /// Nanoseconds to decode a record, once known.
    pub fn decode_ns_per_record(&self) -> Option<f64> {
        self.decode.get()
    }

    /// Whether anything has been measured.
    pub fn is_measured(&self) -> bool {
        self.decode.get().is_some()
    }

    /// What has been done in a run, as if it had been decoding only: records
    /// decoded, and as many more as could have been while others were decompressed.
    pub(crate) fn in_decoded_records(&self, observed: &Observed) -> f64 {
        let decompress = self.decompress.get().unwrap_or(0.0);
        let ratio = match self.decode.get() {
            Some(decode) if decode > 0.0 => decompress / decode,
            _ => 0.0,
        };
        observed.records_decoded as f64 + ratio * observed.records_decompressed as f64
    }

    /// The expected cost of `work` in nanoseconds. Before anything has been
    /// measured every block that takes part costs the same, 1.
    pub fn cost(&self, work: &BlockWork) -> f64 {
        if work.records_to_decode == 0 {
            return 0.0;
        }
        let Some(decode) = self.decode.get() else {
            return 1.0;
        };
        let decompress = self.decompress.get().unwrap_or(0.0);
        decompress * work.records_to_decompress as f64 + decode * work.records_to_decode as f64
    }
}

/// A ratio of sums in which older runs weigh less.
#[derive(Clone, Copy, Debug, Default)]
struct Average {
    nanos: f64,
    records: f64,
}

impl Average {
    fn add(&mut self, nanos: u64, records: u64) {
        if records > 0 {
            self.nanos = self.nanos * KEEP + nanos as f64;
            self.records = self.records * KEEP + records as f64;
        }
    }

    fn get(&self) -> Option<f64> {
        (self.records > 0.0).then(|| self.nanos / self.records)
    }
}
