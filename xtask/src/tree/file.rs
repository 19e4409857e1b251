//! A text file of the source tree, in memory.

use super::source::Source;

#[derive(Clone)]
pub struct File {
    /// The path from the root.
    pub path: String,
    pub text: String,
    /// The tokens, comments and tests of a Rust file.
    source: Source,
}

impl File {
    pub fn new(path: &str, text: &str) -> File {
        let source = if path.ends_with(".rs") { Source::of(text) } else { Source::default() };
        File { path: path.to_owned(), text: text.to_owned(), source }
    }

    /// The file as Rust source; without tokens if it is not a Rust file.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Whether it is below this folder.
    pub fn is_in(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }

    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether its path makes it test code: `tests.rs`, or in a folder `tests` or `benches`.
    pub fn is_test_by_place(&self) -> bool {
        self.name() == "tests.rs"
            || self.path.split('/').rev().skip(1).any(|part| part == "tests" || part == "benches")
    }

    /// The paths, without `.rs`, of the modules that it declares for tests only.
    pub fn test_module_files(&self) -> impl Iterator<Item = String> {
        let is_root = ["lib.rs", "main.rs", "mod.rs"].contains(&self.name());
        let folder = match is_root {
            true => self.path.strip_suffix(self.name()).unwrap_or_default().to_owned(),
            false => format!("{}/", self.path.strip_suffix(".rs").unwrap_or_default()),
        };
        self.source.test_module_files().map(move |name| format!("{folder}{name}"))
    }

    /// The lines with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// The leading `//!` comment, without the markers.
    pub fn head(&self) -> String {
        let marked = self.text.lines().map_while(|line| line.strip_prefix("//!"));
        marked.map(str::trim).collect::<Vec<_>>().join("\n")
    }

    /// The first line that contains this text, or line 1.
    pub fn line_of(&self, needle: &str) -> usize {
        self.lines().find(|(_, line)| line.contains(needle)).map_or(1, |(number, _)| number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_files_are_recognized_by_their_path() {
        for path in ["a/src/b/tests.rs", "a/tests/b.rs", "tests/e2e/src/lib.rs", "a/benches/b.rs"] {
            assert!(File::new(path, "").is_test_by_place(), "{path}");
        }
        for path in ["a/src/latest.rs", "a/src/tests_of_time.rs", "a/src/lib.rs"] {
            assert!(!File::new(path, "").is_test_by_place(), "{path}");
        }
    }

    #[test]
    fn the_head_ends_where_the_comment_ends() {
        let file = File::new("a.rs", "//! One.\n//! Two.\n\n//! Not this.\n");
        assert_eq!(file.head(), "One.\nTwo.");
    }
}
