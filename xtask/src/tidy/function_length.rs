//! Rule: a function fits on a screen: 70 lines, tests not counted. Never counts a function twice
//! for its name: of several with one name in a file, the longest stands for all.

use super::finding::Finding;
use super::ratchet::{self, Measure};
use crate::tree::Tree;
use std::collections::BTreeMap;

/// Longer functions stand in the ratchet.
pub const LINES_MAX: usize = 70;
const WHY: &str = "a function that fits on a screen can be checked by looking at it";

pub fn check(tree: &Tree) -> Vec<Finding> {
    ratchet::check(tree, LINES_MAX, measures(tree), WHY)
}

/// The length of every function outside tests.
pub fn measures(tree: &Tree) -> Vec<Measure> {
    let mut longest: BTreeMap<String, Measure> = BTreeMap::new();
    for file in tree.rust_files_outside_tests() {
        for function in file.source().functions() {
            let key = format!("{}::{}", file.path, function.name);
            if longest.get(&key).is_some_and(|known| known.lines >= function.lines) {
                continue;
            }
            let measure = Measure {
                kind: "function",
                key: key.clone(),
                path: file.path.clone(),
                line: function.line,
                lines: function.lines,
            };
            longest.insert(key, measure);
        }
    }
    longest.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(lines: usize, ratchet: &str) -> Tree {
        let text = format!("fn f() {{}}\nfn f() {{\n{}}}\n", "x;\n".repeat(lines - 2));
        Tree::of(&[("a.rs", &text), (ratchet::PATH, ratchet)])
    }

    #[test]
    fn a_screenful_passes() {
        assert_eq!(check(&tree(70, "")), []);
    }

    #[test]
    fn a_longer_one_is_found_where_it_begins() {
        let found = check(&tree(71, ""));
        assert_eq!((found.len(), found[0].line), (1, 2));
        assert!(found[0].mend.contains("`function 71 a.rs::f`"), "{}", found[0].mend);
    }

    #[test]
    fn a_listed_one_may_not_grow() {
        assert_eq!(check(&tree(80, "function 80 a.rs::f\n")), []);
        assert_eq!(check(&tree(81, "function 80 a.rs::f\n")).len(), 1);
    }
}
