//! Folders and patterns.

use std::fs;

use atds::{Codec, Dataset, ErrorKind, FileFormat, Files};

use crate::common::{Folder, read_all, rows_file};

/// A folder of empty files with these paths.
fn tree(paths: &[&str]) -> Folder {
    let folder = Folder::new();
    for path in paths {
        fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
        folder.write(path, b"");
    }
    folder
}

/// The files that `given` stands for in the folder, or the error.
fn found(folder: &Folder, given: &str, recursive: bool) -> Result<Vec<String>, String> {
    let given = folder.join(given);
    let files = Files::from(given)
        .recursive(recursive)
        .format(FileFormat::Avro);
    let files = files.resolve().map_err(|error| folder.message(&error))?;
    let files = files.iter().map(|file| {
        let file = file.strip_prefix(folder.path()).unwrap();
        file.to_str().unwrap().to_owned()
    });
    Ok(files.collect())
}

#[test]
fn hidden_names_are_skipped_unless_the_pattern_has_them() {
    let folder = tree(&[
        "a.avro",
        "b.avro",
        ".c.avro",
        "_d.avro",
        "._e.avro",
        "x.txt",
        "_SUCCESS",
        "_temporary/0/t.avro",
        ".cache/u.avro",
        "_day=1/v.avro",
        "_day=1/_w.avro",
        "_=1/never.avro",
        "sub/y.avro",
        "sub/_z.avro",
        "sub/deep/q.avro",
    ]);
    for (given, recursive, expected) in [
        ("", false, &["a.avro", "b.avro"][..]),
        ("*.avro", false, &["a.avro", "b.avro"]),
        ("*.avro", true, &["a.avro", "b.avro"]),
        (".*.avro", false, &["._e.avro", ".c.avro"]),
        ("_*", false, &["_SUCCESS", "_d.avro"]),
        ("._*", false, &["._e.avro"]),
        // A character class does not make a name begin with a dot or an underscore.
        ("[._]*.avro", false, &[]),
        ("_temporary", false, &[]),
        ("_temporary/0", false, &["_temporary/0/t.avro"]),
        ("_temporary", true, &["_temporary/0/t.avro"]),
        ("_temporary/*/*.avro", false, &["_temporary/0/t.avro"]),
        ("_temporary/**/*.avro", false, &["_temporary/0/t.avro"]),
        ("*/0/*.avro", false, &[]),
        ("_t*/0/*.avro", false, &["_temporary/0/t.avro"]),
        (".cache/*.avro", false, &[".cache/u.avro"]),
        ("*/v.avro", false, &["_day=1/v.avro"]),
        ("*/*.avro", false, &["_day=1/v.avro", "sub/y.avro"]),
        ("_day=1/_*", false, &["_day=1/_w.avro"]),
        (
            "**/*.avro",
            false,
            &[
                "_day=1/v.avro",
                "a.avro",
                "b.avro",
                "sub/deep/q.avro",
                "sub/y.avro",
            ],
        ),
        (
            "",
            true,
            &[
                "_day=1/v.avro",
                "a.avro",
                "b.avro",
                "sub/deep/q.avro",
                "sub/y.avro",
            ],
        ),
        (
            "**/_*.avro",
            false,
            &["_d.avro", "_day=1/_w.avro", "sub/_z.avro"],
        ),
        ("sub/**", false, &["sub/deep/q.avro", "sub/y.avro"]),
        ("**/**/q.avro", false, &["sub/deep/q.avro"]),
        ("**/sub/**/q.avro", false, &["sub/deep/q.avro"]),
        ("s*", true, &["sub/deep/q.avro", "sub/y.avro"]),
        ("sub/../a.avro", false, &["sub/../a.avro"]),
        ("*/../a.avro", false, &["_day=1/../a.avro", "sub/../a.avro"]),
        // A file given as a path is read, even if its name is hidden.
        ("_d.avro", false, &["_d.avro"]),
        ("_SUCCESS", false, &["_SUCCESS"]),
    ] {
        let found = found(&folder, given, recursive);
        match expected {
            [] => assert!(found.is_err(), "{given}: {found:?}"),
            expected => assert_eq!(found.unwrap(), expected, "{given}, {recursive}"),
        }
    }
}

