//! A naive model: rows as plain data, their tensors, and writing rows through slots.

use tensor_batch::{
    BatchBuilder, BatchSpec, Column, ColumnKind, ColumnSpec, DType, DenseElement, Layout, RowSlots,
    Scalar, Segment, Slot, UNKNOWN, Values,
    half::{bf16, f16},
};

/// A row of one column.
#[derive(Clone, Debug)]
pub(crate) enum Row {
    Dense(Vec<Scalar>),
    Sparse(Vec<(Vec<i64>, Scalar)>),
    Varlen(List),
    Padded(List),
    Flat(Vec<Scalar>),
}

/// Nested lists.
#[derive(Clone, Debug)]
pub(crate) enum List {
    Leaf(Scalar),
    Items(Vec<List>),
}

/// A column of a batch. It has the parts of all forms; unused parts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tensor {
    pub(crate) shape: Vec<i64>,
    pub(crate) values: Vec<Scalar>,
    pub(crate) indices: Vec<i64>,
    pub(crate) splits: Vec<Vec<i64>>,
}

impl Tensor {
    /// The tensor of a finished batch's column.
    pub(crate) fn of(column: Column<'_>) -> Tensor {
        let (shape, values, indices, splits) = match column {
            Column::Dense(dense) => (dense.shape, dense.values, &[][..], Vec::new()),
            Column::Sparse(coo) => (coo.dense_shape, coo.values, coo.indices, Vec::new()),
            Column::Ragged(ragged) => {
                let splits = ragged.row_splits.iter();
                let splits = splits.map(|ends| ends.as_slice().to_vec()).collect();
                (&[][..], ragged.values, &[][..], splits)
            }
            Column::RaggedSparse(ragged) => (
                ragged.dense_shape,
                ragged.values,
                ragged.indices,
                vec![ragged.row_splits.to_vec()],
            ),
            _ => panic!("a form that the tests do not know"),
        };
        Tensor {
            shape: shape.to_vec(),
            values: scalars(values),
            indices: indices.to_vec(),
            splits,
        }
    }

    /// The tensor of `rows` with `spec`.
    pub(crate) fn expected(spec: &ColumnSpec, rows: &[&Row]) -> Tensor {
        let mut tensor = Tensor::default();
        match &spec.kind {
            ColumnKind::Dense { shape } => {
                tensor.shape = vec![rows.len() as i64];
                tensor.shape.extend(shape.iter().map(|&dim| dim as i64));
                for row in rows {
                    let Row::Dense(values) = row else {
                        panic!("not a dense row")
                    };
                    tensor.values.extend_from_slice(values);
                }
            }
            ColumnKind::Sparse { shape, layout } => {
                let mut ends = vec![0];
                let mut entries = Vec::new();
                for (number, row) in rows.iter().enumerate() {
                    entries.extend(row.entries().into_iter().map(|entry| (number, entry)));
                    ends.push(entries.len() as i64);
                }
                tensor.shape = dense_shape(shape, rows.len(), &entries);
                for (number, (index, value)) in entries {
                    if *layout == Layout::Coo {
                        tensor.indices.push(number as i64);
                    } else {
                        tensor.splits = vec![ends.clone()];
                    }
                    tensor.indices.extend(index);
                    tensor.values.push(value);
                }
                if *layout == Layout::Ragged {
                    tensor.splits = vec![ends];
                }
            }
            ColumnKind::Varlen {
                layout: Layout::Ragged,
                ..
            } => {
                // The lists of one level at a time.
                let mut lists: Vec<&List> = rows.iter().map(|row| row.list()).collect();
                for _ in 0..spec.rank() {
                    let mut ends = vec![0];
                    let mut inner = Vec::new();
                    for list in lists {
                        inner.extend(list.items());
                        ends.push(inner.len() as i64);
                    }
                    tensor.splits.push(ends);
                    lists = inner;
                }
                tensor.values = lists.into_iter().map(List::leaf).collect();
            }
            ColumnKind::Varlen { shape, .. } => {
                let rows = rows.iter().enumerate();
                let entries: Vec<_> = rows
                    .clone()
                    .flat_map(|(number, row)| {
                        row.entries().into_iter().map(move |entry| (number, entry))
                    })
                    .collect();
                tensor.shape = dense_shape(shape, rows.len(), &entries);
                for (number, (index, value)) in entries {
                    tensor.indices.push(number as i64);
                    tensor.indices.extend(index);
                    tensor.values.push(value);
                }
            }
            ColumnKind::Padded { shape, fill, .. } => {
                let lists: Vec<_> = rows.iter().map(|row| row.list()).collect();
                let dims = padded_dims(shape, &lists);
                tensor.shape = vec![rows.len() as i64];
                tensor.shape.extend(dims.iter().map(|&dim| dim as i64));
                for list in lists {
                    list.pad(&dims, fill, &mut tensor.values);
                }
            }
            ColumnKind::Flat => {
                for row in rows {
                    let Row::Flat(values) = row else {
                        panic!("not a flat row")
                    };
                    tensor.values.extend_from_slice(values);
                }
                tensor.shape = vec![tensor.values.len() as i64];
            }
            _ => panic!("a kind that the tests do not know"),
        }
        tensor
    }
}

