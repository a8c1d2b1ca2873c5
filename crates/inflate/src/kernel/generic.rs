//! The loops in plain Rust.

use super::{ROUND, ROUNDS, SPRINT, SPRINTS, Steps};
use crate::bits::{Window, word};
use crate::entry::{LITERAL, NEXT, TABLE_LEN, consumed, is_token, value};
use crate::lane::Lane;
use crate::tokens::{ROOM, Tokens};

/// See [`Kernel::run`](super::Kernel::run).
///
/// A lookup waits some seven cycles for the one before it in its stream: for a load, a mask and
/// the address. In the meantime the other streams have theirs.
#[inline(always)]
pub(super) fn run<const N: usize>(lanes: &mut [Lane; N], windows: &[&Window; N]) -> usize {
    let mut bits: [_; N] = std::array::from_fn(|lane| lanes[lane].position.bit);
    let mut tables: [_; N] = std::array::from_fn(|lane| lanes[lane].table & NEXT);
    let mut sprints = 0;
    while sprints < SPRINTS {
        for round in 0..ROUNDS {
            let mut words: [_; N] = std::array::from_fn(|lane| word(windows[lane], bits[lane]));
            let mut entries = [0u32; N];
            for nth in 0..ROUND {
                for lane in 0..N {
                    let word = words[lane];
                    let index = tables[lane] | (word as u32 % TABLE_LEN as u32);
                    let entry = lanes[lane].tables[index as usize];
                    let step = round * ROUND + nth;
                    lanes[lane].steps.entries[sprints][step] = entry;
                    lanes[lane].steps.words[sprints][step] = word as u32;
                    words[lane] = word >> (entry & 63);
                    entries[lane] = entries[lane].wrapping_add(entry);
                    tables[lane] = entry & NEXT;
                }
            }
            for lane in 0..N {
                // Together they consume less than 64 bits, so a sum is enough.
                bits[lane] += consumed(entries[lane]) as usize;
            }
        }
        sprints += 1;
        if tables.iter().any(|&table| Lane::is_halted(table)) {
            break;
        }
    }
    for lane in 0..N {
        lanes[lane].position.bit = bits[lane];
        lanes[lane].table = tables[lane];
    }
    sprints * SPRINT
}

/// See [`Kernel::split`](super::Kernel::split).
///
/// Everything is written whatever it is, and only counted if it is what belongs there.
pub(super) fn split(steps: &Steps, count: usize, tokens: &mut Tokens) {
    let (mut literals, mut found) = (0, tokens.token_count);
    let entries = &steps.entries.as_flattened()[..count];
    for (&entry, &word) in entries.iter().zip(steps.words.as_flattened()) {
        tokens.literals[literals % ROOM] = (entry >> 16) as u8;
        tokens.tokens[found % ROOM] = value(entry & !LITERAL, word) | (literals as u32) << 16;
        literals += (entry >> 31) as usize;
        found += usize::from(is_token(entry));
    }
    tokens.literal_count = literals;
    tokens.token_count = found;
}
