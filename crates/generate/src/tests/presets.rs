//! Properties of the presets.

use super::*;

#[test]
#[cfg(feature = "deflate")]
fn ads_has_the_size_and_the_ratio_that_figures_are_compared_by() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = GenerateOptions::new(Preset::Ads, 4_096);
    options.codec = Codec::Deflate;
    let generated = generate(dir.path(), &options).unwrap();
    let record = generated.decompressed_bytes as f64 / generated.records as f64;
    let ratio = generated.decompressed_bytes as f64 / generated.raw_bytes as f64;
    assert!(
        (record / 1_990.0 - 1.0).abs() < 0.05,
        "{record} bytes a record"
    );
    assert!((ratio / 1.39 - 1.0).abs() < 0.05, "deflate reaches {ratio}");
}

#[test]
fn ads_has_the_fields_it_promises() {
    let names: Vec<String> = Preset::Ads.features().into_iter().map(|c| c.name).collect();
    let expected = "s_label s_weight s_member s_bid s_click s_country d0 d1 d2 d3 d4 d5 d6 d7 sp0 sp1 sp2 sp3 sp4";
    assert_eq!(names.join(" "), expected);

    let records = decoded(&Preset::Ads.into(), 0..400);
    let mut zeros = 0;
    let mut stored = [0; 5];
    for record in &records {
        let fields = fields(record);
        let &Value::Int(label) = &fields[0] else {
            panic!("not an int")
        };
        assert!((0..1_000).contains(&label));
        let &Value::Long(member) = &fields[2] else {
            panic!("not a long")
        };
        assert!((0..1 << 40).contains(&member));
        let lengths = fields[6..14].iter().map(|field| items(field).len());
        assert_eq!(
            lengths.collect::<Vec<_>>(),
            [8, 16, 16, 32, 32, 64, 64, 128]
        );
        for value in items(&fields[13]) {
            let &Value::Float(value) = value else {
                panic!("not a float")
            };
            zeros += usize::from(value == 0.0);
            assert!(value.abs() <= 6.0);
            assert_eq!((value * 1e3).round() / 1e3, value, "rounded to 3 decimals");
        }
        for (i, dim) in [50_001, 200_000, 1_000, 5_000_000, 100]
            .into_iter()
            .enumerate()
        {
            let parts = super::fields(&fields[14 + i]);
            let (indices, values) = (items(&parts[0]), items(&parts[1]));
            assert_eq!(indices.len(), values.len());
            let indices: Vec<i64> = indices.iter().map(long).collect();
            assert!(
                indices.windows(2).all(|pair| pair[0] < pair[1]),
                "sorted and distinct"
            );
            assert!(indices.iter().all(|index| (0..dim).contains(index)));
            assert!(!values.contains(&Value::Float(0.0)) && !values.contains(&Value::Long(0)));
            stored[i] += indices.len();
        }
    }
    let zeros = zeros as f64 / (400.0 * 128.0);
    assert!((zeros - 0.3).abs() < 0.01, "{zeros} of the floats are 0");
    for (stored, mean) in stored.into_iter().zip([12.0, 25.0, 6.0, 40.0, 4.0]) {
        let stored = f64::from(stored as u32) / 400.0;
        // Five standard deviations of the mean of 400 Poisson draws.
        assert!(
            (stored - mean).abs() < mean.sqrt() / 4.0,
            "{stored} for {mean}"
        );
    }
}

#[test]
fn each_preset_has_the_records_that_its_features_say() {
    for preset in FLAT {
        let shape = RecordShape::from(preset);
        assert_records_fit(&shape, &decoded(&shape, 0..50));
    }
}

/// Presets that have a feature for each field.
const FLAT: [Preset; 5] = [
    Preset::Ads,
    Preset::AdsNullable,
    Preset::Wide,
    Preset::Varlen,
    Preset::Strings,
];

#[test]
fn one_in_twenty_is_null_in_every_field_of_ads_nullable() {
    const RECORDS: u64 = 2_000;
    let shape = RecordShape::from(Preset::AdsNullable);
    let mut nulls = [0; 19];
    for record in decoded(&shape, 0..RECORDS) {
        for (value, nulls) in fields(&record).iter().zip(&mut nulls) {
            *nulls += u32::from(not_null(value).is_none());
        }
    }
    for nulls in nulls {
        // Five standard deviations of the binomial distribution.
        assert!(
            (f64::from(nulls) - 100.0).abs() < 5.0 * 95f64.sqrt(),
            "{nulls}"
        );
    }

    let ads = Preset::Ads.features();
    for (nullable, plain) in shape.features().iter().zip(ads) {
        assert_eq!((&nullable.name, &nullable.kind), (&plain.name, &plain.kind));
    }
}
