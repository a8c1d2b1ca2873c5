//! `atds man`: manual pages.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{CommandFactory, ValueHint};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::failure::Failure;
use crate::units::counted;
use crate::{Cli, EXIT_CODES};

/// Print a manual page, or write all of them to a folder.
///
/// `atds man bench | man -l -` shows a page. To install all pages:
/// `atds man --out ~/.local/share/man/man1`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The subcommand to describe [default: the whole command]
    #[arg(value_name = "COMMAND", value_parser = SUBCOMMANDS, conflicts_with = "out")]
    subcommand: Option<String>,
    /// Write a page for the command and for each subcommand to this folder; created if missing
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
}

/// The subcommands that have a page.
const SUBCOMMANDS: [&str; 12] = [
    "demo",
    "generate",
    "inspect",
    "head",
    "bench",
    "verify",
    "repair",
    "convert",
    "index",
    "shuffle-report",
    "completions",
    "man",
];

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Failure> {
    let pages = pages();
    if let Some(folder) = &args.out {
        let written = counted(pages.len() as u64, "page");
        for page in pages {
            write_page(page, folder).map_err(|(path, error)| {
                Failure::Data(format!("{}: {error}", path.display()).into())
            })?;
        }
        writeln!(out, "{written} in {}", folder.display())?;
        return Ok(());
    }
    let name = args.subcommand.as_deref();
    let is_asked_for = |page: &clap::Command| name.is_none_or(|name| page.get_name() == name);
    if let Some(page) = pages.into_iter().find(is_asked_for) {
        render(page, out)?;
    }
    Ok(())
}

/// The command, then its subcommands.
fn pages() -> Vec<clap::Command> {
    // The subcommand `help` would have a page for each subcommand too.
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let subcommands: Vec<_> = command.get_subcommands().cloned().collect();
    [vec![command], subcommands].concat()
}

/// Writes a page to its file in `folder`. An error comes with the path of the file.
fn write_page(page: clap::Command, folder: &Path) -> Result<(), (PathBuf, io::Error)> {
    fs::create_dir_all(folder).map_err(|error| (folder.to_owned(), error))?;
    let path = folder.join(Man::new(page.clone()).get_filename());
    let mut text = Vec::new();
    render(page, &mut text)
        .and_then(|()| fs::write(&path, text))
        .map_err(|error| (path, error))
}

fn render(page: clap::Command, out: &mut dyn Write) -> io::Result<()> {
    let has_subcommands = page.has_subcommands();
    let man = Man::new(page)
        .manual("atds")
        .source(concat!("atds ", env!("CARGO_PKG_VERSION")));
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if has_subcommands {
        man.render_subcommands_section(out)?;
    }
    let mut status = Roff::new();
    status.control("SH", ["EXIT STATUS"]);
    for (codes, meaning) in EXIT_CODES {
        status.control("TP", []);
        status.text([bold(codes)]);
        status.text([roman(meaning)]);
    }
    status.to_writer(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subcommand_has_a_page() {
        let pages = pages();
        let names = pages.iter().map(clap::Command::get_name);
        assert_eq!(names.collect::<Vec<_>>()[1..], SUBCOMMANDS);
    }
}
