//! Rule: names and prose are the field's words. The list of words that once made the house hard to
//! read, each with what to write instead, for comments, texts in code, documents and names.

mod list;

use super::finding::Finding;
use crate::tree::{File, Tree};
use list::{NAMES, PHRASES};
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

const WHY: &str = "each sentence is understood, and each name found, at the first try";

/// Files that name the words themselves.
const NOT_READ: &[&str] = &["xtask/src/tidy/words", "xtask/src/tidy/tests.rs", "docs/GLOSSARY.md"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let is_read = |file: &&File| {
        let begins = |paths: &[&str]| paths.iter().any(|path| file.path.starts_with(path));
        !begins(NOT_READ)
    };
    tree.files().filter(is_read).flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    if file.path.ends_with(".rs") {
        for token in file.source().tokens() {
            // The user of that name.
            if token.text == "NOBODY" {
                continue;
            }
            for (word, instead) in IN_NAMES.found_in(&parts_of_name(&token.text)) {
                findings.push(word_finding(file, token.line, word, instead));
            }
        }
        let has_texts = !file.is_test_by_place();
        for (line, text) in file.source().prose(has_texts) {
            findings.extend(check_prose(file, line, &text));
        }
    } else if file.path.ends_with(".md") || file.path.ends_with(".toml") {
        let mut in_code = false;
        for (line, text) in file.lines() {
            if text.trim_start().starts_with("```") {
                in_code = !in_code;
            } else if !in_code && !text.starts_with("    ") && !is_setting(text) {
                findings.extend(check_prose(file, line, text));
            }
        }
    }
    let stem = file.name().split('.').next().unwrap_or_default();
    for (word, instead) in IN_NAMES.found_in(&parts_of_name(stem)) {
        findings.push(word_finding(file, 1, word, instead));
    }
    findings
}

/// A line of a configuration file that shows a key with its default, such as `#log = "info"`.
fn is_setting(line: &str) -> bool {
    line.strip_prefix('#').is_some_and(|rest| rest.starts_with(char::is_alphabetic))
}

fn check_prose(file: &File, line: usize, text: &str) -> Vec<Finding> {
    let found = IN_PROSE.found_in(&words_outside_code(text));
    found.into_iter().map(|(phrase, instead)| word_finding(file, line, phrase, instead)).collect()
}

fn word_finding(file: &File, line: usize, word: &str, instead: &str) -> Finding {
    let mend = format!("write {instead}");
    Finding::new(&file.path, line, format!("`{word}` is not plain"), WHY, mend)
}

/// The words of a text in lower case. What stands between backticks is code, and is left out.
fn words_outside_code(text: &str) -> Vec<String> {
    let outside = text.split('`').step_by(2).collect::<Vec<_>>().join(" . ");
    let outside = outside.replace('.', " . ").to_lowercase();
    let is_sign = |c: char| !c.is_alphanumeric() && c != '\'' && c != '.';
    outside.split(is_sign).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The words of a name in lower case: `SetQuota` and `set_quota` have the same.
fn parts_of_name(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut before_is_upper = true;
    for part in name.split('_') {
        parts.push(String::new());
        for c in part.chars() {
            if c.is_uppercase() && !before_is_upper {
                parts.push(String::new());
            }
            before_is_upper = c.is_uppercase();
            parts.last_mut().into_iter().for_each(|part| part.extend(c.to_lowercase()));
        }
        before_is_upper = true;
    }
    parts
}

static IN_NAMES: LazyLock<Index> = LazyLock::new(|| Index::of(NAMES));
static IN_PROSE: LazyLock<Index> = LazyLock::new(|| Index::of(PHRASES));

/// A list by the first word of each phrase, since every word of the tree is looked up.
struct Index(HashMap<&'static str, Vec<Phrase>>);

struct Phrase {
    text: &'static str,
    instead: &'static str,
    after_first: Vec<&'static str>,
}

impl Index {
    fn of(list: &[(&'static str, &'static str)]) -> Index {
        let mut by_first: HashMap<_, Vec<Phrase>> = HashMap::new();
        for (text, instead) in list {
            let mut words = text.split(' ');
            let first = words.next().unwrap_or_default();
            let phrase = Phrase { text, instead, after_first: words.collect() };
            by_first.entry(first).or_default().push(phrase);
        }
        Index(by_first)
    }

    /// The phrases that these words contain, each once, with what to write instead.
    fn found_in(&self, words: &[String]) -> BTreeSet<(&'static str, &'static str)> {
        let mut found = BTreeSet::new();
        for (at, word) in words.iter().enumerate() {
            for phrase in self.0.get(word.as_str()).into_iter().flatten() {
                let after = words[at + 1..].iter().map(String::as_str);
                if after.take(phrase.after_first.len()).eq(phrase.after_first.iter().copied()) {
                    found.insert((phrase.text, phrase.instead));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(path: &str, text: &str) -> Vec<String> {
        let findings = check_file(&File::new(path, text));
        findings.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn plain_words_and_code_in_backticks_pass() {
        let text = "// The user `nobody` has no home.\nfn run() { say(\"nobody\") }\n";
        assert_eq!(whats("a.rs", text), [""; 0]);
        assert_eq!(whats("a.md", "A node is lost.\n```\nwhoever\n```\n"), [""; 0]);
        assert_eq!(whats("a.toml", "# The user.\n#mailer_user = \"nobody\"\n"), [""; 0]);
    }

    #[test]
    fn a_banned_word_is_found_in_comments_texts_documents_and_test_names() {
        for text in [
            "// Whoever asks.\n",
            "fn f() -> &str { \"asked by whoever it is\" }\n",
            "#[test]\nfn whoever_asks_is_answered() {}\n",
        ] {
            assert_eq!(whats("a.rs", text), ["`whoever` is not plain"], "{text}");
        }
        assert_eq!(whats("docs/a.md", "Ask whoever\n"), ["`whoever` is not plain"]);
    }

    #[test]
    fn a_phrase_is_found_over_signs_and_not_over_sentences() {
        assert_eq!(whats("a.rs", "// At most so many.\n"), ["`so many` is not plain"]);
        assert_eq!(whats("a.rs", "// It does so. Many do.\n"), [""; 0]);
    }

    #[test]
    fn names_are_found_in_any_spelling_and_as_files() {
        assert_eq!(whats("a.rs", "struct Muster;\n"), ["`muster` is not plain"]);
        assert_eq!(whats("a.rs", "fn new_muster() {}\n"), ["`muster` is not plain"]);
        assert_eq!(whats("muster.rs", "\n"), ["`muster` is not plain"]);
    }
}
