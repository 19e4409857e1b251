//! `cargo xtask attribute-trial`: adds a job attribute to a copy of the tree, and shows that this
//! takes few files. The table of job attributes (`common::job::attributes`) exists for that.

use crate::programs::cargo;
use crate::tree;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Add the attribute `--wckey` to a copy of the tree, and test there that it works
#[derive(clap::Args)]
pub struct Args {}

/// The most files that a new attribute may touch, with its test. Generated files are not counted.
const FILES_MAX: usize = 12;

const EDITS: &str = include_str!("attribute_trial/wckey.toml");

/// The test that one of the edits adds.
const TEST: &str = "a_workload_key_is_submitted_changed_and_shown";

/// A change of one place in a file.
struct Edit {
    path: String,
    find: String,
    replace: String,
}

/// Runs the trial.
///
/// # Errors
/// When an edit does not match the tree, too many files are edited, or the attribute does not work.
pub fn run(_: Args) -> Result<()> {
    let root = tree::root();
    let copy = root.join("target/attribute-trial");
    copy_tracked_files(&root, &copy)?;
    let edits = edits(EDITS)?;
    let mut edited = BTreeSet::new();
    for edit in &edits {
        apply(&copy, edit)?;
        edited.insert(edit.path.as_str());
    }
    let count = edited.len();
    println!("attribute-trial: --wckey takes {count} files, with its test; at most {FILES_MAX}");
    ensure!(count <= FILES_MAX, "a new attribute takes {count} files: put more into the table");
    // The same selection of packages and folder as all other steps, so that no third-party crate is
    // built again. Speed does not matter.
    let status = cargo()
        .current_dir(&copy)
        .env("CARGO_TARGET_DIR", root.join("target"))
        .args(["test", "--offline", "--locked", "--workspace", "--test", "kantctl_tests"])
        .args(["--config", "profile.dev.package.engine.opt-level=0"])
        .args(["--config", "profile.dev.package.state.opt-level=0"])
        .args(["--", "--exact", &format!("slurm::{TEST}")])
        .status()
        .context("failed to start cargo")?;
    ensure!(status.success(), "the attribute does not work: its test ended with {status}");
    fs::remove_dir_all(&copy).with_context(|| format!("failed to remove {}", copy.display()))
}

/// Copies the files that git knows, as they are in the working tree.
fn copy_tracked_files(root: &Path, copy: &Path) -> Result<()> {
    if copy.exists() {
        fs::remove_dir_all(copy).with_context(|| format!("failed to remove {}", copy.display()))?;
    }
    let listed = Command::new("git").current_dir(root).args(["ls-files", "-z"]).output();
    let listed = listed.context("failed to start git")?;
    ensure!(listed.status.success(), "git ls-files ended with {}", listed.status);
    let names = String::from_utf8(listed.stdout).context("git ls-files printed no UTF-8")?;
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        let (from, to) = (root.join(name), copy.join(name));
        let folder: PathBuf = to.parent().map(Path::to_owned).unwrap_or_default();
        fs::create_dir_all(&folder)
            .with_context(|| format!("failed to create {}", folder.display()))?;
        // A file that was deleted and is still known to git is not in the tree.
        if from.is_file() {
            fs::copy(&from, &to).with_context(|| format!("failed to copy {}", from.display()))?;
        }
    }
    Ok(())
}

fn edits(text: &str) -> Result<Vec<Edit>> {
    let table: toml::Table = text.parse().context("failed to read the edits")?;
    let list = table.get("edit").and_then(toml::Value::as_array).context("there are no edits")?;
    let edit = |value: &toml::Value| {
        let text = |key: &str| {
            let text = value.get(key).and_then(toml::Value::as_str);
            text.map(str::to_owned).with_context(|| format!("an edit has no `{key}`"))
        };
        Ok(Edit { path: text("path")?, find: text("find")?, replace: text("replace")? })
    };
    list.iter().map(edit).collect()
}

fn apply(copy: &Path, edit: &Edit) -> Result<()> {
    let path = copy.join(&edit.path);
    let text =
        fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
    match text.matches(&edit.find).count() {
        1 => {}
        count => bail!(
            "{}: this text is there {count} times, and not once: {:?}; correct \
             xtask/src/attribute_trial/wckey.toml",
            edit.path,
            edit.find
        ),
    }
    fs::write(&path, text.replacen(&edit.find, &edit.replace, 1))
        .with_context(|| format!("failed to write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_that_does_not_match_the_tree_fails() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "one two two").unwrap();
        let edit = |find: &str| Edit {
            path: "a".to_owned(),
            find: find.to_owned(),
            replace: "three".to_owned(),
        };
        assert!(apply(folder.path(), &edit("four")).is_err());
        assert!(apply(folder.path(), &edit("two")).is_err());
        apply(folder.path(), &edit("one")).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("a")).unwrap(), "three two two");
    }

    #[test]
    fn the_edits_are_those_of_few_files() {
        let paths: BTreeSet<String> =
            edits(EDITS).unwrap().into_iter().map(|edit| edit.path).collect();
        assert!(paths.len() <= FILES_MAX, "{paths:?}");
    }
}
