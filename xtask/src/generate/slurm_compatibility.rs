//! The page on Slurm compatibility, as printed by kantctl. kantctl is run and not linked, so that
//! the checks can start and report it when kantctl does not compile.

use super::Page;
use crate::programs::cargo;
use anyhow::{Context, Result, bail};
use std::path::Path;

const PATH: &str = "docs/slurm-compatibility.md";

const SHOWN: &str = "kantctl man --slurm";

/// The page.
///
/// # Errors
/// When kantctl does not build, or fails.
pub fn page(root: &Path) -> Result<Page> {
    let output = cargo()
        .args(["run", "--quiet", "--package", "kantctl", "--", "man", "--slurm"])
        .current_dir(root)
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("failed to start `{SHOWN}`"))?;
    if !output.status.success() {
        bail!("failed to run `{SHOWN}`: {}; see its output above", output.status);
    }
    let text = String::from_utf8(output.stdout)
        .with_context(|| format!("failed to read `{SHOWN}`: not UTF-8"))?;
    Ok(Page { path: PATH.to_owned(), text })
}
