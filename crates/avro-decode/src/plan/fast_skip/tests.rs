#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::encode::write_long;

/// A field that is skipped.
#[derive(Clone, Debug)]
enum Field {
    Bytes(usize),
    Varints(usize),
    Length,
    Fixed(usize),
    VarintItems(usize),
    /// Two arrays of varints with the same number of items.
    Pair,
    /// An array of varints and an array with items of this width. Their lengths differ in every
    /// fifth record.
    Sparse(usize),
    Strings,
    Lists,
}

fn fields() -> impl Strategy<Value = Vec<Field>> {
    let field = prop_oneof![
        (1usize..9).prop_map(Field::Bytes),
        (1usize..4).prop_map(Field::Varints),
        Just(Field::Length),
        prop_oneof![1usize..10, Just(300)].prop_map(Field::Fixed),
        (1usize..3).prop_map(Field::VarintItems),
        Just(Field::Pair),
        (1usize..10).prop_map(Field::Sparse),
        Just(Field::Strings),
        Just(Field::Lists),
    ];
    prop::collection::vec(field, 1..6)
}

/// How arrays are laid out.
#[derive(Clone, Copy, Debug)]
struct Layout {
    sized: bool,
    blocks: usize,
}

fn skip_of(fields: &[Field]) -> Skip {
    Skip::all(fields.iter().map(|field| match field {
        Field::Bytes(n) => Skip::Bytes(*n),
        Field::Varints(n) => Skip::Varints(*n),
        Field::Length => Skip::Length,
        Field::Fixed(width) => items(Skip::Bytes(*width), *width),
        Field::VarintItems(each) => items(Skip::Varints(*each), *each),
        Field::Pair => Skip::Sequence(Box::new([
            items(Skip::Varints(1), 1),
            items(Skip::Varints(1), 1),
        ])),
        Field::Sparse(width) => Skip::Sequence(Box::new([
            items(Skip::Varints(1), 1),
            items(Skip::Bytes(*width), *width),
        ])),
        Field::Strings => items(Skip::Length, 1),
        Field::Lists => items(items(Skip::Length, 1), 1),
    }))
}

fn items(item: Skip, min_item: usize) -> Skip {
    let item = Arc::new(item);
    Skip::Items { item, min_item }
}

fn write(fields: &[Field], lengths: &[usize], layout: Layout, out: &mut Vec<u8>) {
    for (field, &length) in fields.iter().zip(lengths) {
        match field {
            Field::Bytes(n) => out.extend(std::iter::repeat_n(0xa5, *n)),
            Field::Varints(n) => (0..*n).for_each(|i| write_long(out, 1 << (7 * i + length % 30))),
            Field::Length => write_bytes(length, out),
            Field::Fixed(width) => array(length, layout, out, |out| {
                out.extend(std::iter::repeat_n(0, *width));
            }),
            Field::VarintItems(each) => array(length, layout, out, |out| {
                (0..*each).for_each(|i| write_long(out, (length as i64) << (9 * i)));
            }),
            Field::Pair => [1, 1 << 20].into_iter().for_each(|value| {
                array(length, layout, out, |out| write_long(out, value));
            }),
            Field::Sparse(width) => {
                array(length, layout, out, |out| write_long(out, 1 << 20));
                let values = length + usize::from(length % 5 == 4);
                array(values, layout, out, |out| {
                    out.extend(std::iter::repeat_n(0, *width));
                });
            }
            Field::Strings => array(length, layout, out, |out| write_bytes(length, out)),
            Field::Lists => array(length, layout, out, |out| {
                array(length % 7, layout, out, |out| write_bytes(length, out));
            }),
        }
    }
}

fn write_bytes(length: usize, out: &mut Vec<u8>) {
    write_long(out, length as i64);
    out.extend(std::iter::repeat_n(b'x', length));
}

fn array(length: usize, layout: Layout, out: &mut Vec<u8>, item: impl Fn(&mut Vec<u8>)) {
    let first = length / layout.blocks;
    for count in [first, length - first] {
        if count == 0 {
            continue;
        }
        let mut body = Vec::new();
        (0..count).for_each(|_| item(&mut body));
        if layout.sized {
            write_long(out, -(count as i64));
            write_long(out, body.len() as i64);
        } else {
            write_long(out, count as i64);
        }
        out.extend(body);
    }
    out.push(0);
}

/// Skips records in both ways and returns the number of fast skips that succeeded.
fn compare(skip: &Skip, data: &[u8], records: usize) -> usize {
    let table = SkipTable::default();
    let mut count = 0;
    let skips = FastSkip::all(skip, &table, &mut count);
    let mut predicted = vec![PredictedLen::NONE; count];
    let mut cursor = Cursor::new(data, 0);
    let mut fast = 0;
    for _ in 0..records {
        let mut general = cursor;
        let expected = table.run(skip, &mut general);
        let mut fast_cursor = cursor;
        let run = SkipRun {
            skips: &skips,
            table: &table,
            predicted: &mut predicted,
            prefetch: &mut SkipPrefetch::default(),
            cursor: &mut fast_cursor,
        };
        if run.try_skip() {
            assert!(expected.is_ok(), "{skips:?} pass damage: {expected:?}");
            assert_eq!(fast_cursor.position(), general.position(), "{skips:?}");
            fast += 1;
        } else {
            assert_eq!(fast_cursor.position(), cursor.position());
        }
        if expected.is_err() {
            break;
        }
        cursor = general;
    }
    fast
}

proptest! {
    /// Fast skips end where the general skips do, or leave the record to them.
    #[test]
    fn fast_skips_end_where_skips_end(
        fields in fields(),
        base in prop::collection::vec(prop_oneof![0usize..5, 60usize..70, Just(200)], 6),
        changes in prop::collection::vec((0usize..6, 0usize..70), 0..4),
        sized in any::<bool>(),
        blocks in prop_oneof![4 => Just(1usize), 1 => Just(2)],
        damage in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let layout = Layout { sized, blocks };
        let (mut data, mut lengths) = (Vec::new(), base);
        let mut ends = Vec::new();
        // Most records have the same lengths; some differ.
        for record in 0..6 {
            if let Some(&(field, length)) = changes.get(record) {
                lengths[field] = length;
            }
            write(&fields, &lengths, layout, &mut data);
            ends.push(data.len());
        }
        let skip = skip_of(&fields);
        match damage {
            Some((position, byte)) if !data.is_empty() => {
                let position = position.index(data.len());
                data[position] = byte;
                compare(&skip, &data, 6);
                compare(&skip, &data[..position], 6);
            }
            _ => {
                // Whole records of one block are all skipped fast, except near the end
                // of the data.
                let fast = compare(&skip, &data, 6);
                let far = ends.iter().filter(|&end| end + 16 <= data.len());
                prop_assert!(blocks > 1 || fast >= far.count());
            }
        }
    }
}
