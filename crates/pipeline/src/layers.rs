//! The rest of an epoch of which some records were read before, by other readers.

use std::ops::Range;
use std::sync::Arc;

use atds_shuffle::Stream;

/// What is read of the rest of an epoch, of which the readers of some layers have read records before. Other
/// epochs are read as ever.
#[derive(Clone, Debug)]
pub struct Rest {
    /// The epoch.
    pub epoch: u64,
    /// Those who have read, one layer after another.
    pub layers: Vec<Layer>,
    /// The records, by their numbers among those that the layers left unread.
    pub records: Range<u64>,
    /// Number of records of each file, in the order in which the files were given.
    pub file_records: Arc<[u64]>,
}

/// Readers that were at work side by side, and shared the records that the layers before had left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Number of records of a batch; at least 1.
    pub batch_size: u64,
    /// The readers, in the order of their records.
    pub parts: Vec<LayerPart>,
}

/// What a reader of a layer has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerPart {
    /// The rank of its process.
    pub rank: u64,
    /// The number of the worker in its process.
    pub worker: u64,
    /// The records that were shared out to it, by their numbers among those that the layers before left.
    pub records: Range<u64>,
    /// Number of batches that it gave out.
    pub batches: u64,
}

impl LayerPart {
    /// The stream of its draws, in layer `layer`.
    pub(crate) fn stream(&self, layer: u64) -> Stream {
        Stream {
            layer,
            rank: self.rank,
            worker: self.worker,
        }
    }
}
