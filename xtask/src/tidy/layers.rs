//! Rule: the modules of a crate stand in layers, and imports among them only go down. A crate's
//! root file declares its modules bottom-up, in groups that a blank line separates; a module may
//! import those of earlier groups and, without a cycle, those of its own. The same holds for the
//! modules inside a layer that has a folder of its own.

mod imports;

use super::finding::Finding;
use super::house::ROOMS;
use crate::tree::{File, Tree};
use imports::{Import, imports};
use std::collections::{BTreeMap, BTreeSet};

const WHY: &str = "modules that import each other can only be read, tested and changed together";

/// Modules in a cycle that is not broken yet, by crate or folder. Imports among those of one entry
/// are not looked at.
const IN_CYCLE: &[(&str, &[&str])] = &[
    // Preemption and moves are tried on the state of the round. One planner will replace both.
    ("engine/round", &["planner", "preempt"]),
];

/// Crates and those of their modules that are layers, with layers inside.
const LAYERED: &[(&str, &[&str])] =
    &[("engine", &["model", "place", "policy", "round", "check", "explain"])];

pub fn check(tree: &Tree) -> Vec<Finding> {
    ROOMS.iter().flat_map(|room| check_crate(tree, room.name, room.folder)).collect()
}

fn check_crate(tree: &Tree, name: &str, folder: &str) -> Vec<Finding> {
    let source = format!("{folder}/src");
    let mut findings = check_below(tree, name, None, &source);
    let layered = LAYERED.iter().filter(|(of, _)| *of == name);
    for module in layered.flat_map(|(_, modules)| *modules) {
        let name = format!("{name}/{module}");
        findings.extend(check_below(tree, &name, Some(module), &format!("{source}/{module}")));
    }
    findings
}

/// Checks the modules that one root file declares, in the folder that has their files. `inside` is
/// the root's own module, or `None` for a crate's root.
fn check_below(tree: &Tree, name: &str, inside: Option<&str>, folder: &str) -> Vec<Finding> {
    let mut roots = ["lib.rs", "main.rs", "mod.rs"].map(|file| format!("{folder}/{file}")).to_vec();
    roots.extend(inside.map(|_| format!("{folder}.rs")));
    let Some(root) = roots.iter().find_map(|path| tree.file(path)) else { return Vec::new() };
    let layers = layer_of_each_module(root);
    let excepted = |import: &Import| {
        let holds =
            |some: &[&str]| [&import.from, &import.to].iter().all(|m| some.contains(&m.as_str()));
        IN_CYCLE.iter().any(|(of, some)| *of == name && holds(some))
    };
    let mut imports = imports(tree, root, inside, folder);
    imports.retain(|import| !excepted(import));
    // The first import of a pair of modules stands for all.
    imports.sort_by(|a, b| (&a.from, &a.to).cmp(&(&b.from, &b.to)));
    imports.dedup_by(|a, b| (&a.from, &a.to) == (&b.from, &b.to));
    let mut findings = find_upward_imports(&layers, &imports);
    let level = |import: &&Import| layers.get(&import.from) == layers.get(&import.to);
    findings.extend(find_import_cycles(imports.iter().filter(level)));
    findings
}

/// The number of each module's layer, 0 being the lowest.
fn layer_of_each_module(root: &File) -> BTreeMap<String, usize> {
    let mut layers = BTreeMap::new();
    let (mut layer, mut is_empty) = (0, true);
    for (_, line) in root.lines() {
        match declared_module(line) {
            Some(module) => {
                layers.insert(module.to_owned(), layer);
                is_empty = false;
            }
            None if line.trim().is_empty() && !is_empty => (layer, is_empty) = (layer + 1, true),
            None => {}
        }
    }
    layers
}

/// The module that a line such as `pub mod a;` declares.
fn declared_module(line: &str) -> Option<&str> {
    let (before, name) = line.trim_end().strip_suffix(';')?.rsplit_once(' ')?;
    (before == "mod" || (before.starts_with("pub") && before.ends_with(" mod"))).then_some(name)
}

