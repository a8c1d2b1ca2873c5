use super::{COMMANDS, atds};

#[test]
fn version_and_help_are_printed() {
    assert_eq!(
        atds(&["--version"]).ok(),
        format!("atds {}\n", env!("CARGO_PKG_VERSION"))
    );
    let help = atds(&["--help"]).ok();
    for command in COMMANDS {
        assert!(
            help.contains(&format!("\n  {command} ")),
            "{command} in {help}"
        );
        assert!(help.contains("\n  128 + N  signal N stopped it"), "{help}");
        let own = atds(&[command, "--help"]).ok();
        assert!(own.contains(&format!("Usage: atds {command}")), "{own}");
    }
}

/// The page of the command shows the current help.
#[test]
fn the_documentation_shows_the_help() {
    let page = include_str!("../../../../docs/command.md");
    for args in [
        &["-h"][..],
        &["generate", "-h"],
        &["inspect", "-h"],
        &["head", "-h"],
        &["bench", "-h"],
        &["verify", "-h"],
        &["repair", "-h"],
        &["convert", "-h"],
        &["shuffle-report", "-h"],
        &["demo", "-h"],
        &["completions", "-h"],
        &["man", "-h"],
    ] {
        let help = atds(args).ok();
        // Lines on a page have no trailing blanks.
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        assert!(
            page.contains(&help.join("\n")),
            "{args:?}:\n{}",
            help.join("\n")
        );
    }
}

#[test]
fn a_wrong_command_line_is_2() {
    for args in [
        &[][..],
        &["brew"],
        &["bench"],
        &["inspect"],
        &["verify"],
        &["verify", "x.avro", "--threads", "0"],
        &["repair", "x.avro"],
        &["convert", "x.avro"],
        &["shuffle-report"],
        &["head"],
        &["generate"],
        &["bench", "x.avro", "--batch-size", "0"],
        &["bench", "x.avro", "--threads", "none"],
        &["bench", "x.avro", "--epochs", "0"],
        &["bench", "x.avro", "--layout", "csr"],
        &["bench", "x.avro", "--memory-limit", "4G"],
        &["bench", "x.avro", "--frobnicate"],
        &["head", "x.avro", "-n", "-1"],
    ] {
        let ran = atds(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        // Without arguments, only the help is printed.
        let begin = if args.is_empty() { "" } else { "atds: error: " };
        assert!(ran.err.starts_with(begin), "{}", ran.err);
        assert!(
            ran.err.contains("Usage: atds") || ran.err.contains("--help"),
            "{}",
            ran.err
        );
    }
}
