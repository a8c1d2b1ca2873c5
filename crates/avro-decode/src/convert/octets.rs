//! Bytes as numbers: `bytes` and `fixed` as lists of uint8.

use super::{Out, other_dtype};
use crate::plan::cursor::{Cursor, Fault};

/// Reads the bytes of a value as uint8. The caller has already read their number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Octets;

impl Octets {
    pub(super) fn read(self, cursor: &mut Cursor<'_>, out: Out<'_>) -> Result<(), Fault> {
        let Out::UInt8(out) = out else { other_dtype() };
        out.copy_from_slice(cursor.bytes(out.len())?);
        Ok(())
    }
}
