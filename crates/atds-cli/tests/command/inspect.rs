use serde_json::{Value, json};

use super::{Generated, atds, testdata};

#[test]
fn finds_what_was_generated() {
    let files = Generated::new(&["--records", "300", "--files", "1", "--seed", "9"]);
    let found = atds(&["inspect", &files.file(0), "--json"]).json();
    let keys: Vec<&str> = found
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        keys.join(" "),
        "file format packed codec blocks records file_bytes raw_bytes decompressed_bytes compression_ratio metadata \
         features left_out sampled paths paths_truncated notes schema"
    );
    assert_eq!(found["file"], files.file(0));
    assert_eq!(found["codec"], "deflate");
    assert_eq!(found["records"], 300);
    assert_eq!(
        found["metadata"],
        json!({"atds.preset": "ads", "atds.seed": "9"})
    );
    assert_eq!(found["schema"]["name"], "ads");
    assert_eq!(found["left_out"], json!([]));
    let size = std::fs::metadata(files.file(0)).unwrap().len();
    assert_eq!(found["file_bytes"], size);
    let (raw, decompressed) = (
        number(&found["raw_bytes"]),
        number(&found["decompressed_bytes"]),
    );
    assert!(raw < size as f64 && raw > 0.9 * (size as f64 - 4_000.0));
    assert!((decompressed / 300.0 - 1_990.0).abs() < 100.0);
    assert_eq!(number(&found["compression_ratio"]), decompressed / raw);
    // A block is closed at 16,000 bytes, after eight or nine records.
    assert!(
        (33.0..39.0).contains(&number(&found["blocks"])),
        "{}",
        found["blocks"]
    );

    let features = found["features"].as_object().unwrap();
    assert_eq!(features.len(), 19);
    assert_eq!(
        features["s_country"],
        json!({"kind": "dense", "shape": [], "dtype": "string"})
    );
    assert_eq!(
        features["d3"],
        json!({"kind": "dense", "shape": [32], "dtype": "int64"})
    );
    assert_eq!(
        features["d7"],
        json!({"kind": "dense", "shape": [128], "dtype": "float32"})
    );
    assert_eq!(features["sp3"]["kind"], "sparse");
    // The largest of 12,000 random ids below 5,000,000 is near 5,000,000.
    assert!((4_990_000.0..=5_000_000.0).contains(&number(&features["sp3"]["shape"][0])));
}

#[test]
fn tells_dense_from_varlen_by_the_data() {
    let files = Generated::new(&["--records", "50", "--files", "1", "--preset", "varlen"]);
    let found = atds(&["inspect", &files.file(0), "--json"]).json();
    let kinds = |name: &str| found["features"][name]["kind"].as_str().unwrap().to_owned();
    assert_eq!(kinds("label"), "dense");
    assert_eq!(kinds("v1_int"), "varlen");
    assert_eq!(kinds("v2_pairs"), "varlen");
    assert_eq!(kinds("v3_float"), "varlen");
}

#[test]
fn prints_for_people() {
    let files = Generated::new(&["--records", "300", "--files", "1", "--codec", "null"]);
    let said = atds(&["inspect", &files.file(0)]).ok();
    let schema = said.split_once("\n  schema\n").unwrap().1;
    let schema: Value = serde_json::from_str(schema).expect("the schema is JSON on many lines");
    assert_eq!(schema["fields"].as_array().unwrap().len(), 19);
    for expected in [
        &format!(
            "{}\n  codec         null\n  records       300\n",
            files.file(0)
        ),
        ", 1.000 times raw\n",
        "  metadata      atds.preset = ads\n",
        "    d0         dense [8]             float32\n",
        "    s_label    dense []              int32\n",
        "    {\"type\":\"record\",\"name\":\"ads\",\"fields\":[\n",
        "      {\"name\":\"s_label\",\"type\":\"int\"},\n",
    ] {
        assert!(said.contains(expected), "{expected} in {said}");
    }
}

