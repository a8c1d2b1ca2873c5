//! Features inferred from records: for each key, what the records have of it.

use std::collections::BTreeMap;

use atds_features::Feature;
use atds_features::path::field_step;
use tensor_batch::{DType, Layout};

use super::Message;
use super::error::{DecodeErrorKind, Fault};
use super::find::{Found, Keys, map_keys};
use super::list::{Kind, List};
use crate::limits::MAX_INFERRED_KEYS;

/// What some records have: the keys, and for each the kinds and numbers of its values.
///
/// ```
/// use atds_tfrecord::{Inference, Message};
///
/// // An Example with the int64 `age` = 7.
/// let mut inference = Inference::default();
/// inference.add(b"\x0a\x0e\x0a\x0c\x0a\x03age\x12\x05\x1a\x03\x0a\x01\x07")?;
/// assert_eq!(inference.message(), Message::Example);
/// let inferred = inference.features();
/// assert_eq!(inferred.features[0].name, "age");
/// assert_eq!(inferred.seen, ["'age': 1 int64 value in each of 1 record"]);
/// # Ok::<(), atds_tfrecord::DecodeErrorKind>(())
/// ```
#[derive(Debug, Default)]
pub struct Inference {
    records: u64,
    has_lists: bool,
    /// The keys of an `Example`, or of the context, and the keys of feature lists.
    keys: [Keys; 2],
    seen: [Vec<Seen>; 2],
    found: Found,
}

/// What records have of a key.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Number of records that have values for it.
    records: u64,
    bytes: bool,
    float: bool,
    int64: bool,
    /// The smallest and the largest number of values, in a step if there are steps.
    values: Option<(usize, usize)>,
    steps: Option<(usize, usize)>,
}

/// Features that read what records have.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct InferredFeatures {
    /// A feature for each key, by the names of the keys.
    pub features: Vec<Feature>,
    /// For each feature, what the records have of it.
    pub seen: Vec<String>,
    /// Keys that no feature reads, each with the reason.
    pub left_out: Vec<(String, &'static str)>,
    /// The names of features whose fixed length is that of the records that were seen.
    pub fixed: Vec<String>,
}

fn widen(range: &mut Option<(usize, usize)>, n: usize) {
    let (least, most) = range.unwrap_or((n, n));
    *range = Some((least.min(n), most.max(n)));
}

impl Seen {
    fn add(&mut self, list: &List<'_>) -> Result<(), Fault> {
        match list.kind {
            Kind::Bytes => self.bytes = true,
            Kind::Float => self.float = true,
            Kind::Int64 => {
                self.int64 = true;
                // Counting them does not look at the values.
                list.fill_ints::<i64>(&mut [], Ok)?;
            }
        }
        widen(&mut self.values, list.len()?);
        Ok(())
    }

    fn kind(&self) -> Result<Kind, &'static str> {
        match (self.bytes, self.float, self.int64) {
            (true, false, false) => Ok(Kind::Bytes),
            (false, true, false) => Ok(Kind::Float),
            (false, false, true) => Ok(Kind::Int64),
            (false, false, false) => Err("has no values"),
            _ => Err("has values of several kinds"),
        }
    }
}

fn counts(range: Option<(usize, usize)>) -> String {
    match range {
        Some((least, most)) if least == most => format!("{least}"),
        Some((least, most)) => format!("{least} to {most}"),
        None => "0".to_owned(),
    }
}

fn plural(range: Option<(usize, usize)>) -> &'static str {
    if range == Some((1, 1)) { "" } else { "s" }
}

impl Inference {
    /// Adds a record.
    ///
    /// # Errors
    /// It is damaged, or no message of protocol buffers, or it has more keys than features are inferred for.
    pub fn add(&mut self, record: &[u8]) -> Result<(), DecodeErrorKind> {
        self.look(record).map_err(Fault::into_kind)
    }

    fn look(&mut self, record: &[u8]) -> Result<(), Fault> {
        self.records += 1;
        for (field, keys) in (1..).zip(&mut self.keys) {
            map_keys(record, field, |key| {
                self.has_lists |= field == 2;
                if keys.len() >= MAX_INFERRED_KEYS && !keys.has(key) {
                    let limit = MAX_INFERRED_KEYS;
                    return Err(DecodeErrorKind::TooManyKeys { limit }.into());
                }
                keys.add(key);
                Ok(())
            })?;
        }
        let [context, lists] = &self.keys;
        for (seen, keys) in self.seen.iter_mut().zip([context, lists]) {
            seen.resize(keys.len(), Seen::default());
        }
        self.found.forget();
        let values = self
            .found
            .sequence_example(record, (context, lists), usize::MAX)
            .map_err(|(_, fault)| fault)?;
        let [of_keys, of_lists] = &mut self.seen;
        for (number, seen) in of_keys.iter_mut().enumerate() {
            if let Some(list) = values.list(number) {
                seen.records += 1;
                seen.add(&list)?;
            }
        }
        for (number, seen) in of_lists.iter_mut().enumerate() {
            if let Some(steps) = values.steps(number) {
                seen.records += 1;
                widen(&mut seen.steps, steps.len());
                for list in steps.flatten() {
                    seen.add(&list)?;
                }
            }
        }
        Ok(())
    }

