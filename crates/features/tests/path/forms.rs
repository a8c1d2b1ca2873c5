//! The parsed steps of each form of expression, and its printed text.

use atds_features::path::{Operand, Path, Reference, Slice, Step};

use crate::build::*;

/// Checks that the text has these steps, and that they print as the text.
#[track_caller]
fn assert_path(text: &str, steps: impl Into<Vec<Step>>) {
    assert_printed(text, steps, text);
}

/// Checks that the text has these steps, and that they print as `printed`.
#[track_caller]
fn assert_printed(text: &str, steps: impl Into<Vec<Step>>, printed: &str) {
    let expected = path(steps);
    assert_eq!(Path::parse(text).unwrap(), expected);
    assert_eq!(text.parse::<Path>().unwrap(), expected);
    assert_eq!(expected.to_string(), printed);
}

/// Checks the operands of the only filter in `e[...]`, and that it prints as `printed`.
#[track_caller]
fn assert_filter(text: &str, left: Operand, right: Operand, printed: &str) {
    let steps = [field("e"), filter(left, right)];
    assert_printed(&format!("e[{text}]"), steps, &format!("e[{printed}]"));
}

#[test]
fn fields_of_nested_records() {
    assert_path("a", [field("a")]);
    assert_path("a.b.c", [field("a"), field("b"), field("c")]);
    assert_path("_.Z_9.true", [field("_"), field("Z_9"), field("true")]);
}