#[test]
fn lists_what_cannot_be_a_tensor() {
    let file = testdata("everything_fastavro.avro");
    let said = atds(&["inspect", &file]).ok();
    let line = said
        .lines()
        .find(|line| line.starts_with("    u_nulls "))
        .unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(
        words.join(" "),
        "u_nulls left out array of null: its items take no bytes"
    );
    let found = atds(&["inspect", &file, "--json"]).json();
    let left_out = found["left_out"].as_array().unwrap();
    let nulls = json!({"field": "u_nulls", "type": "array of null",
        "reason": "its items take no bytes", "expression": null});
    assert!(left_out.contains(&nulls), "{left_out:?}");
}

#[test]
fn lists_every_path_with_its_nulls() {
    let file = testdata("everything_fastavro.avro");
    let said = atds(&["inspect", &file]).ok();
    let (_, paths) = said
        .split_once("\n  paths, and nulls in the first 16 records\n")
        .unwrap();
    let lines: Vec<String> = paths
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for line in [
        "u_null 100.0 % null",
        "u_boolean boolean",
        "u_map_of_arrays[*][*] map of string",
        "u_union:string 87.5 % string",
        "u_union:array[*] int",
        "u_records[*].left string",
        "u_records[*].right 33.3 % record 'org.example.data.Pair', recursive: not followed",
    ] {
        assert!(lines.iter().any(|found| found == line), "{line} in {paths}");
    }
    let found = atds(&["inspect", &file, "--json", "--sample", "2"]).json();
    assert_eq!(found["sampled"], 2);
    let all = found["paths"].as_array().unwrap();
    let path = |expression: &str| {
        let mut all = all.iter();
        let found = all.find(|path| path["expression"] == expression);
        found.unwrap_or_else(|| panic!("{expression}")).clone()
    };
    assert_eq!(
        path("u_union:string"),
        json!({"expression": "u_union:string", "type": "string", "nullable": true,
            "recursive": false, "values": 2, "nulls": 1, "null_rate": 0.5})
    );
    // In the first two records, the union never holds an array.
    assert_eq!(
        path("u_union:array[*]"),
        json!({"expression": "u_union:array[*]", "type": "int", "nullable": false,
            "recursive": false, "values": 0, "nulls": 0, "null_rate": null})
    );
    assert_eq!(path("u_list.tail")["recursive"], true);
}

#[test]
fn nullable_features_have_masks() {
    let file = testdata("nullable_fastavro.avro");
    let features = atds(&["inspect", "--features", &file]).json();
    assert_eq!(
        features["f_null_last"],
        json!({"kind": "dense", "shape": [], "dtype": "float32", "mask": "f_null_last.mask"})
    );
    assert_eq!(
        features["f_alone"],
        json!({"kind": "dense", "shape": [], "dtype": "float32"})
    );
    let said = atds(&["inspect", &file]).ok();
    let line = "\n    s_null_last   dense []              string, mask s_null_last.mask\n";
    assert!(said.contains(line), "{said}");
}

