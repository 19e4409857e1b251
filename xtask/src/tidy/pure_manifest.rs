//! Rule: the Cargo.toml of a pure crate names nothing one could do input or output with.
//! Never a list of the forbidden: what is not allowed here is not allowed.

use super::finding::Finding;
use super::house::{pure_rooms, room_named};
use super::manifest::{Dependency, Manifest};
use crate::tree::Tree;

const WHY: &str =
    "the compiler guards the border of a pure crate: what it cannot name it cannot do";

/// Third-party crates that only compute.
const ALLOWED: &[&str] = &[
    "crc32fast",
    "csv",
    "flate2",
    "maud",
    "rmp-serde",
    "schemars",
    "serde",
    "serde_bytes",
    "serde_json",
    "sha2",
    "strsim",
    "thiserror",
    "toml",
];

/// Allowed to tests beside them.
const ALLOWED_IN_TESTS: &[&str] = &["proptest"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let manifests = pure_rooms().filter_map(|room| Manifest::of_folder(tree, room.folder));
    manifests.flat_map(|manifest| check_manifest(&manifest)).collect()
}

fn check_manifest(manifest: &Manifest) -> Vec<Finding> {
    let foreign = manifest.dependencies.iter().filter(|dependency| !is_allowed(dependency));
    let finding = |dependency: &Dependency| {
        let what = format!("the pure crate `{}` depends on `{}`", manifest.name, dependency.name);
        let mend = "move what needs it into the shell around the crate; if it only computes, add \
                    it to the list in xtask/src/tidy/pure_manifest.rs";
        Finding::new(&manifest.path, dependency.line, what, WHY, mend)
    };
    foreign.map(finding).collect()
}

/// Crates of the workspace are the business of the rule `imports`.
fn is_allowed(dependency: &Dependency) -> bool {
    let name = dependency.name.as_str();
    room_named(name).is_some()
        || ALLOWED.contains(&name)
        || (dependency.dev && ALLOWED_IN_TESTS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(dependencies: &str) -> Vec<String> {
        let text = format!("[package]\nname = \"state\"\n{dependencies}");
        let tree = Tree::of(&[("kantctld/state/Cargo.toml", &text)]);
        check(&tree).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn what_only_computes_passes() {
        let text = "[dependencies]\nserde.workspace = true\nengine.workspace = true\n\
                    [dev-dependencies]\nproptest.workspace = true\n";
        assert_eq!(findings(text), [""; 0]);
    }

    #[test]
    fn what_does_input_and_output_is_found_with_a_reason_and_a_way_out() {
        let found = findings("[dependencies]\ntokio.workspace = true\n");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("kantctld/state/Cargo.toml:4: "), "{found:?}");
        assert!(found[0].contains("`tokio`") && found[0].contains("the shell"), "{found:?}");
    }

    #[test]
    fn what_tests_may_use_the_crate_may_not() {
        assert_eq!(findings("[dependencies]\nproptest = \"1\"\n").len(), 1);
        assert_eq!(findings("[build-dependencies]\ncc = \"1\"\n").len(), 1);
    }
}
