use super::atds;

#[test]
fn makes_reads_and_shows() {
    let said = atds(&["demo", "--records", "3000"]).ok();
    assert!(
        said.starts_with("Made ads deflate: 3,000 records in 8 files, "),
        "{said}"
    );
    assert!(
        said.contains("\nrecords             3,000 in 3 steps\n"),
        "{said}"
    );
    for feature in [
        "\n  d0         float32 dense [8]         ",
        "\n  s_country  string  dense []          \"",
        "\n  sp3        int64   sparse [5000000]  ",
    ] {
        assert!(said.contains(feature), "{feature} in {said}");
    }
}

#[test]
fn json_has_figures_and_an_example() {
    let all = atds(&["demo", "--records", "1500", "--json"]).json();
    assert_eq!(all["generated"]["records"], 1_500);
    assert_eq!(all["generated"]["files"], 8);
    assert_eq!(all["generated"]["preset"], "ads");
    assert_eq!(all["generated"]["codec"], "deflate");
    assert_eq!(all["read"]["batch_size"], 1_024);
    assert_eq!(all["read"]["shuffle_buffer"], 8_192);
    assert_eq!(all["read"]["records"], 1_500);
    assert_eq!(all["read"]["steps"], 2);
    let example = &all["example"];
    assert_eq!(example["d7"]["values"].as_array().unwrap().len(), 128);
    assert_eq!(example["d7"]["dtype"], "float32");
    assert_eq!(example["d7"]["form"], "dense [128]");
    let (indices, values) = (&example["sp3"]["indices"], &example["sp3"]["values"]);
    assert_eq!(
        indices.as_array().unwrap().len(),
        values.as_array().unwrap().len()
    );
}

#[test]
fn no_records_are_no_example() {
    let all = atds(&["demo", "--records", "0", "--json"]).json();
    assert_eq!(all["read"]["steps"], 0);
    assert!(all["example"].is_null());
    atds(&["demo", "--records", "0"]).ok();
}
