//! A slow decoder that is easy to read, by way of `prost`, and features to decode: shared with the fuzz
//! targets.
//!
//! Rows are given as text, one for each row and column, so that every kind of column is compared
//! alike.

// Each test binary uses a part of this module.
#![allow(dead_code, unreachable_pub, missing_docs)]

use std::collections::HashMap;

use atds_features::feature::{Extents, FeatureKind, Partition};
use atds_features::{Convert, Feature, Features, Fill};
use atds_tfrecord::{DecodeError, Plan, Scratch, Writer};
use partitions::{has_many_lists, lens_of};
use prost::Message;
use tensor_batch::{Batch, BatchBuilder, Column, DType, Layout, Scalar, Values};

#[path = "partitions.rs"]
mod partitions;
#[path = "protos.rs"]
mod protos;

pub use protos::*;

/// Features of every kind, over the keys `i`, `j` (int64), `f` (float) and `s` (bytes).
pub fn example_features() -> Vec<Feature> {
    let fixed = Feature::fixed_len;
    let list = |name: &str, key: &str, dtype| {
        Feature::var_len_of_rank(name, dtype, 1).at(format!("{key}[*]"))
    };
    let cast = |feature: Feature| feature.with_convert(Convert::Cast);
    vec![
        fixed("fixed_int", &[], DType::Int64)
            .at("i")
            .with_default(Fill::Scalar(Scalar::Int64(-1)))
            .with_row_mask("has_int"),
        fixed("fixed_floats", &[Some(2)], DType::Float32)
            .at("f")
            .with_default(Fill::Tensor(vec![
                Scalar::Float32(1.5),
                Scalar::Float32(2.5),
            ])),
        fixed("fixed_string", &[], DType::String)
            .at("s")
            .with_default(Fill::Scalar(Scalar::String(b"none".to_vec()))),
        Feature::dense("filled", &[3], DType::Int64)
            .at("j")
            .with_default(Fill::Scalar(Scalar::Int64(7)))
            .with_mask("filled_mask"),
        Feature::fixed_len_sequence("steps", &[None, Some(2)], DType::Int64, None, true)
            .at("i[*][*]"),
        Feature::fixed_len_sequence("padded", &[None], DType::String, None, true).at("s[*]"),
        list("coo", "j", DType::Int64),
        list("ragged", "f", DType::Float32).with_layout(Layout::Ragged),
        list("strings", "s", DType::String),
        divided("by lengths", "f", [Partition::RowLengths("j".into())]),
        divided("by ids", "j", [Partition::ValueRowIds("i".into())]),
        divided("by pairs", "f", [Partition::UniformRowLength(2)]),
        Feature::sparse_keys("sparse", &["@i[*]"], "@f[*]", &[100], DType::Float32),
        Feature::sparse_keys(
            "sparse2",
            &["@i[*]", "@j[*]"],
            "@s[*]",
            &[-1, 50],
            DType::String,
        )
        .with_layout(Layout::Ragged)
        .already_sorted(),
        cast(list("int32", "i", DType::Int32)),
        cast(list("double", "i", DType::Float64)),
        cast(list("half", "f", DType::Float16)),
        list("hashed", "s", DType::Int64).with_convert(Convert::HashBuckets(1000)),
        Feature::dense("octets", &[2], DType::UInt8)
            .at("s")
            .with_default(Fill::Scalar(Scalar::UInt8(9))),
        fixed("whole", &[], DType::String).at("@"),
    ]
}

/// The values of a key, divided; floats for `f`, integers for other keys.
pub fn divided<const N: usize>(name: &str, key: &str, partitions: [Partition; N]) -> Feature {
    let dtype = match key {
        "f" => DType::Float32,
        _ => DType::Int64,
    };
    let feature = Feature::var_len(name, dtype).at(key);
    feature.with_partitions(partitions)
}

/// Features of a `SequenceExample`: the same keys, in the context and as feature lists.
pub fn sequence_features() -> Vec<Feature> {
    let list = |name: &str, key: &str, dtype| {
        Feature::var_len_of_rank(name, dtype, 2).at(format!("feature_lists.{key}[*][*]"))
    };
    vec![
        Feature::fixed_len("id", &[], DType::Int64)
            .at("context.i")
            .with_default(Fill::Scalar(Scalar::Int64(0))),
        Feature::var_len_of_rank("words", DType::String, 1).at("context.s[*]"),
        list("ints", "i", DType::Int64),
        list("floats", "f", DType::Float32).with_layout(Layout::Ragged),
        list("texts", "s", DType::String),
        Feature::fixed_len_sequence("pairs", &[None, Some(2)], DType::Int64, None, true)
            .at("feature_lists.j[*][*]"),
        Feature::fixed_len_sequence("square", &[None, None], DType::Float32, None, true)
            .at("feature_lists.f[*][*]"),
    ]
}