/// The JSON objects in a text with one per line.
fn lines(text: &str) -> Vec<Value> {
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

#[test]
fn several_files_are_several_lines_and_their_totals() {
    let files = Generated::new(&["--records", "1500", "--files", "2"]);
    let zero = Generated::new(&[
        "--records",
        "10",
        "--files",
        "1",
        "--codec",
        "null",
        "--preset",
        "wide",
    ]);
    let (one, two, other) = (files.file(0), files.file(1), zero.file(0));
    let found = lines(&atds(&["inspect", "--json", &one, &two, &other]).ok());
    assert_eq!(found.len(), 4);
    assert_eq!(found[1]["file"], files.file(1));
    let sum = |key: &str| {
        found[..3]
            .iter()
            .map(|file| file[key].as_u64().unwrap())
            .sum::<u64>()
    };
    let total = &found[3]["total"];
    for key in [
        "records",
        "blocks",
        "file_bytes",
        "raw_bytes",
        "decompressed_bytes",
    ] {
        assert_eq!(total[key], sum(key), "{key}");
    }
    let ratio = sum("decompressed_bytes") as f64 / sum("raw_bytes") as f64;
    assert_eq!(
        total
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(" "),
        "files failed records blocks file_bytes raw_bytes decompressed_bytes compression_ratio formats codecs \
         packed schemas stopped_early"
    );
    assert_eq!(
        (
            &total["files"],
            &total["failed"],
            &total["compression_ratio"],
            &total["codecs"]
        ),
        (
            &json!(3),
            &json!(0),
            &json!(ratio),
            &json!({"deflate": 2, "null": 1})
        )
    );
    assert_eq!(
        (&total["packed"], &total["schemas"]),
        (&json!({}), &json!(2))
    );
    assert_eq!(total["stopped_early"], Value::Null);

    // The JSON objects have every figure of the text output.
    let said = atds(&["inspect", &one, &two, &other]).ok();
    let table: Vec<Vec<&str>> = said
        .lines()
        .map(|line| {
            line.split("  ")
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .collect()
        })
        .collect();
    assert_eq!(
        table[0],
        [
            "records",
            "blocks",
            "file",
            "raw",
            "decompressed",
            "codec",
            "path"
        ]
    );
    for (row, file) in table[1..4].iter().zip(&found) {
        assert_eq!(row[0].replace(',', ""), file["records"].to_string());
        assert_eq!(row[1].replace(',', ""), file["blocks"].to_string());
        for (cell, key) in row[2..5]
            .iter()
            .zip(["file_bytes", "raw_bytes", "decompressed_bytes"])
        {
            assert_eq!(*cell, size(&file[key]), "{key}");
        }
        assert_eq!(
            (&file["codec"], &file["file"]),
            (&json!(row[5]), &json!(row[6]))
        );
    }
    assert_eq!(table[4][0].replace(',', ""), total["records"].to_string());
    assert_eq!(table[4][1].replace(',', ""), total["blocks"].to_string());
    assert_eq!(table[4][2], size(&total["file_bytes"]));
    assert_eq!(table[4][3], size(&total["raw_bytes"]));
    assert_eq!(table[4][4], size(&total["decompressed_bytes"]));
    assert_eq!(table[4][5], "total of 3 files");
    assert_eq!(table[5], ["codecs", "deflate (2 files), null (1 file)"]);
    assert_eq!(table[6], ["decompressed", &format!("{ratio:.3} times raw")]);
    assert_eq!(table[7], ["schemas", "2"]);
    assert_eq!(table.len(), 8);
}

/// A size in the form of the text output.
fn size(bytes: &Value) -> String {
    let bytes = number(bytes);
    match bytes {
        ..1e3 => format!("{bytes} B"),
        ..1e6 => format!("{:.1} kB", bytes / 1e3),
        _ => format!("{:.1} MB", bytes / 1e6),
    }
}

#[test]
fn json_has_all_that_people_see_of_a_file() {
    for name in [
        "everything_fastavro.avro",
        "nullable_fastavro.avro",
        "nested_records_fastavro.avro",
        "java/inner_inner_class.avro",
    ] {
        let file = testdata(name);
        let found = atds(&["inspect", "--json", &file]).json();
        let said = atds(&["inspect", &file]).ok();
        let mut lines = said.lines();
        assert_eq!(lines.next().map(Value::from).as_ref(), Some(&found["file"]));
        let mut section = "";
        for line in lines {
            let indent = line.len() - line.trim_start().len();
            if indent == 2 {
                section = line.trim().split("  ").next().unwrap();
            }
            let rest = line.trim().strip_prefix(section).map_or("", str::trim);
            let columns: Vec<&str> = line
                .split("  ")
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .collect();
            match section {
                "packed" | "codec" => assert_eq!(rest, found[section]),
                "records" | "blocks" => assert_eq!(rest, found[section].to_string()),
                "file" => assert_eq!(rest, size(&found["file_bytes"])),
                "raw" => assert_eq!(rest, size(&found["raw_bytes"])),
                "decompressed" => {
                    let ratio = number(&found["compression_ratio"]);
                    let decompressed = size(&found["decompressed_bytes"]);
                    assert_eq!(rest, format!("{decompressed}, {ratio:.3} times raw"));
                }
                "metadata" => {
                    let (key, value) = rest.split_once(" = ").unwrap();
                    assert_eq!(found["metadata"][key], value);
                }
                "features" if indent == 2 => {}
                "features" => in_features(&columns, &found),
                "notes: breaks of the Avro specification" if indent == 2 => {}
                "notes: breaks of the Avro specification" => {
                    let (at, note) = line.trim().split_once(": ").unwrap();
                    let note = json!({"at": at, "note": note});
                    assert!(found["notes"].as_array().unwrap().contains(&note), "{note}");
                }
                "schema" => {}
                paths if indent == 2 => {
                    let sampled = &found["sampled"];
                    let head = format!("paths, and nulls in the first {sampled} record");
                    assert!(paths.starts_with(&head), "{paths}");
                }
                _ => in_paths(&columns, &found),
            }
        }
        let (_, schema) = said.split_once("\n  schema\n").unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(schema).unwrap(),
            found["schema"]
        );
    }
}

