//! The project's text files in memory, so that every rule is a function of them and can be tested
//! on a made-up tree.

mod file;
pub mod source;

pub use file::File;

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Longer files are data and not read by any rule.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Files by their path from the root, separated by `/`.
#[derive(Clone, Default)]
pub struct Tree {
    /// The directory it was read from; empty for a made-up tree.
    pub origin: String,
    files: BTreeMap<String, File>,
    test_module_files: BTreeSet<String>,
}

impl Tree {
    /// Reads the files that git tracks, and untracked files that are not ignored.
    pub fn read(root: &Path) -> Result<Tree> {
        let list = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .context("failed to run git: install it, the rules need the list of tracked files")?;
        if !list.status.success() {
            bail!(
                "failed to list the files of {}: {}; run this inside a git checkout",
                root.display(),
                String::from_utf8_lossy(&list.stderr).trim()
            );
        }
        let mut tree = Tree { origin: root.display().to_string(), ..Tree::default() };
        for path in list.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
            let path = String::from_utf8_lossy(path);
            match read_text(&root.join(path.as_ref())) {
                Some(text) => tree.put(&path, &text),
                // No rule reads an image, but pages link to it.
                None if path.ends_with(".png") => tree.put(&path, ""),
                None => {}
            }
        }
        Ok(tree)
    }

    /// Adds a file, or replaces it.
    pub fn put(&mut self, path: &str, text: &str) {
        let file = File::new(path, text);
        self.test_module_files.extend(file.test_module_files());
        self.files.insert(path.to_owned(), file);
    }

    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.get(path)
    }

    /// All files, by path.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.files.values()
    }

    /// All Rust files, by path.
    pub fn rust_files(&self) -> impl Iterator<Item = &File> {
        self.files().filter(|file| file.path.ends_with(".rs"))
    }

    /// The Rust files that are not only tests.
    pub fn rust_files_outside_tests(&self) -> impl Iterator<Item = &File> {
        self.rust_files().filter(|file| !self.is_test(file))
    }

    /// Whether all of this file is test code, by its path or by its module's declaration.
    pub fn is_test(&self, file: &File) -> bool {
        let is_below = |module: &String| {
            file.path.strip_prefix(module.as_str()).is_some_and(|rest| rest.starts_with(['.', '/']))
        };
        file.is_test_by_place() || self.test_module_files.iter().any(is_below)
    }

    /// The Rust files below a folder.
    pub fn rust_files_in(&self, folder: &str) -> impl Iterator<Item = &File> {
        self.rust_files().filter(move |file| file.is_in(folder))
    }
}

/// A text file's content; `None` if it is missing, a link, too long or not UTF-8.
fn read_text(path: &Path) -> Option<String> {
    let about = path.symlink_metadata().ok()?;
    if !about.is_file() || about.len() > FILE_BYTES_MAX {
        return None;
    }
    String::from_utf8(std::fs::read(path).ok()?).ok()
}

/// The workspace's root: the parent of this crate's directory, which cargo sets in the environment.
/// A program started by hand uses the directory it was built from.
pub fn root() -> PathBuf {
    let of_crate = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    of_crate.parent().map(Path::to_owned).unwrap_or(of_crate)
}

#[cfg(test)]
impl Tree {
    pub fn of(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for (path, text) in files {
            tree.put(path, text);
        }
        tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_tree_contains_its_own_source_and_no_build_output() {
        let tree = Tree::read(&root()).unwrap();
        assert!(tree.file("xtask/src/tree.rs").is_some());
        assert!(tree.files().all(|file| !file.path.starts_with("target/")));
    }

    #[test]
    fn a_module_declared_for_tests_is_a_test_with_its_submodules() {
        let tree = Tree::of(&[
            ("a/src/fixture.rs", ""),
            ("a/src/fixture/deep.rs", ""),
            ("a/src/fixtures.rs", ""),
            ("a/src/lib.rs", "#[cfg(test)]\nmod fixture;\nmod fixtures;\n"),
            ("a/src/b.rs", "#[cfg(test)]\npub(crate) mod sample;\n"),
            ("a/src/b/sample.rs", ""),
        ]);
        let others = tree.rust_files_outside_tests().map(|file| file.path.as_str());
        assert_eq!(others.collect::<Vec<_>>(), ["a/src/b.rs", "a/src/fixtures.rs", "a/src/lib.rs"]);
    }

    #[test]
    fn a_folder_does_not_contain_the_files_of_one_with_a_longer_name() {
        let tree = Tree::of(&[("a/x.rs", ""), ("ab/y.rs", ""), ("a/z.toml", "")]);
        let paths: Vec<&str> = tree.rust_files_in("a").map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["a/x.rs"]);
    }
}
