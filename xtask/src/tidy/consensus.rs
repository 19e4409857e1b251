//! Rule: one place names the consensus library and its codec. Never minds our own modules that are
//! called `raft`: `crate::raft` is ours, `raft::` without such a module in sight is the library.

use super::finding::Finding;
use super::manifest::Manifest;
use crate::tree::{File, Tree, source::Token};

const WHY: &str =
    "the consensus library must stay replaceable, and its types out of state and wire";
const HOME: &str = "kantctld/replica";
const CRATE: &str = "replica";
/// Has a module called `raft` of its own.
const CONTROLLER: &str = "kantctld";

/// The library, its codec and its logger.
const LIBRARIES: &[&str] = &["raft", "raft_proto", "protobuf", "slog"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust_files().filter(|file| !file.is_in(HOME)) {
        for token in uses_of_libraries(file) {
            let what = format!("`{}` names the consensus library", token.text);
            let mend = format!("move it into {HOME}/, and hand out a type of our own");
            findings.push(Finding::new(&file.path, token.line, what, WHY, mend));
        }
    }
    for manifest in Manifest::all(tree).iter().filter(|manifest| manifest.name != CRATE) {
        for dependency in &manifest.dependencies {
            if LIBRARIES.contains(&dependency.name.replace('-', "_").as_str()) {
                let what = format!("`{}` depends on `{}`", manifest.name, dependency.name);
                let mend = format!("only {CRATE} may");
                findings.push(Finding::new(&manifest.path, dependency.line, what, WHY, mend));
            }
        }
    }
    findings
}

/// The tokens that name a library as the beginning of a path.
fn uses_of_libraries(file: &File) -> Vec<&Token> {
    let tokens = file.source().tokens();
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let is_ours = |name: &str| {
        (1..tokens.len()).any(|at| {
            let after_path = at > 1
                && text(at - 1) == "::"
                && ["crate", "self", "super", CONTROLLER].contains(&text(at - 2));
            text(at) == name && (after_path || text(at - 1) == "mod")
        })
    };
    let names_library = |at: &usize| {
        let (at, name) = (*at, text(*at));
        if !LIBRARIES.contains(&name) {
            return false;
        }
        let before = |steps: usize| at.checked_sub(steps).map_or("", text);
        let is_global = before(1) == "::" && !ends_path(before(2));
        let begins_path = before(1) != "::" && text(at + 1) == "::" && !is_ours(name);
        let is_use = ["use", "crate"].contains(&before(1)) && [";", "as"].contains(&text(at + 1));
        is_global || begins_path || is_use
    };
    (0..tokens.len()).filter(names_library).map(|at| &tokens[at]).collect()
}

/// Could `::` after this go on with a path? Not after a keyword: `use ::raft` begins at the root.
fn ends_path(text: &str) -> bool {
    let is_word = text.starts_with(|first: char| first.is_alphanumeric() || first == '_');
    text == ">" || (is_word && !["use", "as", "dyn", "impl", "in", "mut", "return"].contains(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn the_library_is_at_home_in_its_folder() {
        assert_eq!(findings("kantctld/replica/src/replica.rs", "use raft::RawNode;"), 0);
    }

    #[test]
    fn the_library_is_found_elsewhere() {
        for text in [
            "use raft::RawNode;",
            "use raft::{prelude::*};",
            "fn f(m: &raft::eraftpb::Message) {}",
            "use ::raft::RawNode;",
            "use raft as r;",
            "extern crate raft;",
            "use protobuf::Message;",
        ] {
            assert_eq!(findings("kantctld/src/api/jobs.rs", text), 1, "{text}");
            assert_eq!(findings("kantctld/state/src/lib.rs", text), 1, "{text}");
        }
    }

    #[test]
    fn our_own_module_of_that_name_passes() {
        for text in [
            "use crate::raft::Proposals;",
            "mod raft; fn f() { raft::start() }",
            "use crate::raft; fn f() { raft::start() }",
            "let raft = 1; raft.tick(); use kantctld::raft::Handle;",
        ] {
            assert_eq!(findings("kantctld/src/main.rs", text), 0, "{text}");
        }
        let hidden = "use crate::raft; fn f() { ::raft::x() }";
        assert_eq!(findings("kantctld/src/main.rs", hidden), 1);
    }

    #[test]
    fn only_its_crate_depends_on_it() {
        let manifest = |name: &str| {
            format!("[package]\nname = \"{name}\"\n[dependencies]\nraft.workspace = true\n")
        };
        assert_eq!(findings("kantctld/replica/Cargo.toml", &manifest("replica")), 0);
        for away in ["kantctld", "state"] {
            assert_eq!(findings("kantctld/Cargo.toml", &manifest(away)), 1, "{away}");
        }
    }
}
