//! Rule: one folder talks to NVML. Never minds the stand-in library of the tests, which plays it.

use super::finding::Finding;
use super::manifest::Manifest;
use crate::tree::{File, Tree};

const WHY: &str = "a node without the library is a CPU node, not an error: one place decides that";
const HOME: &str = "kantd/src/gpu";
const HOME_ROOT: &str = "kantd/src/gpu.rs";
const STAND_IN: &str = "tests/nvml-standin";
const LIBRARIES: &[&str] = &["nvml_wrapper", "nvml_wrapper_sys"];
const CRATES: &[&str] = &["kantd", "nvml-standin"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_home = |file: &File| file.is_in(HOME) || file.path == HOME_ROOT || file.is_in(STAND_IN);
    for file in tree.rust_files().filter(|file| !is_home(file)) {
        let tokens = file.source().tokens().iter();
        for token in tokens.filter(|token| LIBRARIES.contains(&token.text.as_str())) {
            let what = format!("`{}` is named outside {HOME}/", token.text);
            let mend = "ask through the trait in kantd/src/gpu/";
            findings.push(Finding::new(&file.path, token.line, what, WHY, mend));
        }
    }
    for manifest in Manifest::all(tree) {
        for dependency in &manifest.dependencies {
            let is_library = LIBRARIES.contains(&dependency.name.replace('-', "_").as_str());
            if is_library && !CRATES.contains(&manifest.name.as_str()) {
                let what = format!("`{}` depends on `{}`", manifest.name, dependency.name);
                let mend = format!("only {} may", CRATES.join(" and "));
                findings.push(Finding::new(&manifest.path, dependency.line, what, WHY, mend));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gpu_folder_and_the_stand_in_pass() {
        let text = "//! A word.\nuse nvml_wrapper::Nvml;\n";
        let tree =
            Tree::of(&[("kantd/src/gpu/nvml.rs", text), ("tests/nvml-standin/src/lib.rs", text)]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn others_are_found() {
        let manifest = "[package]\nname = \"node\"\n[dependencies]\nnvml-wrapper = \"1\"\n";
        let tree = Tree::of(&[
            ("kantd/src/inventory/mod.rs", "use nvml_wrapper::Nvml;"),
            ("kantd/node/Cargo.toml", manifest),
        ]);
        let found: Vec<String> = check(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(found, ["kantd/src/inventory/mod.rs", "kantd/node/Cargo.toml"]);
    }
}
