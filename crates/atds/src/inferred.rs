//! The features of several schemas: those of the first, as far as the others go.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use avro_decode::{Feature, Inferred};

/// Names in a warning before the rest is only counted.
const MAX_NAMES: usize = 10;

/// What was inferred of schemas so far.
pub(crate) struct Merged {
    first: Inferred,
    /// The columns of the first schema, masks among them.
    taken: HashSet<String>,
    /// The expressions that only later schemas have, in the order they were met.
    only_later: Vec<String>,
    /// The number of the first file that has one of these.
    later_file: Option<usize>,
    seen: HashSet<String>,
}

impl Merged {
    pub(crate) fn new(first: Inferred) -> Self {
        let features = first.features.iter();
        let columns = features.flat_map(|feature| {
            let masks = [&feature.missing.mask, &feature.missing.row_mask];
            [&feature.name]
                .into_iter()
                .chain(masks.into_iter().flatten())
        });
        Merged {
            taken: columns.cloned().collect(),
            only_later: Vec::new(),
            later_file: None,
            seen: HashSet::new(),
            first,
        }
    }

    /// Adds masks where the schema of a later file allows nulls or lacks fields.
    pub(crate) fn add(&mut self, later: &Inferred, file: usize) {
        let features = later.features.iter();
        let by_expression: HashMap<&str, &Feature> = features
            .map(|feature| (feature.expression(), feature))
            .collect();
        for feature in &mut self.first.features {
            let later = by_expression.get(feature.expression());
            let may_be_missing = later.is_none_or(|later| later.missing.mask.is_some());
            if may_be_missing && feature.missing.mask.is_none() {
                feature.missing.mask = Some(free_name(&feature.name, &mut self.taken));
            }
        }
        let known = self.first.features.iter();
        let known: HashSet<&str> = known.map(|feature| way_of(feature.expression())).collect();
        for feature in &later.features {
            let expression = feature.expression();
            // A branch of a union in one schema may be all there is in another.
            if !known.contains(way_of(expression)) && self.seen.insert(expression.to_owned()) {
                self.only_later.push(expression.to_owned());
                self.later_file.get_or_insert(file);
            }
        }
    }

    /// What is inferred of the first schema, with these masks. Logs a warning of the
    /// fields that only later schemas have.
    pub(crate) fn finish(self, files: &[PathBuf]) -> Inferred {
        if let Some(file) = self.later_file {
            let said = self.only_later.iter().take(MAX_NAMES);
            let said: Vec<_> = said
                .map(|expression| format!("'{}'", expression.escape_debug()))
                .collect();
            let more = match self.only_later.len().saturating_sub(MAX_NAMES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            log::warn!(
                "{}: fields that the first file lacks are not read: {}{more}; name them in \
                 `features`, with a `default` or a `mask`",
                files[file].display(),
                said.join(", ")
            );
        }
        self.first
    }
}

/// The expression without the branch of a union at its end.
fn way_of(expression: &str) -> &str {
    match expression.rsplit_once(':') {
        Some((way, branch)) if !branch.contains(['.', '[', '\'']) => way,
        _ => expression,
    }
}

/// The name of a feature's mask, which no other column has.
fn free_name(feature: &str, taken: &mut HashSet<String>) -> String {
    let own = format!("{feature}.mask");
    let mut name = own.clone();
    let mut number = 1;
    while !taken.insert(name.clone()) {
        number += 1;
        name = format!("{own}#{number}");
    }
    name
}

#[cfg(test)]
mod tests {
    use tensor_batch::DType;

    use super::*;

    fn inferred(features: impl IntoIterator<Item = (&'static str, bool)>) -> Inferred {
        let mut inferred = Inferred::default();
        for (name, is_nullable) in features {
            let feature = Feature::dense(name, &[], DType::Int64);
            inferred.features.push(match is_nullable {
                true => feature.with_mask(format!("{name}.mask")),
                false => feature,
            });
        }
        inferred
    }

    #[test]
    fn masks_are_added() {
        let mut merged = Merged::new(inferred([("a", false), ("b", true), ("c", false)]));
        merged.add(&inferred([("b", false), ("c", true), ("d", false)]), 1);
        merged.add(&inferred([("a", false), ("c", false), ("d", false)]), 2);
        assert_eq!(merged.only_later, ["d"]);
        let Inferred { features, .. } = merged.finish(&["0".into(), "1".into(), "2".into()]);
        let masks = features.iter().map(|one| one.missing.mask.as_deref());
        assert!(masks.eq([Some("a.mask"), Some("b.mask"), Some("c.mask")]));
    }

    #[test]
    fn a_mask_has_a_name_of_its_own() {
        let mut merged = Merged::new(inferred([("a", false), ("a.mask", false)]));
        merged.add(&inferred([]), 1);
        let Inferred { features, .. } = merged.finish(&[]);
        let masks = features.iter().map(|one| one.missing.mask.as_deref());
        assert!(masks.eq([Some("a.mask#2"), Some("a.mask.mask")]));
    }

    /// A branch of a union in one file is all there is in another.
    #[test]
    fn branches_are_no_fields_of_their_own() {
        let mut merged = Merged::new(inferred([("x:long", true), ("x:string", true)]));
        merged.add(&inferred([("x", false)]), 1);
        merged.add(&inferred([("x:'a.b'", true), ("m['a:b']", true)]), 2);
        assert_eq!(merged.only_later, ["x:'a.b'", "m['a:b']"]);
    }
}
