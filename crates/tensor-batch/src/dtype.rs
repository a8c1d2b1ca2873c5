//! Element types of columns.

use std::fmt;

/// The element type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DType {
    /// 32-bit signed integer.
    Int32,
    /// 64-bit signed integer.
    Int64,
    /// IEEE 754 half precision.
    Float16,
    /// The upper half of a single precision float: its range, 8 bits of
    /// precision.
    BFloat16,
    /// IEEE 754 single precision.
    Float32,
    /// IEEE 754 double precision.
    Float64,
    /// One byte, 0 or 1.
    Bool,
    /// A string of bytes, as TensorFlow's `tf.string`: UTF-8 where the source
    /// says so, any bytes where it does not.
    String,
}

impl DType {
    /// Every dtype.
    pub const ALL: [DType; 8] = [
        DType::Int32,
        DType::Int64,
        DType::Float16,
        DType::BFloat16,
        DType::Float32,
        DType::Float64,
        DType::Bool,
        DType::String,
    ];

    /// The name, as NumPy (with `ml_dtypes`) and TensorFlow spell it.
    pub fn name(self) -> &'static str {
        match self {
            DType::Int32 => "int32",
            DType::Int64 => "int64",
            DType::Float16 => "float16",
            DType::BFloat16 => "bfloat16",
            DType::Float32 => "float32",
            DType::Float64 => "float64",
            DType::Bool => "bool",
            DType::String => "string",
        }
    }

    /// The dtype of a name; `bytes` is another name for [`DType::String`].
    pub fn from_name(name: &str) -> Option<DType> {
        if name == "bytes" {
            return Some(DType::String);
        }
        DType::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Bytes of one element, or `None` for strings.
    pub fn size(self) -> Option<usize> {
        match self {
            DType::Int32 | DType::Float32 => Some(4),
            DType::Int64 | DType::Float64 => Some(8),
            DType::Float16 | DType::BFloat16 => Some(2),
            DType::Bool => Some(1),
            DType::String => None,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
