//! Units of time, and durations.

use super::*;

#[test]
fn coarser_units_are_floored_and_finer_ones_multiplied() {
    use TimeUnit::*;
    let millis = varints(&[0, 1, -1, 86_400_000, -86_400_001]);
    for (unit, expected) in [
        (Days, [0, 0, -1, 1, -2]),
        (Hours, [0, 0, -1, 24, -25]),
        (Minutes, [0, 0, -1, 1440, -1441]),
        (Seconds, [0, 0, -1, 86_400, -86_401]),
        (Millis, [0, 1, -1, 86_400_000, -86_400_001]),
        (Micros, [0, 1000, -1000, 86_400_000_000, -86_400_001_000]),
        (
            Nanos,
            [
                0,
                1_000_000,
                -1_000_000,
                86_400_000_000_000,
                -86_400_001_000_000,
            ],
        ),
    ] {
        let case = Case::of(TIMESTAMP_MILLIS, DType::Int64, Convert::Unit(unit));
        let expected = expected.map(Scalar::Int64);
        assert_eq!(case.read(&millis, 5), expected, "{unit}");
    }
}

#[test]
fn every_time_has_its_unit() {
    let micros = Convert::Unit(TimeUnit::Micros);
    for (ty, logical, expected) in [
        ("int", "date", 86_400_000_000),
        ("int", "time-millis", 1000),
        ("long", "time-micros", 1),
        ("long", "timestamp-millis", 1000),
        ("long", "timestamp-micros", 1),
        ("long", "timestamp-nanos", 0),
        ("long", "local-timestamp-millis", 1000),
        ("long", "local-timestamp-micros", 1),
        ("long", "local-timestamp-nanos", 0),
    ] {
        let schema = format!(r#"{{"type": "{ty}", "logicalType": "{logical}"}}"#);
        let case = Case::of(&schema, DType::Int64, micros.clone());
        assert_eq!(case.read_one(&[2]), Scalar::Int64(expected), "{logical}");
    }
}

#[test]
fn units_of_what_was_written_as_int_are_the_readers() {
    let convert = Convert::Unit(TimeUnit::Millis);
    let case = Case::resolved(r#""int""#, TIME_MICROS, DType::Int64, convert);
    let data = varints(&[-1, 1000]);
    assert_eq!(case.read(&data, 2), [-1, 1].map(Scalar::Int64));
}

#[test]
fn times_in_their_own_unit_are_read_plainly() {
    let case = Case::of(
        TIMESTAMP_MILLIS,
        DType::Int64,
        Convert::Unit(TimeUnit::Millis),
    );
    assert!(matches!(case.compile(), Ok(Source::Plain(Leaf::Long))));
    let case = Case::of(DATE, DType::Int32, Convert::Exact);
    assert!(matches!(case.compile(), Ok(Source::Plain(Leaf::Int))));
}

#[test]
fn units_have_names() {
    for unit in TimeUnit::ALL {
        assert_eq!(TimeUnit::from_name(unit.name()), Some(unit));
        assert_eq!(unit.to_string(), unit.name());
    }
    assert_eq!(TimeUnit::from_name("weeks"), None);
}

#[test]
fn durations_are_months_days_and_milliseconds() {
    let case = Case::of(DURATION, DType::Int64, Convert::Exact);
    let Ok(Source::Other(conversion)) = case.compile() else {
        panic!("durations are converted")
    };
    assert_eq!(conversion.width(), 3);
    let first = [1, 0, 0, 0, 0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff];
    let data = [first, [0; 12]].concat();
    let expected = [1, 256, 4_294_967_295, 0, 0, 0].map(Scalar::Int64);
    assert_eq!(case.read(&data, 2), expected);
}
