//! Output slices of any fixed-width dtype.

use std::ops::Range;

use tensor_batch::{Slot, Values, fixed_width_dtypes};

macro_rules! out {
    ($($variant:ident: $element:ty, $raw:ty, $class:ident, $name:literal, $about:literal;)*) => {
        /// The slice of output elements to write.
        #[derive(Debug)]
        pub(crate) enum Out<'a> {
            $($variant(&'a mut [$raw]),)*
        }

        impl<'a> Out<'a> {
            /// The elements of a dense column in `range`.
            ///
            /// # Panics
            /// If the column is of strings.
            pub(crate) fn of_slot(slot: &'a mut Slot<'_>, range: Range<usize>) -> Self {
                match slot {
                    $(Slot::$variant(rows) => Out::$variant(&mut rows[range]),)*
                    _ => panic!("a column of fixed width"),
                }
            }

            /// Appends `n` elements to `values` and returns them for writing.
            ///
            /// # Panics
            /// If the values are strings.
            pub(crate) fn append(values: &'a mut Values, n: usize) -> Self {
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
            pub(crate) fn fill(self, fill: &Values, first: usize) {
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

/// Runs `$body` with `$out` bound to the slice of an integer dtype, whose elements are `$Integer`.
///
/// # Panics
/// If the dtype is not an integer.
macro_rules! integers {
    ($value:expr, $out:ident: $Integer:ident => $body:expr) => {
        tensor_batch::fixed_width_dtypes! { integers @all ($value) ($out: $Integer => $body) }
    };
    (
        @all ($value:expr) ($out:ident: $Integer:ident => $body:expr)
        $($variant:ident: $element:ty, $raw:ty, $class:ident, $name:literal, $about:literal;)*
    ) => {
        match $value {
            $($crate::convert::Out::$variant($out) => {
                integers!(@$class ($raw) ($out: $Integer => $body))
            })*
        }
    };
    (@integer ($raw:ty) ($out:ident: $Integer:ident => $body:expr)) => {{
        type $Integer = $raw;
        $body
    }};
    (@$class:ident ($raw:ty) ($out:ident: $Integer:ident => $body:expr)) => {{
        let _ = $out;
        $crate::convert::other_dtype()
    }};
}
pub(super) use integers;
