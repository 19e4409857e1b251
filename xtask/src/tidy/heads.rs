//! Rule: every Rust file begins with what it is for, and every crate says what it never does.
//! Never judges the sentences.

use super::finding::Finding;
use crate::tree::{File, Tree};

const WHY: &str = "a reader decides by the first lines whether to read on, and absences are what \
                   no code can show";

pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust_files().filter_map(check_file).collect()
}

fn check_file(file: &File) -> Option<Finding> {
    let head = file.head();
    if head.trim().is_empty() {
        let what = "the file does not begin with `//!`";
        let mend = "say in its first lines what it is for and what it never does";
        return Some(Finding::new(&file.path, 1, what, WHY, mend));
    }
    let is_root = file.path.ends_with("src/lib.rs") || file.path.ends_with("src/main.rs");
    if is_root && !head.to_lowercase().contains("never") {
        let what = "the crate does not say what it never does";
        let mend = "add a sentence with `never` to the `//!` head";
        return Some(Finding::new(&file.path, 1, what, WHY, mend));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(path: &str, text: &str) -> Option<String> {
        check(&Tree::of(&[(path, text)])).pop().map(|finding| finding.what)
    }

    #[test]
    fn a_head_passes() {
        assert_eq!(finding("a/src/b.rs", "//! What it is.\n"), None);
        assert_eq!(finding("a/src/lib.rs", "//! What it is.\n//! Never reads.\n"), None);
    }

    #[test]
    fn a_missing_head_is_found() {
        for text in ["", "use a;\n", "\n//! Late.\n", "//!\n"] {
            assert!(finding("a/src/b.rs", text).unwrap().contains("begin"), "{text}");
        }
    }

    #[test]
    fn a_crate_without_absences_is_found() {
        let found = finding("a/src/main.rs", "//! What it is.\n// never\n").unwrap();
        assert!(found.contains("never does"), "{found}");
    }
}
