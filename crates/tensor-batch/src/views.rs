//! Typed views of a batch's columns.

use std::fmt;
use std::ops::Range;

use crate::short::Short;
use crate::{Batch, Buffer, Column, DType, Element, Strings, TensorForm, Values};
use crate::{ViewError, ViewErrorKind};

/// A type of a view: an [`Element`], whose values are a slice, or [`Strings`].
pub trait ViewAs {
    /// The values of a column.
    type Values<'a>;
    /// The dtype that the column must have.
    const DTYPE: DType;
    /// The values if they are of this dtype.
    fn view(values: &Values) -> Option<Self::Values<'_>>;
}

impl<T: Element> ViewAs for T {
    type Values<'a> = &'a [T];
    const DTYPE: DType = <T as Element>::DTYPE;
    fn view(values: &Values) -> Option<&[T]> {
        values.as_slice()
    }
}

impl ViewAs for Strings {
    type Values<'a> = &'a Strings;
    const DTYPE: DType = DType::String;
    fn view(values: &Values) -> Option<&Strings> {
        values.as_strings()
    }
}

/// A column as coordinates, see [`Batch::sparse`].
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct SparseView<'a, V> {
    /// `[nnz, rank + 1]` flat: for each value the row, then the index in each dimension.
    pub indices: &'a [i64],
    /// `[nnz]`.
    pub values: V,
    /// `[rank + 1]`; the first is the number of rows.
    pub dense_shape: &'a [i64],
}

impl<'a, V> SparseView<'a, V> {
    /// Number of values.
    pub fn nnz(&self) -> usize {
        self.indices.len() / self.dense_shape.len()
    }

    /// The row of value `i`, then its index in each dimension.
    ///
    /// # Panics
    /// If there is no value `i`.
    pub fn indices_of(&self, i: usize) -> &'a [i64] {
        let width = self.dense_shape.len();
        &self.indices[i * width..][..width]
    }
}

/// A column as values and row splits, see [`Batch::ragged`].
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct RaggedView<'a, V> {
    /// The values of all rows, end to end.
    pub values: V,
    /// Row splits, the outermost (over rows) first. Each starts with 0: list `i` of a level
    /// has the items `splits[i]..splits[i + 1]` of the next level, or of the values.
    pub row_splits: &'a [Buffer<i64>],
}

impl<V> RaggedView<'_, V> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.row_splits[0].len() - 1
    }

    /// The range of the values in row `i`, over the lists of all levels.
    ///
    /// # Panics
    /// If there is no row `i`.
    pub fn row_range(&self, i: usize) -> Range<usize> {
        let levels = self.row_splits.iter().map(Buffer::as_slice);
        levels.fold(i..i + 1, |lists, splits| {
            splits[lists.start] as usize..splits[lists.end] as usize
        })
    }
}

impl<'a, T> RaggedView<'a, &'a [T]> {
    /// The values in row `i`, over the lists of all levels.
    ///
    /// # Panics
    /// If there is no row `i`.
    pub fn row(&self, i: usize) -> &'a [T] {
        &self.values[self.row_range(i)]
    }
}

/// The entries of sparse rows, see [`Batch::ragged_sparse`].
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct RaggedSparseView<'a, V> {
    /// `[nnz, rank]` flat: for each value the index in each dimension.
    pub indices: &'a [i64],
    /// `[nnz]`.
    pub values: V,
    /// `[rows + 1]`: row `i` has the entries `row_splits[i]..row_splits[i + 1]`.
    pub row_splits: &'a [i64],
    /// `[rank + 1]`; the first is the number of rows.
    pub dense_shape: &'a [i64],
}

impl<V> RaggedSparseView<'_, V> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.row_splits.len() - 1
    }

    /// The range of the entries in row `i`.
    ///
    /// # Panics
    /// If there is no row `i`.
    pub fn row_range(&self, i: usize) -> Range<usize> {
        self.row_splits[i] as usize..self.row_splits[i + 1] as usize
    }
}

impl<V> fmt::Debug for SparseView<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SparseView")
            .field("indices", &Short(self.indices))
            .field("dense_shape", &self.dense_shape)
            .finish_non_exhaustive()
    }
}

impl<V> fmt::Debug for RaggedView<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RaggedView")
            .field("row_splits", &self.row_splits)
            .finish_non_exhaustive()
    }
}

impl<V> fmt::Debug for RaggedSparseView<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RaggedSparseView")
            .field("indices", &Short(self.indices))
            .field("row_splits", &Short(self.row_splits))
            .field("dense_shape", &self.dense_shape)
            .finish_non_exhaustive()
    }
}

impl Batch {
    /// The values of the dense, padded or flat column `name`, `[rows, shape..]`
    /// flat in row-major order.
    ///
    /// # Errors
    /// No such column, one of another form, or not of dtype `T`.
    pub fn dense<T: Element>(&self, name: &str) -> Result<&[T], ViewError> {
        values::<T>(name, self.dense_values(name)?)
    }

