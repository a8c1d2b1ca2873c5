//! All readers and writers do what their slow twin does.
#![allow(clippy::unwrap_used)]

mod common;

use atds_btable::reference::{self, Table};
use atds_btable::{Frame, Framer};
use bytes::Bytes;
use common::{check_readers, check_writers};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

/// Numbers with all that is special.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(-0.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        any::<u64>().prop_map(f64::from_bits),
        (-9i8..9).prop_map(f64::from),
    ]
}

fn table() -> impl Strategy<Value = Table> {
    vec("[^\u{1f}]{0,4}", 1..9).prop_flat_map(|labels| {
        let columns = labels.len() as u32;
        let row = btree_map(0..columns, value(), 0..=labels.len());
        let rows = vec(row.prop_map(|row| row.into_iter().collect()), 0..20);
        rows.prop_map(move |rows| Table {
            labels: labels.clone(),
            rows,
        })
    })
}

fn lens() -> impl Strategy<Value = Vec<usize>> {
    vec(1usize..40, 1..6)
}

proptest! {
    #[test]
    fn tables_survive(table in table(), lens in lens(), block_bytes in 1usize..200) {
        check_writers(&table);
        let told = check_readers(&reference::write(&table), &lens, block_bytes);
        prop_assert!(told.error.is_none());
    }

    /// Blocks that are known are those that were found, however their bytes come.
    #[test]
    fn known_blocks_are_framed_again(table in table(), lens in lens(), block_bytes in 1usize..200) {
        let file = reference::write(&table);
        let mut framer = Framer::new().with_block_bytes(block_bytes);
        framer.push(file.clone().into());
        framer.end();
        let Frame::Header(header) = framer.next().unwrap() else {
            panic!("the header is the first frame");
        };
        let mut blocks = Vec::new();
        while let Frame::Block(block) = framer.next().unwrap() {
            blocks.push(block);
        }
        let mut known = Framer::at_block(header.columns(), 0, header.len(), 0);
        let mut found = Vec::new();
        let mut rest = &file[header.len() as usize..];
        for len in lens.iter().cycle() {
            while let Some(next) = blocks.get(found.len())
                && let Some(block) = known.next_known(next.rows, next.payload.len())
            {
                found.push(block);
            }
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*len).min(rest.len()));
            known.push(Bytes::copy_from_slice(piece));
            rest = after;
        }
        prop_assert_eq!(&found, &blocks);
        prop_assert_eq!(known.end_offset(), file.len() as u64);
        prop_assert!(known.next_known(1, 4).is_none());
    }

    #[test]
    fn damage_is_the_same_for_all(
        table in table(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
        lens in lens(),
        block_bytes in 1usize..200,
    ) {
        let mut file = reference::write(&table);
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        let cut = cut.index(2 * file.len());
        file.truncate(cut);
        check_readers(&file, &lens, block_bytes);
    }

    #[test]
    fn any_rows(tail in vec(prop_oneof![Just(0u8), Just(1), Just(2), any::<u8>()], 0..100), lens in lens()) {
        let file = common::file(&["a", "b", "c"], &[&tail]);
        check_readers(&file, &lens, 30);
    }

    #[test]
    fn any_labels(units in vec(prop_oneof![any::<u16>(), 0xd7feu16..0xe002, Just(0x1f)], 0..12)) {
        let mut file = vec![0; 4];
        file.extend((units.len() as i32).to_be_bytes());
        units.iter().for_each(|unit| file.extend(unit.to_be_bytes()));
        check_readers(&file, &[3], 30);
    }
}

#[test]
fn a_row_longer_than_all_buffers() {
    let columns: u32 = 100_000;
    let table = Table {
        labels: (0..columns).map(|column| format!("{column:x}")).collect(),
        rows: (0..3)
            .map(|row| {
                (0..columns)
                    .map(|column| (column, f64::from(column ^ row)))
                    .collect()
            })
            .collect(),
    };
    check_writers(&table);
}

#[test]
fn empty_rows_in_great_number() {
    let table = Table {
        labels: vec!["one".to_owned()],
        rows: vec![Vec::new(); 300_000],
    };
    check_writers(&table);
    check_readers(&reference::write(&table), &[70_000], 1 << 16);
}
