//! Rule: nothing half done and nothing of one person's machine stays behind. Never minds paths that
//! every machine has.

use super::finding::Finding;
use crate::tree::{File, Tree};

const WHY_DONE: &str = "what is merged is done; a hole left open is found by a user";
const WHY_PATH: &str = "a path of one machine is wrong on every other";

/// Macros that leave a hole.
const HOLES: &[&str] = &["todo", "unimplemented"];

/// Parts of paths that only a developer's machine has.
const PRIVATE_PATHS: &[&str] = &["/Users/", "/.cargo/registry", "/.rustup/", "/root/.", "/work/"];

/// This file names what it looks for.
const ITSELF: &str = "xtask/src/tidy/leftovers.rs";

/// Checks the rule.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let files = tree.files().filter(|file| file.path != ITSELF);
    files.flat_map(|file| [holes(file), private_paths(file)].concat()).collect()
}

fn holes(file: &File) -> Vec<Finding> {
    let pairs = file.source().tokens().windows(2);
    let holes = pairs.filter(|pair| HOLES.contains(&pair[0].text.as_str()) && pair[1].text == "!");
    let finding = |pair: &[crate::tree::source::Token]| {
        let what = format!("`{}!` leaves a hole", pair[0].text);
        let mend = "build it, or return an error that says what is missing";
        Finding::new(&file.path, pair[0].line, what, WHY_DONE, mend)
    };
    holes.map(finding).collect()
}

fn private_paths(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, text) in file.lines() {
        for path in PRIVATE_PATHS.iter().filter(|path| begins_path(text, path)) {
            let what = format!("`{path}` is a path of one machine");
            let mend = "write it from the root of the project, or take it from the environment";
            findings.push(Finding::new(&file.path, line, what, WHY_PATH, mend));
        }
    }
    findings
}

/// Does the path stand here by itself? `/work/` in `/home/ada/work/` is somebody's example. Hidden
/// folders count wherever they stand.
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
        assert_eq!(findings("a.md", "cd /home/ada/work/run; ls /var/lib/kantd ~/work/\n"), 0);
    }

    #[test]
    fn holes_are_found() {
        assert_eq!(findings("a.rs", "fn f() { todo!() }\nfn g() { unimplemented!(\"x\") }\n"), 2);
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for text in ["cd /Users/ada/kant", "in /home/ada/.cargo/registry/src", "\"/work/x\""] {
            assert_eq!(findings("docs/a.md", text), 1, "{text}");
        }
    }
}
