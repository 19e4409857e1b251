//! Rule: every configuration key stands in its file in etc/ and in the operators' page. Never
//! checks the words; `cargo xtask gen --check` compares them to the letter.

use super::finding::Finding;
use crate::generate::config::{CONFIGS, PAGE};
use crate::tree::{File, Tree};

const WHY: &str = "an operator finds a key by reading the file, or not at all";
const MEND: &str = "run `cargo xtask gen`; for a new table, add it to xtask/src/generate/config.rs";

/// Checks the rule.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for config in CONFIGS {
        for table in config.tables() {
            for key in &table.docs.keys {
                let full = table.full_name(key.name);
                if !tree.file(config.path).is_some_and(|file| names_key(file, key.name)) {
                    let what = format!("the key `{full}` is missing");
                    findings.push(Finding::new(config.path, 1, what, WHY, MEND));
                }
                if !tree.file(PAGE).is_some_and(|file| file.text.contains(&format!("`{full}`"))) {
                    let what = format!("the key `{full}` of {} is missing", config.path);
                    findings.push(Finding::new(PAGE, 1, what, WHY, MEND));
                }
            }
        }
    }
    findings
}

/// Does a line set this key, or show how to?
fn names_key(file: &File, key: &str) -> bool {
    let bare = |line: &str| line.trim_start_matches(['#', ' ', '[']).to_owned();
    file.lines().any(|(_, line)| {
        bare(line).strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', '=', ']']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    #[test]
    fn generated_files_pass() {
        let mut tree = Tree::default();
        for page in generate::config::pages() {
            tree.put(&page.path, &page.text);
        }
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_lost_key_is_found_in_both_places() {
        let mut tree = Tree::default();
        for page in generate::config::pages() {
            tree.put(&page.path, &page.text.replace("spool_dir", "spool_folder"));
        }
        let places: Vec<String> = check(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(places, ["etc/kantd.toml", PAGE]);
    }
}