/// Checks that the object has a line of the table of features.
fn in_features(columns: &[&str], found: &Value) {
    if columns[1] == "left out" {
        let left_out = found["left_out"].as_array().unwrap();
        let field = left_out
            .iter()
            .find(|field| field["field"] == columns[0])
            .unwrap();
        let text = |key: &str| field[key].as_str().unwrap().to_owned();
        let read_with = match &field["expression"] {
            Value::Null => String::new(),
            expression => format!("; '{}' reads a part of it", expression.as_str().unwrap()),
        };
        let expected = format!("{}: {}{read_with}", text("type"), text("reason"));
        assert_eq!(columns[2], expected);
        return;
    }
    let feature = &found["features"][columns[0]];
    let kind = columns[1].split(' ').next().unwrap();
    assert_eq!(feature["kind"], kind, "{columns:?}");
    let shape = columns[1][kind.len()..].trim();
    if !shape.is_empty() {
        let shape: Value = serde_json::from_str(shape).unwrap();
        assert_eq!(feature["shape"], shape, "{columns:?}");
    }
    let (dtype, mask) = columns[2].split_once(", mask ").unwrap_or((columns[2], ""));
    assert_eq!(feature["dtype"], dtype, "{columns:?}");
    assert_eq!(
        feature["mask"].as_str().unwrap_or_default(),
        mask,
        "{columns:?}"
    );
}

/// Checks that the object has a line of the table of paths.
fn in_paths(columns: &[&str], found: &Value) {
    if columns == [".. and more"] {
        assert_eq!(found["paths_truncated"], true);
        return;
    }
    let paths = found["paths"].as_array().unwrap();
    let path = paths
        .iter()
        .find(|path| path["expression"] == columns[0])
        .unwrap();
    let last = columns[columns.len() - 1];
    let schema_type = last.strip_suffix(", recursive: not followed");
    assert_eq!(path["recursive"], schema_type.is_some());
    assert_eq!(path["type"], schema_type.unwrap_or(last));
    if let [_, rate, _] = columns {
        let exact = 100.0 * number(&path["null_rate"]);
        let is_rate = *rate == format!("{exact:.1} %") || *rate == "< 0.1 %" && exact < 0.05;
        assert!(is_rate, "{columns:?}");
    }
}

#[test]
fn folders_and_globs_stand_for_their_files() {
    let files = Generated::new(&["--records", "10", "--files", "2"]);
    let folder = files.files();
    for path in [folder.clone(), format!("{folder}/part-*.avro")] {
        let found = lines(&atds(&["inspect", "--json", &path]).ok());
        assert_eq!(found.len(), 3, "{path}");
        assert_eq!(found[2]["total"]["records"], 10);
    }
    let one = format!("{folder}/part-00000.avro");
    assert_eq!(atds(&["inspect", "--json", &one]).ok().lines().count(), 1);
}