#[test]
fn fields_of_any_name() {
    assert_path("'user-id'.x", [field("user-id"), field("x")]);
    assert_path("a.'größe'[0]", [field("a"), field("größe"), Step::Index(0)]);
    assert_path("'a.b'.''", [field("a.b"), field("")]);
    assert_path("'x#2'", [field("x#2")]);
    assert_path("'[*]'['k']:'a b'", [field("[*]"), key("k"), branch("a b")]);
    assert_path(r"'it\'s'", [field("it's")]);
    assert_printed(r#""a b"."c""#, [field("a b"), field("c")], "'a b'.c");
    assert_printed("'a'.'b'", [field("a"), field("b")], "a.b");
}

#[test]
fn keys_of_maps() {
    assert_path("m.keys()", [field("m"), Step::Keys]);
    assert_path(
        "a[*].m.keys()",
        [field("a"), Step::All, field("m"), Step::Keys],
    );
    assert_path("m.'keys()'", [field("m"), field("keys()")]);
    assert_path("m.keys", [field("m"), field("keys")]);
}

#[test]
fn values_of_schemas_that_are_no_record() {
    assert_path("@", []);
    assert_path("[*]", [Step::All]);
    assert_path("[*].x", [Step::All, field("x")]);
    assert_path("['k'].x", [key("k"), field("x")]);
    assert_path("[0]", [Step::Index(0)]);
    assert_path(".keys()", [Step::Keys]);
    assert_path(":A.x", [branch("A"), field("x")]);
    assert_path(":'n.A'", [branch("n.A")]);
    let first = root(path([branch("A"), field("x")]));
    assert_filter("x=@:A.x", element(fields("x")), first, "x=@:A.x");
}

#[test]
fn filters_of_fields_of_any_name() {
    let odd = || element(path([field("user-id")]));
    assert_filter(".'user-id'=5", odd(), integer(5), ".'user-id'=5");
    assert_filter(
        "'user-id'=.'user-id'",
        string("user-id"),
        odd(),
        "'user-id'=.'user-id'",
    );
    let more = || element(path([field("a-b"), field("x")]));
    assert_filter("'a-b'.x='c'", more(), string("c"), ".'a-b'.x='c'");
    assert_filter("1= 'a-b'.x ", integer(1), more(), "1=.'a-b'.x");
    let item = element(path([field("a-b"), Step::Index(0)]));
    assert_filter("'a-b'[0]=1", item, integer(1), ".'a-b'[0]=1");
    let one = element(path([field("a-b"), branch("int")]));
    assert_filter("'a-b':int=1", one, integer(1), ".'a-b':int=1");
    let root = root(path([field("größe")]));
    assert_filter(".x=@'größe'", element(fields("x")), root, "x=@'größe'");
    let word = element(fields("true"));
    assert_filter(".true=true", word, boolean(true), ".true=true");
}

#[test]
fn elements_of_arrays() {
    assert_path("a[2].b", [field("a"), Step::Index(2), field("b")]);
    assert_path("a[*].b", [field("a"), Step::All, field("b")]);
    assert_path("a[*][*]", [field("a"), Step::All, Step::All]);
    assert_path(
        "a[18446744073709551615]",
        [field("a"), Step::Index(u64::MAX)],
    );
    assert_printed("a[007]", [field("a"), Step::Index(7)], "a[7]");
}

#[test]
fn slices_of_arrays() {
    let slice = |start, end| Step::Slice(Slice { start, end });
    assert_path(
        "a[0:4].b",
        [field("a"), slice(Some(0), Some(4)), field("b")],
    );
    assert_path(
        "a[2:][:3]",
        [field("a"), slice(Some(2), None), slice(None, Some(3))],
    );
    assert_path("a[-3:-1]", [field("a"), slice(Some(-3), Some(-1))]);
    assert_path("[:]", [slice(None, None)]);
    assert_printed(
        "a[ 00 : -2 ]",
        [field("a"), slice(Some(0), Some(-2))],
        "a[0:-2]",
    );
    let ends = [field("a"), slice(Some(i64::MIN), Some(i64::MAX))];
    assert_path("a[-9223372036854775808:9223372036854775807]", ends);
}

#[test]
fn entries_of_maps() {
    assert_path("m['key'].b", [field("m"), key("key"), field("b")]);
    assert_path("m['k'][0]", [field("m"), key("k"), Step::Index(0)]);
    assert_path("m['']", [field("m"), key("")]);
    let keys = |keys: &[&str]| Step::SomeKeys(keys.iter().map(|&key| key.to_owned()).collect());
    assert_path("['a','b']", [keys(&["a", "b"])]);
    let spaced = "m[ 'a' , \"it's\",'']";
    let printed = r"m['a','it\'s','']";
    assert_printed(spaced, [field("m"), keys(&["a", "it's", ""])], printed);
    assert_path("m['a]=*.é\n\"']", [field("m"), key("a]=*.é\n\"")]);
    assert_printed(r#"m["it's"]"#, [field("m"), key("it's")], r"m['it\'s']");
    let all_escapes = [field("m"), key(r#"\'""#)];
    assert_printed(r#"m['\\\'\"']"#, all_escapes.clone(), r#"m['\\\'"']"#);
    assert_printed(r#"m["\\\'\""]"#, all_escapes, r#"m['\\\'"']"#);
}

#[test]
fn branches_of_unions() {
    assert_path("f:int", [field("f"), branch("int")]);
    assert_path("f[*]:string", [field("f"), Step::All, branch("string")]);
    assert_path("f:map['k']", [field("f"), branch("map"), key("k")]);
    assert_path("f:Rec.name", [field("f"), branch("Rec"), field("name")]);
    assert_path(
        "f:'com.x.Rec'.name",
        [field("f"), branch("com.x.Rec"), field("name")],
    );
    assert_printed("f:\"int\"", [field("f"), branch("int")], "f:int");
    assert_path("f:'2'", [field("f"), branch("2")]);
    assert_path("f:''", [field("f"), branch("")]);
}

#[test]
fn filters_against_constants() {
    let x = || element(fields("x"));
    assert_filter("x='female'", x(), string("female"), "x='female'");
    assert_filter("x=\"\"", x(), string(""), "x=''");
    assert_filter("x=1", x(), integer(1), "x=1");
    assert_filter("x=+01", x(), integer(1), "x=1");
    assert_filter("x=-5", x(), integer(-5), "x=-5");
    let extremes = "x=-9223372036854775808";
    assert_filter(extremes, x(), integer(i64::MIN), extremes);
    assert_filter("x=1.5", x(), float(1.5), "x=1.5");
    assert_filter("x=-2.0", x(), float(-2.0), "x=-2.0");
    assert_filter("x=2e3", x(), float(2000.0), "x=2000.0");
    assert_filter("x=25E-1", x(), float(2.5), "x=2.5");
    assert_filter("x=1.5e+300", x(), float(1.5e300), "x=1.5e300");
    assert_filter("x=true", x(), boolean(true), "x=true");
    assert_filter("x=false", x(), boolean(false), "x=false");
}

#[test]
fn filters_with_constants_on_the_left() {
    let x = || element(fields("x"));
    assert_filter("'k'=x", string("k"), x(), "'k'=x");
    assert_filter("2=x", integer(2), x(), "2=x");
    assert_filter("-1=x", integer(-1), x(), "-1=x");
    assert_filter("0.5=x", float(0.5), x(), "0.5=x");
    assert_filter("false=x", boolean(false), x(), "false=x");
}

#[test]
fn filters_between_fields() {
    let xp = || element(fields("x.p"));
    assert_filter("x.p=x.q", xp(), element(fields("x.q")), "x.p=x.q");
    assert_filter("x.p=@y.q", xp(), root(fields("y.q")), "x.p=@y.q");
    assert_filter("@y=x.p", root(fields("y")), xp(), "@y=x.p");
    let left = path([field("x"), Step::Index(0), key("k")]);
    let right = path([field("m"), branch("map"), key("]"), branch("a.b")]);
    let text = "x[0]['k']=@m:map[']']:'a.b'";
    assert_filter(text, element(left), root(right), text);
}

#[test]
fn the_words_true_and_false_are_paths_where_more_stands_with_them() {
    let (t, f) = (fields("true"), fields("false.x"));
    assert_filter("@true=false.x", root(t), element(f), "@true=false.x");
    let indexed = path([field("true"), Step::Index(0)]);
    let text = "true[0]=truely";
    assert_filter(text, element(indexed), element(fields("truely")), text);
}

#[test]
fn white_space_within_brackets_means_nothing() {
    let left = path([field("x"), Step::Index(0)]);
    let steps = [
        field("a"),
        Step::All,
        Step::Index(3),
        key(" k "),
        filter(element(left), integer(1)),
    ];
    let text = "a[ * ][\t3 ][ ' k ' ][ x[ 0 ]\n = 1 ]";
    assert_printed(text, steps, "a[*][3][' k '][x[0]=1]");
}

#[test]
fn references_start_from_the_record_or_not() {
    for (text, from_root) in [("@car[*].serial", true), ("car[*].serial", false)] {
        let steps = [field("car"), Step::All, field("serial")];
        let path = path(steps);
        let expected = Reference { from_root, path };
        assert_eq!(Reference::parse(text).unwrap(), expected);
        assert_eq!(text.parse::<Reference>().unwrap(), expected);
        assert_eq!(expected.to_string(), text);
    }
}

/// Forms of AvroRecordDataset that the tests above do not have.
#[test]
fn expressions_of_the_avro_record_dataset() {
    let name_first = || [field("name"), field("first")];
    let after = |steps: &[Step], end: &[Step]| [steps, end].concat();

    assert_path("name.first", name_first());
    let third = [field("friends"), Step::Index(2)];
    assert_path("friends[2].name.first", after(&third, &name_first()));
    let all = [field("friends"), Step::All];
    assert_path("friends[*].name.first", after(&all, &name_first()));
    let streets = [field("address"), Step::All, field("street")];
    assert_path("friends[*].address[*].street", after(&all, &streets));
    let coworkers = [
        field("friends"),
        Step::All,
        field("jobs"),
        Step::All,
        field("coworkers"),
        Step::All,
    ];
    assert_path(
        "friends[*].jobs[*].coworkers[*].name.first",
        after(&coworkers, &name_first()),
    );
    let color = [field("cars"), key("nickname"), field("color")];
    assert_path("cars['nickname'].color", color);

    let filtered = |left: &str, right| [field("friends"), filter(element(fields(left)), right)];
    let unknown = filtered("gender", string("unknown"));
    assert_path(
        "friends[gender='unknown'].name.first",
        after(&unknown, &name_first()),
    );
    let initial = [field("name"), field("initial")];
    let same = filtered("name.first", element(fields("name.last")));
    assert_path(
        "friends[name.first=name.last].name.initial",
        after(&same, &initial),
    );
    let namesakes = filtered("name.first", root(fields("name.first")));
    assert_path(
        "friends[name.first=@name.first].name.initial",
        after(&namesakes, &initial),
    );
    let engines = [
        field("friends"),
        Step::All,
        field("cars"),
        Step::All,
        field("engine"),
    ];
    assert_path("friends[*].cars[*].engine", engines);
}