fn find_upward_imports(layers: &BTreeMap<String, usize>, imports: &[Import]) -> Vec<Finding> {
    let is_upward = |import: &&Import| match (layers.get(&import.from), layers.get(&import.to)) {
        (Some(from), Some(to)) => from < to,
        _ => false,
    };
    let finding = |import: &Import| {
        let Import { from, to, .. } = import;
        let what = format!("`{from}` imports `{to}`, which is declared in a layer above it");
        let mend = format!(
            "move what both need into a module below `{from}`, or declare `{from}` above `{to}` \
             in the file that declares both"
        );
        Finding::new(&import.path, import.line, what, WHY, mend)
    };
    imports.iter().filter(is_upward).map(finding).collect()
}

/// The imports that lie on a cycle.
fn find_import_cycles<'a>(imports: impl Iterator<Item = &'a Import>) -> Vec<Finding> {
    let imports: Vec<&Import> = imports.collect();
    let mut below: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in &imports {
        below.entry(&import.from).or_default().insert(&import.to);
    }
    let reaches = |from: &str, to: &str| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            if module == to {
                return true;
            }
            if seen.insert(module) {
                next.extend(below.get(module).into_iter().flatten());
            }
        }
        false
    };
    let finding = |import: &&Import| {
        let Import { from, to, .. } = import;
        let what = format!(
            "`{from}` imports `{to}`, which imports it in turn, directly or through others"
        );
        let mend = "move what both need into a module below them";
        Finding::new(&import.path, import.line, what, WHY, mend)
    };
    imports.iter().filter(|import| reaches(&import.to, &import.from)).map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(root: &str, files: &[(&str, &str)]) -> Vec<String> {
        let mut tree = Tree::of(&[("kantd/node/src/lib.rs", root)]);
        for (path, text) in files {
            tree.put(&format!("kantd/node/src/{path}"), text);
        }
        check(&tree)
            .into_iter()
            .map(|finding| format!("{}: {}", finding.line, finding.what))
            .collect()
    }

    #[test]
    fn imports_that_go_down_pass() {
        let files = [("a.rs", ""), ("b.rs", "use crate::a;"), ("c.rs", "use super::b::{X, Y};")];
        assert_eq!(findings("pub mod a;\n\nmod b;\npub(crate) mod c;\n", &files), [""; 0]);
    }

    #[test]
    fn an_import_that_goes_up_is_found_by_any_path() {
        let upward = ["1: `a` imports `b`, which is declared in a layer above it"];
        for text in [
            "use crate::b::X;",
            "use crate::{b::X, c};",
            "use super::b;",
            "fn f() -> crate::b::X {}",
            "use crate::X;",
        ] {
            let root = "mod a;\n\nmod b;\nmod c;\npub use b::X;\n";
            let found = findings(root, &[("a.rs", text), ("b.rs", "")]);
            assert_eq!(found.first().map(String::as_str), Some(upward[0]), "{text}");
        }
        let deep = findings("mod a;\n\nmod b;\n", &[("a/deep.rs", "use super::super::b;")]);
        assert_eq!(deep, upward);
    }

    #[test]
    fn a_cycle_within_a_layer_is_found() {
        let files =
            [("a.rs", "use crate::b;"), ("b.rs", "use crate::c;"), ("c.rs", "use crate::a;")];
        assert_eq!(findings("mod a;\nmod b;\nmod c;\n", &files).len(), 3);
    }

    #[test]
    fn an_import_that_goes_up_inside_a_layer_is_found() {
        let root = "//! The lowest layer.\nmod a;\n\nmod b;\n";
        for text in ["use crate::model::b::X;", "use super::b;", "use crate::model::{b::X, c};"] {
            let mut tree = Tree::of(&[("kantctld/engine/src/lib.rs", "mod model;\n")]);
            tree.put("kantctld/engine/src/model/mod.rs", root);
            tree.put("kantctld/engine/src/model/a.rs", text);
            tree.put("kantctld/engine/src/model/b.rs", "use crate::model::a;");
            let found = check(&tree);
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(found[0].path, "kantctld/engine/src/model/a.rs", "{text}");
        }
    }

    #[test]
    fn tests_may_import_what_they_like() {
        let text = "#[cfg(test)]\nmod tests { use crate::b; }";
        assert_eq!(findings("mod a;\n\nmod b;\n", &[("a.rs", text)]), [""; 0]);
    }
}
