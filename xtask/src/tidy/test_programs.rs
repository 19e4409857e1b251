//! Rule: where the tests of a crate are one program (`tests/main.rs`), each file beside it is a
//! module of that program, or named in the Cargo.toml as a program of its own.

use super::finding::Finding;
use crate::tree::{File, Tree};

const WHY: &str = "cargo does not look for such files by itself, so their tests would never run";

pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust_files().flat_map(|file| check_program(tree, file)).collect()
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
    fn a_file_that_no_program_contains_is_found() {
        assert_eq!(findings("", ""), ["a/tests/jobs.rs"]);
    }
}
