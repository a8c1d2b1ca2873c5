//! One value of any dtype.

use half::{bf16, f16};

use crate::DType;

/// One value of a column, such as the one that fills gaps.
///
/// Floats are equal if their bits are: a NaN equals itself, and -0.0 is not
/// 0.0. So two columns that are equal are filled with the same bytes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Scalar {
    /// A 32-bit integer.
    Int32(i32),
    /// A 64-bit integer.
    Int64(i64),
    /// A half precision float.
    Float16(f16),
    /// A bfloat16.
    BFloat16(bf16),
    /// A single precision float.
    Float32(f32),
    /// A double precision float.
    Float64(f64),
    /// A boolean.
    Bool(bool),
    /// A string of bytes.
    String(Vec<u8>),
}

impl Scalar {
    /// The dtype of the value.
    pub fn dtype(&self) -> DType {
        match self {
            Scalar::Int32(_) => DType::Int32,
            Scalar::Int64(_) => DType::Int64,
            Scalar::Float16(_) => DType::Float16,
            Scalar::BFloat16(_) => DType::BFloat16,
            Scalar::Float32(_) => DType::Float32,
            Scalar::Float64(_) => DType::Float64,
            Scalar::Bool(_) => DType::Bool,
            Scalar::String(_) => DType::String,
        }
    }

    /// 0, false or the empty string.
    pub fn zero(dtype: DType) -> Self {
        match dtype {
            DType::Int32 => Scalar::Int32(0),
            DType::Int64 => Scalar::Int64(0),
            DType::Float16 => Scalar::Float16(f16::ZERO),
            DType::BFloat16 => Scalar::BFloat16(bf16::ZERO),
            DType::Float32 => Scalar::Float32(0.0),
            DType::Float64 => Scalar::Float64(0.0),
            DType::Bool => Scalar::Bool(false),
            DType::String => Scalar::String(Vec::new()),
        }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Scalar::Int32(a), Scalar::Int32(b)) => a == b,
            (Scalar::Int64(a), Scalar::Int64(b)) => a == b,
            (Scalar::Float16(a), Scalar::Float16(b)) => a.to_bits() == b.to_bits(),
            (Scalar::BFloat16(a), Scalar::BFloat16(b)) => a.to_bits() == b.to_bits(),
            (Scalar::Float32(a), Scalar::Float32(b)) => a.to_bits() == b.to_bits(),
            (Scalar::Float64(a), Scalar::Float64(b)) => a.to_bits() == b.to_bits(),
            (Scalar::Bool(a), Scalar::Bool(b)) => a == b,
            (Scalar::String(a), Scalar::String(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Scalar {}
