//! Runs of values of arrays.

use super::cursor::{Cursor, Fault};

/// An item type of arrays.
pub trait Value: Copy + Default {
    /// Reads values until `out` is full.
    ///
    /// # Errors
    ///
    /// If the data ends early, or a value is not of this type.
    fn read(at: &mut Cursor<'_>, out: &mut [Self]) -> Result<(), Fault>;
}

impl Value for f32 {
    #[inline(always)]
    fn read(at: &mut Cursor<'_>, out: &mut [f32]) -> Result<(), Fault> {
        let bytes = at.bytes(4 * out.len())?.as_chunks().0;
        for (value, bytes) in out.iter_mut().zip(bytes) {
            *value = f32::from_le_bytes(*bytes);
        }
        Ok(())
    }
}

impl Value for f64 {
    #[inline(always)]
    fn read(at: &mut Cursor<'_>, out: &mut [f64]) -> Result<(), Fault> {
        let bytes = at.bytes(8 * out.len())?.as_chunks().0;
        for (value, bytes) in out.iter_mut().zip(bytes) {
            *value = f64::from_le_bytes(*bytes);
        }
        Ok(())
    }
}

/// Reads four values at a time if each has two bytes, else one by one.
macro_rules! varints {
    ($type:ty, $one:ident) => {
        impl Value for $type {
            #[inline(always)]
            fn read(at: &mut Cursor<'_>, out: &mut [$type]) -> Result<(), Fault> {
                let (fours, last) = out.as_chunks_mut::<4>();
                for four in fours {
                    if let Some([a, b, c, d]) = at.four_of_two_bytes() {
                        *four = [a.into(), b.into(), c.into(), d.into()];
                    } else {
                        *four = [at.$one()?, at.$one()?, at.$one()?, at.$one()?];
                    }
                }
                for value in last {
                    *value = at.$one()?;
                }
                Ok(())
            }
        }
    };
}

varints!(i32, int);
varints!(i64, long);
