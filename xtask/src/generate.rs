//! `cargo xtask gen`: writes what is made from code: the files of etc/, the operators' page of
//! configuration keys, the diagram of job states. With --check it only says what is stale.
//! Never touches a file that a person writes, but between two markers.

pub mod config;
mod job_states;

use crate::tree::{self, Tree};
use anyhow::{Context, Result, bail};

/// Regenerate etc/, the configuration page and the state diagram.
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing; fail if a file is not as it would be written.
    #[arg(long)]
    check: bool,
}

/// A generated file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its path from the root.
    pub path: &'static str,
    /// Its whole text.
    pub text: String,
}

/// Runs the verb.
pub fn run(args: Args) -> Result<()> {
    let root = tree::root();
    let tree = Tree::read(&root)?;
    let mut pages = config::pages();
    let diagram = job_states::page(&tree);
    pages.extend(diagram.as_ref().ok().cloned());
    let stale = stale(&tree, pages);
    if args.check && !stale.is_empty() {
        let paths: Vec<&str> = stale.iter().map(|page| page.path).collect();
        bail!("stale: {}; run `cargo xtask gen` and commit the result", paths.join(", "));
    }
    for page in &stale {
        let path = root.join(page.path);
        let folder = path.parent().unwrap_or(&root);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, &page.text))
            .with_context(|| format!("failed to write {}", page.path))?;
        println!("gen: wrote {}", page.path);
    }
    if stale.is_empty() {
        println!("gen: everything is up to date");
    }
    // Last, so that a page without its markers holds up no other file.
    diagram.map(|_| ())
}

/// The pages that are not in the tree as they should be.
fn stale(tree: &Tree, pages: Vec<Page>) -> Vec<Page> {
    let differs = |page: &Page| tree.file(page.path).is_none_or(|file| file.text != page.text);
    pages.into_iter().filter(differs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_and_a_missing_file_are_stale_and_an_equal_one_is_not() {
        let tree = Tree::of(&[("a", "1"), ("b", "2")]);
        let page = |path, text: &str| Page { path, text: text.to_owned() };
        let found = stale(&tree, vec![page("a", "1"), page("b", "3"), page("c", "4")]);
        assert_eq!(found.iter().map(|page| page.path).collect::<Vec<_>>(), ["b", "c"]);
    }
}
