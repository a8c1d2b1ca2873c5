//! Completions and manual pages, run by shells and `man`.

use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::{COMMANDS, atds, text, write};

/// The completions that bash offers for the last word.
fn completed(script: &str, words: &[&str]) -> Vec<String> {
    let run = "source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
               _atds atds \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\" 2>/dev/null; \
               printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", run, "bash", script]).args(words);
    let output = bash.stdin(Stdio::null()).output().unwrap();
    let offered = String::from_utf8(output.stdout).unwrap();
    offered.lines().map(str::to_owned).collect()
}

/// Whether this machine has a program.
fn is_there(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null());
    command.output().is_ok_and(|output| output.status.success())
}

#[test]
#[cfg(unix)]
fn bash_completes_subcommands_options_and_values() {
    assert!(is_there("bash"), "the tests run in shells");
    let dir = TempDir::new().unwrap();
    let script = write(dir.path(), "atds.bash", atds(&["completions", "bash"]).ok());
    let offers = |words: &[&str]| completed(&script, words);
    for command in COMMANDS {
        let begin = &command[..2];
        let offered = offers(&["atds", begin]);
        assert!(offered.iter().any(|word| word == command), "{offered:?}");
    }
    assert_eq!(
        offers(&["atds", "bench", "--shuffle-"]),
        ["--shuffle-buffer", "--shuffle-files", "--shuffle-blocks"]
    );
    assert_eq!(offers(&["atds", "bench", "--layout", "r"]), ["ragged"]);
    assert_eq!(
        offers(&["atds", "generate", "--preset", "ads"]),
        ["ads", "ads-nullable"]
    );
    assert_eq!(
        offers(&["atds", "generate", "--codec", "defl"]),
        ["deflate"]
    );
    let shells = offers(&["atds", "completions", ""]).join(" ");
    assert!(
        shells.contains("bash elvish fish powershell zsh"),
        "{shells}"
    );
    assert_eq!(offers(&["atds", "man", "ins"]), ["inspect"]);
    // An option that takes a file completes file names.
    let file = write(dir.path(), "features.json", "{}");
    let begin = &file[..file.len() - 5];
    assert_eq!(
        offers(&["atds", "bench", "--features", begin]),
        std::slice::from_ref(&file)
    );
}

#[test]
fn every_shell_has_a_script_of_all_options() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = atds(&["completions", shell]).ok();
        for name in ["bench", "shuffle-buffer", "max-block-bytes", "ads-nullable"] {
            // The scripts for PowerShell and elvish have no values.
            let has_values = !matches!(shell, "elvish" | "powershell");
            if has_values || name != "ads-nullable" {
                assert!(script.contains(name), "{name} of {shell}");
            }
        }
        if is_there(shell) && shell != "powershell" {
            let dir = TempDir::new().unwrap();
            let script = write(dir.path(), "script", script);
            let checked = Command::new(shell).args(["-n", &script]).output().unwrap();
            assert!(checked.status.success(), "{shell}: {checked:?}");
        }
    }
    let ran = atds(&["completions", "tcsh"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("possible values: bash, elvish, fish"),
        "{}",
        ran.err
    );
}

#[test]
fn every_subcommand_has_a_manual_page() {
    let dir = TempDir::new().unwrap();
    let folder = dir.path().join("share/man1");
    let said = atds(&["man", "--out", &text(&folder)]).ok();
    let pages = COMMANDS.len() + 1;
    assert_eq!(said, format!("{pages} pages in {}\n", text(&folder)));
    let main = std::fs::read_to_string(folder.join("atds.1")).unwrap();
    assert_eq!(main, atds(&["man"]).ok());
    for command in COMMANDS {
        let name = command.replace('-', "\\-");
        assert!(main.contains(&format!("atds\\-{name}(1)")), "{command}");
        let path = folder.join(format!("atds-{command}.1"));
        let page = std::fs::read_to_string(&path).unwrap();
        assert_eq!(page, atds(&["man", command]).ok());
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS"] {
            let heading = format!("\n.SH {section}\n");
            let quoted = format!("\n.SH \"{section}\"\n");
            assert!(
                page.contains(&heading) || page.contains(&quoted),
                "{section} of {command}"
            );
        }
        // The page has every option of the help.
        let help = atds(&[command, "--help"]).ok();
        let words = help
            .split([' ', ',', '\n'])
            .filter(|word| word.starts_with("--"));
        for option in words {
            let option = option.trim_end_matches([':', '.', ')', '\'']);
            let escaped = option.replace('-', "\\-");
            assert!(page.contains(&escaped), "{option} of {command}");
        }
        is_without_warnings(&path);
    }
    is_without_warnings(&folder.join("atds.1"));
}

/// Checks a page with the programs of this machine that read it.
fn is_without_warnings(page: &Path) {
    let path = text(page);
    for (program, args) in [
        ("groff", &["-man", "-ww", "-z", "-Tascii"][..]),
        ("mandoc", &["-T", "lint", "-W", "error"]),
        ("man", &["-l", "-P", "cat"]),
    ] {
        if !is_there(program) {
            continue;
        }
        let mut reader = Command::new(program);
        reader.args(args).arg(&path).env("MANROFFSEQ", "");
        let output = reader.stdin(Stdio::null()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && told.is_empty(),
            "{program} {path}: {told}"
        );
    }
}

#[test]
fn pages_that_cannot_be_written_are_an_error() {
    let dir = TempDir::new().unwrap();
    let file = write(dir.path(), "file", "");
    let message = atds(&["man", "--out", &format!("{file}/man1")]).fails_with(1);
    assert!(message.starts_with(&file), "{message}");
    let ran = atds(&["man", "brew"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert_eq!(atds(&["man", "bench", "--out", "x"]).code, 2);
}
