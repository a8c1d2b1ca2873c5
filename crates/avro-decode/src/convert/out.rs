//! Output slices of integers.

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
            $(tensor_batch::Out::$variant($out) => {
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
