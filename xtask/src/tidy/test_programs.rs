//! Rule: every test runs. Where the tests of a crate are one program (`tests/main.rs`), each file
//! beside it is a module of that program, or named in the Cargo.toml as a program of its own. Doc
//! comments have no Rust examples: the gate runs no doctests, which take minutes to find for each
//! crate; an example is a test named `the_example`.

use super::finding::Finding;
use crate::tree::{File, Tree};

const EXAMPLES_WHY: &str = "the gate runs no doctests, so it could be wrong";

const WHY: &str = "cargo does not look for such files by itself, so their tests would never run";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let programs = tree.rust_files().flat_map(|file| check_program(tree, file));
    programs.chain(tree.rust_files().flat_map(doc_examples)).collect()
}

/// The examples in doc comments that rustdoc would run: fenced blocks that are no text.
fn doc_examples(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_block = false;
    for (line, text) in file.lines() {
        let text = text.trim_start();
        let doc = text.strip_prefix("///").or_else(|| text.strip_prefix("//!"));
        in_block &= doc.is_some();
        let Some(language) = doc.and_then(|doc| doc.trim_start().strip_prefix("```")) else {
            continue;
        };
        if !in_block && language != "text" {
            let what = "a doc comment has a block that is not marked as text";
            let mend = "make it a test, or write ```text";
            findings.push(Finding::new(&file.path, line, what, EXAMPLES_WHY, mend));
        }
        in_block = !in_block;
    }
    findings
}

fn check_program(tree: &Tree, program: &File) -> Vec<Finding> {
    let Some(folder) = program.path.strip_suffix("tests/main.rs") else { return Vec::new() };
    let manifest = tree.file(&format!("{folder}Cargo.toml")).map_or("", |file| &file.text);
    let is_named = |name: &str| {
        program.text.contains(&format!("mod {name};"))
            || manifest.contains(&format!("[[test]]\nname = \"{name}\""))
    };
    let beside = tree.rust_files().filter_map(|file| {
        let name = file.path.strip_prefix(folder)?.strip_prefix("tests/")?.strip_suffix(".rs")?;
        let is_part = name == "main" || name.contains('/') || is_named(name);
        (!is_part).then_some((file, name))
    });
    let finding = |(file, name): (&File, &str)| {
        let what = format!("no test program contains `{name}`");
        let mend = format!("declare `mod {name};` in {}", program.path);
        Finding::new(&file.path, 1, what, WHY, &mend)
    };
    beside.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(program: &str, manifest: &str) -> Vec<String> {
        let tree = Tree::of(&[
            ("a/Cargo.toml", manifest),
            ("a/tests/main.rs", program),
            ("a/tests/jobs.rs", ""),
            ("a/tests/support/mod.rs", ""),
            ("b/tests/alone.rs", ""),
        ]);
        check(&tree).into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn modules_and_named_programs_pass() {
        assert_eq!(findings("mod jobs;\n", ""), [""; 0]);
        assert_eq!(findings("", "[[test]]\nname = \"jobs\"\n"), [""; 0]);
    }

    #[test]
    fn a_rust_example_in_a_doc_comment_is_found_and_a_text_is_not() {
        let lines = |text: &str| {
            let tree = Tree::of(&[("a/src/lib.rs", text)]);
            check(&tree).into_iter().map(|finding| finding.line).collect::<Vec<_>>()
        };
        assert_eq!(lines("//! ```text\n//! a -> b\n//! ```\n/// b\n"), [0; 0]);
        assert_eq!(lines("/// A.\n///\n/// ```\n/// a()\n/// ```\n"), [3]);
        assert_eq!(lines("    /// ```no_run\n    /// a()\n    /// ```\n"), [1]);
    }

    #[test]
    fn a_file_that_no_program_contains_is_found() {
        assert_eq!(findings("", ""), ["a/tests/jobs.rs"]);
    }
}
