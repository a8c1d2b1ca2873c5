//! Every implementation of the kernels gives the values that the reference decoder reads one by
//! one.

use std::sync::LazyLock;

use avro_decode::varints::Kernels;
use avro_decode::{Schema, Value, reference};

/// The values of a run and its length in bytes; `None` if a varint is invalid.
type Run<T> = Option<(Vec<T>, usize)>;

/// Panics if a kernel does not agree with the reference on `n` varints at the start of `data`.
pub(crate) fn agree(data: &[u8], n: usize) {
    let longs = one_by_one(&LONG, data, n, |value| match value {
        Value::Long(long) => long,
        other => panic!("{other:?} is no long"),
    });
    let ints = one_by_one(&INT, data, n, |value| match value {
        Value::Int(int) => int,
        other => panic!("{other:?} is no int"),
    });
    let int_indices = ints.as_ref().map(|(ints, len)| {
        let indices = ints.iter().map(|&int| i64::from(int)).collect();
        (indices, *len)
    });
    let end_bytes = (1..).zip(data).filter(|(_, byte)| **byte < 0x80);
    let mut ends = [0].into_iter().chain(end_bytes.map(|(end, _)| end));
    let skipped = ends.nth(n);
    let more = [0, 3, n + 3, 50];
    let skipped_more = more.map(|more| match more {
        0 => skipped,
        more => ends.clone().nth(more - 1),
    });

    for kernels in Kernels::available() {
        let mut out = vec![0; n];
        let len = kernels.longs(data, &mut out);
        assert_eq!(len.map(|len| (out, len)), longs, "{kernels:?} {data:x?}");

        let mut out = vec![0; n];
        let len = kernels.ints(data, &mut out);
        assert_eq!(len.map(|len| (out, len)), ints, "{kernels:?} {data:x?}");

        for end in [100, 1 << 21, i64::MAX as u64] {
            agree_on_indices::<false>(kernels, data, end, n, &longs);
            agree_on_indices::<true>(kernels, data, end, n, &int_indices);
        }

        assert_eq!(kernels.skip(data, n), skipped, "{kernels:?} {data:x?}");
        for (more, end) in more.into_iter().zip(skipped_more) {
            let both = skipped.zip(end).map(|(first, both)| [first, both]);
            assert_eq!(
                kernels.skip_both(data, n, more),
                both,
                "{kernels:?} {data:x?}"
            );
        }
    }
}

fn agree_on_indices<const INT: bool>(
    kernels: Kernels,
    data: &[u8],
    end: u64,
    n: usize,
    values: &Run<i64>,
) {
    let in_bounds = |&index: &i64| (index as u64) < end;
    let expected = values.as_ref();
    let expected = expected.filter(|(values, _)| values.iter().all(in_bounds));
    for before in [0, end as i64 / 2, end as i64] {
        let extent = |values: &[i64]| values.iter().fold(before, |most, i| most.max(i + 1));
        let after = expected.map_or(before, |(values, _)| extent(values));

        let (mut out, mut extent) = (vec![0; n], before);
        let len = kernels.indices::<INT>(data, end, &mut extent, &mut out);
        let read = len.map(|len| (out, len));
        assert_eq!(read.as_ref(), expected, "{kernels:?} {data:x?}");
        assert_eq!(extent, after, "{kernels:?} {data:x?}");

        let row = -2;
        let (mut out, mut extent) = (vec![[0; 2]; n], before);
        let len = kernels.coordinates::<INT>(data, row, end, &mut extent, &mut out);
        assert!(len.is_none() || out.iter().all(|place| place[0] == row));
        let read = len.map(|len| (out.into_iter().map(|place| place[1]).collect(), len));
        assert_eq!(read.as_ref(), expected, "{kernels:?} {data:x?}");
        assert_eq!(extent, after, "{kernels:?} {data:x?}");
    }
}

fn one_by_one<T>(schema: &Schema, data: &[u8], n: usize, take: impl Fn(Value) -> T) -> Run<T> {
    let mut position = 0;
    let values = (0..n).map(|_| {
        let value = reference::decode(schema, schema.root(), data, &mut position);
        value.ok().map(&take)
    });
    let values = values.collect::<Option<_>>()?;
    Some((values, position))
}

static LONG: LazyLock<Schema> = LazyLock::new(|| primitive("\"long\""));
static INT: LazyLock<Schema> = LazyLock::new(|| primitive("\"int\""));

fn primitive(json: &str) -> Schema {
    Schema::parse(json).expect("the schema of a primitive")
}
