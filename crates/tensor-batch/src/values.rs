//! The values of a column: one buffer per dtype, or strings.

use bytemuck::Pod;

use crate::dtype::fixed_width_dtypes;
use crate::{Buffer, DType, Scalar, Strings};

macro_rules! values {
    ($($variant:ident: $element:ty, $raw:ty, $class:ident, $name:literal, $about:literal;)*) => {
        /// The values of a column, end to end, in the column's dtype.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Values {
            $(#[doc = concat!("Of ", $about, ".")] $variant(Buffer<$raw>),)*
            /// Strings.
            String(Strings),
        }

        impl Values {
            /// No values of `dtype`.
            pub fn new(dtype: DType) -> Self {
                match dtype {
                    $(DType::$variant => Values::$variant(Buffer::new()),)*
                    DType::String => Values::String(Strings::new()),
                }
            }

            /// The dtype of the values.
            pub fn dtype(&self) -> DType {
                match self {
                    $(Values::$variant(_) => DType::$variant,)*
                    Values::String(_) => DType::String,
                }
            }

            /// Value `i`; `None` if `i` is out of range or the byte is no valid bool.
            pub fn get(&self, i: usize) -> Option<Scalar> {
                match self {
                    $(Values::$variant(buffer) => {
                        let value = buffer.as_slice().get(i..i + 1)?;
                        Some(Scalar::$variant(<$element>::view(value)?[0]))
                    })*
                    Values::String(strings) => Some(Scalar::String(strings.get(i)?.to_vec())),
                }
            }

            /// Appends one value.
            ///
            /// # Panics
            /// If `value` is of another dtype.
            pub fn push(&mut self, value: &Scalar) {
                match (self, value) {
                    $((Values::$variant(buffer), Scalar::$variant(value)) => {
                        buffer.push((*value).into());
                    })*
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
                    $((Values::$variant(to), Values::$variant(from)) => {
                        to.push(from.as_slice()[i]);
                    })*
                    (Values::String(to), Values::String(from)) => {
                        to.push(from.get(i).expect("there is a string i"));
                    }
                    (to, from) => other_dtype(to.dtype(), from.dtype()),
                }
            }
        }
    };
}
fixed_width_dtypes!(values);

/// Runs `$body` with `$buffer` bound to the buffer of a fixed-width variant,
/// or `$strings_body` for strings.
macro_rules! each_values {
    ($values:expr, $buffer:ident => $body:expr, $strings:ident => $strings_body:expr) => {
        $crate::dtype::fixed_width_dtypes! {
            each_values @arms ($values) ($buffer => $body) ($strings => $strings_body)
        }
    };
    (
        @arms ($values:expr) ($buffer:ident => $body:expr) ($strings:ident => $strings_body:expr)
        $($variant:ident: $element:ty, $raw:ty, $class:ident, $name:literal, $about:literal;)*
    ) => {
        match $values {
            $($crate::Values::$variant($buffer) => $body,)*
            $crate::Values::String($strings) => $strings_body,
        }
    };
}
pub(crate) use each_values;

impl Values {
    /// The values `scalars` as a column of `dtype`.
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

    /// The bytes of the values from number `first` on; for strings, the bytes of their text.
    ///
    /// # Panics
    /// If there are fewer than `first` values.
    #[inline]
    #[doc(hidden)]
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

    /// Removes all values; keeps the memory.
    pub fn clear(&mut self) {
        each_values!(self, buffer => buffer.clear(), strings => strings.clear());
    }

    /// Keeps the first `len` values, and the memory.
    pub fn truncate(&mut self, len: usize) {
        each_values!(
            self,
            buffer => buffer.set_len(buffer.len().min(len)),
            strings => strings.truncate(len)
        );
    }

    /// Removes values from `start` on: value `start + i` stays if `keep[i]`.
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

    /// Reorders the values from `start` on: the value at `start + order[i]` moves to `start + i`.
    ///
    /// # Panics
    /// If the length of `order` is not the number of values from `start` on, or an entry is out of
    /// range. May also panic if an entry occurs twice.
    pub fn permute_from(&mut self, start: usize, order: &[usize]) {
        fn permute<T: Pod>(buffer: &mut Buffer<T>, start: usize, order: &[usize]) {
            let len = buffer.len();
            // The capacity after the values holds the reordered copy, so that no call allocates.
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

/// A Rust type that a fixed-width column can be viewed as: `i8`, `i16`, `i32`, `i64`,
/// `u8`, `u16`, `f16`, `bf16`, `f32`, `f64` and `bool`.
pub trait Element: Copy + sealed::Sealed + 'static {
    /// The type in memory: the type itself, `u8` for `bool`.
    type Raw: Pod + Send + Sync;
    /// The dtype.
    const DTYPE: DType;
    /// The buffer of `values` if they are of this dtype.
    fn buffer(values: &Values) -> Option<&Buffer<Self::Raw>>;
    /// The mutable buffer of `values` if they are of this dtype.
    fn buffer_mut(values: &mut Values) -> Option<&mut Buffer<Self::Raw>>;
    /// Memory as values; `None` if a byte is no valid `bool`.
    fn view(raw: &[Self::Raw]) -> Option<&[Self]>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! element {
    ($($variant:ident: $element:ty, $raw:ty, $class:ident, $name:literal, $about:literal;)*) => {$(
        impl sealed::Sealed for $element {}
        impl Element for $element {
            type Raw = $raw;
            const DTYPE: DType = DType::$variant;
            #[inline]
            fn buffer(values: &Values) -> Option<&Buffer<$raw>> {
                match values { Values::$variant(buffer) => Some(buffer), _ => None }
            }
            #[inline]
            fn buffer_mut(values: &mut Values) -> Option<&mut Buffer<$raw>> {
                match values { Values::$variant(buffer) => Some(buffer), _ => None }
            }
            fn view(raw: &[$raw]) -> Option<&[$element]> {
                bytemuck::checked::try_cast_slice(raw).ok()
            }
        }
    )*};
}
fixed_width_dtypes!(element);
