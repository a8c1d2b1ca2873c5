//! From literals and matches to bytes.

// Whole chunks are copied without a check of each, after one for all of a match: a quarter off the
// time that this takes. The memory that comes next is asked for, by an instruction that takes a
// pointer.
#![allow(unsafe_code)]

use crate::Error;
use crate::room::Room;
use crate::tokens::{CHUNK, ROOM, Tokens};

/// Bytes ahead of what is written that memory is asked for: so much is written in about the
/// time that memory takes.
const AHEAD: usize = 512;

/// Bytes that a processor loads at a time.
const LINE: usize = 64;

/// Where copying has come to.
#[derive(Clone, Copy)]
struct Place {
    /// Literals used.
    literals: usize,
    /// Bytes written.
    written: usize,
}

/// A match, and how many literals come before it in all.
#[derive(Clone, Copy)]
struct Match {
    literals: usize,
    length: usize,
    distance: usize,
}

impl Match {
    #[inline(always)]
    fn new([length, distance]: [u32; 2]) -> Self {
        Match {
            literals: (length >> 16) as usize,
            length: (length & 0xffff) as usize,
            distance: (distance & 0xffff) as usize,
        }
    }
}

/// Writes what `tokens` say behind the `written` first bytes of `room`, and returns how many there
/// are then.
pub(crate) fn copy(tokens: &Tokens, room: &mut Room<'_>, written: usize) -> Result<usize, Error> {
    let (mut pairs, _) = tokens.tokens[..tokens.token_count].as_chunks::<2>();
    let literals = 0;
    let mut place = Place { literals, written };
    loop {
        (place, pairs) = copy_roomy(tokens, pairs, room.bytes(), place);
        let Some((&pair, rest)) = pairs.split_first() else {
            break;
        };
        place = copy_exact(tokens, Match::new(pair), room, place)?;
        pairs = rest;
    }
    let last = &tokens.literals[place.literals..tokens.literal_count];
    room.write(place.written, last)
}

/// Copies the matches before the first one that is at fault, or after which there is no room for
/// two chunks, and returns what is left: what is written in whole chunks goes over the end.
#[inline(never)]
fn copy_roomy<'a>(
    tokens: &Tokens,
    pairs: &'a [[u32; 2]],
    room: &mut [u8],
    place: Place,
) -> (Place, &'a [[u32; 2]]) {
    let Some(roomy) = room.len().checked_sub(2 * CHUNK) else {
        return (place, pairs);
    };
    let (mut used, mut written) = (place.literals, place.written);
    assert!(used <= tokens.literal_count && tokens.literal_count <= ROOM && written <= room.len());
    let mut left = tokens.literal_count - used;
    let (literal_bytes, bytes) = (tokens.literals.as_ptr(), room.as_mut_ptr());
    let mut copied = 0;
    for &pair in pairs {
        let Match {
            literals,
            length,
            distance,
        } = Match::new(pair);
        let run = literals.wrapping_sub(used);
        let start = written.wrapping_add(run);
        let end = start.wrapping_add(length);
        // A distance of zero is too large here, and is looked into elsewhere.
        if run > left || end > roomy || distance.wrapping_sub(1) >= start {
            break;
        }
        // SAFETY: `used + run` is at most `literal_count`, so at most `ROOM`, and `literals` has a
        // chunk more. `written + run + length` is at most `roomy`, and `room` has two chunks more;
        // none of it wraps, as `run` is at most `ROOM`, `length` has 16 bits and `written` is at
        // most `room.len()`. `distance` is from 1 to `start`.
        unsafe {
            copy_chunks(literal_bytes.add(used), bytes.add(written), run);
            let to = bytes.add(start);
            prefetch(to.wrapping_add(AHEAD));
            if distance >= CHUNK {
                copy_chunks(to.sub(distance), to, length);
            } else {
                repeat(to, distance, length);
            }
        }
        left -= run;
        used = literals;
        written = end;
        copied += 1;
    }
    let literals = used;
    (Place { literals, written }, &pairs[copied..])
}

/// Has the processor load the first of `bytes`, while other work goes on.
pub(crate) fn prefetch_start(bytes: &[u8]) {
    let lines = bytes.chunks(LINE).take(AHEAD / LINE);
    lines.for_each(|line| prefetch(line.as_ptr()));
}

/// Has the processor load the line at `place`, whosever it is, while other work goes on: what is
/// inflated to may have been long out of its caches.
#[inline(always)]
fn prefetch(place: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the pointer is not read through, and the instruction does nothing where there is
        // no memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// Copies a match, to the byte, or says what is wrong with it.
#[cold]
fn copy_exact(
    tokens: &Tokens,
    matched: Match,
    room: &mut Room<'_>,
    place: Place,
) -> Result<Place, Error> {
    let run = &tokens.literals[place.literals..matched.literals];
    room.reserve(place.written, run.len() + matched.length)?;
    let start = room.write(place.written, run)?;
    if matched.distance > start {
        return Err(Error::Distance {
            distance: matched.distance as u16,
            written: start,
        });
    }
    let end = start + matched.length;
    let bytes = room.bytes();
    for at in start..end {
        bytes[at] = bytes[at - matched.distance];
    }
    Ok(Place {
        literals: matched.literals,
        written: end,
    })
}

/// Copies `len` bytes in whole chunks, and one at least.
///
/// # Safety
///
/// `len` bytes and a chunk more may be read at `from` and written at `to`. What is read may be what
/// was written if it is a chunk behind.
#[inline(always)]
unsafe fn copy_chunks(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: whole chunks are less than a chunk more than `len`, if that is not zero.
    unsafe {
        std::ptr::copy(from, to, CHUNK);
        if len > CHUNK {
            for done in (CHUNK..len).step_by(CHUNK) {
                std::ptr::copy(from.add(done), to.add(done), CHUNK);
            }
        }
    }
}

/// Copies `len` bytes from `distance` before, which is less than a chunk: the bytes there, over and
/// over.
///
/// # Safety
///
/// `distance` is from 1 to 15, and so many bytes are before `to`. `len` bytes and a chunk more may
/// be written at it.
#[inline(never)]
unsafe fn repeat(to: *mut u8, distance: usize, len: usize) {
    const HALF: usize = CHUNK / 2;
    // SAFETY: whole halves are less than a half more than `len`. Halves that are read begin before
    // halves that are written, or where those do.
    unsafe {
        let from = to.sub(distance);
        if distance >= HALF {
            for done in (0..len).step_by(HALF) {
                std::ptr::copy(from.add(done), to.add(done), HALF);
            }
            return;
        }
        let mut bits = distance * 8;
        let bytes = from.cast::<[u8; HALF]>().read();
        let mut pattern = u64::from_le_bytes(bytes) & ((1 << bits) - 1);
        while bits < 64 {
            pattern |= pattern << bits;
            bits *= 2;
        }
        // As often as they fit a half.
        for done in (0..len).step_by(HALF / distance * distance) {
            let half = to.add(done).cast::<[u8; HALF]>();
            half.write(pattern.to_le_bytes());
        }
    }
}
