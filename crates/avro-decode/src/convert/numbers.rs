//! Numbers and booleans, promoted to the reader's type and cast to a dtype.

use tensor_batch::DType;
use tensor_batch::half::{bf16, f16};

use super::chunks::converted;
use super::{Out, narrow, other_dtype};
use crate::DecodeErrorKind;
use crate::plan::cursor::{Cursor, Fault};
use crate::plan::items::{Boolean, Double, Float, Int, Long, Primitive, RawOf};
use crate::plan::leaf::Leaf;

/// The loop that reads one primitive as another and casts it to a dtype.
#[derive(Clone, Copy, Debug)]
pub(super) enum Numbers {
    Int32(Loop<i32>),
    Int64(Loop<i64>),
    Float16(Loop<f16>),
    BFloat16(Loop<bf16>),
    Float32(Loop<f32>),
    Float64(Loop<f64>),
    Bool(Loop<u8>),
}

type Loop<T> = fn(&mut Cursor<'_>, &mut [T]) -> Result<(), Fault>;

impl Numbers {
    /// `None` if `writer` is not promoted to `reader`, or that is not cast to
    /// `dtype`.
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

    pub(super) fn read(self, cursor: &mut Cursor<'_>, out: Out<'_>) -> Result<(), Fault> {
        match (self, out) {
            (Numbers::Int32(read), Out::Int32(out)) => read(cursor, out),
            (Numbers::Int64(read), Out::Int64(out)) => read(cursor, out),
            (Numbers::Float16(read), Out::Float16(out)) => read(cursor, out),
            (Numbers::BFloat16(read), Out::BFloat16(out)) => read(cursor, out),
            (Numbers::Float32(read), Out::Float32(out)) => read(cursor, out),
            (Numbers::Float64(read), Out::Float64(out)) => read(cursor, out),
            (Numbers::Bool(read), Out::Bool(out)) => read(cursor, out),
            _ => other_dtype(),
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

/// What a type is cast to on request.
pub(super) trait Cast<T> {
    fn cast(self) -> Result<T, Fault>;
}

fn read<P, R, T>(cursor: &mut Cursor<'_>, out: &mut [T]) -> Result<(), Fault>
where
    P: Primitive,
    RawOf<P>: Promote<R> + Copy + Default,
    R: Cast<T>,
{
    converted::<P, T>(cursor, out, |raw| raw.promote().cast())
}

/// The memory of a value of a dtype.
macro_rules! element {
    (Int32) => {
        i32
    };
    (Int64) => {
        i64
    };
    (Float16) => {
        f16
    };
    (BFloat16) => {
        bf16
    };
    (Float32) => {
        f32
    };
    (Float64) => {
        f64
    };
    (Bool) => {
        u8
    };
}
macro_rules! number {
    ($reader:ty => $($dtype:ident: |$value:ident| $cast:expr;)*) => {
        impl Number for $reader {
            fn numbers<P: Primitive>(dtype: DType) -> Option<Numbers>
            where
                RawOf<P>: Promote<Self> + Copy + Default,
            {
                match dtype {
                    $(DType::$dtype => Some(Numbers::$dtype(read::<P, Self, _>)),)*
                    _ => None,
                }
            }
        }
        $(impl Cast<element!($dtype)> for $reader {
            #[inline]
            fn cast(self) -> Result<element!($dtype), Fault> {
                let $value = self;
                $cast
            }
        })*
    };
}

number! { i32 =>
    Int32: |value| Ok(value);
    Int64: |value| Ok(value.into());
    Float16: |value| Ok(narrow::f16_of_f64(value.into()));
    BFloat16: |value| Ok(narrow::bf16_of_f64(value.into()));
    Float32: |value| Ok(value as f32);
    Float64: |value| Ok(value.into());
    Bool: |value| Ok((value != 0).into());
}

number! { i64 =>
    Int32: |value| value.try_into().map_err(|_| overflow(value, DType::Int32));
    Int64: |value| Ok(value);
    Float16: |value| Ok(narrow::f16_of_i64(value));
    BFloat16: |value| Ok(narrow::bf16_of_i64(value));
    Float32: |value| Ok(value as f32);
    Float64: |value| Ok(value as f64);
    Bool: |value| Ok((value != 0).into());
}

number! { f32 =>
    Float16: |value| Ok(f16::from_f32(value));
    BFloat16: |value| Ok(bf16::from_f32(value));
    Float32: |value| Ok(value);
    Float64: |value| Ok(value.into());
    Bool: |value| Ok((value != 0.0).into());
}

number! { f64 =>
    Float16: |value| Ok(narrow::f16_of_f64(value));
    BFloat16: |value| Ok(narrow::bf16_of_f64(value));
    Float32: |value| Ok(value as f32);
    Float64: |value| Ok(value);
    Bool: |value| Ok((value != 0.0).into());
}

number! { u8 =>
    Int32: |value| Ok(value.into());
    Int64: |value| Ok(value.into());
    Float16: |value| Ok(f16::from_f32(value.into()));
    BFloat16: |value| Ok(bf16::from_f32(value.into()));
    Float32: |value| Ok(value.into());
    Float64: |value| Ok(value.into());
    Bool: |value| Ok(value);
}

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

#[cold]
fn overflow(value: i64, dtype: DType) -> Fault {
    Box::new(DecodeErrorKind::CastOverflow { value, dtype })
}
