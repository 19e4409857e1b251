//! `kantctl install-slurm-names`: links to kantctl named sbatch, squeue and so on. An existing file
//! that is not such a link is never replaced.

use crate::failure::{Failure, OK};
use crate::output::Screen;
use anyhow::Context;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  kantctl install-slurm-names ~/slurm-names
  kantctl install-slurm-names /usr/local/bin";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Directory for the links; it is created if necessary
    #[arg(value_name = "DIRECTORY")]
    pub directory: PathBuf,
}

/// Creates the links of these names that do not exist yet.
///
/// # Errors
/// [`Failure`] when another file has one of the names, or the directory cannot be written.
pub fn run(args: &Args, names: &[&str], screen: &Screen) -> Result<u8, Failure> {
    let own = std::env::current_exe().context("failed to find this program's own file")?;
    let directory = &args.directory;
    std::fs::create_dir_all(directory)
        .with_context(|| format!("failed to create {}", directory.display()))?;
    // All or none: conflicts are found before anything is created.
    let paths: Vec<PathBuf> = names.iter().map(|name| directory.join(name)).collect();
    for path in &paths {
        check_free(path, &own)?;
    }
    let mut made = Vec::new();
    for path in paths.iter().filter(|path| path.symlink_metadata().is_err()) {
        symlink(&own, path).with_context(|| format!("failed to link {}", path.display()))?;
        made.push(path);
    }
    if screen.json {
        screen.print_answer_json(&serde_json::json!({ "links": paths, "made": made }))?;
    } else {
        screen.print_line(&format!("{} now has {}", directory.display(), names.join(", ")))?;
        let found = std::path::absolute(directory)
            .with_context(|| format!("failed to find {}", directory.display()))?;
        screen.print_line(&format!("to use them: export PATH={}:$PATH", found.display()))?;
    }
    Ok(OK)
}

/// Refuses a path that exists and is not a link to kantctl.
fn check_free(path: &Path, own: &Path) -> Result<(), Failure> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let ours = std::fs::canonicalize(path).ok() == std::fs::canonicalize(own).ok();
    if ours {
        return Ok(());
    }
    let refused =
        Failure::from_message(format!("{} already exists, and is not kantctl", path.display()));
    Err(refused.with_hint("choose another directory, and put it before Slurm's in PATH"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    const NAMES: [&str; 2] = ["sbatch", "squeue"];

    fn screen() -> Screen {
        Screen { json: true, width: None, colour: false, zone: TimeZone::UTC.into() }
    }

    #[test]
    fn links_are_created_once_and_other_files_are_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let args = Args { directory: dir.path().join("new") };
        assert_eq!(run(&args, &NAMES, &screen()).unwrap(), OK);
        assert_eq!(run(&args, &NAMES, &screen()).unwrap(), OK, "the second run changes nothing");
        assert_eq!(std::fs::read_dir(&args.directory).unwrap().count(), NAMES.len());
        let other = Args { directory: dir.path().to_owned() };
        std::fs::write(dir.path().join("squeue"), "mine").unwrap();
        assert!(
            run(&other, &NAMES, &screen())
                .unwrap_err()
                .to_string()
                .contains("squeue already exists")
        );
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "no link is created");
    }
}
