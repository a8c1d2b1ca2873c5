//! The kernels in portable code.

use super::Found;
use super::word::{END_BITS, MAX_INT_BYTES, first, two, zigzag};

/// See [`Kernels::longs`](super::Kernels::longs).
pub(super) fn longs(data: &[u8], out: &mut [i64]) -> Option<usize> {
    each::<false>(data, out.len(), |i, value| out[i] = value)
}

/// See [`Kernels::ints`](super::Kernels::ints).
pub(super) fn ints(data: &[u8], out: &mut [i32]) -> Option<usize> {
    each::<true>(data, out.len(), |i, value| out[i] = value as i32)
}

/// See [`Kernels::coordinates`](super::Kernels::coordinates).
pub(super) fn coordinates<const INT: bool>(
    data: &[u8],
    row: i64,
    bound: u64,
    out: &mut [[i64; 2]],
) -> Option<Found> {
    let mut at_bound = false;
    let len = each::<INT>(data, out.len(), |i, index| {
        at_bound |= index as u64 >= bound;
        out[i] = [row, index];
    })?;
    Some(Found { len, at_bound })
}

/// See [`Kernels::indices`](super::Kernels::indices).
pub(super) fn indices<const INT: bool>(data: &[u8], bound: u64, out: &mut [i64]) -> Option<Found> {
    let mut at_bound = false;
    let len = each::<INT>(data, out.len(), |i, index| {
        at_bound |= index as u64 >= bound;
        out[i] = index;
    })?;
    Some(Found { len, at_bound })
}

/// See [`Kernels::skip`](super::Kernels::skip).
pub(super) fn skip(data: &[u8], mut n: usize) -> Option<usize> {
    let mut position = 0;
    while n > 8 {
        let Some(word) = data[position..].first_chunk() else {
            break;
        };
        n -= (!u64::from_le_bytes(*word) & END_BITS).count_ones() as usize;
        position += 8;
    }
    while n > 0 {
        n -= usize::from(*data.get(position)? < 0x80);
        position += 1;
    }
    Some(position)
}

/// Reads `n` varints, each an `int` if `INT`; returns their size in bytes.
#[inline]
fn each<const INT: bool>(data: &[u8], n: usize, mut put: impl FnMut(usize, i64)) -> Option<usize> {
    let (mut position, mut done) = (0, 0);
    while done < n {
        let rest = &data[position..];
        if n - done >= 2
            && let Some(word) = rest.first_chunk()
            && let Some((values, len)) = two(u64::from_le_bytes(*word))
        {
            put(done, i64::from(values[0]));
            put(done + 1, i64::from(values[1]));
            position += len;
            done += 2;
        } else {
            let (bits, len) = first(rest)?;
            if INT && (len > MAX_INT_BYTES || bits > u64::from(u32::MAX)) {
                return None;
            }
            put(done, zigzag(bits));
            position += len;
            done += 1;
        }
    }
    Some(position)
}
