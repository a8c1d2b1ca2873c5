//! A column has one meaning in all files of a data set.

use atds::avro::Schema;
use atds::{Codec, Dataset, Error};

use crate::common::meanings::{KINDS, Kind, READ_AS, ReadAs, SAMPLES};
use crate::common::{Folder, container};

fn write(folder: &Folder, name: &str, kind: Kind) {
    let records = SAMPLES.map(|sample| kind.record(sample)).concat();
    let block = (SAMPLES.len() as u64, records);
    folder.write(name, &container(&kind.schema(), Codec::Null, [block]));
}

/// The values of the files `a.avro` and `b.avro`.
fn read(folder: &Folder, form: ReadAs) -> Result<Vec<String>, Error> {
    let files = vec![folder.join("a.avro"), folder.join("b.avro")];
    let dataset = Dataset::builder(files, 100).features([form.feature()]);
    let mut found = Vec::new();
    for batch in dataset.build()?.iter() {
        found.extend(form.column(&batch?));
    }
    Ok(found)
}

#[test]
fn every_pair_of_types_is_converted_or_an_error_that_names_both_files() {
    let (mut converted, mut refused) = (0, 0);
    let folder = Folder::new();
    for form in READ_AS {
        for first in KINDS.into_iter().filter(|&kind| form.reads(kind)) {
            write(&folder, "a.avro", first);
            for second in KINDS.into_iter().filter(|&kind| form.reads(kind)) {
                write(&folder, "b.avro", second);
                let pair = format!("{first:?}, then {second:?}, as {form:?}");
                let expected = |kind| {
                    let samples = SAMPLES.into_iter();
                    samples
                        .map(|sample| form.expected(first, kind, sample))
                        .collect()
                };
                let (own, then): (Option<Vec<_>>, Option<Vec<_>>) =
                    (expected(first), expected(second));
                let own = own.unwrap_or_else(|| panic!("{pair}: a type goes with itself"));
                match (read(&folder, form), then) {
                    (Ok(found), Some(then)) => {
                        assert_eq!(found, [own, then].concat(), "{pair}");
                        converted += 1;
                    }
                    (Err(error), None) => {
                        let error = folder.message(&error);
                        assert!(
                            error.starts_with("b.avro: feature 'x': the values are "),
                            "{pair}: {error}"
                        );
                        let columns = " in 'a.avro', which fixed the column's type";
                        let rest = error.split_once(columns).map(|(_, rest)| rest);
                        assert!(
                            rest.is_some_and(
                                |rest| rest.starts_with(": ") || rest.starts_with("; '")
                            ),
                            "{pair}: {error}"
                        );
                        refused += 1;
                    }
                    (found, then) => panic!("{pair}: {found:?}, not {then:?}"),
                }
            }
        }
    }
    assert!(converted > 300 && refused > 500, "{converted}, {refused}");
}

#[test]
fn the_remedies_work() {
    let folder = Folder::new();
    let micros = Kind::Time("timestamp-micros");
    write(&folder, "a.avro", Kind::Time("timestamp-millis"));
    write(&folder, "b.avro", micros);
    let error = read(&folder, ReadAs::Int64).unwrap_err();
    assert_eq!(
        folder.message(&error),
        "b.avro: feature 'x': the values are timestamps in micros (long (timestamp-micros)), but \
         timestamps in millis (long (timestamp-millis)) in 'a.avro', which fixed the column's \
         type: give the feature a `unit`, or a `reader_schema` that has the finer unit"
    );
    assert_eq!(read(&folder, ReadAs::Unit).unwrap(), ["0"; 6]);
    let with_reader = |reader: Kind, form: ReadAs| {
        let schema = Schema::parse(&reader.schema()).unwrap();
        let dataset = Dataset::builder(folder.path(), 100).features([form.feature()]);
        let dataset = dataset.reader_schema(schema).build().unwrap();
        let batch = dataset.iter().next().unwrap().unwrap();
        form.column(&batch)
    };
    let found = with_reader(micros, ReadAs::Int64);
    assert_eq!(found, ["0", "1000", "2000", "0", "1", "2"]);
    let found = with_reader(Kind::Long, ReadAs::Int64);
    assert_eq!(found, ["0", "1", "2", "0", "1", "2"]);
    assert_eq!(with_reader(micros, ReadAs::Unit), ["0"; 6]);

    // Enums with different symbols.
    write(&folder, "a.avro", Kind::Enum(&["A", "B", "C"]));
    write(&folder, "b.avro", Kind::Enum(&["D", "B", "A"]));
    let error = folder.message(&read(&folder, ReadAs::Int64).unwrap_err());
    assert!(
        error.contains("'D', 'B', 'A'") && error.contains("'A', 'B', 'C'"),
        "{error}"
    );
    let found = with_reader(Kind::Enum(&["A", "B", "C", "D"]), ReadAs::Int64);
    assert_eq!(found, ["0", "1", "2", "3", "1", "0"]);
    let texts = read(&folder, ReadAs::String).unwrap();
    assert_eq!(texts.len(), 6);

    // Old files that lack the logical type.
    write(&folder, "a.avro", Kind::Long);
    write(&folder, "b.avro", micros);
    assert!(read(&folder, ReadAs::Int64).is_err());
    let found = with_reader(micros, ReadAs::Int64);
    assert_eq!(found, ["0", "1", "2", "0", "1", "2"]);
}

