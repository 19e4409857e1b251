//! Rule: a crate imports only the crates that the map in house.rs allows.

use super::finding::Finding;
use super::house::{KIT, Room, TEXTS, room_named};
use super::manifest::{Dependency, Manifest};
use crate::tree::Tree;

const WHY: &str = "arrows between crates never turn back, so that each can be read, tested and \
                   changed without those above it";

pub fn check(tree: &Tree) -> Vec<Finding> {
    Manifest::all(tree).iter().flat_map(check_manifest).collect()
}

fn check_manifest(manifest: &Manifest) -> Vec<Finding> {
    let Some(room) = room_named(&manifest.name) else {
        let what = format!("the crate `{}` is not on the map of the house", manifest.name);
        let mend = "add it to ROOMS in xtask/src/tidy/house.rs, with the crates that it may import";
        return vec![Finding::new(&manifest.path, 1, what, WHY, mend)];
    };
    let Some(may_import) = room.may_import else { return Vec::new() };
    // A crate may import itself, to set a feature for its own tests.
    let is_other = |dep: &&Dependency| dep.name != room.name && room_named(&dep.name).is_some();
    let rooms = manifest.dependencies.iter().filter(is_other);
    let is_for_tests = |dependency: &Dependency| {
        let reads_texts = dependency.name == TEXTS && room.name == "state";
        dependency.dev && (dependency.name == KIT || reads_texts)
    };
    let is_allowed =
        |dep: &Dependency| is_for_tests(dep) || may_import.contains(&dep.name.as_str());
    let forbidden = rooms.filter(|dependency| !is_allowed(dependency));
    forbidden.map(|dependency| import_finding(manifest, room, dependency, may_import)).collect()
}

fn import_finding(
    manifest: &Manifest,
    room: &Room,
    dependency: &Dependency,
    may_import: &[&str],
) -> Finding {
    let what = format!("`{}` imports `{}`", room.name, dependency.name);
    let mend = match may_import {
        [] => {
            "it may import no crate of the workspace; move what both need further down".to_owned()
        }
        some => format!("it may import {}; move what both need into one of them", some.join(", ")),
    };
    Finding::new(&manifest.path, dependency.line, what, WHY, mend)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(name: &str, dependencies: &str) -> Vec<String> {
        let text = format!("[package]\nname = \"{name}\"\n{dependencies}");
        let tree = Tree::of(&[(&format!("{name}/Cargo.toml"), &text)]);
        check(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn allowed_arrows_pass() {
        let text =
            "[dependencies]\ncommon.workspace = true\nengine.workspace = true\ntokio = \"1\"\n";
        assert_eq!(findings("state", text), [""; 0]);
        assert_eq!(findings("xtask", "[dependencies]\nkantctl.workspace = true\n"), [""; 0]);
    }

    #[test]
    fn an_arrow_that_turns_back_is_found() {
        let text = "[dependencies]\nstate.workspace = true\n";
        assert_eq!(findings("engine", text), ["`engine` imports `state`"]);
        assert_eq!(findings("kantd", text), ["`kantd` imports `state`"]);
        assert_eq!(findings("kantctl", text), ["`kantctl` imports `state`"]);
    }

    #[test]
    fn tests_of_a_crate_keep_to_the_map_too() {
        let text = "[dev-dependencies]\nsim.workspace = true\n";
        assert_eq!(findings("engine", text), ["`engine` imports `sim`"]);
    }

    #[test]
    fn only_tests_import_the_kit_of_tests() {
        assert_eq!(findings("kantd", "[dev-dependencies]\ntestkit.workspace = true\n"), [""; 0]);
        let text = "[dependencies]\ntestkit.workspace = true\n";
        assert_eq!(findings("kantd", text), ["`kantd` imports `testkit`"]);
    }

    #[test]
    fn a_crate_may_set_a_feature_for_its_own_tests() {
        let text = "[dev-dependencies]\nwal = { workspace = true, features = [\"testing\"] }\n";
        assert_eq!(findings("wal", text), [""; 0]);
    }

    #[test]
    fn no_crate_imports_a_tool_or_is_off_the_map() {
        assert_eq!(findings("kantctl", "[dependencies]\nxtask.workspace = true\n").len(), 1);
        assert_eq!(findings("attic", "")[0], "the crate `attic` is not on the map of the house");
    }
}
