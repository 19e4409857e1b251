//! The lengths that were allowed to exceed a limit, in xtask/tidy-ratchet.txt: a ratchet turns one
//! way. A listed length may shrink, not grow; a new line is written by hand, which makes it a
//! decision. Never raises a number by itself.

use super::finding::Finding;
use super::{file_length, function_length};
use crate::tree::Tree;
use std::collections::BTreeMap;

/// Where the ratchet lies.
pub const PATH: &str = "xtask/tidy-ratchet.txt";

/// Something with a length in lines.
pub struct Measure {
    /// `file` or `function`, as in the ratchet.
    pub kind: &'static str,
    /// Its name in the ratchet: a path, or `path::function`.
    pub key: String,
    pub path: String,
    /// Where it begins, from 1.
    pub line: usize,
    /// How long it is.
    pub lines: usize,
}

/// The allowed lengths by kind and name.
type Allowed = BTreeMap<(String, String), usize>;

/// Findings for what is longer than `limit` and than the ratchet allows.
pub fn check(tree: &Tree, limit: usize, measures: Vec<Measure>, why: &'static str) -> Vec<Finding> {
    let allowed = allowed_lengths(tree);
    let mut findings = Vec::new();
    for Measure { kind, key, path, line, lines } in measures {
        let listed = allowed.get(&(kind.to_owned(), key.clone())).copied();
        if lines <= listed.unwrap_or(limit).max(limit) {
            continue;
        }
        let (what, mend) = match listed {
            Some(listed) => (
                format!("the {kind} has grown from {listed} to {lines} lines"),
                "take something out; a length in the ratchet may only shrink".to_owned(),
            ),
            None => (
                format!("the {kind} has {lines} lines, the limit is {limit}"),
                format!("split it; or, if it is one thought, add `{kind} {lines} {key}` to {PATH}"),
            ),
        };
        findings.push(Finding::new(&path, line, what, why, mend));
    }
    findings
}

/// The ratchet as it may be rewritten: lengths lowered to those of today, and what has come
/// below its limit left out.
pub fn lowered(tree: &Tree) -> String {
    let over = |measures: Vec<Measure>, limit| {
        measures.into_iter().filter(move |measure| measure.lines > limit)
    };
    let long = over(file_length::measures(tree), file_length::LINES_AIM)
        .chain(over(function_length::measures(tree), function_length::LINES_MAX));
    let today: Allowed = long.map(|m| ((m.kind.to_owned(), m.key), m.lines)).collect();
    let lines = ratchet_text(tree).lines().filter_map(|line| match parse_entry(line) {
        None => Some(line.to_owned()),
        Some(((kind, key), listed)) => {
            let lines = listed.min(*today.get(&(kind.clone(), key.clone()))?);
            Some(format!("{kind} {lines} {key}"))
        }
    });
    lines.map(|line| line + "\n").collect()
}

fn allowed_lengths(tree: &Tree) -> Allowed {
    ratchet_text(tree).lines().filter_map(parse_entry).collect()
}

fn ratchet_text(tree: &Tree) -> &str {
    tree.file(PATH).map_or("", |file| &file.text)
}

/// A line like `file 320 path`; `None` for comments.
fn parse_entry(line: &str) -> Option<((String, String), usize)> {
    let [kind, lines, key] = line.split_whitespace().collect::<Vec<_>>().try_into().ok()?;
    Some(((kind.to_owned(), key.to_owned()), lines.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATCHET: &str = "# Long.\nfile 400 a.rs\nfile 400 b.rs\nfunction 90 a.rs::f\n";

    fn tree(lines: usize) -> Tree {
        Tree::of(&[("a.rs", &"x;\n".repeat(lines)), (PATH, RATCHET)])
    }

    fn whats(lines: usize) -> Vec<String> {
        file_length::check(&tree(lines)).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_listed_length_may_shrink_and_not_grow() {
        assert_eq!(whats(300), [""; 0]);
        assert_eq!(whats(400), [""; 0]);
        assert_eq!(whats(401), ["the file has grown from 400 to 401 lines"]);
    }

    #[test]
    fn lowering_follows_what_shrank_and_never_raises() {
        assert_eq!(lowered(&tree(350)), "# Long.\nfile 350 a.rs\n");
        assert_eq!(lowered(&tree(450)), "# Long.\nfile 400 a.rs\n");
        assert_eq!(lowered(&tree(200)), "# Long.\n");
    }
}
