//! Shared parts of the tests: what each reader says about the same bytes.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)] // Each test file uses a part of this.

use std::io::{self, Read};

use atds_btable::reference::{self, Table};
use atds_btable::{Csr, Error, Frame, Framer, Limits, RowReader, Writer};
use bytes::Bytes;

/// What a reader says: the labels, the rows before an error, and the error.
#[derive(Clone, Debug)]
pub struct Told {
    pub table: Table,
    pub error: Option<Error>,
}

/// NaNs are equal if their bits are; errors if their texts are, with byte and row.
impl PartialEq for Told {
    fn eq(&self, other: &Self) -> bool {
        let text = |told: &Told| told.error.as_ref().map(|error| format!("{error:?}"));
        self.table.labels == other.table.labels
            && bits(&self.table.rows) == bits(&other.table.rows)
            && text(self) == text(other)
    }
}

pub fn bits(rows: &[Vec<(u32, f64)>]) -> Vec<Vec<(u32, u64)>> {
    let bits = |row: &Vec<(u32, f64)>| row.iter().map(|(c, v)| (*c, v.to_bits())).collect();
    rows.iter().map(bits).collect()
}

pub fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_label_units = 1 << 20;
    limits
}

pub fn by_reference(file: &[u8]) -> Told {
    let (table, error) = reference::read(file, &limits());
    Told { table, error }
}

/// Frames the file in pieces of these lengths, again and again.
pub fn by_framer(file: &[u8], lens: &[usize], block_bytes: usize) -> Told {
    let mut told = Told {
        table: Table::default(),
        error: None,
    };
    let mut framer = Framer::with_limits(limits()).with_block_bytes(block_bytes);
    let mut rest = Bytes::copy_from_slice(file);
    let mut lens = lens.iter().cycle();
    let mut blocks = 0;
    let mut end = 0;
    loop {
        match framer.next() {
            Ok(Frame::Header(header)) => {
                told.table.labels = header.labels().to_vec();
                end = header.len();
            }
            Ok(Frame::Block(block)) => {
                assert_eq!((block.index, block.offset), (blocks, end));
                assert_eq!(block.first_row, told.table.rows.len() as u64);
                assert!(block.rows > 0);
                assert!(block.payload.len() < block_bytes + 4 + 12 * told.table.labels.len());
                blocks += 1;
                end += block.payload.len() as u64;
                let mut rows = 0;
                for row in block.rows(told.table.labels.len() as u32) {
                    match row {
                        Ok(row) => told.table.rows.push(row.iter().collect()),
                        Err(error) => {
                            told.error = Some(error);
                            return told;
                        }
                    }
                    rows += 1;
                }
                assert_eq!(rows, block.rows);
            }
            Ok(Frame::NeedMore(more)) => {
                assert!(more > 0);
                assert_eq!(framer.end_offset(), (file.len() - rest.len()) as u64);
                let len = lens.next().unwrap();
                if rest.is_empty() {
                    framer.end();
                }
                framer.push(rest.split_to((*len).min(rest.len())));
            }
            Ok(Frame::End) => {
                assert_eq!(end, file.len() as u64);
                return told;
            }
            Ok(frame) => panic!("{frame:?}"),
            Err(error) => {
                let again = framer.next().unwrap_err();
                assert_eq!(format!("{again:?}"), format!("{error:?}"));
                told.error = Some(error);
                return told;
            }
        }
    }
}

/// Opens the file in reads of these lengths: what it has told so far, and its rows unless the header is at fault.
fn opened<'a>(file: &'a [u8], lens: &[usize]) -> (Told, Option<RowReader<Pieces<'a>>>) {
    let (mut table, mut error) = (Table::default(), None);
    let opened = RowReader::with_limits(Pieces::new(file, lens), limits());
    let rows = opened.map_err(|found| error = Some(found)).ok();
    if let Some(rows) = &rows {
        table.labels = rows.labels().to_vec();
    }
    (Told { table, error }, rows)
}