/// The rows of a batch of each column as text, by the plan.
pub fn decode(features: &[Feature], records: &[Vec<u8>]) -> Result<Rows, DecodeError> {
    let features = Features::new(features.to_vec()).expect("the features are right");
    let plan = Plan::of(&features).expect("the features are of TFRecord");
    let mut writer = Writer::new(Vec::new());
    for record in records {
        writer.write(record).expect("memory takes bytes");
    }
    let payload = writer.finish().expect("memory takes bytes");
    let mut builder = BatchBuilder::new(features.spec().clone());
    let mut slots = builder.slots(&[records.len()]);
    // Numbers of lists can ask for any number of them.
    slots[0].set_room(1 << 24);
    let mut scratch = Scratch::default();
    let done = plan.execute(&mut scratch, &payload, (0, 0), records.len(), &mut slots[0])?;
    assert_eq!(done.position, payload.len());
    drop(slots);
    builder.gather().into_iter().for_each(|task| task.run());
    Ok(rows_of(&builder.finish()))
}

/// For each column, its rows, and for a column that is padded its shape.
pub type Rows = Vec<(String, Vec<String>)>;

fn text(values: &Values, range: std::ops::Range<usize>) -> String {
    let of = |i| match values.get(i) {
        Some(Scalar::String(text)) => text.escape_ascii().to_string(),
        Some(Scalar::Float32(value)) => format!("{:#x}", value.to_bits()),
        Some(Scalar::Float64(value)) => format!("{:#x}", value.to_bits()),
        Some(Scalar::Float16(value)) => format!("{:#x}", value.to_bits()),
        Some(value) => format!("{value:?}"),
        None => panic!("there is no value {i}"),
    };
    let texts: Vec<String> = range.map(of).collect();
    format!("[{}]", texts.join(", "))
}

fn rows_of(batch: &Batch) -> Rows {
    let mut all = Vec::new();
    for (spec, column) in batch.columns() {
        let rows = match column {
            Column::Dense(tensor) => {
                let len: i64 = tensor.shape[1..].iter().product();
                let len = len as usize;
                let row = |row: usize| {
                    let values = text(tensor.values, row * len..(row + 1) * len);
                    format!("{:?} {values}", &tensor.shape[1..])
                };
                (0..batch.rows()).map(row).collect()
            }
            Column::Sparse(tensor) => {
                let rank = tensor.dense_shape.len();
                let places: Vec<&[i64]> = tensor.indices.chunks_exact(rank).collect();
                assert!(places.is_sorted_by_key(|place| place[0]));
                let row = |row: usize| {
                    let start = places.partition_point(|place| place[0] < row as i64);
                    let end = places.partition_point(|place| place[0] <= row as i64);
                    let indices: Vec<&[i64]> =
                        places[start..end].iter().map(|place| &place[1..]).collect();
                    let shape = &tensor.dense_shape[1..];
                    format!("{shape:?} {indices:?} {}", text(tensor.values, start..end))
                };
                (0..batch.rows()).map(row).collect()
            }
            Column::Ragged(tensor) => {
                let row = |row: usize| {
                    let mut range = row..row + 1;
                    let mut lens = Vec::new();
                    for splits in tensor.row_splits {
                        let splits = splits.as_slice();
                        let of: Vec<i64> =
                            range.clone().map(|i| splits[i + 1] - splits[i]).collect();
                        lens.push(of);
                        range = splits[range.start] as usize..splits[range.end] as usize;
                    }
                    format!("{lens:?} {}", text(tensor.values, range))
                };
                (0..batch.rows()).map(row).collect()
            }
            Column::RaggedSparse(tensor) => {
                let rank = tensor.dense_shape.len() - 1;
                let row = |row: usize| {
                    let splits = tensor.row_splits;
                    let (start, end) = (splits[row] as usize, splits[row + 1] as usize);
                    let indices: Vec<&[i64]> = tensor.indices[start * rank..end * rank]
                        .chunks_exact(rank)
                        .collect();
                    let shape = &tensor.dense_shape[1..];
                    format!("{shape:?} {indices:?} {}", text(tensor.values, start..end))
                };
                (0..batch.rows()).map(row).collect()
            }
            other => panic!("no rows of {other:?}"),
        };
        all.push((spec.name.clone(), rows));
    }
    all
}

