//! The minimum encoded size of each type.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Node, NodeId, Slot};

/// For each type, the minimum number of bytes of a value; `u64::MAX` if there is no finite value.
///
/// Types can be recursive, so this finds the least solution (Knuth, "A Generalization of Dijkstra's
/// Algorithm", 1977). Types are settled in order of size: a record once all its fields are settled,
/// a union once its smallest branch is.
pub(super) fn min_encoded_lens(slots: &[Slot]) -> Vec<u64> {
    let mut lens = vec![None; slots.len()];
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); slots.len()];
    // For each record: the number of fields not settled, and the sum of the others.
    let mut records = vec![(0usize, 0u64); slots.len()];
    let mut queue = BinaryHeap::new();

    for (i, slot) in slots.iter().enumerate() {
        let mut uses = |id: NodeId| users[id.index()].push(i);
        match &slot.node {
            Node::Union(branches) => branches.iter().for_each(|&id| uses(id)),
            Node::Record(record) if !record.fields.is_empty() => {
                record.fields.iter().for_each(|field| uses(field.ty));
                records[i] = (record.fields.len(), 0);
            }
            node => queue.push(Reverse((leaf_len(node), i))),
        }
    }
    while let Some(Reverse((len, i))) = queue.pop() {
        if lens[i].is_some() {
            continue;
        }
        lens[i] = Some(len);
        for &user in &users[i] {
            let (unsettled, sum) = &mut records[user];
            if let Node::Union(_) = slots[user].node {
                queue.push(Reverse((len.saturating_add(1), user)));
            } else {
                *unsettled -= 1;
                *sum = sum.saturating_add(len);
                if *unsettled == 0 {
                    queue.push(Reverse((*sum, user)));
                }
            }
        }
    }
    lens.into_iter()
        .map(|len| len.unwrap_or(u64::MAX))
        .collect()
}

fn leaf_len(node: &Node) -> u64 {
    match node {
        // A record here has no fields.
        Node::Null | Node::Record(_) => 0,
        Node::Float => 4,
        Node::Double => 8,
        Node::Fixed(fixed) => fixed.size as u64,
        // At least one byte of a varint: a value, a length, a count, or an index.
        Node::Boolean
        | Node::Int
        | Node::Long
        | Node::Bytes
        | Node::String
        | Node::Array(_)
        | Node::Map(_)
        | Node::Enum(_)
        | Node::Union(_) => 1,
    }
}
