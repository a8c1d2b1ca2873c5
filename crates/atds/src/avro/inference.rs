//! Features inferred from a schema: a feature for each value that a feature can read. Those of several
//! schemas are merged: the features of the first, widened for the others.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use atds_features::path::{Path, Step};
use atds_features::{Convert, Feature};
use avro_decode::Schema;
use avro_decode::limits::MAX_INFERRED_FIELDS;
#[doc(inline)]
pub use avro_decode::{Inferred, LeftOut, LeftOutReason, Rounded, Sampled, infer};

use tensor_batch::DType;

use crate::interface::quoted;
use crate::{Error, avro};

/// The features of a schema, see [`infer`]; an error if there are none or too many.
///
/// # Errors
/// The schema has too many fields, or none that can be a feature.
pub fn infer_features(schema: &Schema) -> Result<Inferred, Error> {
    let inferred = infer_all(schema)?;
    if inferred.features.is_empty() {
        return Err(Error::new(avro::ErrorKind::NoFeatures {
            schema_type: schema.describe(schema.root()),
            left_out: inferred.left_out,
        }));
    }
    Ok(inferred)
}

/// Maximum number of warnings; the others are counted.
const MAX_WARNINGS: usize = 16;

/// Warnings about inferred features: values that are left out or rounded, with the expressions that
/// read them, and ignored logical types.
pub fn inference_warnings(inferred: &Inferred) -> Vec<String> {
    let rounded = inferred.rounded.iter().map(ToString::to_string);
    let left_out = inferred.left_out.iter().map(ToString::to_string);
    let not_taken = inferred.not_taken.iter().map(ToString::to_string);
    let mut sentences: Vec<String> = left_out.chain(rounded).chain(not_taken).collect();
    let more = sentences.len().saturating_sub(MAX_WARNINGS);
    if more > 0 {
        sentences.truncate(MAX_WARNINGS);
        let values = match more {
            1 => "1 more value is".to_owned(),
            more => format!("{more} more values are"),
        };
        sentences.push(format!(
            "{values} left out, rounded or read as another type"
        ));
    }
    sentences
}

/// The features of a schema; an error if there are too many.
pub(crate) fn infer_all(schema: &Schema) -> Result<Inferred, Error> {
    let inferred = infer(schema);
    if inferred.truncated {
        let limit = MAX_INFERRED_FIELDS;
        return Err(Error::new(avro::ErrorKind::TooManyFields { limit }));
    }
    Ok(inferred)
}

/// Maximum number of names in a warning; the others are counted.
const MAX_NAMES: usize = 10;

/// The features that were inferred from the schemas so far.
#[derive(Default)]
pub(crate) struct Merged {
    first: Inferred,
    /// Whether fields that the first schema lacks become features too.
    takes_later: bool,
    /// The names of all columns so far, including masks.
    taken: HashSet<String>,
    /// The expressions that the first schema lacks, in the order they were found.
    only_later: Vec<String>,
    /// The number of the first file that has one of `only_later`.
    later_file: Option<usize>,
    seen: HashSet<String>,
    /// The names of features that are int64 by one schema and float64 by another.
    rounded: BTreeSet<String>,
}

impl Merged {
    /// The features of the first file. With `takes_later`, fields that it lacks become features, too,
    /// each with a mask.
    pub(crate) fn new(first: Inferred, takes_later: bool) -> Self {
        let columns = first
            .features
            .iter()
            .flat_map(|Feature { name, missing, .. }| {
                let masks = missing.mask.iter().chain(&missing.row_mask);
                masks.chain([name]).cloned()
            });
        Merged {
            takes_later,
            taken: columns.collect(),
            first,
            ..Merged::default()
        }
    }

