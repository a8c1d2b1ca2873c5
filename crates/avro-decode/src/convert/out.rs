//! Places for elements of any fixed-width dtype.

use std::ops::Range;

use tensor_batch::{Slot, Values, half};

/// The places of some elements, to be written.
#[derive(Debug)]
pub(crate) enum Out<'a> {
    Int32(&'a mut [i32]),
    Int64(&'a mut [i64]),
    Float32(&'a mut [f32]),
    Float64(&'a mut [f64]),
    Float16(&'a mut [half::f16]),
    BFloat16(&'a mut [half::bf16]),
    Bool(&'a mut [u8]),
}

/// Runs `$body` for the variant of the places, where the values may be of
/// another.
macro_rules! of_each {
    ($($variant:ident),*) => {
        impl<'a> Out<'a> {
            /// Places in a dense column.
            ///
            /// # Panics
            /// If the column is of strings.
            pub(crate) fn of_slot(slot: &'a mut Slot<'_>, range: Range<usize>) -> Self {
                match slot {
                    $(Slot::$variant(rows) => Out::$variant(&mut rows[range]),)*
                    _ => panic!("a column of fixed width"),
                }
            }

            /// Places for `n` elements behind `values`.
            ///
            /// # Panics
            /// If the values are strings.
            pub(crate) fn append(values: &'a mut Values, n: usize) -> Self {
                match values {
                    $(Values::$variant(buffer) => Out::$variant(buffer.append(n)),)*
                    _ => panic!("values of fixed width"),
                }
            }

            /// Fills the places from `fill`: with its one value, or with those
            /// of a row from `place` on.
            ///
            /// # Panics
            /// If `fill` is of another dtype.
            pub(crate) fn fill(self, fill: &Values, place: usize) {
                match (self, fill) {
                    $((Out::$variant(out), Values::$variant(fill)) => match fill.as_slice() {
                        [value] => out.fill(*value),
                        row => out.copy_from_slice(&row[place..place + out.len()]),
                    },)*
                    _ => panic!("a fill of the column's dtype"),
                }
            }
        }
    };
}

of_each!(Int32, Int64, Float32, Float64, Float16, BFloat16, Bool);
