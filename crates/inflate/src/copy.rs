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

#[inline(always)]
fn load(bytes: &[u8], at: usize) -> [u8; CHUNK] {
    bytes[at..at + CHUNK].try_into().expect("a whole chunk")
}

#[inline(always)]
fn store(bytes: &mut [u8], at: usize, chunk: [u8; CHUNK]) {
    bytes[at..at + CHUNK].copy_from_slice(&chunk);
}

/// Copies `len` bytes, and up to a chunk more.
#[inline(always)]
fn copy_chunks(from: &[u8], from_at: usize, to: &mut [u8], to_at: usize, len: usize) {
    store(to, to_at, load(from, from_at));
    let mut done = CHUNK;
    while done < len {
        store(to, to_at + done, load(from, from_at + done));
        done += CHUNK;
    }
}

/// Copies `len` bytes within `room` to `at` from `distance` before, and up to a chunk more.
#[inline(always)]
fn repeat_chunks(room: &mut [u8], at: usize, distance: usize, len: usize) {
    if distance < CHUNK {
        return repeat_near(room, at, distance, len);
    }
    let from = at - distance;
    store(room, at, load(room, from));
    let mut done = CHUNK;
    while done < len {
        store(room, at + done, load(room, from + done));
        done += CHUNK;
    }
}

/// The same where what is copied is not all there yet: the last `distance` bytes, over and over.
fn repeat_near(room: &mut [u8], at: usize, distance: usize, len: usize) {
    let mut bits = distance as u32 * 8;
    let mut pattern = u128::from_le_bytes(load(room, at - distance)) & ((1 << bits) - 1);
    while bits < 128 {
        pattern |= pattern << bits;
        bits *= 2;
    }
    let whole = CHUNK / distance * distance;
    for done in (0..len).step_by(whole) {
        store(room, at + done, pattern.to_le_bytes());
    }
}
