//! Durations: `fixed` of 12 bytes (Avro 1.12, "Duration").

use super::{Out, other_dtype};
use crate::plan::cursor::{Cursor, Fault};

/// Number of elements per duration: months, days, milliseconds.
pub(crate) const WIDTH: usize = 3;

/// Reads durations as int64, [`WIDTH`] elements each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Duration;

impl Duration {
    pub(super) fn read(self, cursor: &mut Cursor<'_>, out: Out<'_>) -> Result<(), Fault> {
        let Out::Int64(out) = out else { other_dtype() };
        for out in out.as_chunks_mut::<WIDTH>().0 {
            let bytes = cursor.bytes(WIDTH * size_of::<u32>())?;
            for (out, part) in out.iter_mut().zip(bytes.as_chunks().0) {
                *out = u32::from_le_bytes(*part).into();
            }
        }
        Ok(())
    }
}
