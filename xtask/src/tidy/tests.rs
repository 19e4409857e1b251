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
    let mut tree = REAL.0.clone();
    tree.put(path, &change(text(path)));
    new_findings(&tree)
}

fn text(path: &str) -> &'static str {
    &REAL.0.file(path).expect("the file exists").text
}

/// What is found in a tree and not in the real one.
fn new_findings(tree: &Tree) -> Vec<Finding> {
    check(tree).into_iter().filter(|finding| !REAL.1.contains(finding)).collect()
}

/// Puts each `(path, line, says)` at the end of its file, all in one tree, since the rules take
/// seconds. Each is found in its file, and each finding says why and how to mend it.
fn assert_found(planted: &[(&str, &str, &str)]) {
    let mut tree = REAL.0.clone();
    for (path, line, _) in planted {
        let before = tree.file(path).expect("the file exists").text.clone();
        tree.put(path, &format!("{before}\n{line}\n"));
    }
    let found = new_findings(&tree);
    for (path, line, says) in planted {
        let is_it = |finding: &&Finding| finding.path == *path && finding.what.contains(says);
        assert!(found.iter().any(|one| is_it(&one)), "{path}: planted `{line}`, found {found:#?}");
    }
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
    let line = "fn late() -> bool { std::time::Instant::now().elapsed().as_secs() > 1 }";
    let paths = [
        "common/src/lib.rs",
        "kantctld/engine/src/lib.rs",
        "kantctld/state/src/lib.rs",
        "kantctld/query/src/lib.rs",
        "kantctld/sim/src/lib.rs",
        "kantd/node/src/lib.rs",
    ];
    assert_found(&paths.map(|path| (path, line, "`Instant` is the clock")));
}

#[test]
fn an_unordered_map_in_node_is_found() {
    let line = "type Steps = std::collections::HashMap<u32, u32>;";
    assert_found(&[("kantd/node/src/lib.rs", line, "`HashMap` is a map without an order")]);
}

#[test]
fn files_environment_sockets_threads_and_async_in_a_pure_crate_are_found() {
    let path = "kantctld/engine/src/lib.rs";
    assert_found(&[
        (path, "use std::fs;", "`std::fs`"),
        (path, "use std::{env, fmt};", "`std::env`"),
        (path, "use std::net::TcpStream;", "`TcpStream` is a socket"),
        (path, "fn f() { std::thread::yield_now() }", "`std::thread`"),
        (path, "async fn f() {}", "`async`"),
    ]);
}

#[test]
fn a_float_in_state_is_found() {
    let line = "const HALF: f64 = 0.5;";
    assert_found(&[("kantctld/state/src/lib.rs", line, "`f64` is a float")]);
}

#[test]
fn a_runtime_in_the_manifest_of_state_is_found() {
    let path = "kantctld/state/Cargo.toml";
    let says = "the pure crate `state` depends on `tokio`";
    assert_found(&[(path, &dependency("tokio"), says)]);
}

#[test]
fn an_arrow_that_turns_back_is_found() {
    let planted = [
        ("kantd/Cargo.toml", "state", "`kantd` imports `state`"),
        ("kantctl/Cargo.toml", "engine", "`kantctl` imports `engine`"),
        ("kantctld/engine/Cargo.toml", "state", "`engine` imports `state`"),
        ("common/Cargo.toml", "net", "`common` imports `net`"),
        ("kantctld/wal/Cargo.toml", "common", "`wal` imports `common`"),
    ]
    .map(|(path, name, says)| (path, dependency(name), says));
    let planted: Vec<_> =
        planted.iter().map(|(path, line, says)| (*path, line.as_str(), *says)).collect();
    assert_found(&planted);
}

#[test]
fn the_consensus_library_outside_its_folder_is_found() {
    assert_found(&[
        (
            "kantctld/src/lib.rs",
            "use ::raft::eraftpb::Entry;",
            "`raft` names the consensus library",
        ),
        ("kantd/Cargo.toml", &dependency("raft"), "`kantd` depends on `raft`"),
    ]);
}

#[test]
fn nvml_outside_its_folder_is_found() {
    let line = "use nvml_wrapper::Nvml;";
    assert_found(&[("kantd/src/lib.rs", line, "`nvml_wrapper` is named")]);
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
    let mut tree = REAL.0.clone();
    tree.put("etc/kantd.toml", "");
    tree.put("docs/decisions/0006-dependencies.md", "");
    let found = new_findings(&tree);
    for says in ["the key `name` is missing", "`tokio` is not named in docs/decisions"] {
        assert!(found.iter().any(|finding| finding.what.contains(says)), "{says}: {found:#?}");
    }
}

#[test]
fn a_banned_word_is_found() {
    let line = "It is refused to whoever asks.";
    assert_found(&[("docs/security.md", line, "`whoever` is not plain")]);
}

#[test]
fn a_cycle_among_the_modules_of_a_crate_is_found() {
    let path = "kantctld/wal/src/record.rs";
    let line = "use crate::segment::Segment as Planted;";
    assert_found(&[(path, line, "`record` imports `segment`")]);
}

#[test]
fn a_map_that_lies_is_found() {
    let arrows = "| sim | common, engine, autoscale, state, query, lead, trace |";
    let lie = |text: &str| text.replace(arrows, "| sim | common |");
    assert!(!changed("docs/ARCHITECTURE.md", lie).is_empty());
}