/// A row of a feature, read slowly.
#[derive(Clone, Debug, Default)]
struct Row {
    is_there: bool,
    /// The lengths of the lists of each level, outermost first.
    lens: Vec<Vec<usize>>,
    indices: Vec<Vec<i64>>,
    values: Vec<Scalar>,
    mask: Vec<bool>,
}

/// The rows of a batch of each column as text, or the first row that is wrong, the twin's way.
pub fn twin(features: &[Feature], records: &[Vec<u8>]) -> Option<Result<Rows, usize>> {
    let checked = Features::new(features.to_vec()).expect("the features are right");
    let is_sequence = features
        .iter()
        .any(|f| f.expression().starts_with("context."));
    let mut columns: Vec<Vec<Row>> = features.iter().map(|_| Vec::new()).collect();
    for (number, record) in records.iter().enumerate() {
        let (context, lists) = if is_sequence {
            let record = SequenceExample::decode(&record[..]).ok()?;
            (record.context, record.feature_lists)
        } else {
            (Example::decode(&record[..]).ok()?.features, None)
        };
        let context = context.unwrap_or_default().feature;
        let lists = lists.unwrap_or_default().feature_list;
        for (feature, rows) in features.iter().zip(&mut columns) {
            if has_many_lists(feature, &context) {
                return None;
            }
            match row_of(feature, record, &context, &lists) {
                Some(row) => rows.push(row),
                None => return Some(Err(number)),
            }
        }
    }
    let mut all: Rows = Vec::new();
    for (feature, rows) in features.iter().zip(&columns) {
        all.push((feature.name.clone(), texts(feature, rows)));
        if let Some(mask) = &feature.missing.mask {
            let text = |row: &Row| {
                let mask: Vec<String> = row.mask.iter().map(|m| format!("Bool({m})")).collect();
                format!("[{}] [{}]", row.mask.len(), mask.join(", "))
            };
            all.push((mask.clone(), rows.iter().map(text).collect()));
        }
        if let Some(mask) = &feature.missing.row_mask {
            let text = |row: &Row| format!("[] [Bool({})]", row.is_there);
            all.push((mask.clone(), rows.iter().map(text).collect()));
        }
    }
    all.sort();
    assert_eq!(all.len(), checked.spec().columns().len());
    Some(Ok(all))
}

type Map = HashMap<String, ProtoFeature>;

/// The elements of a feature's values; `None` if it is of a kind that is not read.
fn elements(feature: &Feature, proto: &ProtoFeature) -> Option<Option<Vec<Scalar>>> {
    use tensor_batch::half::f16;
    let Some(kind) = &proto.kind else {
        return Some(None);
    };
    let hash = |text: &[u8], buckets| (atds_features::fingerprint64(text) % buckets) as i64;
    let found: Option<Vec<Scalar>> = match (kind, feature.dtype, &feature.convert) {
        (Kind::Int64(list), DType::Int64, Convert::Exact) => {
            list.value.iter().map(|&v| Some(Scalar::Int64(v))).collect()
        }
        (Kind::Int64(list), DType::Int32, Convert::Cast) => {
            let of = |&v: &i64| v.try_into().ok().map(Scalar::Int32);
            list.value.iter().map(of).collect()
        }
        (Kind::Int64(list), DType::Float64, Convert::Cast) => list
            .value
            .iter()
            .map(|&v| Some(Scalar::Float64(v as f64)))
            .collect(),
        (Kind::Int64(list), DType::Int64, &Convert::HashBuckets(n)) => {
            let of = |v: &i64| Some(Scalar::Int64(hash(v.to_string().as_bytes(), n)));
            list.value.iter().map(of).collect()
        }
        (Kind::Float(list), DType::Float32, Convert::Exact) => list
            .value
            .iter()
            .map(|&v| Some(Scalar::Float32(v)))
            .collect(),
        (Kind::Float(list), DType::Float64, Convert::Cast) => list
            .value
            .iter()
            .map(|&v| Some(Scalar::Float64(v.into())))
            .collect(),
        (Kind::Float(list), DType::Float16, Convert::Cast) => {
            let of = |&v: &f32| Some(Scalar::Float16(f16::from_f32(v)));
            list.value.iter().map(of).collect()
        }
        (Kind::Int64(list), DType::Float16, Convert::Cast) => {
            // Small numbers only: the rounding of large ones is tested with the casts.
            let of = |&v: &i64| Some(Scalar::Float16(f16::from_f64(v as f64)));
            list.value.iter().map(of).collect()
        }
        (Kind::Bytes(list), DType::String, Convert::Exact) => list
            .value
            .iter()
            .map(|v| Some(Scalar::String(v.clone())))
            .collect(),
        (Kind::Bytes(list), DType::Int64, &Convert::HashBuckets(n)) => list
            .value
            .iter()
            .map(|v| Some(Scalar::Int64(hash(v, n))))
            .collect(),
        (Kind::Bytes(list), DType::UInt8, _) => match &list.value[..] {
            [] => Some(Vec::new()),
            [one] => Some(one.iter().map(|&v| Scalar::UInt8(v)).collect()),
            _ => None,
        },
        _ => None,
    };
    found.map(Some)
}

