//! Converts runs of values in chunks.

use crate::plan::cursor::{Cursor, Fault};
use crate::plan::items::{Primitive, RawOf};

/// Number of values that are read before they are converted: few enough for the first-level cache,
/// enough to make the calls cheap.
const CHUNK: usize = 64;

/// Reads `out.len()` values of `P` and converts each with `convert`. After an error the cursor is
/// at the start of the first value that fails.
#[inline]
pub(super) fn converted<P, T>(
    cursor: &mut Cursor<'_>,
    out: &mut [T],
    convert: impl Fn(RawOf<P>) -> Result<T, Fault>,
) -> Result<(), Fault>
where
    P: Primitive,
    RawOf<P>: Copy + Default,
{
    let mut raw = [RawOf::<P>::default(); CHUNK];
    for out in out.chunks_mut(CHUNK) {
        let start = *cursor;
        let raw = &mut raw[..out.len()];
        let read = P::read(cursor, raw).and_then(|()| {
            for (out, &raw) in out.iter_mut().zip(&*raw) {
                *out = convert(raw)?;
            }
            Ok(())
        });
        if read.is_err() {
            *cursor = start;
            return one_by_one::<P, T>(cursor, out, convert);
        }
    }
    Ok(())
}

/// Rereads a chunk in which some value fails, up to that value.
#[cold]
fn one_by_one<P, T>(
    cursor: &mut Cursor<'_>,
    out: &mut [T],
    convert: impl Fn(RawOf<P>) -> Result<T, Fault>,
) -> Result<(), Fault>
where
    P: Primitive,
    RawOf<P>: Copy + Default,
{
    each(cursor, out, |cursor| {
        let mut raw = [RawOf::<P>::default()];
        P::read(cursor, &mut raw)?;
        convert(raw[0])
    })
}

/// Fills `out` with the results of `read`, called once for each value. After an error the cursor is
/// at the start of the value that fails.
#[inline]
pub(super) fn each<T>(
    cursor: &mut Cursor<'_>,
    out: &mut [T],
    mut read: impl FnMut(&mut Cursor<'_>) -> Result<T, Fault>,
) -> Result<(), Fault> {
    for out in out {
        let start = *cursor;
        match read(cursor) {
            Ok(value) => *out = value,
            Err(fault) => {
                *cursor = start;
                return Err(fault);
            }
        }
    }
    Ok(())
}
