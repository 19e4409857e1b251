//! Rule: each pure crate has a clippy.toml that bans the clock, so that an editor says it at once,
//! and every clippy.toml repeats the root's settings. Never runs clippy; `cargo xtask ci` does.

use super::finding::Finding;
use super::house::pure_rooms;
use crate::tree::{File, Tree};
use std::collections::BTreeSet;
use toml::{Table, Value};

const WHY: &str = "a border is seen best while one types, and a crate's clippy.toml replaces the \
                   root's, it does not add to it";
const ROOT: &str = "clippy.toml";

/// What each pure crate's file has to ban, under which key.
const BANS: &[(&str, &str)] = &[
    ("disallowed-types", "std::time::Instant"),
    ("disallowed-types", "std::time::SystemTime"),
    ("disallowed-types", "std::collections::HashMap"),
    ("disallowed-types", "std::collections::HashSet"),
    ("disallowed-methods", "std::time::Instant::now"),
    ("disallowed-methods", "std::time::SystemTime::now"),
];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for room in pure_rooms() {
        let path = format!("{}/clippy.toml", room.folder);
        match tree.file(&path) {
            Some(file) => findings.extend(check_bans(file)),
            None if tree.file(&format!("{}/Cargo.toml", room.folder)).is_some() => {
                let mend = "copy that of another pure crate";
                findings.push(Finding::new(&path, 1, "the file is missing", WHY, mend));
            }
            None => {}
        }
    }
    findings.extend(missing_root_settings(tree));
    findings
}

fn check_bans(file: &File) -> Vec<Finding> {
    let Ok(table) = file.text.parse::<Table>() else {
        return vec![Finding::new(&file.path, 1, "the file is not TOML", WHY, "mend its syntax")];
    };
    let mut findings = Vec::new();
    for (key, path) in BANS {
        if !array_entries(&table, key).any(|entry| path_of(entry) == Some(path)) {
            let what = format!("`{key}` does not ban `{path}`");
            findings.push(Finding::new(&file.path, 1, what, WHY, "add it with its reason"));
        }
    }
    for key in ["disallowed-types", "disallowed-methods"] {
        for entry in array_entries(&table, key).filter(|entry| entry.get("reason").is_none()) {
            let path = path_of(entry).unwrap_or_default();
            let what = format!("`{path}` is banned without a reason");
            let mend = "add `reason = ...` that names what to use instead";
            findings.push(Finding::new(&file.path, file.line_of(path), what, WHY, mend));
        }
    }
    findings
}

fn array_entries<'a>(table: &'a Table, key: &str) -> impl Iterator<Item = &'a Value> {
    table.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// An entry is a path, or a table that holds one.
fn path_of(entry: &Value) -> Option<&str> {
    entry.as_str().or_else(|| entry.get("path")?.as_str())
}

fn missing_root_settings(tree: &Tree) -> Vec<Finding> {
    let settings = |file: &File| -> BTreeSet<String> {
        let table = file.text.parse::<Table>().unwrap_or_default();
        let own = table.into_iter().filter(|(key, _)| !key.starts_with("disallowed-"));
        own.map(|(key, value)| format!("{key} = {value}")).collect()
    };
    let Some(root) = tree.file(ROOT).map(settings) else { return Vec::new() };
    let others = tree.files().filter(|file| file.path.ends_with("/clippy.toml"));
    let mut findings = Vec::new();
    for file in others {
        for missing in root.difference(&settings(file)) {
            let what = format!("the root's setting `{missing}` is not repeated");
            findings.push(Finding::new(&file.path, 1, what, WHY, "copy the line"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = include_str!("../../../kantctld/engine/clippy.toml");
    const ROOT_TEXT: &str = include_str!("../../../clippy.toml");

    fn findings(text: &str) -> Vec<String> {
        let tree = Tree::of(&[
            ("clippy.toml", ROOT_TEXT),
            ("kantctld/engine/Cargo.toml", ""),
            ("kantctld/engine/clippy.toml", text),
        ]);
        check(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn the_engines_own_file_passes() {
        assert_eq!(findings(GOOD), [""; 0]);
    }

    #[test]
    fn a_lifted_ban_is_found() {
        let lifted = GOOD.replace("std::time::Instant::now", "std::time::Instant::elapsed");
        assert_eq!(
            findings(&lifted),
            ["`disallowed-methods` does not ban `std::time::Instant::now`"]
        );
    }

    #[test]
    fn a_ban_without_a_reason_and_a_lost_setting_are_found() {
        let text = format!("{}\n", GOOD.replace("reason =", "note ="));
        assert!(findings(&text).iter().all(|what| what.ends_with("banned without a reason")));
        assert!(!findings(&text).is_empty());
        let lost = GOOD.replace("too-many-arguments-threshold", "too-many-lines-threshold");
        assert_eq!(findings(&lost).len(), 1);
    }

    #[test]
    fn a_missing_file_is_found() {
        let tree = Tree::of(&[("kantctld/engine/Cargo.toml", "")]);
        assert_eq!(check(&tree)[0].path, "kantctld/engine/clippy.toml");
    }
}
