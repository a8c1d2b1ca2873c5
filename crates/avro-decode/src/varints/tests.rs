//! Every implementation against varints that are read one by one.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use proptest::sample::Index;

use super::Kernels;
use crate::varint::{read_int, read_long, write_long};

/// Longer than any window, and not a multiple of the values made at a time.
const MAX_VALUES: usize = 200;

proptest! {
    #[test]
    fn values_of_any_widths(run in run(), less in 0..3usize, behind in behind()) {
        let data = [&run.data[..], &behind].concat();
        check(&data, run.n);
        check(&data, run.n.saturating_sub(less));
        check(&data, run.n + less);
    }

    #[test]
    fn data_that_ends_anywhere(run in run(), end in any::<Index>()) {
        check(&run.data[..end.index(run.data.len() + 1)], run.n);
    }

    #[test]
    fn one_byte_changed(mut run in run(), at in any::<Index>(), byte in byte()) {
        if !run.data.is_empty() {
            let at = at.index(run.data.len());
            run.data[at] = byte;
        }
        check(&run.data, run.n);
    }

    #[test]
    fn any_bytes(data in prop::collection::vec(byte(), 0..300), n in 0..100usize) {
        check(&data, n);
    }
}

/// A run of every number of values of each width, at every distance from the
/// data's end that matters.
#[test]
fn values_of_each_width() {
    for len in 1..=10 {
        for n in 0..=70 {
            let mut data = Vec::new();
            for i in 0..n as i64 {
                let longest = (1i64 << (7 * len - 2).min(62)) + i;
                write_long(&mut data, if i % 2 == 0 { longest } else { -longest });
            }
            assert!(data.len() == len * n || len == 1);
            for behind in [0, 1, 7, 8, 40, 63, 64, 65] {
                let mut data = data.clone();
                data.resize(data.len() + behind, 0x80);
                check(&data, n);
                check(&data, n + 1);
            }
        }
    }
}

#[test]
fn ints_that_are_too_long_or_too_large() {
    let five = |tenth| [0xff, 0xff, 0xff, 0xff, tenth];
    for before in 0..20 {
        for behind in [0, 10, 100] {
            let refused = |varint: &[u8]| {
                let data = [&vec![2; before], varint, &vec![2; behind]].concat();
                check(&data, before + 1);
                check(&data, before + 1 + behind);
                let mut out = vec![0; before + 1];
                Kernels::available().all(|kernels| kernels.ints(&data, &mut out).is_none())
            };
            assert!(!refused(&five(0x0f)));
            assert!(refused(&five(0x10)));
            assert!(refused(&five(0x7f)));
            assert!(refused(&[0x82, 0x80, 0x80, 0x80, 0x80, 0]));
        }
    }
}

#[test]
fn indices_at_their_bounds() {
    let read = |data: &[u8], end, extent| {
        let n = data.iter().filter(|byte| **byte < 0x80).count();
        let mut reads = Kernels::available().map(|kernels| {
            let (mut out, mut extent) = (vec![0; n], extent);
            kernels.indices::<false>(data, end, &mut extent, &mut out)?;
            Some(extent)
        });
        let first = reads.next().unwrap();
        assert!(reads.all(|read| read == first));
        first
    };
    let mut data = Vec::new();
    assert_eq!(read(&data, 0, 0), Some(0));
    for index in [3, 7, 0] {
        write_long(&mut data, index);
    }
    for extent in [0, 7, 8] {
        assert_eq!(read(&data, 8, extent), Some(8));
    }
    assert_eq!(read(&data, 20, 20), Some(20));
    assert_eq!(read(&data, 7, 0), None);
    assert_eq!(read(&data, 7, 7), None);

    for index in [-1, -(1 << 27), -(1 << 31), i64::MIN, i64::MAX] {
        let mut data = data.clone();
        write_long(&mut data, index);
        for extent in [0, 1 << 31, i64::MAX] {
            assert_eq!(read(&data, i64::MAX as u64, extent), None);
        }
    }
}

/// Values written, some with padding.
#[derive(Clone, Debug)]
struct Run {
    data: Vec<u8>,
    n: usize,
}

