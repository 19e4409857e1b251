//! Rule: a policy names its source. Never judges the source: "our own, because ..." is one.

use super::finding::Finding;
use crate::tree::{File, Tree};

const WHY: &str = "a policy is a claim from a paper, a manual or an argument; who doubts it must \
                   be able to look it up";

/// The folders of policies, below the engine's sources.
const FOLDERS: &[&str] = &[
    "policy/order",
    "policy/admit",
    "place/fit",
    "place/score",
    "place/backfill",
    "round/preempt",
];
const MARK: &str = "Source:";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let folders = FOLDERS.iter().map(|folder| format!("kantctld/engine/src/{folder}"));
    let is_policy = |file: &&File| file.name() != "mod.rs" && !tree.is_test(file);
    let mut findings = Vec::new();
    for folder in folders {
        for file in tree.rust_files_in(&folder).filter(is_policy).filter(|file| !has_source(file)) {
            let mend = "add `//! Source: ` with paper and section, man page, or our own reason";
            let what = "the policy's head names no source";
            findings.push(Finding::new(&file.path, 1, what, WHY, mend));
        }
    }
    findings
}

fn has_source(file: &File) -> bool {
    let head = file.head();
    let source = head.lines().find_map(|line| line.trim_start().strip_prefix(MARK));
    source.is_some_and(|source| !source.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn a_policy_with_a_source_passes() {
        let text = "//! Packs tightly.\n//! Source: Kant, section 3.2.\n";
        assert_eq!(findings("kantctld/engine/src/place/score/binpack.rs", text), 0);
    }

    #[test]
    fn a_policy_without_one_is_found() {
        for text in ["//! Packs tightly.\n", "//! Source:\n", "//! Packs.\n\n// Source: no head\n"]
        {
            assert_eq!(findings("kantctld/engine/src/place/score/binpack.rs", text), 1, "{text}");
        }
    }

    #[test]
    fn what_is_no_policy_passes() {
        for path in ["place/score/mod.rs", "place/score/binpack/tests.rs", "round.rs"] {
            assert_eq!(
                findings(&format!("kantctld/engine/src/{path}"), "//! Text.\n"),
                0,
                "{path}"
            );
        }
    }
}
