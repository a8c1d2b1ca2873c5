//! The values of a column: one buffer per dtype, or strings.

use bytemuck::Pod;
use half::{bf16, f16};

use crate::{Buffer, DType, Scalar, Strings};

/// The values of a column, end to end, in the column's dtype.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// 32-bit integers.
    Int32(Buffer<i32>),
    /// 64-bit integers.
    Int64(Buffer<i64>),
    /// Half precision floats.
    Float16(Buffer<f16>),
    /// Floats of 8 bits of precision.
    BFloat16(Buffer<bf16>),
    /// Single precision floats.
    Float32(Buffer<f32>),
    /// Double precision floats.
    Float64(Buffer<f64>),
    /// Booleans, a byte each, 0 or 1.
    Bool(Buffer<u8>),
    /// Strings.
    String(Strings),
}

/// Runs `$body` with `$buffer` bound to the buffer of a fixed-width variant,
/// or `$strings_body` for strings.
macro_rules! each_values {
    ($values:expr, $buffer:ident => $body:expr, $strings:ident => $strings_body:expr) => {
        match $values {
            $crate::Values::Int32($buffer) => $body,
            $crate::Values::Int64($buffer) => $body,
            $crate::Values::Float16($buffer) => $body,
            $crate::Values::BFloat16($buffer) => $body,
            $crate::Values::Float32($buffer) => $body,
            $crate::Values::Float64($buffer) => $body,
            $crate::Values::Bool($buffer) => $body,
            $crate::Values::String($strings) => $strings_body,
        }
    };
}
pub(crate) use each_values;

impl Values {
    /// No values of `dtype`.
    pub fn new(dtype: DType) -> Self {
        match dtype {
            DType::Int32 => Values::Int32(Buffer::new()),
            DType::Int64 => Values::Int64(Buffer::new()),
            DType::Float16 => Values::Float16(Buffer::new()),
            DType::BFloat16 => Values::BFloat16(Buffer::new()),
            DType::Float32 => Values::Float32(Buffer::new()),
            DType::Float64 => Values::Float64(Buffer::new()),
            DType::Bool => Values::Bool(Buffer::new()),
            DType::String => Values::String(Strings::new()),
        }
    }

    /// The dtype of the values.
    pub fn dtype(&self) -> DType {
        match self {
            Values::Int32(_) => DType::Int32,
            Values::Int64(_) => DType::Int64,
            Values::Float16(_) => DType::Float16,
            Values::BFloat16(_) => DType::BFloat16,
            Values::Float32(_) => DType::Float32,
            Values::Float64(_) => DType::Float64,
            Values::Bool(_) => DType::Bool,
            Values::String(_) => DType::String,
        }
    }

    /// `scalars`, which are of `dtype`.
    ///
    /// # Panics
    /// If a scalar is of another dtype.
    pub fn from_scalars(dtype: DType, scalars: &[Scalar]) -> Self {
        let mut values = Values::new(dtype);
        scalars.iter().for_each(|scalar| values.push(scalar));
        values
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        each_values!(self, buffer => buffer.len(), strings => strings.len())
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values as a slice of `T`, or `None` if the dtype is another.
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        T::view(T::buffer(self)?.as_slice())
    }

    /// The bytes of the values from number `first` on; of strings those of their text.
    ///
    /// # Panics
    /// If there are fewer values.
    #[inline]
    pub fn bytes_from(&self, first: usize) -> &[u8] {
        each_values!(
            self,
            buffer => bytemuck::cast_slice(&buffer.as_slice()[first..]),
            strings => &strings.data()[strings.offsets()[first] as usize..]
        )
    }

    /// The strings, or `None` if the dtype is another.
    pub fn as_strings(&self) -> Option<&Strings> {
        match self {
            Values::String(strings) => Some(strings),
            _ => None,
        }
    }

    /// Appends one value.
    ///
    /// # Panics
    /// If it is of another dtype.
    pub fn push(&mut self, value: &Scalar) {
        match (self, value) {
            (Values::Int32(buffer), Scalar::Int32(value)) => buffer.push(*value),
            (Values::Int64(buffer), Scalar::Int64(value)) => buffer.push(*value),
            (Values::Float16(buffer), Scalar::Float16(value)) => buffer.push(*value),
            (Values::BFloat16(buffer), Scalar::BFloat16(value)) => buffer.push(*value),
            (Values::Float32(buffer), Scalar::Float32(value)) => buffer.push(*value),
            (Values::Float64(buffer), Scalar::Float64(value)) => buffer.push(*value),
            (Values::Bool(buffer), Scalar::Bool(value)) => buffer.push(u8::from(*value)),
            (Values::String(strings), Scalar::String(value)) => strings.push(value),
            (values, value) => other_dtype(values.dtype(), value.dtype()),
        }
    }

