//! Rule: outside tests, an `unwrap` says why it cannot fail. Never asks it of `expect`, whose
//! text is the reason.

use super::finding::Finding;
use crate::tree::{File, Tree, source::Token};

const WHY: &str = "a daemon that panics takes its jobs' story with it";

pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust_files_outside_tests().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let tokens = file.source().tokens_outside_tests();
    let unexplained = tokens.windows(4).filter(|window| is_unexplained(file, window));
    let finding = |window: &[Token]| {
        let mend = "return an error, or use `expect(\"why it cannot fail\")`";
        let what = "`unwrap` without a reason";
        Finding::new(&file.path, window[1].line, what, WHY, mend)
    };
    unexplained.map(finding).collect()
}

/// `.unwrap()` with no comment on its line or the line above.
fn is_unexplained(file: &File, window: &[Token]) -> bool {
    let is_unwrap = [".", "unwrap", "(", ")"].iter().zip(window).all(|(part, t)| *part == t.text);
    let line = window[1].line;
    let above = line.saturating_sub(1);
    is_unwrap && file.source().comment(line).is_empty() && file.source().comment(above).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn reasons_and_tests_pass() {
        assert_eq!(lines("a.rs", "// Not empty: checked above.\na.unwrap();\n"), [0; 0]);
        assert_eq!(lines("a.rs", "a.unwrap(); // a constant\n"), [0; 0]);
        assert_eq!(
            lines("a.rs", "a.unwrap_or(1);\n#[cfg(test)]\nmod tests { a.unwrap(); }\n"),
            [0; 0]
        );
        assert_eq!(lines("tests/e2e/src/lib.rs", "a.unwrap();\n"), [0; 0]);
    }

    #[test]
    fn a_bare_unwrap_is_found() {
        assert_eq!(lines("a.rs", "f();\na\n    .b()\n    .unwrap();\n"), [4]);
    }
}
