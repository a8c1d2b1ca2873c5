//! Reads runs of values of one Avro primitive into values of its own dtype.

use bytemuck::Pod;
use tensor_batch::{DenseElement, Element};

use super::cursor::{Cursor, Fault};
use crate::DecodeErrorKind;
use crate::varints::Kernels;

/// Maximum number of varints read one by one: a kernel does not pay for them.
const FEW: usize = 2;

/// Reads an Avro primitive into values of a fixed-width dtype.
pub(crate) trait Primitive {
    /// The element type of the column.
    type Element: DenseElement;
    /// Reads `out.len()` values.
    fn read(cursor: &mut Cursor<'_>, out: &mut [RawOf<Self>]) -> Result<(), Fault>;
}

/// The type in memory of a value of the primitive.
pub(crate) type RawOf<P> = <<P as Primitive>::Element as Element>::Raw;

/// `int`: a zig-zag varint (Avro 1.12, "Primitive Types").
pub(crate) struct Int;
/// `long`: a zig-zag varint.
pub(crate) struct Long;
/// `float`: 4 bytes, little-endian.
pub(crate) struct Float;
/// `double`: 8 bytes, little-endian.
pub(crate) struct Double;
/// `boolean`: a byte, 0 or 1.
pub(crate) struct Boolean;

impl Primitive for Int {
    type Element = i32;
    #[inline]
    fn read(cursor: &mut Cursor<'_>, out: &mut [i32]) -> Result<(), Fault> {
        if out.len() > FEW
            && let Some(len) = Kernels::fastest().ints(cursor.rest(), out)
        {
            cursor.advance(len);
            return Ok(());
        }
        for out in out {
            *out = cursor.int()?;
        }
        Ok(())
    }
}

impl Primitive for Long {
    type Element = i64;
    #[inline]
    fn read(cursor: &mut Cursor<'_>, out: &mut [i64]) -> Result<(), Fault> {
        if out.len() > FEW
            && let Some(len) = Kernels::fastest().longs(cursor.rest(), out)
        {
            cursor.advance(len);
            return Ok(());
        }
        for out in out {
            *out = cursor.long()?;
        }
        Ok(())
    }
}

impl Primitive for Float {
    type Element = f32;
    #[inline]
    fn read(cursor: &mut Cursor<'_>, out: &mut [f32]) -> Result<(), Fault> {
        copy(cursor.bytes(out.len() * 4)?, out, |out| {
            *out = f32::from_bits(u32::from_le(out.to_bits()));
        });
        Ok(())
    }
}

impl Primitive for Double {
    type Element = f64;
    #[inline]
    fn read(cursor: &mut Cursor<'_>, out: &mut [f64]) -> Result<(), Fault> {
        copy(cursor.bytes(out.len() * 8)?, out, |out| {
            *out = f64::from_bits(u64::from_le(out.to_bits()));
        });
        Ok(())
    }
}

/// Copies little-endian values and converts them to the machine's byte order with `swap`.
#[inline]
fn copy<T: Pod>(bytes: &[u8], out: &mut [T], swap: impl Fn(&mut T)) {
    bytemuck::cast_slice_mut(out).copy_from_slice(bytes);
    if cfg!(target_endian = "big") {
        out.iter_mut().for_each(swap);
    }
}

impl Primitive for Boolean {
    type Element = bool;
    #[inline]
    fn read(cursor: &mut Cursor<'_>, out: &mut [u8]) -> Result<(), Fault> {
        let mut ahead = *cursor;
        let bytes = ahead.bytes(out.len())?;
        if let Some(bad) = bytes.iter().position(|&byte| byte > 1) {
            cursor.bytes(bad)?;
            return Err(bad_boolean(bytes[bad]));
        }
        out.copy_from_slice(bytes);
        *cursor = ahead;
        Ok(())
    }
}

#[cold]
fn bad_boolean(byte: u8) -> Fault {
    Box::new(DecodeErrorKind::BadBoolean(byte))
}
