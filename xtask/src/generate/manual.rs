//! kantctl's manual pages and shell completions, as printed by kantctl. kantctl is run and not
//! linked, so that the checks can start and report it when kantctl does not compile.

use super::Page;
use crate::programs::cargo;
use anyhow::{Context, Result, bail};
use std::path::Path;

const MAN: &str = "docs/man";
const COMPLETIONS: &str = "docs/completions";

/// The page on Slurm compatibility.
const SLURM: &str = "docs/slurm-compatibility.md";

/// The folders that contain only generated files.
pub const FOLDERS: &[&str] = &[MAN, COMPLETIONS];

/// Each shell and the file name that it looks for.
const SHELLS: &[(&str, &str)] =
    &[("bash", "kantctl"), ("zsh", "_kantctl"), ("fish", "kantctl.fish")];

/// The manual pages, the completions of each shell, and the page on Slurm compatibility.
///
/// # Errors
/// When kantctl does not build, or fails.
pub fn pages(root: &Path) -> Result<Vec<Page>> {
    let folder = tempfile::tempdir().context("failed to make a temporary folder")?;
    let path = folder.path().to_str().context("failed to use a temporary folder: not UTF-8")?;
    kantctl(root, &["man", path])?;
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(folder.path()).context("failed to list the manual pages")? {
        let file = entry.context("failed to list the manual pages")?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("failed to read the manual page {name}"))?;
        pages.push(Page { path: format!("{MAN}/{name}"), text });
    }
    for (shell, name) in SHELLS {
        let text = kantctl(root, &["completions", shell])?;
        pages.push(Page { path: format!("{COMPLETIONS}/{shell}/{name}"), text });
    }
    pages.push(Page { path: SLURM.to_owned(), text: kantctl(root, &["man", "--slurm"])? });
    pages.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(pages)
}

fn kantctl(root: &Path, arguments: &[&str]) -> Result<String> {
    let shown = format!("kantctl {}", arguments[0]);
    let output = cargo()
        .args(["run", "--quiet", "--package", "kantctl", "--"])
        .args(arguments)
        .current_dir(root)
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("failed to start `{shown}`"))?;
    if !output.status.success() {
        bail!("failed to run `{shown}`: {}; see its output above", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("failed to read `{shown}`: not UTF-8"))
}