    /// The strings of the dense, padded or flat column `name`, in row-major
    /// order.
    ///
    /// # Errors
    /// No such column, one of another form, or not of strings.
    pub fn strings(&self, name: &str) -> Result<&Strings, ViewError> {
        values::<Strings>(name, self.dense_values(name)?)
    }

    /// The sparse or varlen column `name` as coordinates. `T` is the type of an element, or
    /// [`Strings`].
    ///
    /// ```
    /// # use tensor_batch::{BatchBuilder, BatchSpec, ColumnSpec, DType};
    /// # let spec = BatchSpec::new(vec![ColumnSpec::sparse("ads", &[100], DType::Float32)])?;
    /// # let mut builder = BatchBuilder::new(spec);
    /// # drop(builder.slots(&[0]));
    /// # builder.gather().into_iter().for_each(|task| task.run());
    /// # let batch = builder.finish();
    /// let ads = batch.sparse::<f32>("ads")?;
    /// for (i, weight) in ads.values.iter().enumerate() {
    ///     let &[row, ad] = ads.indices_of(i) else { unreachable!("a row and one dimension") };
    ///     println!("row {row} has ad {ad} with {weight}");
    /// }
    /// assert_eq!(ads.dense_shape, [batch.rows() as i64, 100]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// No such column, one of another form, or not of dtype `T`.
    pub fn sparse<T: ViewAs>(
        &self,
        name: &str,
    ) -> Result<SparseView<'_, T::Values<'_>>, ViewError> {
        match self.found(name)? {
            Column::Sparse(tensor) => Ok(SparseView {
                indices: tensor.indices,
                values: values::<T>(name, tensor.values)?,
                dense_shape: tensor.dense_shape,
            }),
            other => Err(other_form(name, TensorForm::Sparse, other)),
        }
    }

    /// The varlen column `name` of the ragged layout, as values and row splits. `T` is the
    /// type of an element, or [`Strings`].
    ///
    /// ```
    /// # use tensor_batch::{BatchBuilder, BatchSpec, ColumnSpec, DType, Layout};
    /// # let column = ColumnSpec::varlen("words", &[-1], DType::Int64).with_layout(Layout::Ragged);
    /// # let spec = BatchSpec::new(vec![column])?;
    /// # let mut builder = BatchBuilder::new(spec);
    /// # drop(builder.slots(&[0]));
    /// # builder.gather().into_iter().for_each(|task| task.run());
    /// # let batch = builder.finish();
    /// let words = batch.ragged::<i64>("words")?;
    /// for i in 0..words.rows() {
    ///     println!("row {i} has {:?}", words.row(i));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// No such column, one of another form, or not of dtype `T`.
    pub fn ragged<T: ViewAs>(
        &self,
        name: &str,
    ) -> Result<RaggedView<'_, T::Values<'_>>, ViewError> {
        match self.found(name)? {
            Column::Ragged(tensor) => Ok(RaggedView {
                values: values::<T>(name, tensor.values)?,
                row_splits: tensor.row_splits,
            }),
            other => Err(other_form(name, TensorForm::Ragged, other)),
        }
    }

    /// The sparse column `name` of the ragged layout. `T` is the type of an element, or
    /// [`Strings`].
    ///
    /// # Errors
    /// No such column, one of another form, or not of dtype `T`.
    pub fn ragged_sparse<T: ViewAs>(
        &self,
        name: &str,
    ) -> Result<RaggedSparseView<'_, T::Values<'_>>, ViewError> {
        match self.found(name)? {
            Column::RaggedSparse(tensor) => Ok(RaggedSparseView {
                indices: tensor.indices,
                values: values::<T>(name, tensor.values)?,
                row_splits: tensor.row_splits,
                dense_shape: tensor.dense_shape,
            }),
            other => Err(other_form(name, TensorForm::RaggedSparse, other)),
        }
    }

    fn dense_values(&self, name: &str) -> Result<&Values, ViewError> {
        match self.found(name)? {
            Column::Dense(tensor) => Ok(tensor.values),
            other => Err(other_form(name, TensorForm::Dense, other)),
        }
    }

    fn found(&self, name: &str) -> Result<Column<'_>, ViewError> {
        let column = self.column(name);
        column.ok_or_else(|| ViewError::new(name, ViewErrorKind::NoColumn))
    }
}

fn values<'a, T: ViewAs>(name: &str, values: &'a Values) -> Result<T::Values<'a>, ViewError> {
    T::view(values).ok_or_else(|| {
        let (asked, is) = (T::DTYPE, values.dtype());
        ViewError::new(name, ViewErrorKind::OtherDType { asked, is })
    })
}

#[cold]
fn other_form(name: &str, asked: TensorForm, found: Column<'_>) -> ViewError {
    let is = found.form();
    ViewError::new(name, ViewErrorKind::OtherForm { asked, is })
}
