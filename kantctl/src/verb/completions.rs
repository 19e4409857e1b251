//! `kantctl completions`: what a shell needs to complete kantctl's words.

use crate::failure::{Failure, OK};
use crate::output::Screen;
use clap_complete::Shell;

const EXAMPLES: &str = "\
Examples:
  . <(kantctl completions bash)
  kantctl completions zsh > _kantctl";

/// Arguments of `completions`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
#[allow(missing_docs)] // each field's comment is its help
pub struct Args {
    /// The shell
    pub shell: Shell,
}

/// Prints completions.
///
/// # Errors
/// [`Failure`] when stdout does not take them.
pub fn run(args: &Args, screen: &Screen) -> Result<u8, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut crate::command(), "kantctl", &mut text);
    screen.bytes(&text)?;
    Ok(OK)
}