    /// Appends value `i` of `other`.
    ///
    /// # Panics
    /// If `other` is of another dtype or has no value `i`.
    pub fn push_from(&mut self, other: &Values, i: usize) {
        match (self, other) {
            (Values::Int32(to), Values::Int32(from)) => to.push(from.as_slice()[i]),
            (Values::Int64(to), Values::Int64(from)) => to.push(from.as_slice()[i]),
            (Values::Float16(to), Values::Float16(from)) => to.push(from.as_slice()[i]),
            (Values::BFloat16(to), Values::BFloat16(from)) => to.push(from.as_slice()[i]),
            (Values::Float32(to), Values::Float32(from)) => to.push(from.as_slice()[i]),
            (Values::Float64(to), Values::Float64(from)) => to.push(from.as_slice()[i]),
            (Values::Bool(to), Values::Bool(from)) => to.push(from.as_slice()[i]),
            (Values::String(to), Values::String(from)) => {
                to.push(from.get(i).expect("there is a string i"));
            }
            (to, from) => other_dtype(to.dtype(), from.dtype()),
        }
    }

    /// Forgets all values; memory is kept.
    pub fn clear(&mut self) {
        each_values!(self, buffer => buffer.clear(), strings => strings.clear());
    }

    /// Keeps the first `len` values; memory is kept.
    pub fn truncate(&mut self, len: usize) {
        each_values!(
            self,
            buffer => buffer.set_len(buffer.len().min(len)),
            strings => strings.truncate(len)
        );
    }

    /// Keeps, of the values from `start` on, those that `keep` says.
    pub fn retain_from(&mut self, start: usize, keep: &[bool]) {
        fn compact<T: Pod>(buffer: &mut Buffer<T>, start: usize, keep: &[bool]) {
            let values = &mut buffer.as_mut_slice()[start..];
            let mut kept = 0;
            for (i, _) in keep.iter().enumerate().filter(|(_, keep)| **keep) {
                values[kept] = values[i];
                kept += 1;
            }
            buffer.set_len(start + kept);
        }
        each_values!(self, buffer => compact(buffer, start, keep), strings => {
            strings.retain_from(start, keep);
        });
    }

    /// Orders the values from `start` on anew: value `start + i` becomes what
    /// `start + order[i]` was.
    ///
    /// # Panics
    /// If `order` has not as many entries as there are values from `start` on,
    /// or one of them is not below that. May also panic where an entry stands
    /// twice.
    pub fn permute_from(&mut self, start: usize, order: &[usize]) {
        fn permute<T: Pod>(buffer: &mut Buffer<T>, start: usize, order: &[usize]) {
            let len = buffer.len();
            // Behind the values there is room that is not asked for each time.
            buffer.append(order.len());
            let (old, new) = buffer.as_mut_slice().split_at_mut(len);
            let old = &mut old[start..];
            for (new, &i) in new.iter_mut().zip(order) {
                *new = old[i];
            }
            old.copy_from_slice(new);
            buffer.set_len(len);
        }
        assert_eq!(
            Some(order.len()),
            self.len().checked_sub(start),
            "{NOT_A_PERMUTATION}"
        );
        each_values!(
            self,
            buffer => permute(buffer, start, order),
            strings => strings.permute_from(start, order)
        );
    }

    pub(crate) fn used_bytes(&self) -> usize {
        each_values!(self, buffer => buffer.as_bytes().len(), strings => strings.used_bytes())
    }

    pub(crate) fn capacity_bytes(&self) -> usize {
        each_values!(self, buffer => buffer.capacity_bytes(), strings => strings.capacity_bytes())
    }
}

pub(crate) const NOT_A_PERMUTATION: &str = "the order names each value once";

#[cold]
fn other_dtype(of: DType, given: DType) -> ! {
    panic!("a {given} value among {of} values")
}

/// A Rust type that a fixed-width column can be viewed as:
/// `i32`, `i64`, `f16`, `bf16`, `f32`, `f64` and `bool`.
pub trait Element: Copy + sealed::Sealed + 'static {
    /// The type in memory: the type itself, `u8` for `bool`.
    type Raw: Pod + Send + Sync;
    /// The dtype.
    const DTYPE: DType;
    /// The buffer of `values` if they are of this dtype.
    fn buffer(values: &Values) -> Option<&Buffer<Self::Raw>>;
    /// The buffer of `values` if they are of this dtype, to change it.
    fn buffer_mut(values: &mut Values) -> Option<&mut Buffer<Self::Raw>>;
    /// Memory as values; `None` where a byte is not a `bool`.
    fn view(raw: &[Self::Raw]) -> Option<&[Self]>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! element {
    ($($ty:ty, $raw:ty, $dtype:ident, $view:expr;)*) => {$(
        impl sealed::Sealed for $ty {}
        impl Element for $ty {
            type Raw = $raw;
            const DTYPE: DType = DType::$dtype;
            #[inline]
            fn buffer(values: &Values) -> Option<&Buffer<$raw>> {
                match values { Values::$dtype(buffer) => Some(buffer), _ => None }
            }
            #[inline]
            fn buffer_mut(values: &mut Values) -> Option<&mut Buffer<$raw>> {
                match values { Values::$dtype(buffer) => Some(buffer), _ => None }
            }
            fn view(raw: &[$raw]) -> Option<&[$ty]> { $view(raw) }
        }
    )*};
}

element! {
    i32, i32, Int32, Some;
    i64, i64, Int64, Some;
    f16, f16, Float16, Some;
    bf16, bf16, BFloat16, Some;
    f32, f32, Float32, Some;
    f64, f64, Float64, Some;
    bool, u8, Bool, |raw| bytemuck::checked::try_cast_slice(raw).ok();
}
