//! Rule: the replicated state makes no sentences. It keeps what happened, as values; what users
//! read of it is made in `query` and in `common::reason`.

use super::finding::Finding;
use crate::tree::{File, Tree};

const WHY: &str = "replicas must agree on the state byte by byte, and a sentence is rewritten more \
                   often than what it says";

const STATE: &str = "kantctld/state/src";

/// Files with texts that are not for users.
const EXEMPT: &[&str] = &[
    // Findings of the judge, for the output of tests.
    "invariant.rs",
    "invariant/",
    // Errors in the log of the controller: a state that cannot be read or written.
    "entry.rs",
    "persist.rs",
    // Why a start was refused, which only operators read, in events and in the log.
    "ledger.rs",
    // What serde and a panic say.
    "job/elements.rs",
];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let is_exempt = |file: &File| {
        let path = file.path.strip_prefix(STATE).unwrap_or(&file.path).trim_start_matches('/');
        EXEMPT.iter().any(|exempt| path.starts_with(exempt))
    };
    let files = tree.rust_files_in(STATE).filter(|file| !tree.is_test(file) && !is_exempt(file));
    files.flat_map(sentences).collect()
}

fn sentences(file: &File) -> Vec<Finding> {
    let literals = file.source().literals_outside_tests();
    let found = literals.filter(|literal| is_sentence(literal.text));
    let finding = |line| {
        let what = "a string literal reads as a sentence";
        let mend = "return a value (common::reason), and make its sentence there or in `query`";
        Finding::new(&file.path, line, what, WHY, mend)
    };
    found.map(|literal| finding(literal.line)).collect()
}

/// Whether two words follow each other.
fn is_sentence(text: &str) -> bool {
    let letter = |c: char| c.is_alphabetic() || c == '{' || c == '}';
    text.match_indices(' ').any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + 1..].chars().next());
        before.is_some_and(letter) && after.is_some_and(letter)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn a_sentence_in_the_state_is_found() {
        let path = "kantctld/state/src/apply/drain_node.rs";
        for text in ["const A: &str = \"give a reason\";", "fn f() { format!(\"{a} was lost\"); }"]
        {
            assert_eq!(findings(path, text), 1, "{text}");
        }
    }

    #[test]
    fn names_tests_and_texts_that_no_user_reads_pass() {
        let path = "kantctld/state/src/apply/drain_node.rs";
        assert_eq!(findings(path, "const A: &str = \"drain_node\"; const B: &str = \", \";"), 0);
        assert_eq!(findings(path, "#[cfg(test)] mod tests { const A: &str = \"it is a\"; }"), 0);
        assert_eq!(findings("kantctld/state/src/persist.rs", "const A: &str = \"it is\";"), 0);
        assert_eq!(findings("kantctld/query/src/lib.rs", "const A: &str = \"it is\";"), 0);
    }
}