/// The indices of a sparse feature.
fn indices(map: &Map, key: &str) -> Option<Vec<i64>> {
    match map.get(key).and_then(|proto| proto.kind.as_ref()) {
        None => Some(Vec::new()),
        Some(Kind::Int64(list)) => Some(list.value.clone()),
        Some(_) => None,
    }
}

fn key_of(expression: &str) -> &str {
    let key = expression.trim_start_matches('@').trim_end_matches("[*]");
    let key = key.trim_end_matches("[*]");
    key.split_once('.').map_or(key, |(_, key)| key)
}

/// A row of a feature; `None` if it is wrong.
fn row_of(
    feature: &Feature,
    record: &[u8],
    map: &Map,
    lists: &HashMap<String, FeatureList>,
) -> Option<Row> {
    let expression = feature.expression();
    let key = key_of(expression);
    let mut row = Row::default();
    if expression == "@" {
        row.is_there = true;
        row.values = vec![Scalar::String(record.to_vec())];
        return Some(row);
    }
    if expression.starts_with("feature_lists.") {
        let steps = lists.get(key);
        row.is_there = steps.is_some();
        let steps = steps.map_or(&[][..], |list| &list.feature);
        let mut lens = Vec::new();
        for step in steps {
            let values = elements(feature, step)?.unwrap_or_default();
            lens.push(values.len());
            row.values.extend(values);
        }
        if let FeatureKind::Dense { shape, .. } = &feature.kind
            && let [None, Some(dim)] = shape[..]
            && lens.iter().any(|&len| len != dim)
        {
            return None;
        }
        row.lens = vec![vec![steps.len()], lens];
        return Some(row);
    }
    let empty = ProtoFeature::default();
    let of_key = |key: &str| map.get(key).unwrap_or(&empty).clone();
    match &feature.kind {
        FeatureKind::Sparse {
            keys: atds_features::feature::SparseKeys::Named { index, value },
            shape,
            sort,
            ..
        } => {
            let values = elements(feature, &of_key(key_of(value)))?;
            row.is_there = values.is_some();
            let values = values.unwrap_or_default();
            let mut entries: Vec<(Vec<i64>, Scalar)> = values
                .into_iter()
                .map(|value| (Vec::new(), value))
                .collect();
            for (index, &size) in index.iter().zip(shape) {
                let indices = indices(map, key_of(index))?;
                if indices.len() != entries.len() {
                    return None;
                }
                for (entry, index) in entries.iter_mut().zip(indices) {
                    let size = if size < 0 { i64::MAX } else { size };
                    if !(0..size).contains(&index) {
                        return None;
                    }
                    entry.0.push(index);
                }
            }
            if *sort {
                entries.sort_by(|a, b| a.0.cmp(&b.0));
            }
            (row.indices, row.values) = entries.into_iter().unzip();
        }
        FeatureKind::Varlen { .. } if !feature.partitions.is_empty() => {
            let values = elements(feature, &of_key(key))?;
            row.is_there = values.is_some();
            row.values = values.unwrap_or_default();
            let mut items = row.values.len();
            for partition in feature.partitions.iter().rev() {
                let numbers = match partition.key() {
                    Some(key) => indices(map, key)?,
                    None => Vec::new(),
                };
                let lens = lens_of(partition, &numbers, items)?;
                items = lens.len();
                row.lens.insert(0, lens);
            }
            row.lens.insert(0, vec![items]);
        }
        FeatureKind::Varlen { .. } => {
            let values = elements(feature, &of_key(key))?;
            row.is_there = values.is_some();
            row.values = values.unwrap_or_default();
            row.lens = vec![vec![row.values.len()]];
            row.indices = (0..row.values.len() as i64).map(|i| vec![i]).collect();
        }
        FeatureKind::Dense { shape, reshape } => {
            let values = elements(feature, &of_key(key))?;
            row.is_there = values.is_some();
            let is_missing = values.is_none();
            row.values = values.unwrap_or_default();
            if let [None, rest @ ..] = &shape[..] {
                let step: usize = rest.iter().map(|dim| dim.unwrap_or(1)).product();
                if row.values.len() % step > 0 {
                    return None;
                }
                let steps = row.values.len() / step;
                row.lens = vec![vec![steps], vec![step; steps]];
                return Some(row);
            }
            let len: usize = shape.iter().map(|dim| dim.unwrap_or(1)).product();
            row.mask = vec![true; row.values.len()];
            let may_fill = feature.missing.default.is_some() && (is_missing || !reshape);
            if row.values.len() < len && may_fill {
                for i in row.values.len()..len {
                    row.values.push(match &feature.missing.default {
                        Some(Fill::Scalar(value)) => value.clone(),
                        Some(Fill::Tensor(values)) => values[i].clone(),
                        None => return None,
                    });
                    row.mask.push(false);
                }
            }
            if row.values.len() != len {
                return None;
            }
        }
        FeatureKind::Sparse { .. } => return None,
    }
    Some(row)
}

