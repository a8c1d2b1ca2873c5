//! A batch of the preset `ads`: a struct with a field for each field of the schema.

use super::cursor::{Cursor, Fault};
use super::value::Value;

/// A batch with a column for each field of the schema.
///
/// Dense columns are `[rows, n]` in row-major order. After the last row they have data of an earlier
/// batch.
#[derive(Debug)]
#[allow(missing_docs, reason = "the names are the schema's")]
pub struct AdsBatch {
    rows: usize,
    batch_size: usize,
    pub s_label: Vec<i32>,
    pub s_weight: Vec<f32>,
    pub s_member: Vec<i64>,
    pub s_bid: Vec<f64>,
    pub s_click: Vec<u8>,
    /// Row `i` is `s_country[s_country_offsets[i]..s_country_offsets[i + 1]]`.
    pub s_country_offsets: Vec<i64>,
    pub s_country: Vec<u8>,
    pub d0: Vec<f32>,
    pub d1: Vec<f32>,
    pub d2: Vec<f64>,
    pub d3: Vec<i64>,
    pub d4: Vec<i32>,
    pub d5: Vec<f32>,
    pub d6: Vec<f32>,
    pub d7: Vec<f32>,
    pub sp0: Coo<f32>,
    pub sp1: Coo<f32>,
    pub sp2: Coo<f32>,
    pub sp3: Coo<i64>,
    pub sp4: Coo<f64>,
}

impl AdsBatch {
    /// A batch without rows and with space for `batch_size`.
    pub fn new(batch_size: usize) -> Self {
        AdsBatch {
            rows: 0,
            batch_size,
            s_label: vec![0; batch_size],
            s_weight: vec![0.0; batch_size],
            s_member: vec![0; batch_size],
            s_bid: vec![0.0; batch_size],
            s_click: vec![0; batch_size],
            s_country_offsets: vec![0; batch_size + 1],
            s_country: Vec::with_capacity(2 * batch_size),
            d0: vec![0.0; 8 * batch_size],
            d1: vec![0.0; 16 * batch_size],
            d2: vec![0.0; 16 * batch_size],
            d3: vec![0; 32 * batch_size],
            d4: vec![0; 32 * batch_size],
            d5: vec![0.0; 64 * batch_size],
            d6: vec![0.0; 64 * batch_size],
            d7: vec![0.0; 128 * batch_size],
            sp0: Coo::new(50_001, 14 * batch_size),
            sp1: Coo::new(200_000, 28 * batch_size),
            sp2: Coo::new(1_000, 8 * batch_size),
            sp3: Coo::new(5_000_000, 44 * batch_size),
            sp4: Coo::new(100, 6 * batch_size),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether there is space for another row.
    pub fn is_full(&self) -> bool {
        self.rows == self.batch_size
    }

    /// Removes all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.s_country.clear();
        self.sp0.len = 0;
        self.sp1.len = 0;
        self.sp2.len = 0;
        self.sp3.len = 0;
        self.sp4.len = 0;
    }

    /// Reads the next record of `cursor` as the next row.
    ///
    /// # Errors
    ///
    /// If the data is not a record of the preset. Some columns can then have the row and others not.
    ///
    /// # Panics
    ///
    /// If the batch is full.
    pub fn push_record(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let row = self.rows;
        let mut at = *cursor;
        self.s_label[row] = at.int()?;
        self.s_weight[row] = f32::from_le_bytes(at.array()?);
        self.s_member[row] = at.long()?;
        self.s_bid[row] = f64::from_le_bytes(at.array()?);
        self.s_click[row] = at.boolean()?;
        self.s_country.extend_from_slice(at.string()?.as_bytes());
        self.s_country_offsets[row + 1] = self.s_country.len() as i64;
        dense::<8, _>(&mut at, &mut self.d0, row)?;
        dense::<16, _>(&mut at, &mut self.d1, row)?;
        dense::<16, _>(&mut at, &mut self.d2, row)?;
        dense::<32, _>(&mut at, &mut self.d3, row)?;
        dense::<32, _>(&mut at, &mut self.d4, row)?;
        dense::<64, _>(&mut at, &mut self.d5, row)?;
        dense::<64, _>(&mut at, &mut self.d6, row)?;
        dense::<128, _>(&mut at, &mut self.d7, row)?;
        self.sp0.push(&mut at, row)?;
        self.sp1.push(&mut at, row)?;
        self.sp2.push(&mut at, row)?;
        self.sp3.push(&mut at, row)?;
        self.sp4.push(&mut at, row)?;
        *cursor = at;
        self.rows += 1;
        Ok(())
    }
}

/// Reads an array of `N` values into its row of `column`.
#[inline(always)]
fn dense<const N: usize, T: Value>(
    at: &mut Cursor<'_>,
    column: &mut [T],
    row: usize,
) -> Result<(), Fault> {
    array(at, &mut column[row * N..][..N])
}

/// Reads an array with the length of `out`.
#[inline(always)]
fn array<T: Value>(at: &mut Cursor<'_>, mut out: &mut [T]) -> Result<(), Fault> {
    loop {
        let count = at.items()?;
        if count == 0 {
            break;
        }
        let (part, rest) = out.split_at_mut_checked(count).ok_or(Fault::Length)?;
        T::read(at, part)?;
        out = rest;
    }
    if out.is_empty() {
        Ok(())
    } else {
        Err(Fault::Length)
    }
}

/// A sparse column as coordinates.
#[derive(Debug)]
pub struct Coo<T> {
    dim: u64,
    len: usize,
    /// Space for entries; the first `len` are in use.
    indices: Vec<[i64; 2]>,
    values: Vec<T>,
}

impl<T: Value> Coo<T> {
    fn new(dim: u64, room: usize) -> Self {
        Coo {
            dim,
            len: 0,
            indices: vec![[0; 2]; room],
            values: vec![T::default(); room],
        }
    }

    /// Row and index of each entry.
    pub fn indices(&self) -> &[[i64; 2]] {
        &self.indices[..self.len]
    }

    /// The value of each entry.
    pub fn values(&self) -> &[T] {
        &self.values[..self.len]
    }

    /// Reads a record of `indices0` and `values`.
    #[inline(always)]
    fn push(&mut self, at: &mut Cursor<'_>, row: usize) -> Result<(), Fault> {
        let mut end = self.len;
        loop {
            let count = at.items()?;
            if count == 0 {
                break;
            }
            if count > self.indices.len() - end {
                self.grow(end + count);
            }
            for entry in &mut self.indices[end..][..count] {
                let index = at.long()?;
                if index as u64 >= self.dim {
                    return Err(Fault::Index);
                }
                *entry = [row as i64, index];
            }
            end += count;
        }
        array(at, &mut self.values[self.len..end])?;
        self.len = end;
        Ok(())
    }

    #[cold]
    fn grow(&mut self, room: usize) {
        let room = room.max(2 * self.values.len());
        self.indices.resize(room, [0; 2]);
        self.values.resize(room, T::default());
    }
}
