//! Sample files of other projects, if the checkout has them.

use std::path::{Path, PathBuf};

use atds::avro::inspect;
use atds::{Batch, Column, Dataset, Layout};
use serde_json::Value;

const WEATHER: [(&str, i64, i32); 5] = [
    ("011990-99999", -619_524_000_000, 0),
    ("011990-99999", -619_506_000_000, 22),
    ("011990-99999", -619_484_400_000, -11),
    ("012650-99999", -655_531_200_000, 111),
    ("012650-99999", -655_509_600_000, 78),
];

#[test]
fn the_weather_files_of_the_avro_project() {
    for codec in ["", "-deflate", "-snappy", "-zstd"] {
        let Some(path) = shared(&format!("weather{codec}.avro")) else {
            continue;
        };
        let dataset = Dataset::builder(&path, 5).build().unwrap();
        let batches: Vec<Batch> = dataset.iter().map(Result::unwrap).collect();
        let [batch] = batches.as_slice() else {
            panic!("{codec}: {} batches", batches.len());
        };
        let stations: Vec<&[u8]> = batch.strings("station").unwrap().iter().collect();
        let times = batch.dense::<i64>("time").unwrap();
        let temps = batch.dense::<i32>("temp").unwrap();
        for (i, (station, time, temp)) in WEATHER.iter().enumerate() {
            assert_eq!(stations[i], station.as_bytes(), "{codec}");
            assert_eq!((times[i], temps[i]), (*time, *temp), "{codec}");
        }
        assert_eq!(temps.len(), WEATHER.len(), "{codec}");
    }
}

#[test]
fn the_image_file_of_the_tensorflow_io_tutorial() {
    let Some(path) = shared("image-train.avro") else {
        return;
    };
    let records: Vec<Value> = atds::avro::records::Records::open(&path)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(records.len(), 4);
    let found = inspect(&path).unwrap();
    let names: Vec<&str> = found
        .features
        .iter()
        .map(|feature| &*feature.name)
        .collect();
    assert_eq!(names, ["features", "label", "dataType"]);
    assert!(found.left_out.is_empty());
    let label = found
        .paths
        .iter()
        .find(|path| path.path.expression == "label");
    let label = label.unwrap();
    assert_eq!((label.values, label.nulls), (4, 1));

    let dataset = Dataset::builder(&path, 4).layout(Layout::Ragged);
    let batch = dataset.build().unwrap().iter().next().unwrap().unwrap();
    let labels = batch.dense::<i32>("label").unwrap();
    let known = batch.dense::<bool>("label.mask").unwrap();
    let kinds: Vec<&[u8]> = batch.strings("dataType").unwrap().iter().collect();
    for (row, record) in records.iter().enumerate() {
        assert_eq!(known[row], !record["label"].is_null());
        assert_eq!(
            i64::from(labels[row]),
            record["label"].as_i64().unwrap_or(0)
        );
        assert_eq!(
            Some(kinds[row]),
            record["dataType"].as_str().map(str::as_bytes)
        );
    }
    let Some(Column::Ragged(tensor)) = batch.column("features") else {
        panic!("not ragged");
    };
    let splits = tensor.row_splits[0].as_slice();
    let values = tensor.values.as_slice::<i32>().unwrap();
    for (record, ends) in records.iter().zip(splits.windows(2)) {
        let row = &values[ends[0] as usize..ends[1] as usize];
        assert_eq!(serde_json::json!(row), record["features"]);
    }
}

/// The path of a shared file; `None` if the checkout lacks it.
fn shared(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = folder.join(name);
    if !path.exists() {
        eprintln!("skipped: no {}", path.display());
        return None;
    }
    Some(path)
}
