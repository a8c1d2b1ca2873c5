//! Files of which the planning thread reads the heads of blocks alone, while workers read the payloads.

use atds_format::BlockDesc;

use super::PlanningThread;
use super::blocks::File;
use crate::tuning::{READS_UNDER_WAY, SMALL_BLOCK_SHARE};

/// Whether the heads of blocks alone are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heads {
    Never,
    /// The file's first block tells.
    Perhaps,
    /// They are. The system was told to read ahead up to byte offset `told`.
    Read {
        told: u64,
    },
}

impl PlanningThread {
    /// Has the heads of blocks alone be read from the end of a file's first `block` on, if that pays; and tells the system what
    /// is read soon. Whether the next blocks are found by their heads as well as this one.
    pub(super) fn read_heads(&self, file: &mut File, block: &BlockDesc) -> bool {
        let end = block.range().end;
        let sizes = self.read_size / SMALL_BLOCK_SHARE..=self.read_size;
        // A longer head would have the payload be taken for larger than it is.
        let pays = sizes.contains(&block.file_bytes) && file.blocks.has_layout();
        let ahead = self.read_size * READS_UNDER_WAY as u64;
        match file.heads {
            Heads::Read { told } if pays => {
                if end + ahead / 2 > told {
                    file.source.will_need(told..told + ahead / 2);
                    file.heads = Heads::Read {
                        told: told + ahead / 2,
                    };
                }
                true
            }
            Heads::Perhaps => {
                file.heads = Heads::Never;
                if pays
                    && let Some(size) = file.size
                    && let Some(heads) = file.blocks.heads_at(block.index + 1, end, size)
                    && file.source.will_need(end..end + ahead)
                {
                    file.heads = Heads::Read { told: end + ahead };
                    (file.blocks, file.has_payloads) = (heads, false);
                }
                true
            }
            heads => heads == Heads::Never,
        }
    }
}

impl File {
    /// Has the payloads be framed from the end of the last block on, if only the heads of blocks were read until now. Whether
    /// they were. So all errors are those of framing payloads.
    pub(super) fn frame_payloads(&mut self) -> bool {
        let Heads::Read { .. } = self.heads else {
            return false;
        };
        self.heads = Heads::Never;
        let Some(blocks) = self.blocks.at_block(self.next_block, self.framed_to) else {
            return false;
        };
        (self.blocks, self.has_payloads, self.unframed) = (blocks, true, 0);
        true
    }
}
