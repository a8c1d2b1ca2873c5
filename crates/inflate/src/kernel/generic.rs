//! The loops in plain Rust.

use super::{LOOKUPS_PER_CHECK, LOOKUPS_PER_ROUND, Lookups, MAX_CHECKS, ROUNDS_PER_CHECK};
use crate::bits::{Span, word};
use crate::entry::{LITERAL, NEXT, TABLE_LEN, consumed, is_token, value};
use crate::lane::Lane;
use crate::tokens::{CAPACITY, Tokens};

/// See [`Kernel::run`](super::Kernel::run).
///
/// A lookup waits some seven cycles for the one before it in its stream: a load, a mask and the
/// address. Lookups of the other streams fill this time.
#[inline(always)]
pub(super) fn run<const N: usize>(lanes: &mut [Lane; N], spans: &[&Span; N]) -> usize {
    let mut bits: [_; N] = std::array::from_fn(|lane| lanes[lane].position.bit);
    let mut tables: [_; N] = std::array::from_fn(|lane| lanes[lane].table & NEXT);
    let mut checks = 0;
    while checks < MAX_CHECKS {
        for round in 0..ROUNDS_PER_CHECK {
            let mut words: [_; N] = std::array::from_fn(|lane| word(spans[lane], bits[lane]));
            let mut entries = [0u32; N];
            for nth in 0..LOOKUPS_PER_ROUND {
                for lane in 0..N {
                    let word = words[lane];
                    let index = tables[lane] | (word as u32 % TABLE_LEN as u32);
                    let entry = lanes[lane].tables[index as usize];
                    let step = round * LOOKUPS_PER_ROUND + nth;
                    lanes[lane].lookups.entries[checks][step] = entry;
                    lanes[lane].lookups.words[checks][step] = word as u32;
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
        checks += 1;
        if tables.iter().any(|&table| Lane::is_halted(table)) {
            break;
        }
    }
    for lane in 0..N {
        lanes[lane].position.bit = bits[lane];
        lanes[lane].table = tables[lane];
    }
    checks * LOOKUPS_PER_CHECK
}

/// See [`Kernel::split`](super::Kernel::split).
///
/// Each entry is written to both lists, and counted only in the list it belongs to.
pub(super) fn split(lookups: &Lookups, count: usize, tokens: &mut Tokens) {
    let (mut literals, mut found) = (0, tokens.token_count);
    let entries = &lookups.entries.as_flattened()[..count];
    for (&entry, &word) in entries.iter().zip(lookups.words.as_flattened()) {
        tokens.literals[literals % CAPACITY] = (entry >> 16) as u8;
        tokens.tokens[found % CAPACITY] = value(entry & !LITERAL, word) | (literals as u32) << 16;
        literals += (entry >> 31) as usize;
        found += usize::from(is_token(entry));
    }
    tokens.literal_count = literals;
    tokens.token_count = found;
}
