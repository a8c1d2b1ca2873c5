//! serde_avro_fast: a struct for each record, through serde's derived `Deserialize`.

use std::error::Error;
use std::hint::black_box;
use std::io::BufRead;

use serde::Deserialize;
use serde_avro_fast::object_container_file_encoding::Reader;

/// A record of the preset `ads`.
#[derive(Debug, PartialEq, Deserialize)]
struct Ads {
    s_label: i32,
    s_weight: f32,
    s_member: i64,
    s_bid: f64,
    s_click: bool,
    s_country: String,
    d0: Vec<f32>,
    d1: Vec<f32>,
    d2: Vec<f64>,
    d3: Vec<i64>,
    d4: Vec<i32>,
    d5: Vec<f32>,
    d6: Vec<f32>,
    d7: Vec<f32>,
    sp0: Sparse<f32>,
    sp1: Sparse<f32>,
    sp2: Sparse<f32>,
    sp3: Sparse<i64>,
    sp4: Sparse<f64>,
}

/// A sparse feature of one dimension.
#[derive(Debug, PartialEq, Deserialize)]
struct Sparse<T> {
    indices0: Vec<i64>,
    values: Vec<T>,
}

/// All records of a file, one at a time.
pub(crate) fn read(file: impl BufRead) -> Result<usize, Box<dyn Error>> {
    count(Reader::from_reader(file)?.deserialize())
}

/// All records of a file in memory, one at a time.
pub(crate) fn read_slice(file: &[u8]) -> Result<usize, Box<dyn Error>> {
    count(Reader::from_slice(file)?.deserialize())
}

/// Checks that the structs of a file have the values that apache-avro reads.
pub(crate) fn check(file: &[u8]) -> Result<(), Box<dyn Error>> {
    let mut reader = Reader::from_slice(file)?;
    let mut structs = reader.deserialize::<Ads>();
    for value in apache_avro::Reader::new(file)? {
        let expected: Ads = apache_avro::from_value(&value?)?;
        if structs.next().transpose()? != Some(expected) {
            return Err("serde_avro_fast and apache-avro read different values".into());
        }
    }
    match structs.next() {
        None => Ok(()),
        Some(_) => Err("serde_avro_fast reads more records than apache-avro".into()),
    }
}

fn count<E: Error + 'static>(
    records: impl Iterator<Item = Result<Ads, E>>,
) -> Result<usize, Box<dyn Error>> {
    let mut read = 0;
    for record in records {
        black_box(record?);
        read += 1;
    }
    Ok(read)
}
