//! The rules on the real tree: it keeps them all, and breaking a border on purpose is found.
//! Never writes the tree; what is broken is a copy in memory.

use super::{Finding, RULES, check, wire_version};
use crate::tree::{Tree, root};
use std::sync::LazyLock;

/// The real tree and what is found in it as it is, read once.
static REAL: LazyLock<(Tree, Vec<Finding>)> = LazyLock::new(|| {
    let tree = Tree::read(&root()).expect("the project lies in a git checkout");
    let findings = check(&tree);
    (tree, findings)
});

/// The findings that appear when a real file becomes something else.
fn changed(path: &str, change: impl Fn(&str) -> String) -> Vec<Finding> {
    let (real, before) = &*REAL;
    let mut tree = real.clone();
    tree.put(path, &change(&real.file(path).expect("the file exists").text));
    check(&tree).into_iter().filter(|finding| !before.contains(finding)).collect()
}

/// The findings that appear when `line` is put at the end of a real file.
fn planted(path: &str, line: &str) -> Vec<Finding> {
    changed(path, |text| format!("{text}\n{line}\n"))
}

/// Something was found in the file itself, and each finding says why and how to mend it.
fn assert_found(path: &str, line: &str, says: &str) {
    let found = planted(path, line);
    let in_place = found.iter().find(|finding| finding.path == path && finding.what.contains(says));
    assert!(in_place.is_some(), "{path}: planted `{line}`, found {found:#?}");
    assert!(found.iter().all(|finding| !finding.why.is_empty() && !finding.mend.is_empty()));
}

/// A dependency in a table of its own, so that it can stand at the end of any Cargo.toml.
fn dependency(name: &str) -> String {
    format!("[target.'cfg(all())'.dependencies]\n{name}.workspace = true")
}

#[test]
fn the_tree_is_tidy() {
    let findings = &REAL.1;
    let shown: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), shown.join("\n"));
}

#[test]
fn every_rule_passes_on_an_empty_tree_or_names_what_is_missing() {
    for rule in RULES {
        for finding in rule(&Tree::default()) {
            assert!(finding.what.contains("missing"), "{finding}");
        }
    }
}

#[test]
fn the_clock_in_a_pure_crate_is_found() {
    for path in [
        "common/src/lib.rs",
        "kantctld/engine/src/lib.rs",
        "kantctld/state/src/lib.rs",
        "kantctld/query/src/lib.rs",
        "kantctld/sim/src/lib.rs",
        "kantd/node/src/lib.rs",
    ] {
        let line = "fn late() -> bool { std::time::Instant::now().elapsed().as_secs() > 1 }";
        assert_found(path, line, "`Instant` is the clock");
    }
}

#[test]
fn an_unordered_map_in_node_is_found() {
    let line = "type Steps = std::collections::HashMap<u32, u32>;";
    assert_found("kantd/node/src/lib.rs", line, "`HashMap` is a map without an order");
}

#[test]
fn files_environment_sockets_threads_and_async_in_a_pure_crate_are_found() {
    let path = "kantctld/engine/src/lib.rs";
    assert_found(path, "use std::fs;", "`std::fs`");
    assert_found(path, "use std::{env, fmt};", "`std::env`");
    assert_found(path, "use std::net::TcpStream;", "`TcpStream` is a socket");
    assert_found(path, "fn f() { std::thread::yield_now() }", "`std::thread`");
    assert_found(path, "async fn f() {}", "`async`");
}

#[test]
fn a_float_in_state_is_found() {
    assert_found("kantctld/state/src/lib.rs", "const HALF: f64 = 0.5;", "`f64` is a float");
}

#[test]
fn a_runtime_in_the_manifest_of_state_is_found() {
    let path = "kantctld/state/Cargo.toml";
    assert_found(path, &dependency("tokio"), "the pure crate `state` depends on `tokio`");
}

#[test]
fn an_arrow_that_turns_back_is_found() {
    let backward = [
        ("kantd/Cargo.toml", "state", "`kantd` imports `state`"),
        ("kantctl/Cargo.toml", "engine", "`kantctl` imports `engine`"),
        ("kantctld/engine/Cargo.toml", "state", "`engine` imports `state`"),
        ("common/Cargo.toml", "net", "`common` imports `net`"),
        ("kantctld/wal/Cargo.toml", "common", "`wal` imports `common`"),
    ];
    for (path, name, says) in backward {
        assert_found(path, &dependency(name), says);
    }
}

#[test]
fn the_consensus_library_outside_its_folder_is_found() {
    let path = "kantctld/src/lib.rs";
    assert_found(path, "use ::raft::eraftpb::Entry;", "`raft` names the consensus library");
    let path = "kantd/Cargo.toml";
    assert_found(path, &dependency("raft"), "`kantd` depends on `raft`");
}

#[test]
fn nvml_outside_its_folder_is_found() {
    assert_found("kantd/src/lib.rs", "use nvml_wrapper::Nvml;", "`nvml_wrapper` is named");
}

#[test]
fn a_changed_wire_message_without_a_look_at_its_version_is_found() {
    let path = "common/src/wire/node.rs";
    let mut tree = REAL.0.clone();
    tree.put(wire_version::PATH, &wire_version::recorded(&REAL.0));
    assert_eq!(wire_version::check(&tree), []);
    let text = &tree.file(path).expect("the file exists").text;
    let text = format!("{text}\npub struct Surprise;\n");
    tree.put(path, &text);
    let found = wire_version::check(&tree);
    assert!(found.iter().any(|finding| finding.path == path), "{found:?}");
}

#[test]
fn a_lifted_clippy_ban_is_found() {
    let path = "kantctld/engine/clippy.toml";
    let found = changed(path, |text| text.replace("SystemTime", "Duration"));
    assert!(found.iter().any(|finding| finding.path == path), "{found:?}");
}

#[test]
fn an_undocumented_key_and_an_unexplained_dependency_are_found() {
    for path in ["etc/kantd.toml", "docs/decisions/0006-dependencies.md"] {
        assert!(!changed(path, |_| String::new()).is_empty(), "{path}");
    }
}

#[test]
fn a_banned_word_is_found() {
    assert_found("docs/security.md", "It is refused to whoever asks.", "`whoever` is not plain");
}

#[test]
fn a_cycle_among_the_modules_of_a_crate_is_found() {
    let path = "kantctld/wal/src/record.rs";
    assert_found(path, "use crate::segment::Segment as Planted;", "`record` imports `segment`");
}

#[test]
fn a_map_that_lies_is_found() {
    let arrows = "| sim | common, engine, autoscale, state, query, lead, trace |";
    let lie = |text: &str| text.replace(arrows, "| sim | common |");
    assert!(!changed("docs/ARCHITECTURE.md", lie).is_empty());
}
