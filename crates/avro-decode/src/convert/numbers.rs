//! Numbers and booleans, promoted to the reader's type and cast to a dtype.

use atds_features::narrow::Float as _;
use tensor_batch::{DType, Element, fixed_width_dtypes};

use super::chunks::converted;
use super::{Out, other_dtype};
use crate::DecodeErrorKind;
use crate::plan::cursor::{Cursor, Fault};
use crate::plan::items::{Boolean, Double, Float, Int, Long, Primitive, RawOf};
use crate::plan::leaf::Leaf;

type Loop<T> = fn(&mut Cursor<'_>, &mut [T]) -> Result<(), Fault>;

impl Numbers {
    /// The loop for these types; `None` if `writer` is not promoted to `reader`, or `reader` is not
    /// cast to `dtype`.
    pub(super) fn new(writer: Leaf, reader: Leaf, dtype: DType) -> Option<Numbers> {
        match (writer, reader) {
            (Leaf::Int, Leaf::Int) => i32::numbers::<Int>(dtype),
            (Leaf::Int, Leaf::Long) => i64::numbers::<Int>(dtype),
            (Leaf::Int, Leaf::Float) => f32::numbers::<Int>(dtype),
            (Leaf::Int, Leaf::Double) => f64::numbers::<Int>(dtype),
            (Leaf::Long, Leaf::Long) => i64::numbers::<Long>(dtype),
            (Leaf::Long, Leaf::Float) => f32::numbers::<Long>(dtype),
            (Leaf::Long, Leaf::Double) => f64::numbers::<Long>(dtype),
            (Leaf::Float, Leaf::Float) => f32::numbers::<Float>(dtype),
            (Leaf::Float, Leaf::Double) => f64::numbers::<Float>(dtype),
            (Leaf::Double, Leaf::Double) => f64::numbers::<Double>(dtype),
            (Leaf::Boolean, Leaf::Boolean) => u8::numbers::<Boolean>(dtype),
            _ => None,
        }
    }
}

/// A value of the reader's type in memory; a boolean is a `u8`, 0 or 1.
trait Number: Copy {
    /// The loop that reads `P` as this type and casts it to `dtype`.
    fn numbers<P: Primitive>(dtype: DType) -> Option<Numbers>
    where
        RawOf<P>: Promote<Self> + Copy + Default;
}

/// Avro 1.12, "Schema Resolution": "the writer's schema may be promoted to
/// the reader's".
trait Promote<T> {
    fn promote(self) -> T;
}

/// A cast to a dtype, done on request.
pub(super) trait Cast<E: Element> {
    fn cast(self) -> Result<E::Raw, Fault>;
}

fn read<P, R, E>(cursor: &mut Cursor<'_>, out: &mut [E::Raw]) -> Result<(), Fault>
where
    P: Primitive,
    RawOf<P>: Promote<R> + Copy + Default,
    R: Cast<E>,
    E: Element,
{
    converted::<P, E::Raw>(cursor, out, |raw| raw.promote().cast())
}

macro_rules! numbers {
    ($($variant:ident: $element:ty, $raw:ty, $class:ident, $name:literal, $about:literal;)*) => {
        /// The loop that reads one primitive as another and casts it to a dtype.
        #[derive(Clone, Copy, Debug)]
        pub(super) enum Numbers {
            $($variant(Loop<$raw>),)*
        }

        impl Numbers {
            pub(super) fn read(self, cursor: &mut Cursor<'_>, out: Out<'_>) -> Result<(), Fault> {
                match (self, out) {
                    $((Numbers::$variant(read), Out::$variant(out)) => read(cursor, out),)*
                    _ => other_dtype(),
                }
            }
        }
    };
}
fixed_width_dtypes!(numbers);

/// Casts numbers to a dtype, by the dtype's class. An integer must be in the dtype's range, a float
/// becomes the nearest, and in a bool 0 is false. A float is never cast to an integer.
macro_rules! cast {
    ($($variant:ident: $element:ty, $raw:ty, $class:ident, $name:literal, $about:literal;)*) => {
        $(cast!(@$class $element);)*
        cast!(@loops i32 => $($variant $element, i32 $class;)*);
        cast!(@loops i64 => $($variant $element, i64 $class;)*);
        cast!(@loops f32 => $($variant $element, f32 $class;)*);
        cast!(@loops f64 => $($variant $element, f64 $class;)*);
        cast!(@loops u8 => $($variant $element, u8 $class;)*);
    };
    (@integer $element:ty) => {
        cast!(@one i32 => $element, |value| fit(value.into()));
        cast!(@one i64 => $element, |value| fit(value));
        cast!(@one u8 => $element, |value| Ok(value as $element));
    };
    (@float $element:ty) => {
        cast!(@one i32 => $element, |value| Ok(<$element>::of_i32(value)));
        cast!(@one i64 => $element, |value| Ok(<$element>::of_i64(value)));
        cast!(@one f32 => $element, |value| Ok(<$element>::of_f32(value)));
        cast!(@one f64 => $element, |value| Ok(<$element>::of_f64(value)));
        cast!(@one u8 => $element, |value| Ok(<$element>::of_f32(value.into())));
    };
    (@boolean $element:ty) => {
        cast!(@one i32 => $element, |value| Ok((value != 0).into()));
        cast!(@one i64 => $element, |value| Ok((value != 0).into()));
        cast!(@one f32 => $element, |value| Ok((value != 0.0).into()));
        cast!(@one f64 => $element, |value| Ok((value != 0.0).into()));
        cast!(@one u8 => $element, |value| Ok(value));
    };
    (@one $reader:ty => $element:ty, |$value:ident| $cast:expr) => {
        impl Cast<$element> for $reader {
            #[inline]
            fn cast(self) -> Result<<$element as Element>::Raw, Fault> {
                let $value = self;
                $cast
            }
        }
    };
    (@loops $reader:ty => $($variant:ident $element:ty, $from:ident $class:ident;)*) => {
        impl Number for $reader {
            fn numbers<P: Primitive>(dtype: DType) -> Option<Numbers>
            where
                RawOf<P>: Promote<Self> + Copy + Default,
            {
                match dtype {
                    $(DType::$variant => cast!(@offer $from $class $variant $element, P),)*
                    _ => None,
                }
            }
        }
    };
    (@offer f32 integer $variant:ident $element:ty, $P:ident) => {
        None
    };
    (@offer f64 integer $variant:ident $element:ty, $P:ident) => {
        None
    };
    (@offer $from:ident $class:ident $variant:ident $element:ty, $P:ident) => {
        Some(Numbers::$variant(read::<$P, Self, $element>))
    };
}
fixed_width_dtypes!(cast);

macro_rules! promote {
    ($($writer:ty => $($reader:ty),*;)*) => {$($(
        impl Promote<$reader> for $writer {
            #[inline]
            fn promote(self) -> $reader {
                self as $reader
            }
        }
    )*)*};
}

promote! {
    i32 => i32, i64, f32, f64;
    i64 => i64, f32, f64;
    f32 => f32, f64;
    f64 => f64;
    u8 => u8;
}

/// Converts an integer to its dtype; an error if it is out of range.
#[inline]
pub(super) fn fit<T: Element + TryFrom<i64>>(value: i64) -> Result<T, Fault> {
    value.try_into().map_err(|_| overflow(value, T::DTYPE))
}

#[cold]
fn overflow(value: i64, dtype: DType) -> Fault {
    Box::new(DecodeErrorKind::CastOverflow { value, dtype })
}
