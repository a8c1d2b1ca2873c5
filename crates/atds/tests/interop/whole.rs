//! A column of a whole file, joined from batches or read from `expected.json`.

use atds::tensors::Values;

use atds::{Column, ColumnKind, Layout};
use serde_json::Value;

/// A value, compared by its bits; any NaN is the same.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Number(i64),
    Bits(u64),
    Bool(bool),
    Bytes(Vec<u8>),
}

/// A column of any number of rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Whole {
    /// `[rows, shape..]` or the dense shape; empty for a ragged varlen column.
    pub(crate) shape: Vec<i64>,
    /// The indices of each entry. The row in the batch comes first, except in ragged columns.
    pub(crate) indices: Vec<Vec<i64>>,
    pub(crate) values: Vec<Cell>,
    pub(crate) row_splits: Vec<Vec<i64>>,
}

impl Whole {
    /// A column of `expected.json`.
    pub(crate) fn expected(kind: &ColumnKind, column: &Value, layout: Layout) -> Whole {
        let float = |digits: &str| {
            let bits = u64::from_str_radix(digits, 16).unwrap();
            match digits.len() {
                8 if f32::from_bits(bits as u32).is_nan() => f32::NAN.to_bits().into(),
                16 if f64::from_bits(bits).is_nan() => f64::NAN.to_bits(),
                _ => bits,
            }
        };
        let cell = |value: &Value| match value {
            Value::Bool(value) => Cell::Bool(*value),
            Value::Number(value) => Cell::Number(value.as_i64().unwrap()),
            Value::String(text) => match text.strip_prefix("0x") {
                Some(digits) => Cell::Bits(float(digits)),
                None => Cell::Bytes(unhex(text)),
            },
            other => panic!("{other}"),
        };
        let values = column["values"].as_array().unwrap().iter().map(cell);
        let mut whole = Whole {
            values: values.collect(),
            ..Whole::default()
        };
        let ragged = layout == Layout::Ragged;
        match kind {
            ColumnKind::Dense { .. } => whole.shape = numbers(&column["shape"]),
            ColumnKind::Varlen { .. } if ragged => whole.row_splits = lists(&column["row_splits"]),
            _ => {
                whole.shape = numbers(&column["dense_shape"]);
                whole.indices = lists(&column["indices"]);
                if ragged {
                    whole.row_splits = lists(&column["row_splits"]);
                    for position in &mut whole.indices {
                        position.remove(0);
                    }
                }
            }
        }
        whole
    }

    /// Appends a batch's column to the `rows` rows so far.
    pub(crate) fn append(&mut self, column: Column<'_>, rows: usize) {
        let values = match column {
            Column::Dense(tensor) => {
                add_shape(&mut self.shape, tensor.shape);
                tensor.values
            }
            Column::Sparse(tensor) => {
                add_shape(&mut self.shape, tensor.dense_shape);
                for position in tensor.indices.chunks(tensor.dense_shape.len()) {
                    let mut position = position.to_vec();
                    position[0] += rows as i64;
                    self.indices.push(position);
                }
                tensor.values
            }
            Column::Ragged(tensor) => {
                let levels = tensor.row_splits.len();
                self.row_splits.resize(levels, Vec::new());
                for (all, splits) in self.row_splits.iter_mut().zip(tensor.row_splits) {
                    add_splits(all, splits.as_slice());
                }
                tensor.values
            }
            Column::RaggedSparse(tensor) => {
                add_shape(&mut self.shape, tensor.dense_shape);
                let positions = tensor.indices.chunks(tensor.dense_shape.len() - 1);
                self.indices.extend(positions.map(<[i64]>::to_vec));
                self.row_splits.resize(1, Vec::new());
                add_splits(&mut self.row_splits[0], tensor.row_splits);
                tensor.values
            }
            other => panic!("another kind of column: {other:?}"),
        };
        self.values.extend(cells(values));
    }
}

/// Adds up the rows. Each other dimension becomes the maximum of all batches.
fn add_shape(all: &mut Vec<i64>, shape: &[i64]) {
    all.resize(shape.len(), 0);
    all[0] += shape[0];
    for (all, &dim) in all[1..].iter_mut().zip(&shape[1..]) {
        *all = dim.max(*all);
    }
}

fn add_splits(all: &mut Vec<i64>, splits: &[i64]) {
    assert_eq!(splits[0], 0);
    let start = all.pop().unwrap_or(0);
    all.extend(splits.iter().map(|split| start + split));
}

fn cells(values: &Values) -> Vec<Cell> {
    let double = |value: f64| Cell::Bits(if value.is_nan() { f64::NAN } else { value }.to_bits());
    let single = |value: f32| {
        let value = if value.is_nan() { f32::NAN } else { value };
        Cell::Bits(value.to_bits().into())
    };
    match values {
        Values::Int32(v) => v
            .as_slice()
            .iter()
            .map(|&v| Cell::Number(v.into()))
            .collect(),
        Values::Int64(v) => v.as_slice().iter().map(|&v| Cell::Number(v)).collect(),
        Values::Float32(v) => v.as_slice().iter().map(|&v| single(v)).collect(),
        Values::Float64(v) => v.as_slice().iter().map(|&v| double(v)).collect(),
        Values::Bool(v) => v.as_slice().iter().map(|&v| Cell::Bool(v == 1)).collect(),
        Values::String(v) => v.iter().map(|v| Cell::Bytes(v.to_vec())).collect(),
        other => panic!("another dtype: {other:?}"),
    }
}

fn unhex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn numbers(list: &Value) -> Vec<i64> {
    let list = list.as_array().unwrap().iter();
    list.map(|number| number.as_i64().unwrap()).collect()
}

fn lists(list: &Value) -> Vec<Vec<i64>> {
    list.as_array().unwrap().iter().map(numbers).collect()
}
