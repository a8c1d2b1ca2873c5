//! One value of any dtype.

use bytemuck::bytes_of;

use crate::DType;
use crate::dtype::fixed_width_dtypes;

macro_rules! scalar {
    ($($variant:ident: $element:ty, $raw:ty, $class:ident, $name:literal, $about:literal;)*) => {
        /// One value of a column, such as the fill of a padded column.
        ///
        /// Floats are equal if their bits are: a NaN equals itself, and -0.0 is not
        /// 0.0. So equal column specs fill with the same bytes.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum Scalar {
            $(#[doc = concat!("One of ", $about, ".")] $variant($element),)*
            /// A string of bytes.
            String(Vec<u8>),
        }

        impl Scalar {
            /// The dtype of the value.
            pub fn dtype(&self) -> DType {
                match self {
                    $(Scalar::$variant(_) => DType::$variant,)*
                    Scalar::String(_) => DType::String,
                }
            }

            /// 0, false or the empty string.
            pub fn zero(dtype: DType) -> Self {
                match dtype {
                    $(DType::$variant => Scalar::$variant(Default::default()),)*
                    DType::String => Scalar::String(Vec::new()),
                }
            }

            /// A value of an integer dtype; `None` if `value` is outside the range or the dtype is
            /// not an integer dtype.
            pub fn integer(dtype: DType, value: i64) -> Option<Self> {
                match dtype {
                    $(DType::$variant => integer!($class, value).map(Scalar::$variant),)*
                    DType::String => None,
                }
            }
        }

        impl PartialEq for Scalar {
            fn eq(&self, other: &Self) -> bool {
                match (self, other) {
                    $((Scalar::$variant(a), Scalar::$variant(b)) => bytes_of(a) == bytes_of(b),)*
                    (Scalar::String(a), Scalar::String(b)) => a == b,
                    _ => false,
                }
            }
        }
    };
}
macro_rules! integer {
    (integer, $value:ident) => {
        $value.try_into().ok()
    };
    ($other:ident, $value:ident) => {
        None
    };
}
fixed_width_dtypes!(scalar);

impl Eq for Scalar {}
