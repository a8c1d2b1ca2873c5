//! Random features of records.

use std::sync::Arc;

use avro_decode::feature::{FeatureKind, SparseKeys};
use avro_decode::path::{Operand, Path, Step};
use avro_decode::reference::{ReferenceColumn, faults, tensors};
use avro_decode::schema::{Node, NodeId};
use avro_decode::{
    Convert, DecodeErrorKind, Feature, Features, Fill, Plan, PlanOptions, Schema, Value,
};
use tensor_batch::half::{bf16, f16};
use tensor_batch::{ColumnSpec, DType, Layout, Scalar, UNKNOWN};

use super::Source;
use super::choices::{choice, is_duration};
use super::constants::TEXTS;
use super::ways::{To, Way, arrays, way};

/// Some features that fit the `records` of `schema`. If allowed, a feature that does not fit,
/// rarely.
pub(super) fn features(
    schema: &Schema,
    records: &[Value],
    options: &PlanOptions,
    allows_misfits: bool,
    source: &mut Source,
) -> Vec<Feature> {
    let mut maker = Maker {
        schema,
        records,
        options,
        allows_misfits,
        source,
    };
    let mut features: Vec<Feature> = Vec::new();
    for number in 0..[2, 1, 3, 4, 5, 6, 0][maker.source.below(7)] {
        let name = format!("c{number}");
        let Some(feature) = maker.feature(&name).or_else(|| maker.feature(&name)) else {
            continue;
        };
        let is_misfit = allows_misfits && maker.source.below(8) == 7;
        let fitting = if is_misfit && maker.faults(&feature).is_some() {
            Some(feature)
        } else {
            maker.fitting(feature)
        };
        let Some(mut feature) = fitting else {
            continue;
        };
        // The feature's name is its expression, unless another feature has that name.
        if maker.source.below(4) == 3
            && let Some(expression) = &feature.expression
            && features.iter().all(|other| other.name != *expression)
        {
            feature.name = feature.expression.take().unwrap_or_default();
        }
        features.push(feature);
    }
    // The schema may lack fields of features. This choice comes last, so that earlier bytes keep
    // their meaning.
    for feature in &mut features {
        if options.reader_schema.is_none()
            && maker.source.below(5) == 4
            && let Some(lacking) = maker.lacking(feature)
        {
            *feature = lacking;
        }
        if maker.source.below(4) == 3
            && let Some(truncated) = maker.truncated(feature)
        {
            *feature = truncated;
        }
    }
    features
}

struct Maker<'a> {
    schema: &'a Schema,
    records: &'a [Value],
    options: &'a PlanOptions,
    allows_misfits: bool,
    source: &'a mut Source,
}

