//! Vocabularies, units and clocks.

#![allow(clippy::unwrap_used)]

use atds_features::{Clock, TimeUnit, Vocabulary};

#[test]
fn a_vocabulary_has_no_word_twice() {
    let words = ["a", "b", "c", "b"].map(Vec::from);
    let error = Vocabulary::new(words, 0).unwrap_err();
    assert_eq!(error.to_string(), "words 1 and 3 are the same: 'b'");
    assert_eq!(error.word, b"b");
}

#[test]
fn a_vocabulary_is_shown_without_its_words() {
    let vocabulary = Vocabulary::new(["secret".into()], 3).unwrap();
    assert_eq!(
        format!("{vocabulary:?}"),
        "Vocabulary { len: 1, unknown: 3, .. }"
    );
    assert!(!vocabulary.is_empty());
    assert_eq!(vocabulary.unknown(), 3);
}

#[test]
fn ids_outside_a_range_are_found() {
    let outside = |words: usize, unknown, range| {
        let words = (0..words).map(|word| word.to_string().into_bytes());
        let vocabulary = Vocabulary::new(words, unknown).unwrap();
        vocabulary.id_outside(&range)
    };
    assert_eq!(outside(256, 0, 0..=255), None);
    assert_eq!(outside(257, 0, 0..=255), Some(256));
    assert_eq!(outside(1, -1, 0..=255), Some(-1));
    assert_eq!(outside(0, 0, 0..=255), None);
}

#[test]
fn units_have_names_and_lengths() {
    for unit in TimeUnit::ALL {
        assert_eq!(TimeUnit::from_name(unit.name()), Some(unit));
        assert_eq!(unit.to_string(), unit.name());
    }
    assert_eq!(TimeUnit::from_name("weeks"), None);
    let nanos = TimeUnit::ALL.map(TimeUnit::nanos);
    let factors: Vec<_> = nanos.windows(2).map(|pair| pair[0] / pair[1]).collect();
    assert_eq!(factors, [24, 60, 60, 1000, 1000, 1000]);
}

#[test]
fn dates_become_local_timestamps_alone() {
    use Clock::{Date, LocalTimestamp, TimeOfDay, Timestamp};
    let clocks = [Date, TimeOfDay, Timestamp, LocalTimestamp];
    for from in clocks {
        for to in clocks {
            let becomes = from == to || (from, to) == (Date, LocalTimestamp);
            assert_eq!(from.becomes(to), becomes, "{from} to {to}");
            let is_date = from == Date || to == Date;
            let no_time_of_day = from != TimeOfDay && to != TimeOfDay;
            let meets = from == to || is_date && no_time_of_day;
            assert_eq!(from.meets(to), meets, "{from} and {to}");
        }
    }
}