    /// Adds a later file. A feature gets a mask if this file allows nulls or lacks the field, and a
    /// wider dtype if this file needs it.
    pub(crate) fn add(&mut self, later: &Inferred, file: usize) {
        let features = later.features.iter();
        let by_expression: HashMap<&str, &Feature> = features
            .map(|feature| (feature.expression(), feature))
            .collect();
        let is_binary: HashSet<&str> = later.binary.iter().map(String::as_str).collect();
        for feature in &mut self.first.features {
            let later = by_expression.get(feature.expression()).copied();
            if let Some(later) = later {
                if let Some(dtype) = widest(feature.dtype, later.dtype) {
                    if is_rounded(feature.dtype, later.dtype) {
                        self.rounded.insert(feature.name.clone());
                    }
                    feature.dtype = dtype;
                    feature.convert = Convert::Cast;
                }
                if is_binary.contains(&*later.name) && !self.first.binary.contains(&feature.name) {
                    self.first.binary.push(feature.name.clone());
                }
            }
            let may_be_missing = later.is_none_or(|later| later.missing.mask.is_some());
            if may_be_missing && feature.missing.mask.is_none() {
                feature.missing.mask = Some(free_name(&feature.name, &mut self.taken));
            }
        }
        let known = self.first.features.iter();
        let known: HashSet<String> = known.map(|feature| way_of(feature.expression())).collect();
        for feature in &later.features {
            let expression = feature.expression();
            // One schema may have a union where another has only one of its branches.
            if !known.contains(&way_of(expression)) && self.seen.insert(expression.to_owned()) {
                if self.takes_later && self.taken.insert(feature.name.clone()) {
                    let mask = free_name(&feature.name, &mut self.taken);
                    self.first.features.push(feature.clone().with_mask(mask));
                    if is_binary.contains(&*feature.name) {
                        self.first.binary.push(feature.name.clone());
                    }
                    continue;
                }
                self.only_later.push(expression.to_owned());
                self.later_file.get_or_insert(file);
            }
        }
    }

    /// The merged features. Logs a warning about fields that the first schema lacks.
    pub(crate) fn finish(self, files: &[PathBuf]) -> Inferred {
        if let Some(file) = self.later_file {
            log::warn!(
                "{}: fields that the first file lacks are not read: {}; name them in \
                 `features`, with a `default` or a `mask`",
                files[file].display(),
                listed(self.only_later.iter().map(quoted))
            );
        }
        if !self.rounded.is_empty() {
            log::warn!(
                "numbers that are int64 in one file and float64 in another are read as float64, \
                 which rounds them beyond 2^53: {}",
                listed(self.rounded.iter().map(quoted))
            );
        }
        self.first
    }
}

/// The first [`MAX_NAMES`] names, and the number of the others.
pub(crate) fn listed(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = match names.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let names: Vec<_> = names.take(MAX_NAMES).collect();
    format!("{}{more}", names.join(", "))
}

/// The dtype that holds the numbers of two different dtypes.
fn widest(one: DType, other: DType) -> Option<DType> {
    use DType::{Float32, Float64, Int32, Int64};
    match (one, other) {
        (one, other) if one == other => None,
        (Int32 | Int64, Int32 | Int64) => Some(Int64),
        (Int32 | Int64 | Float32 | Float64, Int32 | Int64 | Float32 | Float64) => Some(Float64),
        _ => None,
    }
}

/// Whether the wider of two dtypes rounds values of the other.
fn is_rounded(one: DType, other: DType) -> bool {
    let is_float = |dtype| matches!(dtype, DType::Float32 | DType::Float64);
    (one == DType::Int64 && is_float(other)) || (other == DType::Int64 && is_float(one))
}

/// The expression without union branches.
fn way_of(expression: &str) -> String {
    match Path::parse(expression) {
        Ok(mut path) => {
            path.steps.retain(|step| !matches!(step, Step::Branch(_)));
            path.to_string()
        }
        // The name of a field, which is no expression.
        Err(_) => expression.to_owned(),
    }
}