impl Maker<'_> {
    fn feature(&mut self, name: &str) -> Option<Feature> {
        match self.source.below(10) {
            0..6 => self.of_values(name),
            6 => self.sparse_record(name),
            7 | 8 => self.sparse_keys(name),
            _ => self.sparse_root_keys(name),
        }
    }

    fn way(&mut self, to: To) -> Option<Way> {
        way(self.schema, self.schema.root(), to, self.source)
    }

    fn layout(&mut self) -> Layout {
        if self.source.flag() {
            Layout::Ragged
        } else {
            Layout::Coo
        }
    }

    fn of_values(&mut self, name: &str) -> Option<Feature> {
        let Way { path, lists, end } = self.way(To::Values)?;
        let (arrays, leaf) = arrays(self.schema, end)?;
        let (mut dtype, mut convert) = choice(self.schema, leaf, self.source);
        let is_duration = is_duration(self.schema, leaf);
        let is_bytes = matches!(self.schema.node(leaf), Node::Bytes | Node::Fixed(_))
            && self.schema.logical(leaf).is_none();
        let is_octets = is_bytes && self.source.below(3) == 2;
        if is_octets {
            (dtype, convert) = (DType::UInt8, Convert::Exact);
        }
        let rank = lists + arrays + usize::from(is_duration || is_octets);
        let expression = path.to_string();
        let plain = Feature::var_len_of_rank(name, dtype, rank).at(&expression);
        let plain = plain.with_convert(convert.clone());
        let mut lengths = self.lengths(&plain)?;
        if is_duration {
            // A length is needed even if all values are null.
            lengths[rank - 1] = 3;
        }
        let feature = match self.source.below(8) {
            0..3 => {
                let shape: Vec<usize> = lengths.iter().map(|&length| length.max(1)).collect();
                Feature::dense(name, &shape, dtype)
            }
            3 => {
                let mut shape: Vec<_> = lengths.iter().map(|&n| self.dim(n)).collect();
                if is_duration {
                    shape[rank - 1] = Some(3);
                }
                let default = self.scalar(dtype);
                if rank > 0 && self.source.flag() {
                    let known = |dim: &Option<usize>| dim.map_or(UNKNOWN, |dim| dim as i64);
                    let shape: Vec<i64> = shape.iter().map(known).collect();
                    Feature::from(ColumnSpec::padded(name, &shape, default))
                } else {
                    if rank == lists + 1 && shape[0].is_none() {
                        // `None` would mean the batch.
                        shape[0] = Some(lengths[0].max(1));
                    }
                    let missing = self.source.flag();
                    Feature::fixed_len_sequence(name, &shape, dtype, Some(default), missing)
                }
            }
            4 => {
                let mut shape: Vec<_> = lengths.iter().map(|&n| Some(n.max(1))).collect();
                // All dimensions are in one list.
                if rank == 1 && !is_duration && lengths[0] % 2 == 0 && lengths[0] > 0 {
                    shape = vec![Some(lengths[0] / 2), Some(2)];
                }
                if shape.len() == lists {
                    // A first `None` means the batch.
                    shape.insert(0, None);
                }
                Feature::fixed_len(name, &shape, dtype)
            }
            5 => {
                let known = |&n: &usize| self.dim(n).map_or(UNKNOWN, |n| n as i64);
                let mut shape: Vec<i64> = lengths.iter().map(known).collect();
                if is_duration {
                    shape[rank - 1] = self.source.one_of(&[3, UNKNOWN]);
                }
                if rank == 0 {
                    return Some(plain);
                }
                let layout = self.layout();
                Feature::varlen(name, &shape, dtype).with_layout(layout)
            }
            6 if rank == lists => {
                let feature = Feature::var_len(name, dtype);
                match rank {
                    0 => feature,
                    _ => feature.with_layout(self.layout()),
                }
            }
            _ => return Some(plain),
        };
        let feature = feature.at(expression).with_convert(convert);
        Some(if dtype == DType::String && self.source.flag() {
            feature.with_any_bytes()
        } else {
            feature
        })
    }

    /// A dimension for lists of at most this length.
    fn dim(&mut self, length: usize) -> Option<usize> {
        match self.source.below(3) {
            0 => Some(length.max(1)),
            1 => Some(length + 1),
            _ => None,
        }
    }

    /// The length of the longest list in each dimension, read as coordinates.
    fn lengths(&self, feature: &Feature) -> Option<Vec<usize>> {
        let feature = feature.clone().with_mask("mask");
        let features = Features::new([feature]).ok()?;
        let made = tensors(self.schema, self.records, &features, self.options).ok()?;
        let ReferenceColumn::Sparse { dense_shape, .. } = &made.columns[0] else {
            panic!("coordinates");
        };
        Some(dense_shape[1..].iter().map(|&dim| dim as usize).collect())
    }

    fn sparse_record(&mut self, name: &str) -> Option<Feature> {
        let Way { path, end, .. } = self.way(To::SparseRecord)?;
        let Node::Record(record) = self.schema.node(end) else {
            return None;
        };
        let (_, values) = record.field("values")?;
        let (1, leaf) = arrays(self.schema, values.ty)? else {
            return None;
        };
        if is_duration(self.schema, leaf) {
            return None;
        }
        let (dtype, convert) = choice(self.schema, leaf, self.source);
        let sizes = 1..record.fields.len();
        let sizes: Vec<i64> = sizes.map(|_| self.size()).collect();
        let feature = Feature::sparse(name, &sizes, dtype).at(path.to_string());
        Some(feature.with_convert(convert).with_layout(self.layout()))
    }

    /// The size of a dimension of indices.
    fn size(&mut self) -> i64 {
        self.source.one_of(&[9, UNKNOWN, 9, 5])
    }

    fn sparse_keys(&mut self, name: &str) -> Option<Feature> {
        let Way { path, end, .. } = self.way(To::Entries)?;
        let (_, record) = arrays(self.schema, end)?;
        let mut keys = Vec::new();
        for _ in 0..1 + self.source.below(2) {
            keys.push(self.key(record, To::Index)?.0);
        }
        let (value, leaf) = self.key(record, To::Value)?;
        self.keyed(name, keys, value, leaf)
            .map(|feature| feature.at(path.to_string()))
    }

    /// A key of an entry, rarely from the root, and the type to which it leads.
    fn key(&mut self, record: NodeId, to: To) -> Option<(String, NodeId)> {
        if self.source.below(8) == 7 {
            let way = self.way(to)?;
            return Some((format!("@{}", way.path), way.end));
        }
        let way = way(self.schema, record, to, self.source)?;
        Some((way.path.to_string(), way.end))
    }

    fn sparse_root_keys(&mut self, name: &str) -> Option<Feature> {
        let index = self.way(To::Index)?;
        let value = self.way(To::Value)?;
        let from_root = |path: &Path| format!("@{path}");
        let keys = vec![from_root(&index.path)];
        self.keyed(name, keys, from_root(&value.path), value.end)
    }

    fn keyed(
        &mut self,
        name: &str,
        index: Vec<String>,
        value: String,
        leaf: NodeId,
    ) -> Option<Feature> {
        if is_duration(self.schema, leaf) {
            return None;
        }
        let (dtype, convert) = choice(self.schema, leaf, self.source);
        let index: Vec<&str> = index.iter().map(String::as_str).collect();
        let sizes: Vec<i64> = index.iter().map(|_| self.size()).collect();
        let feature = Feature::sparse_keys(name, &index, &value, &sizes, dtype);
        let feature = feature.with_convert(convert).with_layout(self.layout());
        Some(match self.source.below(3) {
            2 => feature.already_sorted(),
            _ => feature,
        })
    }

    /// The feature with an expression that names a field which the schema lacks. `None` if that
    /// would be an error.
    fn lacking(&mut self, feature: &Feature) -> Option<Feature> {
        let mut feature = self.with_missing(feature.clone());
        let has_way = !is_rooted(&feature);
        let mut is_index = false;
        let expression = match &mut feature.kind {
            FeatureKind::Sparse {
                keys: SparseKeys::Named { index, value },
                ..
            } if !has_way || self.source.flag() => match self.source.below(3) {
                // A single index cannot be missing, but a list of indices can.
                0 if index[0].contains("[*]") => {
                    is_index = true;
                    &mut index[0]
                }
                _ => value,
            },
            _ => feature.expression.as_mut()?,
        };
        let (root, way) = match expression.strip_prefix('@') {
            Some(way) => ("@", way),
            None => ("", &**expression),
        };
        let mut path = Path::parse(way).ok()?;
        let number = self.source.below(path.steps.len());
        if is_index && !path.steps[number..].iter().any(Step::is_list) {
            return None;
        }
        match &mut path.steps[number] {
            Step::Field(name) | Step::Branch(name) => *name = "nowhere".to_owned(),
            Step::Filter(filter) => match (&mut filter.left, &mut filter.right) {
                (Operand::Element(path) | Operand::Root(path), _)
                | (_, Operand::Element(path) | Operand::Root(path)) => {
                    path.steps[0] = Step::Field("nowhere".to_owned());
                }
                _ => return None,
            },
            _ => return None,
        }
        *expression = format!("{root}{path}");
        let fits = self.faults(&feature)?.is_empty();
        (fits || self.allows_misfits).then_some(feature)
    }

    /// The feature with `truncate`, sometimes with fewer values. `None` if that would be an error.
    fn truncated(&mut self, feature: &Feature) -> Option<Feature> {
        let mut feature = feature.clone().with_truncate();
        let mut less = |dim: usize| dim - self.source.below(dim.clamp(1, 3));
        match &mut feature.kind {
            FeatureKind::Dense { shape, .. }
                if !matches!(feature.missing.default, Some(Fill::Tensor(_))) =>
            {
                shape.iter_mut().flatten().for_each(|dim| *dim = less(*dim));
            }
            FeatureKind::Varlen {
                shape: Some(shape), ..
            } => {
                for dim in shape.iter_mut().filter(|dim| **dim > 0) {
                    *dim = less(*dim as usize) as i64;
                }
            }
            _ => {}
        }
        let features = Features::new([feature.clone()]).ok()?;
        // A duration keeps its three numbers.
        let schema = Arc::new(self.schema.clone());
        Plan::compile(&schema, &features, self.options).ok()?;
        let fits = self.faults(&feature)?.is_empty();
        (fits || self.allows_misfits).then_some(feature)
    }

    /// The feature with a default or a mask if values are missing, or also without missing values.
    /// `None` if the records do not fit it.
    fn fitting(&mut self, feature: Feature) -> Option<Feature> {
        let feature = match self.source.below(3) {
            2 => self.with_missing(feature),
            _ => feature,
        };
        if self.faults(&feature)?.is_empty() {
            return Some(feature);
        }
        let feature = self.with_missing(feature);
        self.faults(&feature)?.is_empty().then_some(feature)
    }

    fn faults(&self, feature: &Feature) -> Option<Vec<DecodeErrorKind>> {
        let features = Features::new([feature.clone()]).ok()?;
        let faults = faults(self.schema, self.records, &features, self.options);
        Some(faults.into_iter().map(|fault| fault.kind).collect())
    }

    fn with_missing(&mut self, feature: Feature) -> Feature {
        let mut what = 1 + self.source.below(7);
        if let FeatureKind::Dense { shape, .. } = &feature.kind
            && shape.contains(&None)
        {
            // Padding needs a default or a mask.
            what |= 1 + self.source.below(2);
        }
        let name = feature.name.clone();
        let dtype = feature.dtype;
        let mut feature = feature;
        if what & 1 != 0 {
            let fill = match known_row(&feature) {
                Some(cells) if cells < 40 && self.source.flag() => {
                    Fill::Tensor((0..cells).map(|_| self.scalar(dtype)).collect())
                }
                _ => Fill::Scalar(self.scalar(dtype)),
            };
            feature = feature.with_default(fill);
        }
        if what & 2 != 0 {
            feature = feature.with_mask(format!("{name}.mask"));
        }
        if what & 4 != 0 {
            feature = feature.with_row_mask(format!("{name}.row"));
        }
        feature
    }

    fn scalar(&mut self, dtype: DType) -> Scalar {
        let number = self.source.byte();
        match dtype {
            DType::Int8 => Scalar::Int8(number as i8),
            DType::Int16 => Scalar::Int16(i16::from(number) - 100),
            DType::Int64 => Scalar::Int64(number.into()),
            DType::UInt8 => Scalar::UInt8(number),
            DType::UInt16 => Scalar::UInt16(number.into()),
            DType::Float16 => Scalar::Float16(f16::from_f32(number.into())),
            DType::BFloat16 => Scalar::BFloat16(bf16::from_f32(number.into())),
            DType::Float32 => Scalar::Float32(number.into()),
            DType::Float64 => Scalar::Float64(number.into()),
            DType::Bool => Scalar::Bool(number & 1 == 1),
            DType::String => Scalar::String(self.source.one_of(&TEXTS).into()),
            _ => Scalar::Int32(number.into()),
        }
    }
}

/// Whether all keys of a sparse feature start at the root, so that its expression is not used.
fn is_rooted(feature: &Feature) -> bool {
    match &feature.kind {
        FeatureKind::Sparse {
            keys: SparseKeys::Named { index, value },
            ..
        } => index.iter().chain([value]).all(|key| key.starts_with('@')),
        _ => false,
    }
}

/// The number of values in a row of a dense feature, if known. A first `None` is skipped, since it
/// may mean the batch.
fn known_row(feature: &Feature) -> Option<usize> {
    match &feature.kind {
        FeatureKind::Dense { shape, .. } => shape.iter().copied().product(),
        _ => None,
    }
}