#[test]
fn goes_on_behind_files_at_fault() {
    let files = Generated::new(&["--records", "10", "--files", "1"]);
    let bad = files.write("bad.avro", "no");
    let ran = atds(&["inspect", "--json", &bad, &files.file(0), "nowhere.avro"]);
    assert_eq!(ran.code, 1);
    let found = lines(&ran.out);
    assert_eq!(found.len(), 2);
    let total = &found[1]["total"];
    assert_eq!((&total["files"], &total["failed"]), (&json!(1), &json!(2)));
    let told: Vec<&str> = ran.err.lines().collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].starts_with(&format!("atds: error: {bad}: ")),
        "{}",
        told[0]
    );
    assert!(
        told[1].starts_with("atds: error: nowhere.avro: "),
        "{}",
        told[1]
    );
}

/// The files differ only in the range of their indices and the lengths of their lists.
#[test]
fn features_of_several_files_read_them_all() {
    let files = Generated::new(&["--records", "300", "--files", "3"]);
    let other = Generated::new(&["--records", "10", "--preset", "varlen", "--files", "1"]);
    let folder = files.files();
    let of_all = atds(&["inspect", "--features", &folder]).json();
    let each = (0..3).map(|file| atds(&["inspect", "--features", &files.file(file)]).json());
    let largest = each.map(|features| number(&features["sp3"]["shape"][0]));
    assert_eq!(
        number(&of_all["sp3"]["shape"][0]),
        largest.fold(0.0, f64::max)
    );
    assert_eq!(of_all["d3"]["kind"], "dense");

    let features = files.write("f.json", of_all.to_string());
    let args = [
        "bench",
        "--json",
        "--epochs",
        "2",
        "--features",
        &features,
        &folder,
    ];
    assert_eq!(atds(&args).json()["records"], 600);
    // A folder gives the same features as a list of its files.
    let (zero, one, two) = (files.file(0), files.file(1), files.file(2));
    let listed = atds(&["inspect", "--features", &zero, &one, &two]).json();
    assert_eq!(listed, of_all);

    // If schemas differ, the features read the fields of each file, with masks.
    let (own, other) = (files.file(0), other.file(0));
    let mixed = atds(&["inspect", "--features", &own, &other]).json();
    assert_eq!(mixed["d3"]["mask"], "d3.mask");
    assert_eq!(mixed["v1_int"]["mask"], "v1_int.mask");
    let features = files.write("mixed.json", mixed.to_string());
    let read = atds(&["bench", "--json", "--features", &features, &own, &other]);
    assert_eq!(read.json()["records"], 110);
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// Avro for Java up to 1.8 writes such names for nested classes.
#[test]
fn says_what_is_not_by_the_specification() {
    let file = testdata("java/inner_inner_class.avro");
    let found = atds(&["inspect", &file, "--json"]).json();
    let note = "\"org.example.InnerClasses$Outer$.Inner\" is not a name: letters, digits and \
                underscores, and no digit first";
    assert_eq!(found["notes"], json!([{"at": "/name", "note": note}]));
    let shown = atds(&["inspect", &file]).ok();
    let expected =
        format!("  notes: breaks of the Avro specification\n    /name: {note}\n  schema\n");
    assert!(shown.contains(&expected), "{shown}");
    for command in ["inspect", "head", "bench"] {
        let refused = atds(&[command, "--strict", &file]).fails_with(1);
        assert!(refused.contains(note), "{command}: {refused}");
        atds(&[command, &file]).ok();
    }
    let good = atds(&[
        "inspect",
        &testdata("nested_records_fastavro.avro"),
        "--strict",
        "--json",
    ]);
    assert_eq!(good.json()["notes"], json!([]));
}
