//! Parses the entry of one feature in a features file.

use std::path::Path;

use atds_features::feature::{Extents, FeatureKind, Partition, SparseKeys};
use atds_features::{Feature, Fill};
use serde_json::Value;
use tensor_batch::{DType, Layout, UNKNOWN};

use super::EntryErrorKind;
use super::{convert, fill};

/// Keys of every kind.
const COMMON: [&str; 12] = [
    "kind",
    "dtype",
    "expression",
    "default",
    "mask",
    "row_mask",
    "truncate",
    "cast",
    "hash_buckets",
    "vocabulary",
    "unknown",
    "unit",
];

/// The dtype of strings that need not be UTF-8.
pub(super) const BYTES: &str = "bytes";

const KINDS: [&str; 6] = [
    "dense",
    "sparse",
    "varlen",
    "fixed_len",
    "fixed_len_sequence",
    "var_len",
];

/// The keys of one feature.
pub(super) struct Entry {
    keys: Vec<(String, Value)>,
}

pub(super) type Parsed<T> = Result<T, EntryErrorKind>;

impl Entry {
    pub(super) fn new(keys: Vec<(String, Value)>) -> Self {
        Entry { keys }
    }

    /// The feature `name`. Paths of files are relative to `folder`.
    pub(super) fn feature(&self, name: &str, folder: &Path) -> Parsed<Feature> {
        // The kind determines the valid keys, so it comes first.
        let kind = match self.text("kind")?.ok_or_else(|| missing("kind"))? {
            "dense" => self.dense()?,
            "sparse" => self.sparse()?,
            "varlen" => self.varlen()?,
            "fixed_len" => self.fixed_len()?,
            "fixed_len_sequence" => self.fixed_len_sequence()?,
            "var_len" => self.var_len()?,
            other => return Err(unknown("kind", other, &KINDS)),
        };
        // Any constructor works: all other fields are set here.
        let mut feature = Feature::dense(name, &[], self.dtype()?);
        feature.any_bytes = self.text("dtype")? == Some(BYTES);
        feature.kind = kind;
        feature.expression = self.text("expression")?.map(str::to_owned);
        feature.partitions = self.partitions()?;
        feature.truncate = self.flag("truncate")?;
        feature.convert = convert::parse(self, folder)?;
        feature.missing.default = self.default(&feature)?;
        feature.missing.mask = self.text("mask")?.map(str::to_owned);
        feature.missing.row_mask = self.text("row_mask")?.map(str::to_owned);
        Ok(feature)
    }

    fn dense(&self) -> Parsed<FeatureKind> {
        self.only("'dense'", &["shape"])?;
        let shape = self.shape()?.unwrap_or_default();
        let reshape = false;
        Ok(FeatureKind::Dense { shape, reshape })
    }

    fn fixed_len(&self) -> Parsed<FeatureKind> {
        self.only("'fixed_len'", &["shape"])?;
        let shape = self.shape()?.ok_or_else(|| missing("shape"))?;
        let reshape = true;
        Ok(FeatureKind::Dense { shape, reshape })
    }

    fn fixed_len_sequence(&self) -> Parsed<FeatureKind> {
        self.only("'fixed_len_sequence'", &["shape", "allow_missing"])?;
        let shape = self.shape()?.ok_or_else(|| missing("shape"))?;
        let reshape = true;
        Ok(FeatureKind::Dense { shape, reshape })
    }

    fn varlen(&self) -> Parsed<FeatureKind> {
        self.only("'varlen'", &["shape", "layout"])?;
        Ok(FeatureKind::Varlen {
            shape: self.sizes("shape")?,
            extents: Extents::Values,
            layout: self.layout()?,
        })
    }

    fn var_len(&self) -> Parsed<FeatureKind> {
        self.only("'var_len'", &["rank", "shape", "layout", "partitions"])?;
        let shape = match (self.rank()?, self.sizes("shape")?) {
            (Some(_), Some(_)) => return Err(exclusive("rank", "shape")),
            (Some(rank), None) => Some(vec![UNKNOWN; rank]),
            (None, shape) => shape,
        };
        Ok(FeatureKind::Varlen {
            shape,
            extents: Extents::Lengths,
            layout: self.layout()?,
        })
    }

    /// A sparse feature of ATDS, or of TensorFlow if it has one of TensorFlow's keys.
    fn sparse(&self) -> Parsed<FeatureKind> {
        let of_tensorflow = ["index_key", "value_key", "size"];
        if of_tensorflow.iter().all(|key| self.get(key).is_none()) {
            self.only(
                "'sparse'",
                &["shape", "layout", "index_key", "value_key", "size"],
            )?;
            return Ok(FeatureKind::Sparse {
                keys: SparseKeys::Record,
                shape: self.sizes("shape")?.ok_or_else(|| missing("shape"))?,
                sort: false,
                layout: self.layout()?,
            });
        }
        self.only(
            "'sparse' with keys",
            &["index_key", "value_key", "size", "already_sorted", "layout"],
        )?;
        let value = self
            .text("value_key")?
            .ok_or_else(|| missing("value_key"))?;
        Ok(FeatureKind::Sparse {
            keys: SparseKeys::Named {
                index: self.index_keys()?,
                value: value.to_owned(),
            },
            shape: self.sizes("size")?.ok_or_else(|| missing("size"))?,
            sort: !self.flag("already_sorted")?,
            layout: self.layout()?,
        })
    }

