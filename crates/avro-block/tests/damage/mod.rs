//! Files with blocks of any kind, and ways to damage them.
#![allow(unreachable_pub)] // A module of several test files.

use proptest::prelude::*;

use crate::common::*;

/// An uncompressed file with up to six blocks.
pub fn any_file() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop::collection::vec(prop_oneof![any::<u8>(), Just(b'0'), Just(b'f')], 0..80);
    prop::collection::vec((0..5i64, payload), 0..6).prop_map(|blocks| {
        let blocks = blocks
            .iter()
            .flat_map(|(count, bytes)| block(*count, bytes));
        plain_header().into_iter().chain(blocks).collect()
    })
}

/// Ways to damage a file.
pub fn any_damage() -> impl Strategy<Value = Vec<(prop::sample::Index, Damage)>> {
    let damage = prop_oneof![
        any::<u8>().prop_map(Damage::Set),
        Just(Damage::Cut),
        Just(Damage::Remove),
        prop::collection::vec(any::<u8>(), 1..12).prop_map(Damage::Insert),
        Just(Damage::Insert(SYNC.0.to_vec())),
        any::<i64>().prop_map(|value| Damage::Insert(long(value))),
    ];
    prop::collection::vec((any::<prop::sample::Index>(), damage), 0..4)
}

#[derive(Clone, Debug)]
pub enum Damage {
    Set(u8),
    Cut,
    Remove,
    Insert(Vec<u8>),
}

pub fn damaged(mut file: Vec<u8>, damages: &[(prop::sample::Index, Damage)]) -> Vec<u8> {
    for (at, damage) in damages {
        if file.is_empty() {
            break;
        }
        let at = at.index(file.len());
        match damage {
            Damage::Set(byte) => file[at] = *byte,
            Damage::Cut => file.truncate(at),
            Damage::Remove => drop(file.remove(at)),
            Damage::Insert(bytes) => drop(file.splice(at..at, bytes.iter().copied())),
        }
    }
    file
}