/// The first file in order that has the values fixes their meaning, whichever file is opened first.
#[test]
fn the_order_in_which_files_are_opened_says_nothing() {
    let folder = Folder::new();
    let millis = Kind::Time("timestamp-millis");
    let lacking = r#"{"type": "record", "name": "R", "fields": []}"#;
    folder.write(
        "a.avro",
        &container(lacking, Codec::Null, [(2, Vec::new())]),
    );
    write(&folder, "b.avro", Kind::Time("timestamp-micros"));
    for number in 0..6 {
        write(&folder, &format!("c{number}.avro"), millis);
    }
    let feature = ReadAs::Int64.feature().with_mask("has_x");
    for check in [true, false] {
        for seed in 0..8 {
            let dataset = Dataset::builder(folder.path(), 100).features([feature.clone()]);
            let dataset = dataset.check_files(check).shuffle_files(true).seed(seed);
            let dataset = dataset.build().unwrap();
            let mut found = Vec::new();
            for batch in dataset.iter() {
                let batch = batch.unwrap();
                let values = batch.dense::<i64>("x").unwrap();
                let has = batch.dense::<bool>("has_x").unwrap();
                found.extend(
                    values
                        .iter()
                        .zip(has)
                        .filter(|(_, has)| **has)
                        .map(|(x, _)| *x),
                );
            }
            found.sort_unstable();
            let mut expected = vec![0, 1, 2];
            expected.extend([0, 1000, 2000].repeat(6));
            expected.sort_unstable();
            assert_eq!(found, expected, "{check}, {seed}");
        }
    }
}

#[test]
fn without_a_check_the_error_comes_when_the_file_is_opened() {
    let folder = Folder::new();
    write(&folder, "a.avro", Kind::Time("timestamp-millis"));
    write(&folder, "b.avro", Kind::Time("timestamp-micros"));
    let dataset = Dataset::builder(folder.path(), 2).features([ReadAs::Int64.feature()]);
    let dataset = dataset.check_files(false).build().unwrap();
    let mut batches = dataset.iter();
    let first = batches.next().unwrap().unwrap();
    assert_eq!(ReadAs::Int64.column(&first), ["0", "1"]);
    let error = batches.find_map(Result::err).unwrap();
    let error = folder.message(&error);
    assert!(
        error.starts_with("b.avro: feature 'x': the values are timestamps in micros"),
        "{error}"
    );
    assert!(error.contains("in 'a.avro'"), "{error}");
}

/// The branches of a union in one file have one meaning too.
#[test]
fn the_branches_of_a_union_are_read_as_one_type() {
    let folder = Folder::new();
    let union = r#"{"type": "record", "name": "R", "fields": [{"name": "x", "type": [
        {"type": "int", "logicalType": "date"},
        {"type": "long", "logicalType": "local-timestamp-millis"}]}]}"#;
    // A date with the value 1, and a local timestamp with the value 3.
    let block = (2, vec![0, 2, 2, 6]);
    folder.write("a.avro", &container(union, Codec::Null, [block]));
    let reader = Kind::Time("local-timestamp-micros").schema();
    let dataset = Dataset::builder(folder.path(), 100).features([ReadAs::Int64.feature()]);
    let dataset = dataset.reader_schema(Schema::parse(&reader).unwrap());
    let batch = dataset.build().unwrap().iter().next().unwrap().unwrap();
    assert_eq!(ReadAs::Int64.column(&batch), ["86400000000", "3000"]);
}
