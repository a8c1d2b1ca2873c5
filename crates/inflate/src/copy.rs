//! From literals and matches to bytes.

use crate::Error;
use crate::lane::Tokens;
use crate::stream::Stream;

/// Bytes that are copied at a time.
const CHUNK: usize = 16;

/// Writes what `tokens` say behind the `written` first bytes of the stream's room, and returns how
/// many there are then. A length whose distance is still to come stays in `tokens`.
#[inline(never)]
pub(crate) fn copy(
    tokens: &mut Tokens,
    stream: &mut Stream<'_>,
    mut written: usize,
) -> Result<usize, Error> {
    let (pairs, rest) = tokens.tokens[..tokens.token_count].as_chunks::<2>();
    let literals = &tokens.literals;
    let mut room = stream.room();
    let mut from = 0;
    for &[length, distance] in pairs {
        let run = (length >> 16) as usize - from;
        let length = (length & 0xffff) as usize;
        let distance = (distance & 0xffff) as usize;
        // What is written in whole chunks may go over its end.
        let is_roomy = written + run + length + 2 * CHUNK <= room.len();
        if !is_roomy {
            stream.reserve(written, run + length)?;
            room = stream.room();
        }
        if distance > written + run {
            return Err(too_far(distance, written + run));
        }
        if is_roomy {
            copy_chunks(literals, from, room, written, run);
            repeat_chunks(room, written + run, distance, length);
        } else {
            room[written..written + run].copy_from_slice(&literals[from..from + run]);
            for at in written + run..written + run + length {
                room[at] = room[at - distance];
            }
        }
        written += run + length;
        from += run;
    }
    let run = tokens.literal_count - from;
    stream.reserve(written, run)?;
    stream.room()[written..written + run].copy_from_slice(&literals[from..from + run]);

    // The literals before a length that is left over are written.
    let left_over = rest.first().map(|length| length & 0xffff);
    tokens.token_count = rest.len();
    tokens.tokens[0] = left_over.unwrap_or(0);
    Ok(written + run)
}

#[cold]
fn too_far(distance: usize, written: usize) -> Error {
    let distance = distance as u16;
    Error::Distance { distance, written }
}

/// Copies `len` bytes, and up to a chunk more.
#[inline(always)]
fn copy_chunks(from: &[u8], from_at: usize, to: &mut [u8], to_at: usize, len: usize) {
    let mut done = 0;
    loop {
        let (start, end) = (from_at + done, to_at + done);
        to[end..end + CHUNK].copy_from_slice(&from[start..start + CHUNK]);
        done += CHUNK;
        if done >= len {
            break;
        }
    }
}

/// Copies `len` bytes within `room` to `at` from `distance` before, and up to a chunk more.
#[inline(always)]
fn repeat_chunks(room: &mut [u8], at: usize, distance: usize, len: usize) {
    if distance < CHUNK {
        return repeat_near(room, at, distance, len);
    }
    let from = at - distance;
    let mut done = 0;
    loop {
        room.copy_within(from + done..from + done + CHUNK, at + done);
        done += CHUNK;
        if done >= len {
            break;
        }
    }
}

/// The same where a chunk is not all there yet.
fn repeat_near(room: &mut [u8], at: usize, distance: usize, len: usize) {
    const HALF: usize = CHUNK / 2;
    let from = at - distance;
    if distance >= HALF {
        for done in (0..len).step_by(HALF) {
            room.copy_within(from + done..from + done + HALF, at + done);
        }
        return;
    }
    // The last `distance` bytes over and over, as often as they fit.
    let mut bits = distance * 8;
    let half = room[from..from + HALF].try_into().expect("half a chunk");
    let mut pattern = u64::from_le_bytes(half) & ((1 << bits) - 1);
    while bits < 64 {
        pattern |= pattern << bits;
        bits *= 2;
    }
    for done in (0..len).step_by(HALF / distance * distance) {
        room[at + done..at + done + HALF].copy_from_slice(&pattern.to_le_bytes());
    }
}
