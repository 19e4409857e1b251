//! Rule: an `unsafe` block or impl says above it why it is sound. Never asks it of `unsafe fn`,
//! whose duty is its caller's and stands in its `# Safety` section (clippy sees to that).

use super::finding::Finding;
use crate::tree::{File, Tree};

const WHY: &str = "the compiler has stopped checking here, so a reader must be able to";
const MARK: &str = "SAFETY:";

/// How far above the `unsafe` the comment may begin: it may be long, or stand above a statement
/// whose later line holds the `unsafe`.
const LINES_ABOVE_MAX: usize = 12;

/// Checks the rule, in tests too.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust_files().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let tokens = file.source().tokens();
    let opens = |at: &usize| {
        let next = tokens.get(at + 1).map_or("", |token| token.text.as_str());
        tokens[*at].text == "unsafe" && (next == "{" || next == "impl")
    };
    let lines = (0..tokens.len()).filter(opens).map(|at| tokens[at].line);
    let unexplained = lines.filter(|line| !is_explained(file, *line));
    let mend = format!("write `// {MARK} ` above it: what must hold, and why it does");
    let finding =
        |line| Finding::new(&file.path, line, "`unsafe` without a reason", WHY, mend.clone());
    unexplained.map(finding).collect()
}

fn is_explained(file: &File, line: usize) -> bool {
    let first = line.saturating_sub(LINES_ABOVE_MAX).max(1);
    (first..=line).any(|line| file.source().comment(line).contains(MARK))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&Tree::of(&[("a.rs", text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn an_explained_block_passes() {
        assert_eq!(
            lines("// SAFETY: the file is open.\nlet a =\n    unsafe { close(b) };\n"),
            [0; 0]
        );
        assert_eq!(lines("unsafe fn f();\nextern \"C\" {}\n"), [0; 0]);
        assert_eq!(lines("// an unsafe { } in words\n"), [0; 0]);
    }

    #[test]
    fn an_unexplained_block_or_impl_is_found() {
        assert_eq!(lines("f();\nunsafe { g() };\n"), [2]);
        assert_eq!(lines("unsafe impl Send for A {}\n"), [1]);
        assert_eq!(lines("let a = \"SAFETY: no\"; unsafe { g() };\n"), [1]);
    }
}
