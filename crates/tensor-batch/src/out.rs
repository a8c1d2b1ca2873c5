//! Output slices of any fixed-width dtype.

use std::ops::Range;

use crate::dtype::fixed_width_dtypes;
use crate::{Slot, Values};

macro_rules! out {
    ($($variant:ident: $element:ty, $raw:ty, $class:ident, $name:literal, $about:literal;)*) => {
        /// The slice of output elements to write.
        #[derive(Debug)]
        #[doc(hidden)]
        pub enum Out<'a> {
            $(#[doc = concat!("Of ", $about, ".")] $variant(&'a mut [$raw]),)*
        }

        impl<'a> Out<'a> {
            /// The elements of a dense column in `range`.
            ///
            /// # Panics
            /// If the column is of strings.
            pub fn of_slot(slot: &'a mut Slot<'_>, range: Range<usize>) -> Self {
                match slot {
                    $(Slot::$variant(rows) => Out::$variant(&mut rows[range]),)*
                    _ => panic!("a column of fixed width"),
                }
            }

            /// Appends `n` elements to `values` and returns them for writing.
            ///
            /// # Panics
            /// If the values are strings.
            pub fn append(values: &'a mut Values, n: usize) -> Self {
                match values {
                    $(Values::$variant(buffer) => Out::$variant(buffer.append(n)),)*
                    _ => panic!("values of fixed width"),
                }
            }

            /// Fills the slice from `fill`: with its one value, or with the values of a row from
            /// index `first` on.
            ///
            /// # Panics
            /// If `fill` is of another dtype.
            pub fn fill(self, fill: &Values, first: usize) {
                match (self, fill) {
                    $((Out::$variant(out), Values::$variant(fill)) => match fill.as_slice() {
                        [value] => out.fill(*value),
                        row => out.copy_from_slice(&row[first..first + out.len()]),
                    },)*
                    _ => panic!("a fill of the column's dtype"),
                }
            }
        }
    };
}
fixed_width_dtypes!(out);
