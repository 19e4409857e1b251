//! The project's text files in memory, so that every rule is a function of them and can be tried
//! on a made-up tree. Never holds build output or binary files, and never writes.

mod file;
pub mod source;

pub use file::File;

use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Longer files are data, not text that a rule would read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Files by their path from the root, with `/` between its parts.
#[derive(Clone, Default)]
pub struct Tree {
    /// Where it was read from; empty for a made-up tree.
    pub origin: String,
    files: BTreeMap<String, File>,
    test_modules: BTreeSet<String>,
}

impl Tree {
    /// Reads what git tracks, and what it would track: untracked files that are not ignored.
    pub fn read(root: &Path) -> Result<Tree> {
        let list = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .context("failed to run git: install it, the rules read what git would track")?;
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
            if let Some(text) = read_text(&root.join(path.as_ref())) {
                tree.put(&path, &text);
            }
        }
        Ok(tree)
    }

    /// Adds a file, or replaces it.
    pub fn put(&mut self, path: &str, text: &str) {
        let file = File::new(path, text);
        self.test_modules.extend(file.test_modules());
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

    /// The Rust files that are not tests throughout.
    pub fn rust_files_outside_tests(&self) -> impl Iterator<Item = &File> {
        self.rust_files().filter(|file| !self.is_test(file))
    }

    /// Is all of this file test code, by its place or because its module is declared so?
    pub fn is_test(&self, file: &File) -> bool {
        let is_below = |module: &String| {
            file.path.strip_prefix(module.as_str()).is_some_and(|rest| rest.starts_with(['.', '/']))
        };
        file.is_test_by_place() || self.test_modules.iter().any(is_below)
    }

    /// The Rust files below a folder.
    pub fn rust_files_in(&self, folder: &str) -> impl Iterator<Item = &File> {
        self.rust_files().filter(move |file| file.is_in(folder))
    }
}

/// A text file's content; `None` for what is gone, a link, too long, or not UTF-8.
fn read_text(path: &Path) -> Option<String> {
    let about = path.symlink_metadata().ok()?;
    if !about.is_file() || about.len() > FILE_BYTES_MAX {
        return None;
    }
    String::from_utf8(std::fs::read(path).ok()?).ok()
}

/// The workspace's root folder: the parent of this crate's. Cargo names the crate's folder when it
/// runs us; a binary started by hand knows where it was built.
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
    fn the_real_tree_holds_its_own_source_and_no_build_output() {
        let tree = Tree::read(&root()).unwrap();
        assert!(tree.file("xtask/src/tree.rs").is_some());
        assert!(tree.files().all(|file| !file.path.starts_with("target/")));
    }

    #[test]
    fn a_module_declared_for_tests_is_a_test_with_all_below_it() {
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
    fn a_folder_does_not_hold_the_files_of_one_whose_name_it_begins() {
        let tree = Tree::of(&[("a/x.rs", ""), ("ab/y.rs", ""), ("a/z.toml", "")]);
        let paths: Vec<&str> = tree.rust_files_in("a").map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["a/x.rs"]);
    }
}
