//! Rule: every Rust file begins with a head that says what it is.

use super::finding::Finding;
use crate::tree::{File, Tree};

const WHY: &str = "a reader decides by the first lines whether to read on";

pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust_files().filter_map(check_file).collect()
}

fn check_file(file: &File) -> Option<Finding> {
    let head = file.head();
    if head.trim().is_empty() {
        let what = "the file does not begin with `//!`";
        let mend = "say in its first lines what it is";
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
}
