//! Memory for payloads and reads, of which no batch is planned yet.

use std::sync::Arc;

use crate::decode::grown;
use crate::error::Stop;
use crate::flow::NoLease;
use crate::memory::{Lease, Memory};
use crate::need::exceeded;
use crate::planner::Planner;
use crate::sequence::Sequence;

/// What memory for payloads and reads is leased with.
pub(crate) struct Ahead<'a> {
    pub(crate) memory: &'a Arc<Memory>,
    pub(crate) sequence: &'a mut Sequence,
    pub(crate) planner: &'a Planner,
    /// Bytes that were read for the next block.
    pub(crate) unframed: u64,
    /// The number of the block that the memory is for, and its byte offset.
    pub(crate) block: Option<(u64, Option<u64>)>,
}

impl Ahead<'_> {
    pub(crate) fn no_lease(&self) -> Lease {
        Lease::none(self.memory)
    }

    /// A lease for a read of `bytes` bytes, waited for, where `under_way` bytes are under way.
    pub(crate) fn lease(&mut self, under_way: u64, bytes: u64) -> Result<Lease, Stop> {
        if bytes == 0 {
            return Ok(self.no_lease());
        }
        let total = self.total(under_way);
        let lease = self.sequence.lease_ahead(total, bytes);
        lease.map_err(|denied| match denied {
            NoLease::Cancelled => Stop::Cancelled,
            NoLease::Exceeded { prepared } => {
                // Of a small limit, buffers of reads take much.
                let held = self.memory.held().saturating_add(bytes);
                self.exceeded(prepared, bytes, held)
            }
        })
    }

    /// A lease for a read of `bytes` bytes that the next batch may not need, if there is memory.
    pub(crate) fn try_lease(&self, under_way: u64, bytes: u64) -> Option<Lease> {
        if bytes == 0 {
            return Some(self.no_lease());
        }
        if under_way.saturating_add(bytes) > self.memory.read_ahead_limit() {
            return None;
        }
        self.sequence.try_lease_ahead(self.total(under_way), bytes)
    }

    /// A lease for `bytes` bytes of a payload of the window, waited for.
    pub(crate) fn payload_lease(&mut self, under_way: u64, bytes: u64) -> Result<Lease, Stop> {
        self.check_window(bytes)?;
        self.lease(under_way, bytes)
    }

    /// An error if a payload of `bytes` bytes makes the window too large.
    pub(crate) fn check_window(&self, bytes: u64) -> Result<(), Stop> {
        let window = self.planner.window_bytes().saturating_add(bytes);
        if window > self.memory.window_limit() {
            return Err(self.exceeded(0, bytes, 0));
        }
        Ok(())
    }

    /// Bytes of all payloads and reads.
    fn total(&self, under_way: u64) -> u64 {
        self.planner.total() + self.unframed + under_way
    }

    /// The error of a window that does not fit, and needs `least` bytes or more. The rest of it is taken
    /// to be like what is there, and columns to be as large as the payload, of which `bytes` are missing.
    #[cold]
    fn exceeded(&self, prepared: u64, bytes: u64, least: u64) -> Stop {
        let window = self.planner.window_bytes().saturating_add(bytes);
        let window = window.max(self.planner.expected_bytes());
        let needed = window.saturating_add(prepared).max(least);
        let payload = self.unframed.saturating_add(bytes);
        let payload = payload.max(least.saturating_sub(window));
        let needed = needed.saturating_add(grown(payload));
        let mut error = exceeded(self.memory, needed, None);
        if let Some((index, offset)) = self.block {
            error.place.block = Some(index);
            error.place.offset = offset;
        }
        Stop::Failed(error)
    }
}
