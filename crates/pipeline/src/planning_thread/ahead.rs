//! Memory for payloads and reads, of which no batch is planned yet.

use super::PlanningThread;
use super::blocks::File;
use crate::decode::grown;
use crate::error::Stop;
use crate::flow::Denied;
use crate::memory::Lease;
use crate::need::exceeded;

impl PlanningThread {
    /// A lease for a read of `bytes` bytes, waited for.
    pub(super) fn lease(&mut self, file: &File, bytes: u64) -> Result<Lease, Stop> {
        let total = self.total(file);
        if let Some(lease) = self.flow.try_lease_ahead(total, bytes) {
            return Ok(lease);
        }
        // What waits here may be what holds the memory.
        self.sequence.flush()?;
        self.flow
            .lease_ahead(total, bytes)
            .map_err(|denied| match denied {
                Denied::Exceeded => {
                    // Of a small limit, buffers of reads take much.
                    let held = self.flow.memory.held().saturating_add(bytes);
                    self.exceeded(file, self.flow.prepared_in_window(), bytes, held)
                }
                _ => Stop::Cancelled,
            })
    }

    /// A lease for a read of `bytes` bytes that the next batch may not need, if there is memory.
    pub(super) fn try_lease(&self, file: &File, bytes: u64) -> Option<Lease> {
        let under_way = file.under_way().saturating_add(bytes);
        if bytes > 0 && under_way > self.flow.memory.read_ahead_limit() {
            return None;
        }
        self.flow.try_lease_ahead(self.total(file), bytes)
    }

    /// A lease for `bytes` bytes of a payload of the window, waited for.
    pub(super) fn payload_lease(&mut self, file: &File, bytes: u64) -> Result<Lease, Stop> {
        self.check_window(file, bytes)?;
        self.lease(file, bytes)
    }

    /// An error if a payload of `bytes` bytes makes the window too large.
    pub(super) fn check_window(&self, file: &File, bytes: u64) -> Result<(), Stop> {
        let window = self.planner.window_bytes().saturating_add(bytes);
        if window > self.flow.memory.window_limit() {
            return Err(self.exceeded(file, 0, bytes, 0));
        }
        Ok(())
    }

    /// Bytes of all payloads and reads.
    fn total(&self, file: &File) -> u64 {
        self.planner.total() + file.unframed + file.under_way()
    }

    /// The error of a window that does not fit, and needs `least` bytes or more. The rest of it is taken
    /// to be like what is there, and columns to be as large as the payload, of which `bytes` are missing.
    #[cold]
    fn exceeded(&self, file: &File, prepared: u64, bytes: u64, least: u64) -> Stop {
        let window = self.planner.window_bytes().saturating_add(bytes);
        let window = window.max(self.planner.expected_bytes());
        let needed = window.saturating_add(prepared).max(least);
        let payload = file.unframed.saturating_add(bytes);
        let payload = payload.max(least.saturating_sub(window));
        let needed = needed.saturating_add(grown(payload));
        Stop::Failed(exceeded(&self.flow.memory, needed, None))
    }
}
