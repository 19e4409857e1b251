//! `kantctl man`: the manual, generated from the same definition as the help.

use crate::failure::{Failure, OK};
use crate::output::Screen;
use anyhow::Context;
use clap::Command;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  kantctl man | man -l -
  kantctl man /tmp
  kantctl man --slurm";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print the table of supported Slurm options, as Markdown
    #[arg(long, conflicts_with = "directory")]
    pub slurm: bool,
    /// Write all pages into this directory, which is created if necessary: kantctl.1,
    /// kantctl-submit.1, ...
    pub directory: Option<PathBuf>,
}

/// Prints the page of this command line, or writes the pages of all its verbs, or prints the page
/// about Slurm.
///
/// # Errors
/// [`Failure`] when they cannot be written.
pub fn run(
    args: &Args,
    command: Command,
    slurm_page: fn() -> String,
    screen: &Screen,
) -> Result<u8, Failure> {
    if args.slurm {
        screen.print(&slurm_page())?;
        return Ok(OK);
    }
    match &args.directory {
        Some(directory) => {
            std::fs::create_dir_all(directory)
                .with_context(|| format!("failed to create {}", directory.display()))?;
            clap_mangen::generate_to(command, directory).with_context(|| {
                format!("failed to write manual pages into {}", directory.display())
            })?
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command)
                .render(&mut page)
                .context("failed to generate the manual page")?;
            screen.print_bytes(&page)?;
        }
    }
    Ok(OK)
}