/// Reads the file row by row, in reads of these lengths.
pub fn by_rows(file: &[u8], lens: &[usize]) -> Told {
    let (mut told, table) = opened(file, lens);
    let Some(mut table) = table else {
        return told;
    };
    loop {
        match table.next_row() {
            Ok(Some(row)) => {
                let cells: Vec<_> = row.iter().collect();
                for &(column, value) in &cells {
                    assert_eq!(row.get(column).to_bits(), value.to_bits());
                }
                assert_eq!((row.len(), row.is_empty()), (cells.len(), cells.is_empty()));
                told.table.rows.push(cells);
            }
            Ok(None) => {
                assert!(table.next_row().unwrap().is_none());
                return told;
            }
            Err(error) => {
                let again = table.next_row().unwrap_err();
                assert_eq!(format!("{again:?}"), format!("{error:?}"));
                told.error = Some(error);
                return told;
            }
        }
    }
}

/// Reads the file to CSR, in reads of these lengths, some rows at a time.
pub fn by_csr(file: &[u8], lens: &[usize], rows: u64) -> Told {
    let (mut told, table) = opened(file, lens);
    let Some(table) = table else {
        return told;
    };
    let mut table = table.with_file_bytes(file.len() as u64);
    let mut csr = Csr::default();
    loop {
        match table.read_csr_rows(&mut csr, rows) {
            Ok(read) if read < rows => break,
            Ok(read) => assert_eq!(read, rows),
            Err(error) => {
                assert!(table.read_csr_rows(&mut csr, rows).is_err());
                told.error = Some(error);
                break;
            }
        }
    }
    told.table.rows = rows_of(&csr);
    told
}

/// Reads the file into memory of `size` cells, again and again; a row of more cells ends it.
pub fn by_fill(file: &[u8], lens: &[usize], size: usize) -> Told {
    let (mut told, table) = opened(file, lens);
    let Some(mut table) = table else {
        return told;
    };
    let size = size.max(told.table.labels.len());
    let mut csr = Csr::default();
    let (mut indices, mut data) = (vec![-7; size], vec![-7.0; size]);
    loop {
        let (first, rows) = (csr.data.len(), csr.rows());
        match table.fill_csr(first as i64, &mut csr.indptr, &mut indices, &mut data) {
            Ok(filled) => {
                csr.indices.extend_from_slice(&indices[..filled.cells]);
                csr.data.extend_from_slice(&data[..filled.cells]);
                if filled.is_end {
                    break;
                }
                assert!(csr.rows() > rows);
            }
            Err(error) => {
                let end = *csr.indptr.last().unwrap() as usize;
                csr.indices.extend_from_slice(&indices[..end - first]);
                csr.data.extend_from_slice(&data[..end - first]);
                told.error = Some(error);
                break;
            }
        }
    }
    told.table.rows = rows_of(&csr);
    told
}

pub fn rows_of(csr: &Csr) -> Vec<Vec<(u32, f64)>> {
    assert_eq!(csr.indptr.first(), Some(&0));
    assert_eq!(csr.indptr.last(), Some(&(csr.data.len() as i64)));
    assert_eq!(csr.indices.len(), csr.data.len());
    let rows = csr.indptr.windows(2).map(|ends| {
        let cells = ends[0] as usize..ends[1] as usize;
        let columns = csr.indices[cells.clone()].iter().map(|&c| c as u32);
        columns.zip(csr.data[cells].iter().copied()).collect()
    });
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows.len(), csr.rows());
    rows
}

/// All readers say the same about a file, in any pieces.
pub fn check_readers(file: &[u8], lens: &[usize], block_bytes: usize) -> Told {
    let told = by_reference(file);
    let whole = [file.len().max(1)];
    for lens in [lens, &whole[..]] {
        assert_eq!(by_framer(file, lens, block_bytes), told);
        assert_eq!(by_rows(file, lens), told);
        assert_eq!(by_csr(file, lens, 1 + block_bytes as u64), told);
        assert_eq!(by_csr(file, lens, u64::MAX), told);
        assert_eq!(by_fill(file, lens, block_bytes), told);
    }
    told
}

