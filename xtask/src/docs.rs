//! `cargo xtask docs`: the book in docs/, built into target/book by mdBook.

use anyhow::{Context, Result, bail};
use std::process::Command;

/// The release of mdBook that is installed where there is none.
const VERSION: &str = "0.4.52";

/// Build the book in docs/ into target/book.
#[derive(clap::Args)]
pub struct Args {
    /// Install mdBook by cargo first, if it is missing.
    #[arg(long)]
    install: bool,
}

/// Runs the verb.
pub fn run(args: Args) -> Result<()> {
    let root = crate::tree::root();
    if Command::new("mdbook").arg("--version").output().is_err() {
        if !args.install {
            bail!("failed to run mdbook: it is not installed; run `cargo xtask docs --install`");
        }
        let mut install = Command::new("cargo");
        install.args([
            "install",
            "mdbook",
            "--locked",
            "--no-default-features",
            "--version",
            VERSION,
        ]);
        run_or_fail(&mut install, "install mdbook")?;
    }
    run_or_fail(Command::new("mdbook").arg("build").arg(root.join("docs")), "build the book")?;
    println!("docs: open target/book/index.html");
    Ok(())
}

fn run_or_fail(command: &mut Command, what: &str) -> Result<()> {
    let status = command.status().with_context(|| format!("failed to {what}"))?;
    match status.success() {
        true => Ok(()),
        false => bail!("failed to {what}: it ended with {status}"),
    }
}
