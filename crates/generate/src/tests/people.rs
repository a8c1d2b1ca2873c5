//! The preset `people`.

use std::collections::BTreeMap;

use avro_decode::PlanOptions;
use avro_decode::reference::ReferenceColumn;

use super::*;

#[test]
fn no_list_is_empty_and_everybody_has_friends_and_a_car() {
    let shape = RecordShape::from(Preset::People);
    let (mut most_friends, mut cars) = (0, BTreeMap::new());
    for person in decoded(&shape, 0..200) {
        let [name, age, gender, address, friends, owned] = fields(&person) else {
            panic!("{} fields", fields(&person).len())
        };
        assert_eq!(fields(name).len(), 3);
        assert!(matches!(age, Value::Int(0..100)));
        assert!(matches!(gender, Value::Enum(0..3)));
        assert!(!items(address).is_empty());
        assert!(items(friends).len() >= 3);
        most_friends = most_friends.max(items(friends).len());
        for friend in items(friends) {
            let [.., address, jobs] = fields(friend) else {
                panic!("no fields")
            };
            assert!(!items(address).is_empty());
            assert!(!items(jobs).is_empty());
            for job in items(jobs) {
                assert!(!items(&fields(job)[1]).is_empty());
            }
        }
        let Value::Map(owned) = owned else {
            panic!("{} where a map should be", owned.type_name())
        };
        for (key, _) in owned {
            *cars.entry(key.clone()).or_insert(0) += 1;
        }
    }
    assert!(most_friends > 4, "{most_friends}");
    assert_eq!(cars.len(), 4);
    for (key, count) in cars {
        match &*key {
            "nickname" => assert_eq!(count, 200),
            // Five standard deviations of the binomial distribution.
            _ => assert!((65..=135).contains(&count), "{key}: {count}"),
        }
    }
}

#[test]
fn filters_keep_some_and_leave_some() {
    let shape = RecordShape::from(Preset::People);
    let schema = Schema::parse(&shape.schema()).unwrap();
    let features = Features::new(shape.features().to_vec()).unwrap();
    let records = decoded(&shape, 0..500);
    let read = reference::tensors(&schema, &records, &features, &PlanOptions::default());
    let columns = read.unwrap().columns;
    let kept = |expression| match &columns[features.spec().position(expression).unwrap()] {
        ReferenceColumn::Sparse { values, .. } => values.len(),
        other => panic!("{other:?}"),
    };
    let friends = kept("friends[*].name.first");
    assert_eq!(friends / 500, 4);
    let unknown = kept("friends[gender='unknown'].name.first");
    assert!((friends / 4..friends / 2).contains(&unknown), "{unknown}");
    let same = kept("friends[name.first=name.last].name.initial");
    assert!((friends / 16..friends / 4).contains(&same), "{same}");
}