#[test]
fn a_base_that_is_hidden_hides_nothing() {
    let folder = tree(&[".cache/_data/a.avro", ".cache/_data/x=1/b.avro"]);
    let all = [".cache/_data/a.avro", ".cache/_data/x=1/b.avro"];
    assert_eq!(found(&folder, ".cache/_data", false).unwrap(), all[..1]);
    assert_eq!(found(&folder, ".cache/_data", true).unwrap(), all);
    assert_eq!(
        found(&folder, ".cache/_data/**/*.avro", false).unwrap(),
        all
    );
}

#[test]
fn an_error_says_what_is_there_and_what_to_write() {
    let folder = tree(&[
        "sales/1/a.avro",
        "sales/2/a.avro",
        "parts/part-00000",
        "parts/part-00001",
        "one/data",
        "gz/p-1.avro.gz",
        "gz/p-2.avro.gz",
        "nested/1/part-0",
        "nested/2/part-1",
        "both/x/a.avro",
        "both/y",
        "hidden/._a.avro",
        "hidden/_b.avro",
        "hidden/_c.avro",
        "job/_SUCCESS",
        "job/_temporary/0/a.avro",
        "[odd]/1/a.avro",
    ]);
    fs::create_dir_all(folder.join("empty")).unwrap();
    fs::create_dir_all(folder.join("folders/1/2")).unwrap();
    let none = "no Avro files there (a folder's files are those named *.avro)";
    for (given, recursive, expected) in [
        (
            "sales",
            false,
            "sales: NONE, but 2 folders: give 'sales/**/*.avro', or set `recursive`",
        ),
        (
            "parts",
            false,
            "parts: NONE, but 2 other files: give 'parts/part-*'",
        ),
        ("one", false, "one: NONE, but 1 other file: give 'one/data'"),
        ("gz", false, "gz: NONE, but 2 other files: give 'gz/p-*.gz'"),
        (
            "nested",
            false,
            "nested: NONE, but 2 folders: give 'nested/**/part-*'",
        ),
        (
            "nested",
            true,
            "nested: NONE, but 2 folders and 2 other files: give 'nested/**/part-*'",
        ),
        (
            "both",
            false,
            "both: NONE, but 1 folder and 1 other file: give 'both/**/*.avro' or \
             'both/y', or set `recursive`",
        ),
        (
            "hidden",
            false,
            "hidden: NONE; 3 hidden files were skipped, such as '._a.avro': give \
             'hidden/._a.avro'",
        ),
        (
            "hidden/[bc].avro",
            false,
            "hidden/[bc].avro: no file matches this pattern",
        ),
        (
            "hidden/*[bc].avro",
            false,
            "hidden/*[bc].avro: no file matches this pattern; 2 hidden files were skipped, such \
             as '_b.avro': give 'hidden/_*.avro'",
        ),
        (
            "job",
            false,
            "job: NONE; 1 hidden file and 1 hidden folder were skipped, such as '_SUCCESS'",
        ),
        (
            "[odd]",
            false,
            "[odd]: NONE, but 1 folder: give '[[]odd[]]/**/*.avro', or set `recursive`",
        ),
        ("empty", false, "empty: NONE: the folder is empty"),
        ("folders", false, "folders: NONE, but 1 folder"),
        ("folders", true, "folders: NONE, but 1 folder"),
        (
            "sal*",
            false,
            "sal*: no file matches this pattern, but 1 folder: give 'sal*/**/*.avro'",
        ),
        (
            "sales/*",
            false,
            "sales/*: no file matches this pattern, but 2 folders: give 'sales/*/*.avro'",
        ),
        (
            "part*",
            false,
            "part*: no file matches this pattern, but 1 folder: give 'part*/part-*'",
        ),
        (
            "nest*",
            false,
            "nest*: no file matches this pattern, but 1 folder: give 'nest*/**/part-*'",
        ),
        (
            "folders/*",
            false,
            "folders/*: no file matches this pattern, but 1 folder",
        ),
        (
            "sales/*.avro",
            false,
            "sales/*.avro: no file matches this pattern, but 2 folders: give 'sales/**/*.avro'",
        ),
        (
            "parts/*.avro",
            false,
            "parts/*.avro: no file matches this pattern, but 2 other files: give 'parts/part-*'",
        ),
        (
            "gz/*.avro",
            false,
            "gz/*.avro: no file matches this pattern, but 2 other files: give 'gz/p-*.gz'",
        ),
        (
            "empty/*.avro",
            false,
            "empty/*.avro: no file matches this pattern",
        ),
        (
            "[[]odd]/_*.avro",
            false,
            "[[]odd]/_*.avro: no file matches this pattern",
        ),
        (
            "no/such/*.avro",
            false,
            "no/such/*.avro: no file matches this pattern: there is no folder 'no'",
        ),
    ] {
        let message = found(&folder, given, recursive).unwrap_err();
        let root = format!("'{}/", folder.path().display());
        let message = message.replace(none, "NONE").replace(&root, "'");
        assert_eq!(message, expected);
    }
}

