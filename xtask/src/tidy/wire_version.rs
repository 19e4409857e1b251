//! Rule: wire messages and commands change with a version, not by accident. The record in
//! xtask/wire-versions.txt holds a checksum of each such file's code and each version number in it;
//! a change to one without the other fails. Never judges whether old readers can skip the change.

use super::finding::Finding;
use crate::tree::{File, Tree, source::Token};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Where the record lies.
pub const PATH: &str = "xtask/wire-versions.txt";

const WHY: &str = "nodes and controllers of two releases talk to each other during an upgrade, and \
                   read each other's logs";
const MEND: &str = "if a reader of the last release cannot skip the change (a field without a \
                    default, another meaning, a lost name), raise the version constant; give a new \
                    command or field of the log a rules level \
                    (kantctld/state/src/command/level.rs); then run \
                    `cargo xtask tidy --accept-wire` and commit its record with the change";
const HEAD: &str = "\
# What crosses a wire or enters the log, as it was when its version was last checked.
# Written by `cargo xtask tidy --accept-wire`; xtask/src/tidy/wire_version.rs says when.
";

/// What is watched: folders, and files by themselves.
const FOLDERS: &[&str] = &["common/src/wire", "kantctld/state/src/command"];
const FILES: &[&str] = &["kantctld/state/src/command.rs"];

/// A constant is a version if its name has one of these words.
const VERSION_WORDS: &[&str] = &["VERSION", "PROTOCOL", "FORMAT"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let recorded = tree.file(PATH).map(|file| parse_record(&file.text)).unwrap_or_default();
    let mut findings = Vec::new();
    for file in watched_files(tree) {
        let today = parse_record(&record_of_file(file));
        if let Some((name, value)) = today.iter().find(|(name, v)| recorded.get(*name) != Some(v)) {
            let what = match recorded.get(name) {
                Some(_) => format!("`{name}` has changed since its version was last looked at"),
                None => format!("`{name}` ({value}) is not in the record of versions"),
            };
            findings.push(Finding::new(&file.path, 1, what, WHY, MEND));
        }
    }
    let today = parse_record(&recorded_lines(tree));
    for name in recorded.keys().filter(|name| !today.contains_key(*name)) {
        let what = format!("`{name}` is recorded but gone");
        findings.push(Finding::new(PATH, 1, what, WHY, MEND));
    }
    findings
}

/// The whole record as it should be now.
pub fn recorded(tree: &Tree) -> String {
    HEAD.to_owned() + &recorded_lines(tree)
}

fn recorded_lines(tree: &Tree) -> String {
    watched_files(tree).map(record_of_file).collect()
}

fn watched_files(tree: &Tree) -> impl Iterator<Item = &File> {
    let is_watched = |file: &&File| {
        FILES.contains(&file.path.as_str()) || FOLDERS.iter().any(|folder| file.is_in(folder))
    };
    tree.rust_files_outside_tests().filter(is_watched)
}

/// A file's lines of the record: its checksum, then its versions.
fn record_of_file(file: &File) -> String {
    let tokens = file.source().tokens_outside_tests();
    let mut lines = format!("{} {}\n", file.path, code_checksum(file, &tokens));
    for (name, value) in version_constants(&tokens) {
        lines += &format!("{}::{name} {value}\n", file.path);
    }
    lines
}

/// Of the code alone: not of comments, tests, line breaks or trailing commas. The insides of
/// strings count, since they rename fields.
fn code_checksum(file: &File, tokens: &[Token]) -> String {
    let mut hash = Sha256::new();
    for (index, token) in tokens.iter().enumerate() {
        let next = tokens.get(index + 1);
        if token.text == "," && next.is_some_and(|next| ["}", ")", "]"].contains(&&*next.text)) {
            continue;
        }
        hash.update(&token.text);
        hash.update(b" ");
    }
    for literal in file.source().literals_outside_tests() {
        hash.update(literal.text);
        hash.update(b" ");
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Constants like `const NODE_PROTOCOL: u32 = 1;`.
fn version_constants(tokens: &[Token]) -> Vec<(&str, &str)> {
    let mut versions = Vec::new();
    for window in tokens.windows(6).filter(|window| window[0].text == "const") {
        let (name, value) = (window[1].text.as_str(), &window[5]);
        let is_version = VERSION_WORDS.iter().any(|word| name.contains(word));
        if is_version && window[4].text == "=" && value.is_number() {
            versions.push((name, value.text.as_str()));
        }
    }
    versions
}

/// Name and value of each line that is no comment.
fn parse_record(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once(' '));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "common/src/wire/node.rs";
    const TEXT: &str = "//! Head.\npub const NODE_PROTOCOL: u32 = 1;\nstruct A { b: u8 }\n";

    /// The findings after the file was recorded as `TEXT` and became `text`.
    fn whats(text: &str) -> Vec<String> {
        let mut tree = Tree::of(&[(FILE, TEXT)]);
        let record = recorded(&tree);
        tree.put(PATH, &record);
        tree.put(FILE, text);
        check(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_recorded_file_passes_and_so_do_comments_tests_and_layout() {
        assert_eq!(whats(TEXT), [""; 0]);
        let text = TEXT.replace("Head", "Other words").replace("u8 }", "u8, }\n");
        assert_eq!(
            whats(&(text + "#[cfg(test)]\nmod tests { const A: &str = \"b\"; }\n")),
            [""; 0]
        );
    }

    #[test]
    fn a_changed_field_and_a_changed_name_are_found() {
        let changed = format!("`{FILE}` has changed since its version was last looked at");
        let widened = whats(&TEXT.replace("u8", "u16"));
        let renamed = whats(&TEXT.replace("b: u8", "#[serde(rename = \"c\")] b: u8"));
        assert_eq!([widened, renamed], [[changed.as_str()], [changed.as_str()]]);
    }

    #[test]
    fn two_names_in_strings_differ() {
        let tree =
            |name: &str| Tree::of(&[(FILE, &format!("#[serde(rename = \"{name}\")] struct A;\n"))]);
        assert_ne!(recorded(&tree("b")), recorded(&tree("c")));
    }

    #[test]
    fn the_record_names_the_version() {
        assert!(recorded(&Tree::of(&[(FILE, TEXT)])).contains("::NODE_PROTOCOL 1\n"));
    }

    #[test]
    fn new_and_lost_files_are_found() {
        let tree = Tree::of(&[("kantctld/state/src/command.rs", TEXT)]);
        assert_eq!(check(&tree).len(), 1);
        let tree = Tree::of(&[(PATH, "common/src/wire/old.rs 0011\n")]);
        assert_eq!(check(&tree)[0].what, "`common/src/wire/old.rs` is recorded but gone");
    }
}
