//! The values of a column: one buffer per dtype, and strings.

use bytemuck::Pod;

use crate::{Buffer, DType};

/// Strings end to end in one data buffer, with offsets into it.
///
/// `offsets` has one entry more than there are strings and starts with 0;
/// string `i` is `data[offsets[i]..offsets[i + 1]]` (Arrow's large layout).
#[derive(Clone, Debug, PartialEq)]
pub struct Strings {
    offsets: Buffer<i64>,
    data: Buffer<u8>,
}

impl Strings {
    /// No strings.
    pub fn new() -> Self {
        let mut offsets = Buffer::new();
        offsets.push(0);
        Strings {
            offsets,
            data: Buffer::new(),
        }
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of string `i`, or `None` past the end.
    pub fn get(&self, i: usize) -> Option<&[u8]> {
        let offsets = self.offsets.as_slice();
        let (start, end) = (*offsets.get(i)?, *offsets.get(i + 1)?);
        self.data.as_slice().get(start as usize..end as usize)
    }

    /// All strings in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> + '_ {
        let data = self.data.as_slice();
        self.offsets
            .as_slice()
            .windows(2)
            .map(move |ends| &data[ends[0] as usize..ends[1] as usize])
    }

    /// The `len() + 1` offsets, in bytes.
    pub fn offsets(&self) -> &[i64] {
        self.offsets.as_slice()
    }

    /// The bytes of all strings end to end.
    pub fn data(&self) -> &[u8] {
        self.data.as_slice()
    }

    /// Appends one string.
    #[inline]
    pub fn push(&mut self, string: &[u8]) {
        self.data.extend_from_slice(string);
        self.offsets.push(self.data.len() as i64);
    }

    /// Forgets all strings; memory is kept.
    pub fn clear(&mut self) {
        self.offsets.set_len(1);
        self.data.clear();
    }

    fn retain_from(&mut self, start: usize, keep: &[bool]) {
        let offsets = self.offsets.as_mut_slice();
        let (mut from, mut end) = (offsets[start], offsets[start]);
        let mut kept = start;
        for (i, keep) in keep.iter().enumerate() {
            let next = offsets[start + i + 1];
            if *keep {
                let data = self.data.as_mut_slice();
                data.copy_within(from as usize..next as usize, end as usize);
                end += next - from;
                kept += 1;
                offsets[kept] = end;
            }
            from = next;
        }
        self.offsets.set_len(kept + 1);
        self.data.set_len(end as usize);
    }

    pub(crate) fn used_bytes(&self) -> usize {
        self.offsets.as_bytes().len() + self.data.len()
    }

    pub(crate) fn capacity_bytes(&self) -> usize {
        self.offsets.capacity_bytes() + self.data.capacity_bytes()
    }

    /// Room for `strings` strings of `bytes` bytes: (offsets without the
    /// leading 0, data), to be overwritten.
    pub(crate) fn allocate(&mut self, strings: usize, bytes: usize) -> (&mut [i64], &mut [u8]) {
        self.clear();
        (self.offsets.append(strings), self.data.append(bytes))
    }
}

impl Default for Strings {
    fn default() -> Self {
        Strings::new()
    }
}

/// The values of a column, end to end, in the column's dtype.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// 32-bit integers.
    Int32(Buffer<i32>),
    /// 64-bit integers.
    Int64(Buffer<i64>),
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
            Values::Float32(_) => DType::Float32,
            Values::Float64(_) => DType::Float64,
            Values::Bool(_) => DType::Bool,
            Values::String(_) => DType::String,
        }
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

    /// The strings, or `None` if the dtype is another.
    pub fn as_strings(&self) -> Option<&Strings> {
        match self {
            Values::String(strings) => Some(strings),
            _ => None,
        }
    }

    /// Forgets all values; memory is kept.
    pub fn clear(&mut self) {
        each_values!(self, buffer => buffer.clear(), strings => strings.clear());
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

    pub(crate) fn used_bytes(&self) -> usize {
        each_values!(self, buffer => buffer.as_bytes().len(), strings => strings.used_bytes())
    }

    pub(crate) fn capacity_bytes(&self) -> usize {
        each_values!(self, buffer => buffer.capacity_bytes(), strings => strings.capacity_bytes())
    }
}

/// A Rust type that a fixed-width column can be viewed as:
/// `i32`, `i64`, `f32`, `f64` and `bool`.
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
    f32, f32, Float32, Some;
    f64, f64, Float64, Some;
    bool, u8, Bool, |raw| bytemuck::checked::try_cast_slice(raw).ok();
}