/// The rows of a feature as text.
fn texts(feature: &Feature, rows: &[Row]) -> Vec<String> {
    let text = |scalars: &[Scalar]| {
        let values = Values::from_scalars(feature.dtype, scalars);
        text(&values, 0..scalars.len())
    };
    let longest = |level: usize| {
        let lens = rows.iter().filter_map(|row| row.lens.get(level));
        lens.flatten().copied().max().unwrap_or(0)
    };
    let of = |row: &Row| match &feature.kind {
        FeatureKind::Dense { shape, .. } if shape.first() == Some(&None) => {
            let steps = longest(0);
            let inner = match shape.get(1) {
                None => 1,
                Some(&Some(dim)) => dim,
                Some(None) => longest(1),
            };
            let zero = Scalar::zero(feature.dtype);
            let (mut cells, mut values) = (Vec::new(), row.values.iter().cloned());
            for step in 0..steps {
                let len = match row.lens[1].get(step) {
                    Some(&len) => len,
                    None => 0,
                };
                cells.extend(values.by_ref().take(len));
                cells.extend(std::iter::repeat_n(zero.clone(), inner - len));
            }
            let shape = if shape.len() == 1 {
                vec![steps]
            } else {
                vec![steps, inner]
            };
            format!("{shape:?} {}", text(&cells))
        }
        FeatureKind::Dense { shape, .. } => {
            let shape: Vec<usize> = shape.iter().map(|dim| dim.unwrap_or(0)).collect();
            format!("{shape:?} {}", text(&row.values))
        }
        FeatureKind::Varlen {
            layout: Layout::Ragged,
            ..
        } => {
            format!("{:?} {}", row.lens, text(&row.values))
        }
        FeatureKind::Varlen { extents, .. } => {
            assert_eq!(*extents, Extents::Lengths);
            let shape: Vec<usize> = (0..row.lens.len()).map(longest).collect();
            let indices = match &row.lens[..] {
                [_, lens] => {
                    let steps = lens.iter().enumerate();
                    let of = |(i, &len): (usize, &usize)| {
                        (0..len).map(move |j| vec![i as i64, j as i64])
                    };
                    steps.flat_map(of).collect()
                }
                _ => row.indices.clone(),
            };
            format!("{shape:?} {indices:?} {}", text(&row.values))
        }
        FeatureKind::Sparse { shape, .. } => {
            let extent = |d: usize| {
                let indices = rows.iter().flat_map(|row| &row.indices);
                indices.map(|index| index[d] + 1).max().unwrap_or(0)
            };
            let dims = shape.iter().enumerate();
            let shape: Vec<i64> = dims
                .map(|(d, &dim)| if dim < 0 { extent(d) } else { dim })
                .collect();
            format!("{shape:?} {:?} {}", row.indices, text(&row.values))
        }
    };
    rows.iter().map(of).collect()
}
