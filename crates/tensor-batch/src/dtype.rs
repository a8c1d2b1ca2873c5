//! Element types of columns.

use std::fmt;
use std::ops::RangeInclusive;

/// Calls the macro `$then` with its arguments and the list of the dtypes of fixed
/// width. Each has a variant, the type of an element, the type of an element in memory,
/// a class (`integer`, `float` or `boolean`), a name, and a description.
///
/// Code that repeats for each dtype is made from this list, in this crate and in its users.
#[doc(hidden)]
#[macro_export]
macro_rules! fixed_width_dtypes {
    ($then:ident $($arguments:tt)*) => {
        $then! {
            $($arguments)*
            Int8: i8, i8, integer, "int8", "8-bit signed integers";
            Int16: i16, i16, integer, "int16", "16-bit signed integers";
            Int32: i32, i32, integer, "int32", "32-bit signed integers";
            Int64: i64, i64, integer, "int64", "64-bit signed integers";
            UInt8: u8, u8, integer, "uint8", "8-bit unsigned integers";
            UInt16: u16, u16, integer, "uint16", "16-bit unsigned integers";
            Float16: $crate::half::f16, $crate::half::f16, float, "float16",
                "IEEE 754 half precision floats";
            BFloat16: $crate::half::bf16, $crate::half::bf16, float, "bfloat16",
                "the upper halves of single precision floats: their range, 8 bits of precision";
            Float32: f32, f32, float, "float32", "IEEE 754 single precision floats";
            Float64: f64, f64, float, "float64", "IEEE 754 double precision floats";
            Bool: bool, u8, boolean, "bool", "booleans, a byte each, 0 or 1";
        }
    };
}
pub(crate) use fixed_width_dtypes;

macro_rules! dtype {
    ($($variant:ident: $element:ty, $raw:ty, $class:ident, $name:literal, $about:literal;)*) => {
        /// The element type of a column.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum DType {
            $(#[doc = concat!("`", $name, "`: ", $about, ".")] $variant,)*
            /// `string`: strings of bytes, as TensorFlow's `tf.string`. Strings of text are UTF-8;
            /// others are any bytes.
            String,
        }

        impl DType {
            /// Every dtype.
            pub const ALL: &[DType] = &[$(DType::$variant,)* DType::String];

            /// The name in NumPy (with `ml_dtypes`) and TensorFlow.
            pub fn name(self) -> &'static str {
                match self {
                    $(DType::$variant => $name,)*
                    DType::String => "string",
                }
            }

            /// Size of an element in bytes; `None` for strings.
            pub fn size(self) -> Option<usize> {
                match self {
                    $(DType::$variant => Some(size_of::<$raw>()),)*
                    DType::String => None,
                }
            }

            /// The range of an integer dtype; `None` for the other dtypes.
            pub fn integer_range(self) -> Option<RangeInclusive<i64>> {
                match self {
                    $(DType::$variant => range!($class, $raw),)*
                    DType::String => None,
                }
            }
        }
    };
}
macro_rules! range {
    (integer, $raw:ty) => {
        Some(<$raw>::MIN.into()..=<$raw>::MAX.into())
    };
    ($other:ident, $raw:ty) => {
        None
    };
}
fixed_width_dtypes!(dtype);

impl DType {
    /// Whether the elements are integers; false for bools.
    pub fn is_integer(self) -> bool {
        self.integer_range().is_some()
    }

    /// The dtype of a name; `bytes` is another name for [`DType::String`].
    pub fn from_name(name: &str) -> Option<DType> {
        if name == "bytes" {
            return Some(DType::String);
        }
        let mut all = DType::ALL.iter().copied();
        all.find(|dtype| dtype.name() == name)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