    fn default(&self, feature: &Feature) -> Parsed<Option<Fill>> {
        let default = self.get("default");
        if self.text("kind")? != Some("fixed_len_sequence") {
            return default.map(|json| fill::parse(json, feature)).transpose();
        }
        match (self.flag("allow_missing")?, default) {
            (true, None) => Ok(Some(fill::zero(feature.dtype))),
            (true, Some(json)) => fill::parse(json, feature).map(Some),
            (false, None) => Ok(None),
            (false, Some(_)) => Err(EntryErrorKind::DefaultWithoutGaps),
        }
    }

    /// The dtype. `bytes` are strings that need not be UTF-8, so their dtype is that of strings.
    fn dtype(&self) -> Parsed<DType> {
        let name = self.text("dtype")?.ok_or_else(|| missing("dtype"))?;
        DType::from_name(name).ok_or_else(|| {
            let names: Vec<_> = DType::ALL.iter().map(|dtype| dtype.name()).collect();
            unknown("dtype", name, &names)
        })
    }

    fn layout(&self) -> Parsed<Layout> {
        match self.text("layout")? {
            None | Some("coo") => Ok(Layout::Coo),
            Some("ragged") => Ok(Layout::Ragged),
            Some(other) => Err(unknown("layout", other, &["coo", "ragged"])),
        }
    }

    /// Dimensions of a dense feature.
    fn shape(&self) -> Parsed<Option<Vec<Option<usize>>>> {
        let expected = "a list of dimensions, null for one that varies";
        let dim = |json: &Value| match json {
            Value::Null => Some(None),
            json => Some(Some(usize::try_from(json.as_u64()?).ok()?)),
        };
        self.of("shape", expected, |json| {
            json.as_array()?.iter().map(dim).collect()
        })
    }

    /// Dimensions of a sparse or varlen feature.
    fn sizes(&self, key: &'static str) -> Parsed<Option<Vec<i64>>> {
        if key == "size" && self.get(key).is_some_and(Value::is_number) {
            let size = self.of(key, "an integer", Value::as_i64)?;
            return Ok(size.map(|size| vec![size]));
        }
        let expected = "a list of dimensions, -1 for an unknown one";
        self.of(key, expected, |json| {
            json.as_array()?.iter().map(Value::as_i64).collect()
        })
    }

    fn rank(&self) -> Parsed<Option<usize>> {
        let most = tensor_batch::MAX_RANK;
        self.of("rank", "a number of dimensions", |json| {
            let rank = usize::try_from(json.as_u64()?).ok()?;
            (rank <= most).then_some(rank)
        })
    }

    /// Partitions, each its name and its key or length.
    fn partitions(&self) -> Parsed<Vec<Partition>> {
        let partition = |json: &Value| {
            let [name, of] = &json.as_array()?[..] else {
                return None;
            };
            let name = name.as_str()?;
            if name == "uniform_row_length" {
                return of.as_u64().map(Partition::UniformRowLength);
            }
            let mut known = Partition::WITH_KEY.iter();
            let (_, with_key) = known.find(|(known, _)| *known == name)?;
            Some(with_key(of.as_str()?.to_owned()))
        };
        let expected = "a list of [\"row_splits\", key], also of row_lengths, row_starts, \
                        row_limits or value_rowids, and of [\"uniform_row_length\", length]";
        let found = self.of("partitions", expected, |json| {
            json.as_array()?.iter().map(partition).collect()
        })?;
        Ok(found.unwrap_or_default())
    }

    fn index_keys(&self) -> Parsed<Vec<String>> {
        let text = |json: &Value| json.as_str().map(str::to_owned);
        let keys = self.of("index_key", "a key or a list of keys", |json| match json {
            Value::Array(keys) => keys.iter().map(text).collect(),
            json => Some(vec![text(json)?]),
        })?;
        keys.ok_or_else(|| missing("index_key"))
    }

    pub(super) fn flag(&self, key: &'static str) -> Parsed<bool> {
        let flag = self.of(key, "true or false", Value::as_bool)?;
        Ok(flag.unwrap_or(false))
    }

    pub(super) fn text(&self, key: &'static str) -> Parsed<Option<&str>> {
        self.of(key, "a string", Value::as_str)
    }

    /// The value of a key, converted by `read`.
    pub(super) fn of<'a, T>(
        &'a self,
        key: &'static str,
        expected: &'static str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Parsed<Option<T>> {
        let Some(json) = self.get(key) else {
            return Ok(None);
        };
        match read(json) {
            Some(value) => Ok(Some(value)),
            None => Err(EntryErrorKind::wrong_type(key, expected, json)),
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        let mut keys = self.keys.iter();
        keys.find_map(|(name, value)| (name == key).then_some(value))
    }

    /// Whether all keys are those of a `kind`.
    fn only(&self, kind: &'static str, own: &[&'static str]) -> Parsed<()> {
        let is_known = |key: &str| own.contains(&key) || COMMON.contains(&key);
        match self.keys.iter().find(|(key, _)| !is_known(key)) {
            None => Ok(()),
            Some((key, _)) => Err(EntryErrorKind::UnknownKey {
                key: key.clone(),
                kind,
                known: own.iter().chain(&COMMON).copied().collect(),
            }),
        }
    }
}

#[cold]
pub(super) fn missing(key: &'static str) -> EntryErrorKind {
    EntryErrorKind::MissingKey { key }
}

#[cold]
pub(super) fn exclusive(one: &'static str, other: &'static str) -> EntryErrorKind {
    EntryErrorKind::Exclusive { keys: [one, other] }
}

#[cold]
pub(super) fn unknown(key: &'static str, found: &str, known: &[&'static str]) -> EntryErrorKind {
    EntryErrorKind::UnknownName {
        key,
        found: found.to_owned(),
        known: known.to_vec(),
    }
}
