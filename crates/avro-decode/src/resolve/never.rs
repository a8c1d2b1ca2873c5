//! Pairs of types that cannot be resolved, and the reasons.

use std::collections::HashMap;

use super::{Resolved, ResolvedId};
use crate::schema::NodeId;

/// Why a pair of types is [`Resolved::Never`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The types differ, and there is no promotion.
    Types,
    /// The names differ.
    Names,
    /// The sizes of fixeds differ.
    Sizes,
    /// The logical types differ, and do not convert without a loss.
    LogicalTypes,
    /// The writer lacks this field of the reader's, which has no default.
    Missing { field: usize },
    /// The default of this field of the reader's does not match its type.
    BadDefault { field: usize },
    /// The default of this field of the reader's is too large.
    DefaultTooLarge { field: usize },
    /// Types inside the pair cannot be resolved. For records, `field` is the reader's field.
    Within {
        part: ResolvedId,
        field: Option<usize>,
    },
}

/// The pairs that are [`Resolved::Never`].
#[derive(Clone, Debug, Default)]
pub(super) struct Never(HashMap<ResolvedId, Why>);

impl Never {
    pub(super) fn insert(&mut self, id: ResolvedId, why: Why) {
        self.0.insert(id, why);
    }

    pub(super) fn get(&self, id: ResolvedId) -> Option<Why> {
        self.0.get(&id).copied()
    }

    /// Makes every pair [`Resolved::Never`] that contains one. These are arrays, maps, records and
    /// branches with such a part, and unions with only such branches.
    pub(super) fn spread(&mut self, nodes: &mut [Resolved], pairs: &[(NodeId, NodeId)]) {
        if self.0.is_empty() {
            return;
        }
        let mut users: Vec<Vec<ResolvedId>> = vec![Vec::new(); nodes.len()];
        // For each union, the number of branches that can be read.
        let mut readable: HashMap<ResolvedId, usize> = HashMap::new();
        for (i, node) in nodes.iter().enumerate() {
            let user = ResolvedId(i as u32);
            let mut parts = 0;
            each_part(node, |part| {
                users[part.index()].push(user);
                parts += 1;
            });
            if let Resolved::Union { .. } = node {
                readable.insert(user, parts);
            }
        }
        let mut spreading: Vec<ResolvedId> = self.0.keys().copied().collect();
        // Sorted, so that the reported reasons do not depend on the order of a map.
        spreading.sort();
        while let Some(part) = spreading.pop() {
            for &user in &users[part.index()] {
                if self.0.contains_key(&user) {
                    continue;
                }
                if let Some(readable) = readable.get_mut(&user) {
                    *readable -= 1;
                    if *readable > 0 {
                        continue;
                    }
                }
                self.0.insert(user, self.why(&nodes[user.index()], part));
                spreading.push(user);
            }
        }
        for &id in self.0.keys() {
            let (writer, reader) = pairs[id.index()];
            nodes[id.index()] = Resolved::Never { writer, reader };
        }
    }

    /// The reason that `node` is never resolved, if its `part` is not.
    fn why(&self, node: &Resolved, part: ResolvedId) -> Why {
        let within = |part, field| Why::Within { part, field };
        match node {
            Resolved::Union { branches, .. } => {
                // A mismatch inside a branch of the right type explains more than a branch of
                // another type.
                let mut branches = branches.iter();
                let telling = branches.find(|&&branch| self.get(branch) != Some(Why::Types));
                telling.map_or(Why::Types, |&branch| within(branch, None))
            }
            Resolved::Record { fields, .. } => {
                let mut fields = fields.iter().flatten();
                let found = fields.find(|&&(_, id)| id == part);
                within(part, found.map(|&(field, _)| field))
            }
            _ => within(part, None),
        }
    }
}

fn each_part(node: &Resolved, mut part: impl FnMut(ResolvedId)) {
    match node {
        Resolved::Leaf { .. } | Resolved::Enum { .. } | Resolved::Never { .. } => {}
        Resolved::Array { item: inner, .. }
        | Resolved::Map { value: inner, .. }
        | Resolved::Branch { value: inner, .. } => part(*inner),
        Resolved::Record { fields, .. } => {
            fields.iter().flatten().for_each(|&(_, field)| part(field));
        }
        Resolved::Union { branches, .. } => branches.iter().copied().for_each(part),
    }
}
