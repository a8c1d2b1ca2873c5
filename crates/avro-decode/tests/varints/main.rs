//! The kernels that read runs of varints, in every implementation for this machine.
#![allow(clippy::unwrap_used)]

mod agreement;

use avro_decode::encode::write_long;
use avro_decode::varints::Kernels;
use proptest::prelude::*;
use proptest::sample::Index;

use agreement::agree;

/// Several windows of a kernel, and not a multiple of the values that it makes at a time.
const MAX_VALUES: usize = 200;

proptest! {
    #[test]
    fn values_of_any_widths(run in run(), less in 0..3usize, behind in behind()) {
        let data = [&run.data[..], &behind].concat();
        agree(&data, run.n);
        agree(&data, run.n.saturating_sub(less));
        agree(&data, run.n + less);
    }

    #[test]
    fn data_that_ends_anywhere(run in run(), end in any::<Index>()) {
        agree(&run.data[..end.index(run.data.len() + 1)], run.n);
    }

    #[test]
    fn one_byte_changed(mut run in run(), at in any::<Index>(), byte in byte()) {
        if !run.data.is_empty() {
            let at = at.index(run.data.len());
            run.data[at] = byte;
        }
        agree(&run.data, run.n);
    }

    #[test]
    fn any_bytes(data in prop::collection::vec(byte(), 0..300), n in 0..100usize) {
        agree(&data, n);
    }
}

/// Runs of one width, with every length up to some windows. The data ends at every relevant
/// distance after the run.
#[test]
fn values_of_each_width() {
    for len in 1..=10 {
        for n in (0..=34).chain([63, 64, 65]) {
            let mut data = Vec::new();
            for i in 0..n as i64 {
                let value = (1i64 << (7 * len - 2).min(62)) - 1 - i;
                write_long(&mut data, if i % 2 == 0 { value } else { -value });
            }
            for behind in [0, 1, 7, 40, 64] {
                let mut data = data.clone();
                data.resize(data.len() + behind, 0x80);
                agree(&data, n);
                agree(&data, n + 1);
            }
        }
    }
}

/// A run that is cut at every byte.
#[test]
fn every_end_of_the_data() {
    for value in [1, 300, 1 << 20, 1 << 40, i64::MIN] {
        let mut data = Vec::new();
        (0..20).for_each(|_| write_long(&mut data, value));
        for end in 0..data.len() {
            agree(&data[..end], 20);
        }
    }
}

/// The tenth byte of a varint holds one bit of the value, and must be the last.
#[test]
fn varints_of_ten_bytes() {
    for tenth in [0, 1, 2, 3, 0x7f, 0x80, 0x81] {
        for (before, behind) in [(0, 0), (0, 3), (3, 70), (20, 70)] {
            let varint = [&[0xff; 9][..], &[tenth]].concat();
            let data = [&vec![2; before], &varint[..], &vec![2; behind]].concat();
            agree(&data, before + 1);
            let mut out = vec![0; before + 1];
            for kernels in Kernels::available() {
                assert_eq!(kernels.longs(&data, &mut out).is_some(), tenth <= 1);
            }
        }
    }
}

#[test]
fn ints_that_are_too_long_or_too_large() {
    let five = |fifth| [0xff, 0xff, 0xff, 0xff, fifth];
    for before in 0..20 {
        for behind in [0, 10, 100] {
            let refused = |varint: &[u8]| {
                let data = [&vec![2; before], varint, &vec![2; behind]].concat();
                agree(&data, before + 1);
                agree(&data, before + 1 + behind);
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

/// Encoded values, some with padding bytes.
#[derive(Clone, Debug)]
struct Run {
    data: Vec<u8>,
    n: usize,
}

fn run() -> impl Strategy<Value = Run> {
    // Most values have similar widths, as in an array.
    let bits = (1..=64u32, 0..=64u32).prop_map(|(most, below)| most.saturating_sub(below)..=most);
    let padded = prop_oneof![3 => Just(0.0), 1 => Just(0.2)];
    (bits, padded, 0..MAX_VALUES).prop_flat_map(|(bits, padded, n)| {
        let pad = prop::bool::weighted(padded).prop_flat_map(|pad| 0..=usize::from(pad) * 9);
        let value = (bits, any::<i64>(), pad);
        prop::collection::vec(value, n).prop_map(|values| {
            let n = values.len();
            let mut data = Vec::new();
            for (bits, value, pad) in values {
                let value = value.checked_shr(64 - bits).unwrap_or(0);
                write_padded(&mut data, value, pad);
            }
            Run { data, n }
        })
    })
}

/// Writes a value with up to `pad` more bytes than necessary.
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