/// A name for a feature's mask that no other column has.
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
    use super::*;

    fn inferred(features: impl IntoIterator<Item = (&'static str, bool)>) -> Inferred {
        let mut inferred = Inferred::default();
        for (name, is_nullable) in features {
            let feature = Feature::dense(name, &[], DType::Int64);
            inferred.features.push(if is_nullable {
                feature.with_mask(format!("{name}.mask"))
            } else {
                feature
            });
        }
        inferred
    }

    #[test]
    fn masks_are_added() {
        let mut merged = Merged::new(inferred([("a", false), ("b", true), ("c", false)]), false);
        merged.add(&inferred([("b", false), ("c", true), ("d", false)]), 1);
        merged.add(&inferred([("a", false), ("c", false), ("d", false)]), 2);
        assert_eq!(merged.only_later, ["d"]);
        let Inferred { features, .. } = merged.finish(&["0".into(), "1".into(), "2".into()]);
        let masks = features.iter().map(|one| one.missing.mask.as_deref());
        assert!(masks.eq([Some("a.mask"), Some("b.mask"), Some("c.mask")]));
    }

    #[test]
    fn fields_of_later_files_can_be_features_with_masks() {
        let mut merged = Merged::new(inferred([("a", false), ("c.mask", false)]), true);
        merged.add(&inferred([("a", false), ("b", true), ("c", false)]), 1);
        merged.add(&inferred([("a", false), ("c.mask", false), ("c", true)]), 2);
        assert_eq!(merged.only_later, [""; 0]);
        let Inferred { features, .. } = merged.finish(&[]);
        let found = features.iter();
        let found = found.map(|one| (&*one.name, one.missing.mask.as_deref()));
        assert!(found.eq([
            ("a", None),
            ("c.mask", Some("c.mask.mask")),
            ("b", Some("b.mask")),
            ("c", Some("c.mask#2")),
        ]));
    }

    #[test]
    fn a_mask_has_a_name_of_its_own() {
        let mut merged = Merged::new(inferred([("a", false), ("a.mask", false)]), false);
        merged.add(&inferred([]), 1);
        let Inferred { features, .. } = merged.finish(&[]);
        let masks = features.iter().map(|one| one.missing.mask.as_deref());
        assert!(masks.eq([Some("a.mask#2"), Some("a.mask.mask")]));
    }

    /// A branch of a union in one file is all there is in another.
    #[test]
    fn branches_are_no_fields_of_their_own() {
        let mut merged = Merged::new(inferred([("x:long", true), ("x:string", true)]), false);
        merged.add(&inferred([("x", false)]), 1);
        merged.add(&inferred([("x:'a.b'", true), ("m['a:b']", true)]), 2);
        merged.add(&inferred([("y:A.q", true), ("z.q", true)]), 3);
        assert_eq!(merged.only_later, ["m['a:b']", "y:A.q", "z.q"]);
        let mut merged = Merged::new(inferred([("y.q", true), ("z:A.q", true)]), false);
        merged.add(&inferred([("y:A.q", true), ("z.q", true)]), 1);
        assert_eq!(merged.only_later, [""; 0]);
    }

    #[test]
    fn numbers_are_as_wide_as_those_of_any_file() {
        use DType::{Bool, Float32, Float64, Int32, Int64, String};
        let of = |dtype| {
            let mut inferred = Inferred::default();
            inferred.features.push(Feature::dense("x", &[], dtype));
            inferred
        };
        for (all, expected, is_rounded) in [
            (&[Int32, Int64][..], Int64, false),
            (&[Int64, Int32], Int64, false),
            (&[Int32, Float32], Float64, false),
            (&[Float32, Float64], Float64, false),
            (&[Int64, Float32], Float64, true),
            (&[Int32, Float32, Int64], Float64, true),
            // The check of the second file against the feature finds these errors.
            (&[Bool, Int32], Bool, false),
            (&[Int32, String], Int32, false),
        ] {
            let mut merged = Merged::new(of(all[0]), false);
            for (file, &dtype) in all.iter().enumerate().skip(1) {
                merged.add(&of(dtype), file);
            }
            assert_eq!(!merged.rounded.is_empty(), is_rounded, "{all:?}");
            let Inferred { features, .. } = merged.finish(&[]);
            assert_eq!(features[0].dtype, expected, "{all:?}");
            let is_cast = features[0].convert == Convert::Cast;
            assert_eq!(
                is_cast,
                all.contains(&Float32) || all.contains(&Int64),
                "{all:?}"
            );
        }
    }
}