/// The dimensions of `shape`. An unknown one is the length of the longest list of its level.
fn padded_dims(shape: &[i64], lists: &[&List]) -> Vec<usize> {
    let Some((&dim, shape)) = shape.split_first() else {
        return Vec::new();
    };
    let longest = lists.iter().map(|list| list.items().len()).max();
    let dim = usize::try_from(dim).unwrap_or(longest.unwrap_or(0));
    let inner: Vec<_> = lists.iter().flat_map(|list| list.items()).collect();
    [vec![dim], padded_dims(shape, &inner)].concat()
}

fn dense_shape(shape: &[i64], rows: usize, entries: &[(usize, (Vec<i64>, Scalar))]) -> Vec<i64> {
    let dimensions = shape.iter().enumerate().map(|(d, &dim)| match dim {
        UNKNOWN => entries.iter().map(|(_, e)| e.0[d] + 1).max().unwrap_or(0),
        dim => dim,
    });
    std::iter::once(rows as i64).chain(dimensions).collect()
}

/// The elements of `values` as scalars.
pub(crate) fn scalars(values: &Values) -> Vec<Scalar> {
    fn all<T: Copy>(values: &[T], scalar: fn(T) -> Scalar) -> Vec<Scalar> {
        values.iter().map(|&value| scalar(value)).collect()
    }
    match values {
        Values::Int8(b) => all(b.as_slice(), Scalar::Int8),
        Values::Int16(b) => all(b.as_slice(), Scalar::Int16),
        Values::Int32(b) => all(b.as_slice(), Scalar::Int32),
        Values::Int64(b) => all(b.as_slice(), Scalar::Int64),
        Values::UInt8(b) => all(b.as_slice(), Scalar::UInt8),
        Values::UInt16(b) => all(b.as_slice(), Scalar::UInt16),
        Values::Float16(b) => all(b.as_slice(), Scalar::Float16),
        Values::BFloat16(b) => all(b.as_slice(), Scalar::BFloat16),
        Values::Float32(b) => all(b.as_slice(), Scalar::Float32),
        Values::Float64(b) => all(b.as_slice(), Scalar::Float64),
        Values::Bool(b) => all(b.as_slice(), |v| Scalar::Bool(v == 1)),
        Values::String(strings) => strings.iter().map(|s| Scalar::String(s.into())).collect(),
        _ => panic!("a dtype that the tests do not know"),
    }
}

impl Row {
    /// Index and value of each entry, in document order.
    fn entries(&self) -> Vec<(Vec<i64>, Scalar)> {
        fn walk(list: &List, path: &mut Vec<i64>, entries: &mut Vec<(Vec<i64>, Scalar)>) {
            match list {
                List::Leaf(value) => entries.push((path.clone(), value.clone())),
                List::Items(items) => {
                    for (i, item) in items.iter().enumerate() {
                        path.push(i as i64);
                        walk(item, path, entries);
                        path.pop();
                    }
                }
            }
        }
        match self {
            Row::Sparse(entries) => entries.clone(),
            Row::Dense(_) | Row::Padded(_) | Row::Flat(_) => panic!("a row without entries"),
            Row::Varlen(list) => {
                let mut entries = Vec::new();
                walk(list, &mut Vec::new(), &mut entries);
                entries
            }
        }
    }

    fn list(&self) -> &List {
        match self {
            Row::Varlen(list) | Row::Padded(list) => list,
            _ => panic!("not a row of lists"),
        }
    }
}

impl List {
    fn items(&self) -> &[List] {
        match self {
            List::Items(items) => items,
            List::Leaf(_) => panic!("a value where a list should be"),
        }
    }

    /// All cells of this list in row-major order.
    fn pad(&self, dims: &[usize], fill: &Scalar, cells: &mut Vec<Scalar>) {
        let Some((&dim, inner)) = dims.split_first() else {
            return cells.push(self.leaf());
        };
        for i in 0..dim {
            match self.items().get(i) {
                Some(item) => item.pad(inner, fill, cells),
                None => cells.extend(vec![fill.clone(); inner.iter().product()]),
            }
        }
    }

    fn leaf(&self) -> Scalar {
        match self {
            List::Leaf(value) => value.clone(),
            List::Items(_) => panic!("a list where a value should be"),
        }
    }
}

/// Writes `rows` through `slots`, as a decoder would. Each row has a value for each column.
pub(crate) fn fill(slots: &mut RowSlots<'_>, spec: &BatchSpec, rows: &[Vec<Row>]) {
    for columns in rows {
        let (row, batch_row) = (slots.row(), slots.batch_row() as i64);
        for ((slot, spec), data) in slots.columns().iter_mut().zip(spec.columns()).zip(columns) {
            write(slot, spec, data, row, batch_row);
        }
        slots.advance();
    }
    assert_eq!(slots.remaining(), 0);
}

