//! `kantctl install-slurm-names`: links by which kantctl answers as sbatch, squeue and the others.
//! Never replaces a file that is not such a link.

use crate::failure::{Failure, OK};
use crate::output::Screen;
use crate::slurm::command::SlurmCommand;
use anyhow::Context;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  kantctl install-slurm-names ~/slurm-names
  kantctl install-slurm-names /usr/local/bin";

/// Arguments of `install-slurm-names`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where the links are made; it is made too, if need be
    #[arg(value_name = "DIRECTORY")]
    pub directory: PathBuf,
}

/// Makes the links, or leaves those that are there.
///
/// # Errors
/// [`Failure`] when something else has the name, or the directory cannot be written.
pub fn run(args: &Args, screen: &Screen) -> Result<u8, Failure> {
    let own = std::env::current_exe().context("failed to find this program's own file")?;
    let directory = &args.directory;
    std::fs::create_dir_all(directory)
        .with_context(|| format!("failed to make {}", directory.display()))?;
    // All or none: what is in the way is found before anything is made.
    let paths = SlurmCommand::ALL.map(|name| directory.join(name.name()));
    for path in &paths {
        in_the_way(path, &own)?;
    }
    let mut made = Vec::new();
    for path in paths.iter().filter(|path| path.symlink_metadata().is_err()) {
        symlink(&own, path).with_context(|| format!("failed to link {}", path.display()))?;
        made.push(path);
    }
    if screen.json {
        screen.answer(&serde_json::json!({ "links": paths, "made": made }))?;
    } else {
        let names = SlurmCommand::ALL.map(SlurmCommand::name).join(", ");
        screen.line(&format!("{} answers as {names}", directory.display()))?;
        let found = std::path::absolute(directory)
            .with_context(|| format!("failed to find {}", directory.display()))?;
        screen.line(&format!("to use them: export PATH={}:$PATH", found.display()))?;
    }
    Ok(OK)
}

/// Refuses a path that is neither free nor our link.
fn in_the_way(path: &Path, own: &Path) -> Result<(), Failure> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let ours = std::fs::canonicalize(path).ok() == std::fs::canonicalize(own).ok();
    if ours {
        return Ok(());
    }
    let refused = Failure::message(format!("{} is there, and is not kantctl", path.display()));
    Err(refused.hint("name another directory, and put it before Slurm's in PATH"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    fn screen() -> Screen {
        Screen { json: true, width: None, colour: false, zone: TimeZone::UTC.into() }
    }

    #[test]
    fn links_are_made_once_and_nothing_else_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let args = Args { directory: dir.path().join("new") };
        assert_eq!(run(&args, &screen()).unwrap(), OK);
        assert_eq!(run(&args, &screen()).unwrap(), OK, "twice is as good as once");
        assert_eq!(std::fs::read_dir(&args.directory).unwrap().count(), SlurmCommand::ALL.len());
        let other = Args { directory: dir.path().to_owned() };
        std::fs::write(dir.path().join("squeue"), "mine").unwrap();
        assert!(run(&other, &screen()).unwrap_err().to_string().contains("squeue is there"));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "none, not some");
    }
}
