//! Rule: the pure crates read no clock, draw no lots, touch nothing outside, and have one order.
//! Never looks into tests, which may read files and measure time.

use super::finding::Finding;
use super::house::pure_rooms;
use crate::tree::source::{Token, first_of_each};
use crate::tree::{File, Tree};

const WHY: &str = "a pure crate must give the same answer to the same arguments, on every replica \
                   and in every replay";

/// What a word stands for that has no place in a pure crate, and what to do instead.
struct Ban {
    words: &'static [&'static str],
    is: &'static str,
    mend: &'static str,
}

const BANS: &[Ban] = &[
    Ban {
        words: &["Instant", "SystemTime", "UNIX_EPOCH"],
        is: "the clock",
        mend: "take the time as an argument (common::time)",
    },
    Ban {
        words: &["rand", "fastrand", "getrandom", "thread_rng", "RandomState"],
        is: "randomness",
        mend: "derive the choice from the arguments, or take a seed as one",
    },
    Ban {
        words: &["HashMap", "HashSet"],
        is: "a map without an order",
        mend: "use BTreeMap, BTreeSet or a Vec",
    },
    Ban {
        words: &["async", "await", "tokio"],
        is: "waiting for something",
        mend: "return what is to be done and let the shell do it",
    },
    Ban {
        words: &["TcpListener", "TcpStream", "UdpSocket", "UnixListener", "UnixStream"],
        is: "a socket",
        mend: "return what is to be sent and let the shell send it",
    },
    Ban {
        words: &["println", "eprintln", "print", "eprint", "dbg"],
        is: "the terminal",
        mend: "return the text, or an error that says it",
    },
];

/// Modules of `std` that reach outside.
const MODULES: &[(&str, &str)] = &[
    ("env", "take the value as an argument"),
    ("fs", "take the text as an argument, return the text to write"),
    ("net", "return what is to be sent; addresses alone are in core::net"),
    ("os", "leave it to the shell around the crate"),
    ("process", "return what is to be started and let the shell start it"),
    ("thread", "leave threads to the shell around the crate"),
];

/// The crate whose data every replica must compute to the last bit.
const WITHOUT_FLOATS: &str = "kantctld/state";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for room in pure_rooms() {
        let sources = format!("{}/src", room.folder);
        for file in tree.rust_files_in(&sources).filter(|file| !tree.is_test(file)) {
            let tokens = file.source().tokens_outside_tests();
            findings.extend(banned_words(file, &tokens));
            findings.extend(banned_modules(file, &tokens));
            if room.folder == WITHOUT_FLOATS {
                findings.extend(find_floats(file, &tokens));
            }
        }
        let script = format!("{}/build.rs", room.folder);
        if tree.file(&script).is_some() {
            let what = "a pure crate has a build script";
            findings.push(Finding::new(&script, 1, what, WHY, "generate files by cargo xtask gen"));
        }
    }
    findings
}

fn banned_words(file: &File, tokens: &[Token]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let word = token.text.as_str();
        let Some(ban) = BANS.iter().find(|ban| ban.words.contains(&word)) else { continue };
        // `print` may be a function of our own; the terminal is reached by the macro.
        let is_macro = tokens.get(index + 1).is_some_and(|next| next.text == "!");
        if ban.is == "the terminal" && !is_macro {
            continue;
        }
        let what = format!("`{word}` is {}", ban.is);
        findings.push(Finding::new(&file.path, token.line, what, WHY, ban.mend));
    }
    findings
}

fn banned_modules(file: &File, tokens: &[Token]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (module, line) in std_modules(tokens) {
        if module == "as" {
            let what = "`std` is given another name";
            let mend = "name modules of std by their path, so that this rule can see them";
            findings.push(Finding::new(&file.path, line, what, WHY, mend));
        }
        if let Some((_, mend)) = MODULES.iter().find(|(name, _)| *name == module) {
            let what = format!("`std::{module}` reaches outside");
            findings.push(Finding::new(&file.path, line, what, WHY, *mend));
        }
    }
    findings
}

/// The modules of `std` that are named, with the line: `std::fs`, each part of `std::{fs, env}`.
fn std_modules(tokens: &[Token]) -> Vec<(&str, usize)> {
    let mut modules = Vec::new();
    for at in (0..tokens.len()).filter(|at| tokens[*at].text == "std") {
        let rest: Vec<&str> = tokens[at + 1..].iter().take(2).map(|t| t.text.as_str()).collect();
        match rest.as_slice() {
            ["as", ..] => modules.push(("as", tokens[at].line)),
            ["::", "{"] => modules.extend(first_of_each(&tokens[at + 2..])),
            ["::", module] => modules.push((module, tokens[at].line)),
            _ => {}
        }
    }
    modules
}

fn find_floats(file: &File, tokens: &[Token]) -> Vec<Finding> {
    let is_float = |token: &&Token| token.is_float() || token.text == "f32" || token.text == "f64";
    let floats = tokens.iter().filter(is_float);
    let finding = |token: &Token| {
        let what = format!("`{}` is a float", token.text);
        let mend = "count in whole units, as thousandths or bytes";
        Finding::new(&file.path, token.line, what, WHY, mend)
    };
    floats.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let tree = Tree::of(&[(path, text)]);
        check(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_pure_file_passes() {
        let text = "//! The Instant, HashMap and std::fs of a comment.\n\
                    use std::collections::BTreeMap;\n\
                    fn f() -> &'static str { \"std::env, async\" }\n\
                    fn print() {}\n\
                    #[cfg(test)]\nmod tests { use std::time::Instant; }\n";
        assert_eq!(findings("kantctld/engine/src/a.rs", text), [""; 0]);
        assert_eq!(findings("kantctld/engine/tests/a.rs", "use std::time::Instant;"), [""; 0]);
        assert_eq!(findings("kantctld/src/a.rs", "use std::time::Instant;"), [""; 0]);
    }

    #[test]
    fn words_of_impurity_are_found_in_every_pure_crate() {
        for folder in ["common", "kantctld/engine", "kantctld/state", "kantctld/sim", "kantd/node"]
        {
            let path = format!("{folder}/src/deep/a.rs");
            for text in ["use std::time::{Duration, Instant};", "async fn f() {}", "HashSet::new()"]
            {
                assert_eq!(findings(&path, text).len(), 1, "{path} {text}");
            }
        }
    }

    #[test]
    fn modules_are_found_in_braces_too() {
        let text = "use std::{collections::{BTreeMap, env}, fs::File, fmt, thread};";
        let expected = ["`std::fs` reaches outside", "`std::thread` reaches outside"];
        assert_eq!(findings("common/src/a.rs", text), expected);
        assert_eq!(findings("common/src/a.rs", "use ::std::net::IpAddr;").len(), 1);
        assert_eq!(findings("common/src/a.rs", "use std as s;").len(), 1);
    }

    #[test]
    fn floats_are_found_in_state_alone() {
        let text = "fn f(a: f64) -> u8 { (a * 0.5) as u8 }";
        assert_eq!(findings("kantctld/state/src/a.rs", text).len(), 2);
        assert_eq!(findings("kantctld/engine/src/a.rs", text), [""; 0]);
    }

    #[test]
    fn a_build_script_is_found() {
        assert_eq!(findings("common/build.rs", "fn main() {}").len(), 1);
    }
}
