//! `cargo xtask gen`: writes the generated files: etc/, the reference pages of configuration keys
//! and job attributes, the diagram of job states, kantctl's manual pages and completions. With
//! --check it only reports stale files. Hand-written files are changed only between two markers.

mod attributes;
pub mod config;
mod job_states;
mod manual;

use crate::tree::{self, Tree};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// Regenerate etc/, the configuration page, the state diagram, the manual pages and completions.
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing; fail if a file is stale.
    #[arg(long)]
    check: bool,
}

/// A generated file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The path from the root.
    pub path: String,
    pub text: String,
}

/// A change that brings a generated file up to date.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    Write(Page),
    Remove(String),
}

/// Runs the verb. If some pages cannot be generated, the others are still written.
pub fn run(args: Args) -> Result<()> {
    let root = tree::root();
    let tree = Tree::read(&root)?;
    let mut changes = stale(&tree, config::pages());
    changes.extend(stale(&tree, vec![attributes::page()]));
    let diagram = job_states::page(&tree);
    changes.extend(diagram.iter().flat_map(|page| stale(&tree, vec![page.clone()])));
    let manual = manual::pages(&root);
    if let Ok(pages) = &manual {
        changes.extend(stale(&tree, pages.clone()));
        changes.extend(obsolete(&tree, manual::FOLDERS, pages));
    }
    if args.check && !changes.is_empty() {
        let paths: Vec<&str> = changes.iter().map(Change::path).collect();
        bail!("stale: {}; run `cargo xtask gen` and commit the result", paths.join(", "));
    }
    changes.iter().try_for_each(|change| change.make(&root))?;
    diagram?;
    manual?;
    if changes.is_empty() {
        println!("gen: everything is up to date");
    }
    Ok(())
}

impl Change {
    fn path(&self) -> &str {
        match self {
            Change::Write(page) => &page.path,
            Change::Remove(path) => path,
        }
    }

    fn make(&self, root: &Path) -> Result<()> {
        let path = root.join(self.path());
        let (done, verb) = match self {
            Change::Write(page) => {
                let folder = path.parent().unwrap_or(root);
                let made = std::fs::create_dir_all(folder);
                (made.and_then(|()| std::fs::write(&path, &page.text)), "wrote")
            }
            Change::Remove(_) => (std::fs::remove_file(&path), "removed"),
        };
        done.with_context(|| format!("failed to change {}", self.path()))?;
        println!("gen: {verb} {}", self.path());
        Ok(())
    }
}

/// The changes for pages whose files are missing or differ.
fn stale(tree: &Tree, pages: Vec<Page>) -> Vec<Change> {
    let differs = |page: &Page| tree.file(&page.path).is_none_or(|file| file.text != page.text);
    pages.into_iter().filter(differs).map(Change::Write).collect()
}

/// Files in generated folders that are no longer generated.
fn obsolete(tree: &Tree, folders: &[&str], pages: &[Page]) -> Vec<Change> {
    let files = tree.files().filter(|file| folders.iter().any(|folder| file.is_in(folder)));
    let gone = files.filter(|file| pages.iter().all(|page| page.path != file.path));
    gone.map(|file| Change::Remove(file.path.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, text: &str) -> Page {
        Page { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn changed_and_missing_files_are_stale_and_equal_ones_are_not() {
        let tree = Tree::of(&[("a", "1"), ("b", "2")]);
        let found = stale(&tree, vec![page("a", "1"), page("b", "3"), page("c", "4")]);
        assert_eq!(found.iter().map(Change::path).collect::<Vec<_>>(), ["b", "c"]);
    }

    #[test]
    fn the_page_of_a_removed_verb_is_removed() {
        let tree = Tree::of(&[("man/a.1", "1"), ("man/b.1", "2"), ("other/c", "3")]);
        let found = obsolete(&tree, &["man"], &[page("man/a.1", "1")]);
        assert_eq!(found, [Change::Remove("man/b.1".to_owned())]);
    }

    #[test]
    fn changes_are_made_on_disk() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("new/a");
        Change::Write(page("new/a", "1")).make(root.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1");
        Change::Remove("new/a".to_owned()).make(root.path()).unwrap();
        assert!(!path.exists());
    }
}