    /// Number of records that were added.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The message that the records are: a `SequenceExample` if any of them has feature lists.
    pub fn message(&self) -> Message {
        if self.has_lists {
            Message::SequenceExample
        } else {
            Message::Example
        }
    }

    /// Features that read all keys of the records.
    ///
    /// | the records have | feature |
    /// |---|---|
    /// | one value each | dense, `[]` |
    /// | the same number of values each | dense, `[n]` |
    /// | other numbers, or none in some records | varlen, `[-1]` |
    /// | feature lists | varlen, `[-1, -1]`, ragged |
    ///
    /// Later records may have other numbers of values: a dense feature then gives an error that says
    /// so.
    pub fn features(&self) -> InferredFeatures {
        let [keys, lists] = &self.keys;
        let mut of_name = BTreeMap::new();
        let all = (0..keys.len()).map(|number| (number, false));
        let all = all.chain((0..lists.len()).map(|number| (number, true)));
        let mut inferred = InferredFeatures::default();
        for (number, is_list) in all {
            let (keys, seen) = (
                &self.keys[usize::from(is_list)],
                &self.seen[usize::from(is_list)],
            );
            let Ok(key) = std::str::from_utf8(keys.key(number)) else {
                let key = String::from_utf8_lossy(keys.key(number)).into_owned();
                inferred.left_out.push((key, "is no UTF-8"));
                continue;
            };
            let seen = &seen[number];
            match seen.kind() {
                Ok(kind) => {
                    let feature = self.feature(key, kind, seen, is_list, &of_name);
                    of_name.insert(feature.0.name.clone(), feature);
                }
                Err(reason) => inferred.left_out.push((key.to_owned(), reason)),
            }
        }
        for (name, (feature, seen, is_fixed)) in of_name {
            inferred.features.push(feature);
            inferred.seen.push(seen);
            if is_fixed {
                inferred.fixed.push(name);
            }
        }
        inferred
    }

    /// The feature of a key, what was seen of it, and whether its length is fixed by that.
    fn feature(
        &self,
        key: &str,
        kind: Kind,
        seen: &Seen,
        is_list: bool,
        taken: &BTreeMap<String, (Feature, String, bool)>,
    ) -> (Feature, String, bool) {
        let dtype = match kind {
            Kind::Bytes => DType::String,
            Kind::Float => DType::Float32,
            Kind::Int64 => DType::Int64,
        };
        let part = match (self.message(), is_list) {
            (Message::Example, _) => "",
            (_, false) => "context.",
            (_, true) => "feature_lists.",
        };
        let name = match taken.contains_key(key) {
            true => format!("{part}{key}"),
            false => key.to_owned(),
        };
        let records = match self.records {
            1 => "1 record".to_owned(),
            n => format!("{n} records"),
        };
        let often = match seen.records == self.records {
            true => format!("each of {records}"),
            false => format!("{} of {records}", seen.records),
        };
        let values = format!(
            "{} {kind} value{}",
            counts(seen.values),
            plural(seen.values)
        );
        if is_list {
            let (n, s) = (counts(seen.steps), plural(seen.steps));
            let text = format!("'{key}': {n} step{s} of {values} in {often}");
            let feature = Feature::var_len_of_rank(name, dtype, 2).with_layout(Layout::Ragged);
            let path = format!("{part}{}[*][*]", field_step(key));
            return (feature.at(path), text, false);
        }
        let text = format!("'{key}': {values} in {often}");
        let fixed = match seen.values {
            Some((least, most)) if least == most && least > 0 => Some(least),
            _ => None,
        };
        let feature = match fixed.filter(|_| seen.records == self.records) {
            Some(1) => Feature::fixed_len(name, &[], dtype),
            Some(n) => Feature::fixed_len(name, &[Some(n)], dtype),
            None => Feature::var_len_of_rank(name, dtype, 1),
        };
        let is_fixed = matches!(
            feature.kind,
            atds_features::feature::FeatureKind::Dense { .. }
        );
        let path = format!("{part}{}", field_step(key));
        (feature.at(path), text, is_fixed)
    }
}
