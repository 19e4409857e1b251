//! Rule: every third-party crate is named once for the workspace, and docs/decisions/0006 says why
//! it is here. Never judges the reason.

use super::finding::Finding;
use super::house::room_named;
use super::manifest::{Manifest, ROOT, workspace_dependencies};
use crate::tree::Tree;

const WHY: &str = "a dependency is code that we answer for and have not read";
const PAGE: &str = "docs/decisions/0006-dependencies.md";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let page = tree.file(PAGE).map_or("", |file| file.text.as_str());
    let mut findings = Vec::new();
    for name in workspace_dependencies(tree).keys().filter(|name| room_named(name).is_none()) {
        if !page.contains(&format!("`{name}`")) {
            let line = tree.file(ROOT).map_or(1, |file| file.line_of(&format!("{name} = ")));
            let what = format!("`{name}` is not named in {PAGE}");
            let mend = "add a line there: what it does for us, and what we would do without it";
            findings.push(Finding::new(ROOT, line, what, WHY, mend));
        }
    }
    for manifest in Manifest::all(tree) {
        for dependency in manifest.dependencies.iter().filter(|dep| !dep.of_workspace) {
            let what = format!("`{}` is not taken from the workspace", dependency.name);
            let mend = "write `NAME.workspace = true` here and the version in the root Cargo.toml";
            findings.push(Finding::new(&manifest.path, dependency.line, what, WHY, mend));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKSPACE: &str =
        "[workspace.dependencies]\ncommon = { path = \"common\" }\nserde = \"1\"\n";

    #[test]
    fn an_explained_crate_passes_and_our_own_need_no_reason() {
        let page = "- `serde`: types to bytes and back.\n";
        assert_eq!(check(&Tree::of(&[(ROOT, WORKSPACE), (PAGE, page)])), []);
    }

    #[test]
    fn an_unexplained_crate_is_found() {
        let found = check(&Tree::of(&[(ROOT, WORKSPACE), (PAGE, "serde_json\n")]));
        assert_eq!((found.len(), found[0].line), (1, 3));
    }

    #[test]
    fn a_version_of_ones_own_is_found() {
        let manifest = "[package]\nname = \"net\"\n[dependencies]\nserde = \"1\"\n";
        let found = check(&Tree::of(&[("common/net/Cargo.toml", manifest)]));
        assert_eq!((found.len(), found[0].line), (1, 4));
    }
}