/// Patterns that an error suggests find files.
#[test]
fn what_is_suggested_works() {
    let folder = tree(&[
        "a/1/x.avro",
        "b/part-0",
        "b/part-1",
        "c/_a.avro",
        "d/e/x-1.gz",
        "e[1]/_a.avro",
        "e[1]/_b.avro",
        "f/g/h/a.avro",
    ]);
    for given in [
        "a",
        "b",
        "c",
        "d",
        "e[1]",
        "a/*",
        "a/*.avro",
        "b/*.avro",
        "d/*.avro",
        "?",
        "f*",
        "f/*.avro",
        "e[[]1]/*.avro",
    ] {
        let error = Files::from(folder.join(given)).resolve().unwrap_err();
        let ErrorKind::NothingFound(nothing) = &error.kind else {
            panic!("{error}")
        };
        for suggestion in &nothing.suggestions {
            let found = Files::from(suggestion).resolve().unwrap();
            assert!(!found.is_empty(), "{suggestion}");
        }
        assert_eq!(nothing.suggestions.len(), 1);
    }
}

/// An unreadable folder does not hide the folders beside it.
#[test]
#[cfg(unix)]
fn suggestions_pass_over_what_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tree(&["a/locked/x.avro", "a/open/x.avro"]);
    let locked = folder.join("a/locked");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    let message = found(&folder, "a", false).unwrap_err();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(message.contains("a/**/*.avro"), "{message}");
}

#[test]
#[cfg(unix)]
fn links_lead_to_each_file_once_and_never_in_a_circle() {
    use std::os::unix::fs::symlink;
    let folder = tree(&["a/x.avro", "b/y.avro"]);
    symlink(folder.path(), folder.join("a/up")).unwrap();
    symlink(folder.join("b"), folder.join("a/to_b")).unwrap();
    symlink(folder.join("a"), folder.join("b/to_a")).unwrap();
    symlink(folder.join("b"), folder.join("a_latest")).unwrap();
    assert_eq!(
        found(&folder, "**/*.avro", false).unwrap(),
        ["a/x.avro", "b/y.avro"]
    );
    assert_eq!(found(&folder, "", true).unwrap(), ["a/x.avro", "b/y.avro"]);
    // A link is followed if the pattern names it, or if it is the only way to a folder.
    assert_eq!(
        found(&folder, "a/to_b/**/*.avro", false).unwrap(),
        ["a/to_b/to_a/x.avro", "a/to_b/y.avro"]
    );
    assert_eq!(
        found(&folder, "a_latest/*.avro", false).unwrap(),
        ["a_latest/y.avro"]
    );
    symlink(folder.join("gone"), folder.join("b/z.avro")).unwrap();
    let error = found(&folder, "b", false).unwrap_err();
    assert!(error.contains("z.avro: No such file"), "{error}");
}

