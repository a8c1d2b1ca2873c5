//! The preset `people`: nested records, arrays and maps, with path expressions.

use atds_features::{Feature, Fill};
use tensor_batch::{DType, Scalar};

use crate::field::{Field, Length, Symbols, Type, Values};
use crate::preset::Preset;
use crate::shape::RecordShape;

pub(crate) fn shape() -> RecordShape {
    let [name, age, gender, address] = who();
    RecordShape {
        preset: Some(Preset::People),
        name: "person".to_owned(),
        fields: vec![
            name,
            age,
            gender,
            address,
            Field::new("friends", array(Length::AtLeast(3, 1.5), friend())),
            Field::new("cars", cars()),
        ],
        features: features(),
    }
}

/// Features of all kinds of expressions: a single value, the third element of an array, an entry of
/// a map, all elements of one, two and three levels of arrays, and filtered elements.
fn features() -> Vec<Feature> {
    let one = |expression| Feature::fixed_len(expression, &[], DType::String);
    let all = |expression| Feature::var_len(expression, DType::String);
    let or_empty =
        |feature: Feature| feature.with_default(Fill::Scalar(Scalar::zero(DType::String)));
    vec![
        one("name.first"),
        or_empty(one("friends[2].name.first")),
        or_empty(one("cars['nickname'].color")),
        all("friends[*].name.first"),
        all("friends[*].address[*].street"),
        all("friends[*].jobs[*].coworkers[*].name.first"),
        all("friends[gender='unknown'].name.first"),
        all("friends[name.first=name.last].name.initial"),
    ]
}

/// The fields that a person and a friend have.
fn who() -> [Field; 4] {
    [
        Field::new("name", name()),
        value("age", Values::Small),
        value("gender", Values::Symbol(&GENDER)),
        Field::new("address", array(Length::AtLeast(1, 0.5), address())),
    ]
}

fn name() -> Type {
    let fields = vec![
        value("first", Values::Word(&NAMES)),
        value("initial", Values::Word(&INITIALS)),
        value("last", Values::Word(&NAMES)),
    ];
    Type::Record {
        name: "name",
        fields,
    }
}

fn address() -> Type {
    let fields = vec![value("street", Values::Text), value("zip", Values::Int)];
    Type::Record {
        name: "address",
        fields,
    }
}

fn friend() -> Type {
    let jobs = array(Length::AtLeast(1, 0.5), job());
    let fields = who().into_iter().chain([Field::new("jobs", jobs)]);
    Type::Record {
        name: "friend",
        fields: fields.collect(),
    }
}

fn job() -> Type {
    let coworker = Type::Record {
        name: "coworker",
        fields: vec![
            Field::new("name", name()),
            value("gender", Values::Symbol(&GENDER)),
        ],
    };
    let coworkers = array(Length::AtLeast(1, 1.0), coworker);
    Type::Record {
        name: "job",
        fields: vec![
            value("title", Values::Text),
            Field::new("coworkers", coworkers),
        ],
    }
}

fn cars() -> Type {
    let engine = Type::Record {
        name: "engine",
        fields: vec![
            value("id", Values::Int),
            value("power", Values::Float),
            value("cylinders", Values::Small),
            value("sparkplugs", Values::Small),
        ],
    };
    let car = Type::Record {
        name: "car",
        fields: vec![
            value("color", Values::Word(&COLORS)),
            Field::new("engine", engine),
        ],
    };
    Type::Map {
        keys: &CARS,
        values: Box::new(car),
    }
}

fn value(name: &str, values: Values) -> Field {
    Field::new(name, Type::Value(values))
}

fn array(length: Length, items: Type) -> Type {
    Type::Array(length, Box::new(items))
}

static GENDER: Symbols = Symbols {
    name: "gender",
    symbols: &["female", "male", "unknown"],
};

/// First names, which are last names too, so that one in eight people has the same name twice.
static NAMES: [&str; 8] = [
    "Avery", "Blair", "Cameron", "Ellis", "Jordan", "Morgan", "Parker", "Taylor",
];

static INITIALS: [&str; 6] = ["A", "E", "J", "M", "R", "T"];

static COLORS: [&str; 6] = ["black", "blue", "green", "red", "silver", "white"];

static CARS: [&str; 4] = ["nickname", "company", "second", "weekend"];
