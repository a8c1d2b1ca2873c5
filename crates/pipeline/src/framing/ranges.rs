//! Payloads that are read by their ranges, several under way at once, some of them shared by blocks.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Weak};

use atds_format::{BlockDesc, Payload};

use super::Framing;
use super::file::{File, Framed};
use crate::Error;
use crate::block::{Block, BlockPayload, SharedPayload};
use crate::error::Stop;

/// The payloads of a file that are read by their ranges.
#[derive(Default)]
pub(super) struct Ranges {
    /// Payloads that several blocks share, by key.
    shared: HashMap<u64, Weak<SharedPayload>>,
    /// The last block, if its payload is shared: mostly, the next block has it, too.
    held: Option<Arc<Block>>,
    /// The keys that several blocks have; `None` if the blocks are not listed before they are read.
    shared_keys: Option<HashSet<u64>>,
    /// Blocks whose payloads are being read, in order.
    list: VecDeque<Listed>,
}

/// A block whose payload is being read.
struct Listed {
    framed: Framed,
    /// The records that are read of it.
    records: Range<u64>,
    /// Whether the payload was asked for with this block, and not with an earlier one.
    is_asked: bool,
}

impl Ranges {
    /// Says which blocks the file has.
    pub(super) fn set_blocks(&mut self, all: &[Framed]) {
        let mut keys = HashSet::new();
        let all = all.iter().filter_map(|framed| match framed.desc.payload {
            Payload::Ranges { key, .. } => Some(key),
            Payload::Here(_) => None,
        });
        self.shared_keys = Some(all.filter(|key| !keys.insert(*key)).collect());
    }

    /// Whether a block in the list has asked for the payload `key`.
    fn is_under_way(&self, key: u64) -> bool {
        let mut asked = self.list.iter().filter(|listed| listed.is_asked);
        asked.any(|listed| {
            matches!(listed.framed.desc.payload, Payload::Ranges { key: other, .. } if other == key)
        })
    }

    /// Whether several blocks may have the payload `key`.
    fn is_shared(&self, key: u64) -> bool {
        let keys = self.shared_keys.as_ref();
        keys.is_none_or(|keys| keys.contains(&key))
    }

    /// The payload `key` that an earlier block has shared, if it is still held.
    fn payload(&self, key: u64) -> Option<Arc<SharedPayload>> {
        self.shared.get(&key)?.upgrade()
    }
}

impl Framing {
    /// Adds a block of which `records` are read, once its payload is here.
    pub(super) fn add(
        &mut self,
        file: &mut File,
        framed: Framed,
        records: Range<u64>,
    ) -> Result<(), Stop> {
        let (key, ranges) = match &framed.desc.payload {
            Payload::Here(bytes) => return self.push_here(file, &framed, bytes, records),
            Payload::Ranges { key, ranges } => (*key, ranges),
        };
        let is_known = loop {
            if file.ranges.list.is_empty() {
                // What the framing has left under way is not of a payload.
                file.fetcher.forget_reads();
            }
            if file.ranges.list.len() < file.fetcher.most_under_way() {
                if file.ranges.is_under_way(key) || file.ranges.payload(key).is_some() {
                    break true;
                }
                let mut ahead = self.ahead(file, Some(&framed.desc));
                if file.fetcher.try_ask_for(ranges, &ahead) {
                    break false;
                }
                if file.ranges.list.is_empty() {
                    file.fetcher.ask_for_all(ranges, &mut ahead)?;
                    break false;
                }
            }
            self.take_first(file)?;
        };
        file.ranges.list.push_back(Listed {
            framed,
            records,
            is_asked: !is_known,
        });
        Ok(())
    }

    /// Adds all blocks whose payloads are under way.
    pub(super) fn finish_list(&mut self, file: &mut File) -> Result<(), Stop> {
        while !file.ranges.list.is_empty() {
            self.take_first(file)?;
        }
        Ok(())
    }

    /// Adds the first of the blocks whose payloads are under way.
    fn take_first(&mut self, file: &mut File) -> Result<(), Stop> {
        let Some(listed) = file.ranges.list.pop_front() else {
            return Ok(());
        };
        let Listed {
            framed,
            records,
            is_asked,
        } = listed;
        let desc = &framed.desc;
        let Payload::Ranges { key, ranges } = &desc.payload else {
            return Ok(());
        };
        let known = file.ranges.payload(*key).filter(|_| !is_asked);
        let payload = match known {
            Some(payload) => BlockPayload::Shared(payload),
            None => {
                // What is held for the block before must not be what the memory is missing for.
                self.let_go(file);
                let mut ahead = self.ahead(file, Some(desc));
                if !is_asked {
                    // Every block that shared the payload has been read to its end.
                    file.fetcher.ask_for_all(ranges, &mut ahead)?;
                }
                self.sequence.flush_if_starved()?;
                let is_shared = file.ranges.is_shared(*key);
                let payload = self.read_payload(file, desc, ranges, is_shared)?;
                if is_shared {
                    let payload = Arc::new(payload);
                    file.ranges.shared.insert(*key, Arc::downgrade(&payload));
                    BlockPayload::Shared(payload)
                } else {
                    BlockPayload::Own(payload)
                }
            }
        };
        self.push(file, &framed, payload, records)
    }

    /// The payload whose ranges were asked for first.
    fn read_payload(
        &mut self,
        file: &mut File,
        desc: &BlockDesc,
        ranges: &[Range<u64>],
        is_shared: bool,
    ) -> Result<SharedPayload, Stop> {
        let mut ahead = self.ahead(file, Some(desc));
        let (mut parts, mut lease) = (Vec::with_capacity(ranges.len()), ahead.no_lease());
        for _ in ranges {
            let (part, copied) = file.fetcher.take(&mut ahead)?;
            lease.merge(copied);
            if !part.is_counted {
                let bytes = part.bytes.len() as u64;
                lease.merge(ahead.payload_lease(file.fetcher.under_way(), bytes)?);
            }
            parts.push(part.bytes);
        }
        let parts = file.blocks.payload(desc, parts);
        let parts = parts.map_err(|error| Error::of_format(error, &file.location))?;
        Ok(SharedPayload::new(parts, is_shared, Some(lease)))
    }

    /// Holds the payload of `block` for the next block, if it is shared.
    pub(super) fn hold(&mut self, file: &mut File, block: &Arc<Block>) {
        if block.payload.is_shared {
            self.let_go(file);
            self.planner.keep(block);
            file.ranges.held = Some(block.clone());
        }
    }

    /// Lets the payload go that was held for the next block.
    pub(super) fn let_go(&mut self, file: &mut File) {
        if let Some(block) = file.ranges.held.take() {
            self.planner.let_go(&block);
        }
    }
}
