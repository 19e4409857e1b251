//! `cargo xtask gen`: writes the generated files that are in git: etc/, the reference pages of
//! configuration keys and job attributes, the diagram of job states, the page on Slurm
//! compatibility, the OpenAPI document. With --check it only reports stale files. Hand-written
//! files are changed only between two markers.

mod attributes;
pub mod config;
mod job_states;
pub mod openapi;
mod rights;
mod scopes;
mod slurm_compatibility;

use crate::tree::{self, Tree};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// Regenerate etc/, the configuration page, the state diagram and the page on Slurm compatibility.
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

/// Runs the verb. If some pages cannot be generated, the others are still written.
pub fn run(args: Args) -> Result<()> {
    let root = tree::root();
    let tree = Tree::read(&root)?;
    let mut pages = config::pages();
    pages.push(attributes::page());
    let diagram = job_states::page(&tree);
    pages.extend(diagram.as_ref().ok().cloned());
    let scopes = scopes::page(&tree);
    pages.extend(scopes.as_ref().ok().cloned());
    let openapi = openapi::page();
    pages.extend(openapi.as_ref().ok().cloned());
    let rights = rights::page();
    pages.extend(rights.as_ref().ok().cloned());
    let slurm = slurm_compatibility::page(&root);
    pages.extend(slurm.as_ref().ok().cloned());
    let stale = stale_pages(&tree, pages);
    if args.check && !stale.is_empty() {
        let paths: Vec<&str> = stale.iter().map(|page| page.path.as_str()).collect();
        bail!("stale: {}; run `cargo xtask gen` and commit the result", paths.join(", "));
    }
    stale.iter().try_for_each(|page| page.write(&root))?;
    diagram?;
    scopes?;
    openapi?;
    rights?;
    slurm?;
    if stale.is_empty() {
        println!("gen: everything is up to date");
    }
    Ok(())
}

impl Page {
    fn write(&self, root: &Path) -> Result<()> {
        std::fs::write(root.join(&self.path), &self.text)
            .with_context(|| format!("failed to write {}", self.path))?;
        println!("gen: wrote {}", self.path);
        Ok(())
    }
}

/// The pages whose files are missing or differ.
fn stale_pages(tree: &Tree, pages: Vec<Page>) -> Vec<Page> {
    let differs = |page: &Page| tree.file(&page.path).is_none_or(|file| file.text != page.text);
    pages.into_iter().filter(differs).collect()
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
        let found = stale_pages(&tree, vec![page("a", "1"), page("b", "3"), page("c", "4")]);
        assert_eq!(found.iter().map(|page| page.path.as_str()).collect::<Vec<_>>(), ["b", "c"]);
    }

    #[test]
    fn a_page_is_written_below_the_root() {
        let root = tempfile::tempdir().unwrap();
        page("a", "1").write(root.path()).unwrap();
        assert_eq!(std::fs::read_to_string(root.path().join("a")).unwrap(), "1");
        let failed = page("absent/a", "1").write(root.path()).unwrap_err().to_string();
        assert_eq!(failed, "failed to write absent/a");
    }
}