fn write(slot: &mut Slot<'_>, spec: &ColumnSpec, data: &Row, row: usize, batch_row: i64) {
    match data {
        Row::Dense(values) if spec.dtype == DType::String => {
            let segment = slot.segment().expect("strings are gathered");
            values.iter().for_each(|v| segment.values.push(v));
        }
        Row::Dense(values) => {
            for (i, value) in values.iter().enumerate() {
                put(slot, row * values.len() + i, value);
            }
        }
        Row::Sparse(entries) => {
            let segment = slot.segment().expect("sparse is gathered");
            let coo = segment.splits.is_empty();
            write_entries(segment, entries, coo.then_some(batch_row));
            if !coo {
                segment.splits[0].push(segment.values.len() as i64);
            }
        }
        Row::Padded(list) => {
            write_lists(slot.segment().expect("padded is gathered"), list, 0);
        }
        Row::Flat(values) => {
            let segment = slot.segment().expect("flat is gathered");
            values.iter().for_each(|v| segment.values.push(v));
        }
        Row::Varlen(list) => {
            let segment = slot.segment().expect("varlen is gathered");
            if segment.splits.is_empty() {
                write_entries(segment, &data.entries(), Some(batch_row));
            } else {
                write_lists(segment, list, 0);
            }
        }
    }
}

fn write_entries(segment: &mut Segment, entries: &[(Vec<i64>, Scalar)], batch_row: Option<i64>) {
    for (index, value) in entries {
        segment.indices.extend_from_slice(batch_row.as_slice());
        segment.indices.extend_from_slice(index);
        segment.values.push(value);
        for (extent, i) in segment.extents.iter_mut().zip(index) {
            *extent = (*extent).max(i + 1);
        }
    }
}

fn write_lists(segment: &mut Segment, list: &List, level: usize) {
    match list {
        List::Leaf(value) => segment.values.push(value),
        List::Items(items) => {
            for item in items {
                write_lists(segment, item, level + 1);
            }
            let last = *segment.splits[level].as_slice().last().expect("leading 0");
            segment.splits[level].push(last + items.len() as i64);
            let extent = &mut segment.extents[level];
            *extent = (*extent).max(items.len() as i64);
        }
    }
}

fn put(slot: &mut Slot<'_>, at: usize, value: &Scalar) {
    fn rows<'s, T: DenseElement>(slot: &'s mut Slot<'_>) -> &'s mut [T::Raw] {
        slot.dense::<T>().expect("dense of the dtype")
    }
    match value {
        Scalar::Int8(v) => rows::<i8>(slot)[at] = *v,
        Scalar::Int16(v) => rows::<i16>(slot)[at] = *v,
        Scalar::UInt8(v) => rows::<u8>(slot)[at] = *v,
        Scalar::UInt16(v) => rows::<u16>(slot)[at] = *v,
        Scalar::Int32(v) => rows::<i32>(slot)[at] = *v,
        Scalar::Int64(v) => rows::<i64>(slot)[at] = *v,
        Scalar::Float16(v) => rows::<f16>(slot)[at] = *v,
        Scalar::BFloat16(v) => rows::<bf16>(slot)[at] = *v,
        Scalar::Float32(v) => rows::<f32>(slot)[at] = *v,
        Scalar::Float64(v) => rows::<f64>(slot)[at] = *v,
        Scalar::Bool(v) => rows::<bool>(slot)[at] = u8::from(*v),
        _ => panic!("strings are gathered"),
    }
}

/// A batch of `rows`, written in order, in runs of `run_rows` rows.
pub(crate) fn batch(
    builder: &mut BatchBuilder,
    run_rows: &[usize],
    rows: &[Vec<Row>],
) -> tensor_batch::Batch {
    let spec = builder.spec().clone();
    let mut rest = rows;
    for mut slots in builder.slots(run_rows) {
        let (now, later) = rest.split_at(slots.remaining());
        fill(&mut slots, &spec, now);
        rest = later;
    }
    let padded_bytes = builder.padded_bytes();
    builder.gather().into_iter().for_each(|task| task.run());
    let batch = builder.finish();
    let columns = batch.columns();
    let padded = columns.filter(|(spec, _)| matches!(spec.kind, ColumnKind::Padded { .. }));
    let taken: usize = padded.map(|(_, column)| bytes_of_values(column)).sum();
    assert_eq!(padded_bytes, taken as u64, "what the padded columns take");
    batch
}

/// Size in bytes of a dense tensor's values.
fn bytes_of_values(column: Column<'_>) -> usize {
    let Column::Dense(dense) = column else {
        panic!("not dense")
    };
    match dense.values {
        Values::String(strings) => size_of_val(strings.offsets()) + strings.data().len(),
        values => values.len() * values.dtype().size().expect("fixed width"),
    }
}

/// The rows of column `i`.
pub(crate) fn column_rows(rows: &[Vec<Row>], i: usize) -> Vec<&Row> {
    rows.iter().map(|row| &row[i]).collect()
}