#[test]
#[cfg(target_os = "linux")]
fn names_that_are_no_text_match() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let name = std::ffi::OsStr::from_bytes(b"\xff.avro");
    fs::write(folder.path().join(name), b"").unwrap();
    for given in [folder.path().to_owned(), folder.join("*.avro")] {
        let files = Files::from(given).resolve().unwrap();
        assert_eq!(files, [folder.path().join(name)]);
    }
}

#[test]
fn urls_of_files_folders_and_patterns_are_read() {
    let folder = Folder::new();
    fs::create_dir(folder.join("a b")).unwrap();
    folder.write("a b/x.avro", &rows_file(0..3, 2, Codec::Null));
    let base = format!("file://{}", folder.path().display());
    for url in [
        "/a%20b/x.avro",
        "/a b/x.avro",
        "/a%20b",
        "/a%20b/*.avro",
        "/*/*.avro",
    ] {
        let dataset = Dataset::builder(format!("{base}{url}"), 8);
        let dataset = dataset.features(crate::common::features()).build().unwrap();
        assert_eq!(read_all(dataset.iter()), [[0, 1, 2]]);
    }
    let file = format!("{base}/a%20b/x.avro");
    assert_eq!(
        atds::avro::records::Records::open(&file).unwrap().count(),
        3
    );
    assert_eq!(atds::avro::inspect(&file).unwrap().records, 3);
    for error in [
        Dataset::builder("s3://bucket/x.avro", 8)
            .build()
            .map(drop)
            .unwrap_err(),
        atds::avro::records::Records::open("s3://bucket/x.avro")
            .map(drop)
            .unwrap_err(),
        atds::avro::inspect("s3://bucket/x.avro")
            .map(drop)
            .unwrap_err(),
    ] {
        assert!(matches!(&error.kind, ErrorKind::Scheme(scheme) if scheme == "s3"));
    }
}

/// Patterns that a shell would expand, but that were quoted or given in a program.
#[test]
fn braces_and_a_tilde_come_with_what_to_give() {
    let folder = tree(&["day/a.avro", "day/b.avro", "{x,y}.avro"]);
    for (given, expected) in [
        (
            "day/{a,b}.avro",
            "day/{a,b}.avro: no such file; '{a,b}' is not expanded: give 'day/a.avro' and \
             'day/b.avro'",
        ),
        (
            "day/{a,b}*",
            "day/{a,b}*: no file matches this pattern: '{a,b}' is not expanded: give 'day/a*' and \
             'day/b*'",
        ),
    ] {
        let message = found(&folder, given, false).unwrap_err();
        assert_eq!(message, expected);
    }
    // A file whose name has braces is found by that name.
    assert_eq!(found(&folder, "{x,y}.avro", false).unwrap(), ["{x,y}.avro"]);
    let missing = found(&folder, "day/{a}.avro", false).unwrap_err();
    assert!(missing.contains("No such file"), "{missing}");

    let Some(home) = std::env::home_dir() else {
        return;
    };
    for given in ["~/no-such-folder/x.avro", "~/no-such-folder/*.avro"] {
        let error = Files::from(given).resolve().unwrap_err().to_string();
        let instead = given.replace('~', home.to_str().unwrap());
        let expected = format!("'~' is not expanded: give '{instead}'");
        assert!(error.ends_with(&expected), "{error}");
    }
    let error = Files::from("file://data/x.avro").resolve().unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Host { .. }), "{error}");
    assert!(error.to_string().contains("give 'data/x.avro'"), "{error}");
}
