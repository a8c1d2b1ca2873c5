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
    let mut written = place.written;
    assert!(
        place.literals <= tokens.literal_count
            && tokens.literal_count <= ROOM
            && written <= room.len()
    );
    let (literals, bytes) = (tokens.literals.as_ptr(), room.as_mut_ptr());
    let mut used = literals.wrapping_add(place.literals);
    let mut pairs = pairs.iter();
    let left = loop {
        let left = pairs.as_slice();
        let Some(&pair) = pairs.next() else {
            break left;
        };
        let next = Match::new(pair);
        let upto = literals.wrapping_add(next.literals);
        let run = (upto as usize).wrapping_sub(used as usize);
        let start = written.wrapping_add(run);
        let end = start.wrapping_add(next.length);
        // A distance of zero is too large here, and is looked into elsewhere.
        if end > roomy || next.distance.wrapping_sub(1) >= start {
            break left;
        }
        debug_assert!(used <= upto && next.literals <= tokens.literal_count);
        // SAFETY: the literals before matches never get fewer, and are `literal_count` at most, as
        // `Tokens` promises: `upto` is not before `used`, and the `run` between them is part of
        // `literals`, which has a chunk more. `written + run + length` is at most `roomy`, and
        // `room` has two chunks more; none of it wraps, as `run` is at most `ROOM`, `length` has
        // 16 bits and `written` is at most `room.len()`. `distance` is from 1 to `start`.
        unsafe {
            copy_chunks(used, bytes.add(written), run);
            let to = bytes.add(start);
            prefetch(to.wrapping_add(AHEAD));
            if next.distance >= CHUNK {
                copy_chunks(to.sub(next.distance), to, next.length);
            } else {
                repeat(to, next.distance, next.length);
            }
        }
        used = upto;
        written = end;
    };
    let literals = used as usize - literals as usize;
    (Place { literals, written }, left)
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
    // SAFETY: as is said above.
    unsafe {
        std::ptr::copy(from, to, CHUNK);
        if len > CHUNK {
            copy_further_chunks(from, to, len);
        }
    }
}

/// Copies the others. Out of line, where it takes no registers from what is done for each match.
///
/// # Safety
///
/// That of [`copy_chunks`].
#[cold]
#[inline(never)]
unsafe fn copy_further_chunks(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: whole chunks are less than a chunk more than `len`.
    unsafe {
        for done in (CHUNK..len).step_by(CHUNK) {
            std::ptr::copy(from.add(done), to.add(done), CHUNK);
        }
    }
}

/// Copies `len` bytes from `distance` before, which is less than a chunk: the bytes there, over and
/// over.
///
/// # Safety
///
/// `distance` is from 1 to 15, and so many bytes are before `to`. A chunk may be read from the first
/// of these on, and `len` bytes and a chunk more may be written at `to`.
#[inline(never)]
unsafe fn repeat(to: *mut u8, distance: usize, len: usize) {
    // SAFETY: the last chunk begins before `len`.
    unsafe {
        let bytes = to.sub(distance).cast::<[u8; CHUNK]>().read();
        let mut bits = distance * 8;
        let mut pattern = u128::from_le_bytes(bytes) & ((1 << bits) - 1);
        while bits < CHUNK * 8 {
            pattern |= pattern << bits;
            bits *= 2;
        }
        let mut done = 0;
        while done < len {
            to.add(done)
                .cast::<[u8; CHUNK]>()
                .write(pattern.to_le_bytes());
            done += WHOLE[distance];
        }
    }
}

/// Of each distance below a chunk, the most bytes of a chunk that are whole repetitions.
static WHOLE: [usize; CHUNK] = {
    let mut whole = [0; CHUNK];
    let mut distance = 1;
    while distance < CHUNK {
        whole[distance] = CHUNK / distance * distance;
        distance += 1;
    }
    whole
};
