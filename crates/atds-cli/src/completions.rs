//! `atds completions`: scripts that make shells complete the command line.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::Cli;
use crate::failure::Failure;

/// Print a script that makes a shell complete subcommands, options and values
///
/// To install it, for bash:
///
///   atds completions bash > ~/.local/share/bash-completion/completions/atds
///
/// for zsh, in a folder of $fpath:
///
///   atds completions zsh > "${fpath[1]}/_atds"
///
/// for fish:
///
///   atds completions fish > ~/.config/fish/completions/atds.fish
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<(), Failure> {
    // clap panics if it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "atds", &mut script);
    script.push(b'\n');
    Ok(out.write_all(&script)?)
}
