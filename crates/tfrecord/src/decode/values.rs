//! Reads the values of a list as elements of a dtype.

use atds_features::Ids;
use atds_features::narrow::Float as _;
use tensor_batch::{DType, Out, Strings, fixed_width_dtypes};

use super::error::{DecodeErrorKind, Fault};
use super::list::{Kind, List};

/// How values become elements.
#[derive(Clone, Debug)]
pub(crate) enum Reader {
    /// int64 as int64.
    Ints,
    /// float as float32.
    Floats,
    /// bytes as strings.
    Strings,
    /// The bytes of one value, as uint8.
    Octets,
    /// Numbers cast to a dtype. As uint8, also the bytes of one value.
    Cast { dtype: DType },
    /// Bytes, and integers as text, by their ids.
    Ids { dtype: DType, ids: Ids },
}

impl Reader {
    pub(crate) fn dtype(&self) -> DType {
        match *self {
            Reader::Ints => DType::Int64,
            Reader::Floats => DType::Float32,
            Reader::Strings => DType::String,
            Reader::Octets => DType::UInt8,
            Reader::Cast { dtype } | Reader::Ids { dtype, .. } => dtype,
        }
    }

    fn reads(&self, kind: Kind) -> bool {
        match (self, kind) {
            (Reader::Ints, Kind::Int64)
            | (Reader::Floats, Kind::Float)
            | (Reader::Strings | Reader::Octets, Kind::Bytes)
            | (Reader::Ids { .. }, Kind::Bytes | Kind::Int64) => true,
            (Reader::Cast { dtype }, Kind::Int64) => *dtype != DType::String,
            (Reader::Cast { dtype }, Kind::Float) => !dtype.is_integer(),
            (Reader::Cast { dtype }, Kind::Bytes) => *dtype == DType::UInt8,
            _ => false,
        }
    }

    /// Whether the elements of a list are the bytes of its one value.
    fn reads_octets(&self, kind: Kind) -> bool {
        kind == Kind::Bytes && matches!(self, Reader::Octets | Reader::Cast { .. })
    }

    /// Number of elements in a list.
    ///
    /// # Errors
    /// The list is of a kind that is not read, or damaged.
    #[inline]
    pub(crate) fn len(&self, list: &List<'_>) -> Result<usize, Fault> {
        if !self.reads(list.kind) {
            return Err(self.wrong_kind(list));
        }
        if self.reads_octets(list.kind) {
            return Ok(octets(list)?.len());
        }
        list.len()
    }

    #[cold]
    fn wrong_kind(&self, list: &List<'_>) -> Fault {
        let (found, dtype) = (list.kind, self.dtype());
        Fault::new(DecodeErrorKind::WrongKind { found, dtype }, list.message)
    }

    /// Size of an element in memory, of a string its end.
    #[inline]
    pub(crate) fn element_bytes(&self) -> usize {
        self.dtype().size().unwrap_or(size_of::<i64>())
    }

    /// Reads the first elements of a list, whose [`len`](Self::len) was asked for, into `out`.
    #[inline]
    pub(crate) fn fill(&self, list: &List<'_>, out: Out<'_>) -> Result<(), Fault> {
        match (self, out) {
            (Reader::Ints, Out::Int64(out)) => list.fill_ints(out, Ok),
            (Reader::Floats, Out::Float32(out)) => list.fill_floats(out, |value| value),
            (Reader::Ids { ids, .. }, out) => fill_ids(list, ids, out),
            (_, out) if self.reads_octets(list.kind) => {
                let octets = octets(list)?;
                if let Out::UInt8(out) = out {
                    out.copy_from_slice(&octets[..out.len()]);
                }
                Ok(())
            }
            (_, out) if list.kind == Kind::Float => cast_floats(list, out),
            (_, out) => cast_ints(list, out),
        }
    }

