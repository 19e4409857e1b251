//! `cargo xtask tidy`: the house rules as a program. Each rule is a file here with one function
//! from the tree to its findings; `cargo test -p xtask` runs them all. Never changes a source file.

mod api_document;
mod clippy_border;
mod config_keys;
mod consensus;
mod dependencies;
mod file_length;
mod file_names;
mod finding;
mod function_length;
mod heads;
mod house;
mod imports;
mod layers;
mod leftovers;
mod line_length;
mod links;
mod manifest;
mod map;
mod nvml;
mod policy_source;
mod pure_manifest;
mod pure_source;
mod ratchet;
mod safety;
mod state_texts;
mod test_programs;
mod unwrap;
mod wire_version;
mod words;

#[cfg(test)]
mod tests;

pub use finding::Finding;

use crate::tree::{self, Tree};
use anyhow::{Result, bail};

/// A rule: from the tree to what breaks it.
type Rule = fn(&Tree) -> Vec<Finding>;

/// Every rule, borders first.
const RULES: &[Rule] = &[
    pure_source::check,
    pure_manifest::check,
    clippy_border::check,
    test_programs::check,
    imports::check,
    map::check,
    layers::check,
    consensus::check,
    nvml::check,
    wire_version::check,
    policy_source::check,
    state_texts::check,
    config_keys::check,
    api_document::check,
    dependencies::check,
    heads::check,
    safety::check,
    unwrap::check,
    file_length::check,
    function_length::check,
    line_length::check,
    file_names::check,
    leftovers::check,
    links::check,
    words::check,
];

/// Check the house rules: borders, heads, lengths, names, versions.
#[derive(clap::Args)]
pub struct Args {
    /// Lower the lengths in xtask/tidy-ratchet.txt to those of today; it never raises one.
    #[arg(long)]
    update_ratchet: bool,
    /// Record the wire messages and commands as they are now in xtask/wire-versions.txt.
    #[arg(long)]
    accept_wire: bool,
}

/// Runs the verb.
pub fn run(args: Args) -> Result<()> {
    let root = tree::root();
    let mut tree = Tree::read(&root)?;
    if args.update_ratchet {
        let text = ratchet::lowered(&tree);
        write(&root, &mut tree, ratchet::PATH, &text)?;
    }
    if args.accept_wire {
        let text = wire_version::recorded(&tree);
        write(&root, &mut tree, wire_version::PATH, &text)?;
    }
    let findings = check(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => println!("tidy: {} files keep {} rules", tree.files().count(), RULES.len()),
        1 => bail!("tidy: 1 finding"),
        many => bail!("tidy: {many} findings"),
    }
    Ok(())
}

/// All findings of all rules.
pub fn check(tree: &Tree) -> Vec<Finding> {
    RULES.iter().flat_map(|rule| rule(tree)).collect()
}

/// Writes one of tidy's own records, on disk and in the tree.
fn write(root: &std::path::Path, tree: &mut Tree, path: &str, text: &str) -> Result<()> {
    std::fs::write(root.join(path), text)?;
    tree.put(path, text);
    println!("tidy: wrote {path}");
    Ok(())
}
