//! A Cargo.toml as the rules see it: the crate's name and what it depends on. Never resolves a
//! version; only names matter to the borders.

use crate::tree::{File, Tree};
use toml::{Table, Value};

/// The root of the workspace.
pub const ROOT: &str = "Cargo.toml";
const FUZZER: &str = "fuzz/Cargo.toml";

pub struct Manifest {
    pub path: String,
    /// The crate's name; empty if it has none.
    pub name: String,
    /// All dependencies of all kinds, in order.
    pub dependencies: Vec<Dependency>,
}

/// One line of a dependency table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// The crate depended upon, under its own name where it is renamed.
    pub name: String,
    pub dev: bool,
    /// Taken from the workspace's list?
    pub of_workspace: bool,
    /// Its line, from 1.
    pub line: usize,
}

impl Manifest {
    /// Reads the Cargo.toml of a folder; `None` if there is none or it is not TOML (cargo itself
    /// says so better).
    pub fn of_folder(tree: &Tree, folder: &str) -> Option<Manifest> {
        Manifest::of(tree, tree.file(&format!("{folder}/Cargo.toml"))?)
    }

    /// All crates' manifests but the root's, and but the fuzzer's, which is a workspace of its own.
    pub fn all(tree: &Tree) -> Vec<Manifest> {
        let is_ours = |path: &str| path.ends_with("/Cargo.toml") && path != FUZZER;
        let files = tree.files().filter(|file| is_ours(&file.path));
        files.filter_map(|file| Manifest::of(tree, file)).collect()
    }

    fn of(tree: &Tree, file: &File) -> Option<Manifest> {
        let table = file.text.parse::<Table>().ok()?;
        let workspace = workspace_dependencies(tree);
        let mut dependencies = Vec::new();
        for (section, dev) in dependency_tables(&table) {
            for (key, value) in section {
                let of_workspace = is_true(value, "workspace");
                let named = if of_workspace { workspace.get(key).unwrap_or(value) } else { value };
                let name = named.get("package").and_then(Value::as_str).unwrap_or(key);
                let line = dependency_line(file, key);
                dependencies.push(Dependency { name: name.to_owned(), dev, of_workspace, line });
            }
        }
        let name = table.get("package").and_then(|package| package.get("name")?.as_str());
        let name = name.unwrap_or_default().to_owned();
        Some(Manifest { path: file.path.clone(), name, dependencies })
    }
}

/// The workspace's list of dependencies; empty if there is none.
pub fn workspace_dependencies(tree: &Tree) -> Table {
    let root = tree.file(ROOT).and_then(|file| file.text.parse::<Table>().ok());
    let list = root.and_then(|mut root| root.get_mut("workspace")?.get("dependencies").cloned());
    list.and_then(|list| list.as_table().cloned()).unwrap_or_default()
}

/// Every dependency table with whether it is for tests only, those of a target included.
fn dependency_tables(table: &Table) -> Vec<(&Table, bool)> {
    let mut sections = Vec::new();
    let targets = table.get("target").and_then(Value::as_table);
    let targets = targets.into_iter().flat_map(|targets| targets.values());
    for holder in std::iter::once(table).chain(targets.filter_map(Value::as_table)) {
        for (key, dev) in
            [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
        {
            sections.extend(holder.get(key).and_then(Value::as_table).map(|table| (table, dev)));
        }
    }
    sections
}

fn is_true(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// The line of a dependency's key; 1 where it is written in an unusual way.
fn dependency_line(file: &File, key: &str) -> usize {
    let names = |line: &str| {
        line.trim_start().strip_prefix(key).is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
    };
    file.lines().find(|(_, line)| names(line)).map_or(1, |(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_every_kind_are_found_under_their_own_name() {
        let tree = Tree::of(&[
            (
                "Cargo.toml",
                "[workspace.dependencies]\nb = { version = \"1\", package = \"bee\" }\n",
            ),
            (
                "a/Cargo.toml",
                "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\nc = \"1\"\n\
                 [target.'cfg(unix)'.dependencies]\nd = \"1\"\n[dev-dependencies]\ne = \"1\"\n",
            ),
        ]);
        let manifest = Manifest::of_folder(&tree, "a").unwrap();
        assert_eq!(manifest.name, "a");
        let found = manifest.dependencies.iter().map(|d| (d.name.as_str(), d.dev, d.of_workspace));
        let expected =
            [("bee", false, true), ("c", false, false), ("e", true, false), ("d", false, false)];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert_eq!(manifest.dependencies[0].line, 4);
    }
}