    /// Appends the first `n` strings of a list, unless they take more than `room` bytes.
    #[inline]
    pub(crate) fn append_strings(
        &self,
        list: &List<'_>,
        n: usize,
        room: usize,
        strings: &mut Strings,
    ) -> Result<(), Fault> {
        let most = strings.data().len().saturating_add(room);
        let mut left = n;
        list.strings(|string| {
            if left == 0 {
                return Ok(());
            }
            left -= 1;
            let needed = strings.data().len() + string.len();
            if needed > most {
                return Err(no_room(string.len()));
            }
            strings.push(string);
            Ok(())
        })
    }
}

#[cold]
pub(crate) fn no_room(needed: usize) -> Fault {
    DecodeErrorKind::NoRoom { needed }.into()
}

/// The bytes of the one value of a list.
fn octets<'a>(list: &List<'a>) -> Result<&'a [u8], Fault> {
    let (mut octets, mut found) = (&[][..], 0);
    list.strings(|string| {
        (octets, found) = (string, found + 1);
        Ok(())
    })?;
    match found {
        0 | 1 => Ok(octets),
        found => {
            let kind = DecodeErrorKind::WrongCount { expected: 1, found };
            Err(Fault::new(kind, list.message))
        }
    }
}

macro_rules! casts {
    ($($variant:ident: $element:ty, $raw:ty, $class:ident, $name:literal, $about:literal;)*) => {
        fn cast_ints(list: &List<'_>, out: Out<'_>) -> Result<(), Fault> {
            match out {
                $(Out::$variant(out) => {
                    list.fill_ints(out, |value| casts!(@int $class $variant $element, value))
                })*
            }
        }

        fn cast_floats(list: &List<'_>, out: Out<'_>) -> Result<(), Fault> {
            match out {
                $(Out::$variant(out) => casts!(@floats $class $element, list, out),)*
            }
        }

        fn fill_ids(list: &List<'_>, ids: &Ids, out: Out<'_>) -> Result<(), Fault> {
            match out {
                $(Out::$variant(out) => casts!(@ids $class $element, list, ids, out),)*
            }
        }
    };
    (@int integer $variant:ident $element:ty, $value:ident) => {
        <$element>::try_from($value).map_err(|_| overflow($value, DType::$variant))
    };
    (@int float $variant:ident $element:ty, $value:ident) => {
        Ok(<$element>::of_i64($value))
    };
    (@int boolean $variant:ident $element:ty, $value:ident) => {
        Ok(u8::from($value != 0))
    };
    (@floats integer $element:ty, $list:ident, $out:ident) => {{
        let _ = $out;
        other_dtype()
    }};
    (@floats float $element:ty, $list:ident, $out:ident) => {
        $list.fill_floats($out, <$element>::of_f32)
    };
    (@floats boolean $element:ty, $list:ident, $out:ident) => {
        $list.fill_floats($out, |value| u8::from(value != 0.0))
    };
    (@ids integer $element:ty, $list:ident, $ids:ident, $out:ident) => {
        fill_with_ids($list, $ids, $out, |id| id as $element)
    };
    (@ids $class:ident $element:ty, $list:ident, $ids:ident, $out:ident) => {{
        let _ = $out;
        other_dtype()
    }};
}
fixed_width_dtypes!(casts);

fn fill_with_ids<T>(
    list: &List<'_>,
    ids: &Ids,
    out: &mut [T],
    element: impl Fn(i64) -> T,
) -> Result<(), Fault> {
    if list.kind == Kind::Int64 {
        return list.fill_ints(out, |value| Ok(element(ids.of_number(value))));
    }
    let mut out = out.iter_mut();
    list.strings(|string| {
        if let Some(out) = out.next() {
            *out = element(ids.of(string));
        }
        Ok(())
    })
}

#[cold]
fn overflow(value: i64, dtype: DType) -> Fault {
    DecodeErrorKind::CastOverflow { value, dtype }.into()
}

#[cold]
fn other_dtype() -> ! {
    panic!("compiling has checked that the dtype has such elements")
}
