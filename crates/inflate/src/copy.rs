//! From literals and matches to bytes.

// Copies in whole chunks without a check each: see `copy_roomy`.
#![allow(unsafe_code)]

use crate::Error;
use crate::lane::{TOKENS, Tokens};
use crate::stream::Stream;

/// Bytes that are copied at a time.
const CHUNK: usize = 16;

/// Where copying has come to.
#[derive(Clone, Copy)]
struct Place {
    /// Literals used.
    from: usize,
    /// Bytes written to the room.
    written: usize,
}

/// A match, and the literals before it.
#[derive(Clone, Copy)]
struct Match {
    /// How many literals are before it in all.
    literals_end: usize,
    length: usize,
    distance: usize,
}

impl Match {
    #[inline(always)]
    fn new([length, distance]: [u32; 2]) -> Self {
        Match {
            literals_end: (length >> 16) as usize,
            length: (length & 0xffff) as usize,
            distance: (distance & 0xffff) as usize,
        }
    }
}

/// Writes what `tokens` say behind the `written` first bytes of the stream's room, and returns how
/// many there are then. A length whose distance is still to come stays in `tokens`.
pub(crate) fn copy(
    tokens: &mut Tokens,
    stream: &mut Stream<'_>,
    written: usize,
) -> Result<usize, Error> {
    let (pairs, rest) = tokens.tokens[..tokens.token_count].as_chunks::<2>();
    let mut place = Place { from: 0, written };
    let mut pairs = pairs.iter();
    loop {
        place = copy_roomy(tokens, &mut pairs, stream.room(), place);
        let Some(&pair) = pairs.next() else { break };
        place = copy_exact(tokens, Match::new(pair), stream, place)?;
    }
    let Place { from, written } = place;
    let run = tokens.literal_count - from;
    stream.reserve(written, run)?;
    stream.room()[written..written + run].copy_from_slice(&tokens.literals[from..from + run]);

    // The literals before a length that is left over are written.
    let left_over = rest.first().map(|length| length & 0xffff);
    tokens.token_count = rest.len();
    tokens.tokens[0] = left_over.unwrap_or(0);
    Ok(written + run)
}

/// Copies up to the first match that is at fault or comes near the end of `room`: what is written
/// in whole chunks goes over its end.
#[inline(never)]
fn copy_roomy(
    tokens: &Tokens,
    pairs: &mut std::slice::Iter<'_, [u32; 2]>,
    room: &mut [u8],
    place: Place,
) -> Place {
    let Place { mut from, mut written } = place;
    let Some(roomy) = room.len().checked_sub(2 * CHUNK) else {
        return place;
    };
    assert!(from <= tokens.literal_count && tokens.literal_count <= TOKENS && written <= room.len());
    let (literals, room) = (tokens.literals.as_ptr(), room.as_mut_ptr());
    let mut left = tokens.literal_count - from;
    let mut done = 0;
    for &pair in pairs.as_slice() {
        let Match { literals_end, length, distance } = Match::new(pair);
        let run = literals_end.wrapping_sub(from);
        let start = written.wrapping_add(run);
        let end = start.wrapping_add(length);
        if run > left || end > roomy || distance > start {
            break;
        }
        left -= run;
        // SAFETY: 
        unsafe {
            copy_chunks(literals.add(from), room.add(written), run);
            let (from, to) = (room.add(start - distance), room.add(start));
            if distance >= CHUNK {
                copy_chunks(from, to, length);
            } else {
                repeat_near(from, to, distance, length);
            }
        }
        from = literals_end;
        written = end;
        done += 1;
    }
    *pairs = pairs.as_slice()[done..].iter();
    Place { from, written }
}

/// Copies a match, to the byte, or says what is wrong with it.
#[cold]
fn copy_exact(
    tokens: &Tokens,
    copied: Match,
    stream: &mut Stream<'_>,
    place: Place,
) -> Result<Place, Error> {
    let literals = &tokens.literals[place.from..copied.literals_end];
    stream.reserve(place.written, literals.len() + copied.length)?;
    let start = place.written + literals.len();
    if copied.distance > start {
        return Err(Error::Distance {
            distance: copied.distance as u16,
            written: start,
        });
    }
    let room = stream.room();
    room[place.written..start].copy_from_slice(literals);
    let end = start + copied.length;
    for at in start..end {
        room[at] = room[at - copied.distance];
    }
    Ok(Place {
        from: copied.literals_end,
        written: end,
    })
}

/// Copies `len` bytes, and up to a chunk more.
///
/// # Safety
///
/// 
#[inline(always)]
unsafe fn copy_chunks(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: 
    unsafe {
        to.cast::<[u8; CHUNK]>().write(from.cast::<[u8; CHUNK]>().read());
        if len > CHUNK {
            for done in (CHUNK..len).step_by(CHUNK) {
                std::ptr::copy(from.add(done), to.add(done), CHUNK);
            }
        }
    }
}

/// The same where a chunk is not all there yet.
#[inline(never)]
unsafe fn repeat_near(from: *const u8, to: *mut u8, distance: usize, len: usize) {
    const HALF: usize = CHUNK / 2;
    unsafe {
        if distance >= HALF {
            for done in (0..len).step_by(HALF) {
                std::ptr::copy(from.add(done), to.add(done), HALF);
            }
            return;
        }
        // The last `distance` bytes over and over, as often as they fit.
        let mut bits = distance * 8;
        let mut pattern = u64::from_le_bytes(from.cast::<[u8; HALF]>().read()) & ((1 << bits) - 1);
        while bits < 64 {
            pattern |= pattern << bits;
            bits *= 2;
        }
        for done in (0..len).step_by(HALF / distance * distance) {
            to.add(done).cast::<[u8; HALF]>().write(pattern.to_le_bytes());
        }
    }
}