/// All writers write the same file of a table whose rows are right, which all readers read as the table
/// without its zeros.
pub fn check_writers(table: &Table) {
    let file = reference::write(table);
    let write = |rows: &dyn Fn(&mut Writer<Vec<u8>>)| {
        let mut writer = Writer::new(Vec::new(), &table.labels).unwrap();
        rows(&mut writer);
        assert_eq!(writer.rows(), table.rows.len() as u64);
        assert_eq!(writer.bytes(), file.len() as u64);
        writer.finish().unwrap()
    };

    let sparse = write(&|writer| {
        for row in &table.rows {
            writer.write_row(row.iter().copied()).unwrap();
        }
    });
    assert_eq!(sparse, file);

    let dense = write(&|writer| {
        for row in &table.rows {
            let mut values = vec![0.0; table.labels.len()];
            for &(column, value) in row {
                values[column as usize] = value;
            }
            writer.write_dense_row(&values).unwrap();
        }
    });
    assert_eq!(dense, file);

    let (indptr, indices, data) = arrays(table);
    let csr = write(&|writer| writer.write_csr(&indptr, &indices, &data).unwrap());
    assert_eq!(csr, file);
    // scipy has both kinds of integers; a matrix may begin anywhere in its arrays.
    let indptr: Vec<i32> = indptr.iter().map(|&end| end as i32 + 1).collect();
    let indices: Vec<i64> = [7]
        .into_iter()
        .chain(indices.iter().map(|&c| i64::from(c)))
        .collect();
    let data: Vec<f64> = [0.5].into_iter().chain(data).collect();
    let csr = write(&|writer| writer.write_csr(&indptr, &indices, &data).unwrap());
    assert_eq!(csr, file);

    let mut without_zeros = table.clone();
    for row in &mut without_zeros.rows {
        row.retain(|(_, value)| *value != 0.0);
    }
    let told = by_reference(&file);
    assert_eq!(told.error.map(|error| error.to_string()), None);
    assert_eq!(told.table.labels, table.labels);
    assert_eq!(bits(&told.table.rows), bits(&without_zeros.rows));
}

/// The arrays of a matrix, with the zeros of the table.
pub fn arrays(table: &Table) -> (Vec<i64>, Vec<i32>, Vec<f64>) {
    let csr = table.rows.iter().fold(Csr::default(), |mut csr, row| {
        csr.indices
            .extend(row.iter().map(|(column, _)| *column as i32));
        csr.data.extend(row.iter().map(|(_, value)| value));
        csr.indptr.push(csr.data.len() as i64);
        csr
    });
    (csr.indptr, csr.indices, csr.data)
}

/// A reader whose reads have these lengths, again and again.
pub struct Pieces<'a> {
    rest: &'a [u8],
    lens: Vec<usize>,
    next: usize,
}

impl<'a> Pieces<'a> {
    pub fn new(file: &'a [u8], lens: &[usize]) -> Self {
        Pieces {
            rest: file,
            lens: lens.to_vec(),
            next: 0,
        }
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.next += 1;
        if self.next.is_multiple_of(5) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let len = self.lens[self.next % self.lens.len()];
        let len = len.min(to.len()).min(self.rest.len());
        let (read, rest) = self.rest.split_at(len);
        to[..len].copy_from_slice(read);
        self.rest = rest;
        Ok(len)
    }
}

/// A file with these labels and this tail.
pub fn file(labels: &[&str], tail: &[&[u8]]) -> Vec<u8> {
    let labels = labels.iter().map(|&label| label.to_owned()).collect();
    let table = Table {
        labels,
        rows: Vec::new(),
    };
    let mut file = reference::write(&table);
    tail.iter().for_each(|bytes| file.extend_from_slice(bytes));
    file
}

/// The bytes of a row.
pub fn row(count: i32, cells: &[(i32, f64)]) -> Vec<u8> {
    let mut bytes = count.to_be_bytes().to_vec();
    for (column, value) in cells {
        bytes.extend(column.to_be_bytes());
        bytes.extend(value.to_be_bytes());
    }
    bytes
}