fn run() -> impl Strategy<Value = Run> {
    // Mostly of similar widths, as in an array.
    let bits = (1..=64u32, 0..=64u32).prop_map(|(most, below)| most.saturating_sub(below)..=most);
    let padded = prop_oneof![3 => Just(0.0), 1 => Just(0.2)];
    (bits, padded, 0..MAX_VALUES).prop_flat_map(|(bits, padded, n)| {
        let pad = prop::bool::weighted(padded).prop_flat_map(|pad| 0..=usize::from(pad) * 9);
        let value = (bits, any::<i64>(), pad);
        prop::collection::vec(value, n).prop_map(|values| {
            let n = values.len();
            let mut data = Vec::new();
            for (bits, value, pad) in values {
                write_padded(&mut data, value.checked_shr(64 - bits).unwrap_or(0), pad);
            }
            Run { data, n }
        })
    })
}

/// Writes a value with up to `pad` bytes more than it needs.
fn write_padded(data: &mut Vec<u8>, value: i64, pad: usize) {
    let start = data.len();
    write_long(data, value);
    let pad = pad.min(10 - (data.len() - start));
    if pad > 0 {
        *data.last_mut().unwrap() |= 0x80;
        data.resize(data.len() + pad, 0x80);
        *data.last_mut().unwrap() = 0;
    }
}

fn behind() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![Just(Vec::new()), prop::collection::vec(byte(), 0..80)]
}

fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![0x80..=0xffu8, any::<u8>()]
}

/// Checks all kernels on a run of `n` at the start of `data`.
fn check(data: &[u8], n: usize) {
    let longs = one_by_one(data, n, read_long);
    let ints = one_by_one(data, n, read_int);
    let int_indices = ints.as_ref().map(|(ints, len)| {
        let indices = ints.iter().map(|&int| i64::from(int)).collect();
        (indices, *len)
    });
    for kernels in Kernels::available() {
        let mut out = vec![0; n];
        let len = kernels.longs(data, &mut out);
        assert_eq!(len.map(|len| (out, len)), longs, "{kernels:?} {data:x?}");

        let mut out = vec![0; n];
        let len = kernels.ints(data, &mut out);
        assert_eq!(len.map(|len| (out, len)), ints, "{kernels:?} {data:x?}");

        for end in [100, 1 << 21, i64::MAX as u64] {
            check_indices::<false>(kernels, data, end, n, &longs);
            check_indices::<true>(kernels, data, end, n, &int_indices);
        }

        let ends = (1..).zip(data).filter(|(_, byte)| **byte < 0x80);
        let ends = [0].into_iter().chain(ends.map(|(end, _)| end));
        assert_eq!(
            kernels.skip(data, n),
            ends.into_iter().nth(n),
            "{kernels:?} {data:x?}"
        );
    }
}

fn check_indices<const INT: bool>(
    kernels: Kernels,
    data: &[u8],
    end: u64,
    n: usize,
    values: &Option<(Vec<i64>, usize)>,
) {
    let in_bounds = |&index: &i64| (index as u64) < end;
    let expected = values
        .as_ref()
        .filter(|(values, _)| values.iter().all(in_bounds));
    for before in [0, end as i64 / 2, end as i64] {
        let largest = |values: &[i64]| values.iter().fold(before, |most, i| most.max(i + 1));
        let extent_after = expected.map_or(before, |(values, _)| largest(values));

        let (mut out, mut extent) = (vec![0; n], before);
        let len = kernels.indices::<INT>(data, end, &mut extent, &mut out);
        assert_eq!(
            len.map(|len| (out, len)),
            expected.cloned(),
            "{kernels:?} {data:x?}"
        );
        assert_eq!(extent, extent_after, "{kernels:?} {data:x?}");

        let row = -2;
        let (mut out, mut extent) = (vec![[0; 2]; n], before);
        let len = kernels.coordinates::<INT>(data, row, end, &mut extent, &mut out);
        let rows = out.iter().all(|place| place[0] == row);
        let indices = out.iter().map(|place| place[1]).collect();
        assert_eq!(
            len.map(|len| (indices, len)),
            expected.cloned(),
            "{kernels:?} {data:x?}"
        );
        assert!(rows || len.is_none());
        assert_eq!(extent, extent_after, "{kernels:?} {data:x?}");
    }
}

fn one_by_one<T>(
    data: &[u8],
    n: usize,
    read: impl Fn(&[u8], &mut usize) -> Result<T, crate::DecodeErrorKind>,
) -> Option<(Vec<T>, usize)> {
    let mut position = 0;
    let values = (0..n)
        .map(|_| read(data, &mut position).ok())
        .collect::<Option<_>>()?;
    Some((values, position))
}
