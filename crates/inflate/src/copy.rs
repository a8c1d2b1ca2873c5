//! Writes literals and matches as bytes.

// Whole chunks are copied after one check for a whole match, which takes a quarter off the time of
// copying.
#![allow(unsafe_code)]

use crate::Error;
use crate::output::BoundedOutput;
use crate::tokens::{CAPACITY, CHUNK, Tokens};

/// The progress of copying.
#[derive(Clone, Copy)]
struct CopyState {
    /// Number of literals that are written.
    literals: usize,
    /// Number of bytes that are written.
    written: usize,
}

/// A match, and the number of all literals before it.
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

/// Writes the bytes of `tokens` after the first `written` bytes of `output`, and returns the new
/// number of bytes.
pub(crate) fn copy(
    tokens: &Tokens,
    output: &mut BoundedOutput<'_>,
    written: usize,
) -> Result<usize, Error> {
    let (mut pairs, _) = tokens.tokens[..tokens.token_count].as_chunks::<2>();
    let literals = 0;
    let mut state = CopyState { literals, written };
    loop {
        (state, pairs) = copy_in_chunks(tokens, pairs, output.bytes(), state);
        let Some((&pair, rest)) = pairs.split_first() else {
            break;
        };
        state = copy_by_byte(tokens, Match::new(pair), output, state)?;
        pairs = rest;
    }
    let last = &tokens.literals[state.literals..tokens.literal_count];
    output.write(state.written, last)
}

/// Copies matches in whole chunks, which can write past the end of a match. Stops before a match
/// that is at fault or has less than two chunks of space after it. Returns the matches that are left.
#[inline(never)]
fn copy_in_chunks<'a>(
    tokens: &Tokens,
    pairs: &'a [[u32; 2]],
    output: &mut [u8],
    state: CopyState,
) -> (CopyState, &'a [[u32; 2]]) {
    let Some(chunks_end) = output.len().checked_sub(2 * CHUNK) else {
        return (state, pairs);
    };
    let mut written = state.written;
    assert!(
        state.literals <= tokens.literal_count
            && tokens.literal_count <= CAPACITY
            && written <= output.len()
    );
    let (literals, bytes) = (tokens.literals.as_ptr(), output.as_mut_ptr());
    let mut used = literals.wrapping_add(state.literals);
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
        // Distance 0 wraps to a large number, and leaves the loop too.
        if end > chunks_end || next.distance.wrapping_sub(1) >= start {
            break left;
        }
        debug_assert!(used <= upto && next.literals <= tokens.literal_count);
        // SAFETY: as `Tokens` promises, `used..upto` are literals, and have a chunk after them. `end` is at most
        // `chunks_end`, two chunks before the end of `output`; it cannot wrap, as `run` is at most `CAPACITY` and
        // `length` has 16 bits. `distance` is from 1 to `start`.
        unsafe {
            copy_chunks(used, bytes.add(written), run);
            let to = bytes.add(start);
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
    (CopyState { literals, written }, left)
}

/// Copies a match byte by byte, or returns its error.
#[cold]
fn copy_by_byte(
    tokens: &Tokens,
    matched: Match,
    output: &mut BoundedOutput<'_>,
    state: CopyState,
) -> Result<CopyState, Error> {
    let run = &tokens.literals[state.literals..matched.literals];
    output.reserve(state.written, run.len() + matched.length)?;
    let start = output.write(state.written, run)?;
    if matched.distance > start {
        return Err(Error::Distance {
            distance: matched.distance as u16,
            written: start,
        });
    }
    let end = start + matched.length;
    let bytes = output.bytes();
    for at in start..end {
        bytes[at] = bytes[at - matched.distance];
    }
    Ok(CopyState {
        literals: matched.literals,
        written: end,
    })
}

/// Copies `len` bytes in whole chunks, at least one chunk.
///
/// # Safety
///
/// `len` bytes and a chunk more can be read at `from` and written at `to`. The two can overlap if
/// `from` is at least a chunk before `to`.
#[inline(always)]
unsafe fn copy_chunks(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller guarantees it.
    unsafe {
        std::ptr::copy(from, to, CHUNK);
        if len > CHUNK {
            copy_further_chunks(from, to, len);
        }
    }
}

/// Copies the chunks after the first. Out of line, so that it takes no registers from the loop.
///
/// # Safety
///
/// As for [`copy_chunks`].
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

/// Copies `len` bytes from `distance` bytes before, where `distance` is less than a chunk. So the
/// bytes repeat.
///
/// # Safety
///
/// `distance` is from 1 to 15, and `distance` bytes lie before `to`. A chunk can be read from the
/// first of them on. `len` bytes and a chunk more can be written at `to`.
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

/// For each distance below a chunk: the bytes of the whole repetitions that fit into a chunk.
static WHOLE: [usize; CHUNK] = {
    let mut whole = [0; CHUNK];
    let mut distance = 1;
    while distance < CHUNK {
        whole[distance] = CHUNK / distance * distance;
        distance += 1;
    }
    whole
};
