//! Rule: nothing half done and nothing of one person's machine stays behind. Never minds paths that
//! every machine has.

use super::finding::Finding;
use crate::tree::{File, Tree};

const WHY_DONE: &str = "what is merged is done; a hole left open is found by a user";
const WHY_PATH: &str = "a path of one machine is wrong on every other";

/// Macros that leave a hole.
const HOLES: &[&str] = &["todo", "unimplemented"];

/// Parts of paths that only a developer's machine has, beside that of this very checkout.
const PRIVATE_PATHS: &[&str] = &["/Users/", "/.cargo/registry", "/.rustup/", "/root/."];

/// Where a checkout may lie under a name that every machine has.
const PUBLIC_PLACES: &[&str] = &["/etc/", "/opt/", "/run/", "/srv/", "/tmp/", "/usr/", "/var/"];

/// This file names what it looks for.
const ITSELF: &str = "xtask/src/tidy/leftovers.rs";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut private = PRIVATE_PATHS.to_vec();
    private.extend(checkout_path(&tree.origin));
    let files = tree.files().filter(|file| file.path != ITSELF);
    files
        .flat_map(|file| [find_unfinished_code(file), private_paths(file, &private)].concat())
        .collect()
}

/// The checkout's own path, if it is one that is not written for another reason.
fn checkout_path(origin: &str) -> Option<&str> {
    let is_deep = origin.matches('/').count() > 1;
    let is_public = PUBLIC_PLACES.iter().any(|place| origin.starts_with(place));
    (is_deep && !is_public).then_some(origin)
}

fn find_unfinished_code(file: &File) -> Vec<Finding> {
    let pairs = file.source().tokens().windows(2);
    let holes = pairs.filter(|pair| HOLES.contains(&pair[0].text.as_str()) && pair[1].text == "!");
    let finding = |pair: &[crate::tree::source::Token]| {
        let what = format!("`{}!` leaves a hole", pair[0].text);
        let mend = "build it, or return an error that says what is missing";
        Finding::new(&file.path, pair[0].line, what, WHY_DONE, mend)
    };
    holes.map(finding).collect()
}

fn private_paths(file: &File, private: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, text) in file.lines() {
        for path in private.iter().filter(|path| begins_path(text, path)) {
            let what = format!("`{path}` is a path of one machine");
            let mend = "write it from the root of the project, or take it from the environment";
            findings.push(Finding::new(&file.path, line, what, WHY_PATH, mend));
        }
    }
    findings
}

/// Does the path stand here by itself, not as the end of a longer one? Hidden folders count
/// wherever they stand.
fn begins_path(text: &str, path: &str) -> bool {
    text.match_indices(path).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        path.starts_with("/.")
            || before.is_none_or(|sign| sign.is_whitespace() || "\"'`(<[=:,".contains(sign))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn finished_work_passes() {
        assert_eq!(findings("a.rs", "// todo! in words\nlet todo = \"todo!()\";\n"), 0);
        assert_eq!(findings("a.md", "cd /home/ada/run; ls /var/lib/kantd /home/Users/\n"), 0);
    }

    #[test]
    fn holes_are_found() {
        assert_eq!(findings("a.rs", "fn f() { todo!() }\nfn g() { unimplemented!(\"x\") }\n"), 2);
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for text in ["cd /Users/ada/kant", "in /home/ada/.cargo/registry/src"] {
            assert_eq!(findings("docs/a.md", text), 1, "{text}");
        }
    }

    #[test]
    fn the_path_of_this_checkout_is_found_unless_every_machine_has_it() {
        let found = |origin: &str| {
            let mut tree = Tree::of(&[("docs/a.md", "cd /data/kant\ncd /srv/kant\ncd /kant\n")]);
            tree.origin = origin.to_owned();
            check(&tree).iter().map(|finding| finding.line).collect::<Vec<_>>()
        };
        assert_eq!(found("/data/kant"), [1]);
        assert_eq!(found("/srv/kant"), [0; 0]);
        assert_eq!(found("/kant"), [0; 0]);
    }
}
