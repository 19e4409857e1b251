//! Rule: a file is short: 300 lines aimed at, 500 at most, its tests not counted. Never counts
//! files that are tests throughout.

use super::finding::Finding;
use super::ratchet::{self, Measure};
use crate::tree::Tree;

/// Longer files stand in the ratchet.
pub const LINES_AIM: usize = 300;
/// No file is longer, ratchet or not.
const LINES_MAX: usize = 500;
const WHY: &str = "a file is one noun, policy, command or verb, to be read in one go";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let (too_long, others): (Vec<Measure>, Vec<Measure>) =
        measures(tree).into_iter().partition(|measure| measure.lines > LINES_MAX);
    let finding = |measure: Measure| {
        let what = format!("the file has {} lines, at most {LINES_MAX} may be", measure.lines);
        Finding::new(&measure.path, 1, what, WHY, "split it by what it names")
    };
    let mut findings: Vec<Finding> = too_long.into_iter().map(finding).collect();
    findings.extend(ratchet::check(tree, LINES_AIM, others, WHY));
    findings
}

/// The length of every file that is not a test.
pub fn measures(tree: &Tree) -> Vec<Measure> {
    let files = tree.rust_files_outside_tests();
    let measure = |file: &crate::tree::File| Measure {
        kind: "file",
        key: file.path.clone(),
        path: file.path.clone(),
        line: 1,
        lines: file.text.lines().count() - file.source().test_lines(),
    };
    files.map(measure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(path: &str, text: &str) -> Vec<String> {
        check(&Tree::of(&[(path, text)])).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn short_files_and_long_tests_pass() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "x;\n".repeat(600));
        assert_eq!(whats("a.rs", &("x;\n".repeat(300) + &tests)), [""; 0]);
        assert_eq!(whats("a/tests.rs", &"x;\n".repeat(600)), [""; 0]);
    }

    #[test]
    fn long_files_are_found() {
        assert_eq!(
            whats("a.rs", &"x;\n".repeat(301)),
            ["the file has 301 lines, the limit is 300"]
        );
        let what = "the file has 501 lines, at most 500 may be";
        assert_eq!(whats("a.rs", &"x;\n".repeat(501)), [what]);
    }

    #[test]
    fn the_ratchet_allows_nothing_above_the_maximum() {
        let tree = Tree::of(&[("a.rs", &"x;\n".repeat(501)), (ratchet::PATH, "file 600 a.rs\n")]);
        assert_eq!(check(&tree).len(), 1);
    }
}
