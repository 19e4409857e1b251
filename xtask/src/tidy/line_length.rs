//! Rule: lines end at 100 characters. Never asks it of a line with an address in it, nor of the
//! inside of a string over several lines, where a break would change the text.

use super::finding::Finding;
use crate::tree::{File, Tree};

const CHARACTERS_MAX: usize = 100;
const WHY: &str = "two files fit side by side, and rustfmt breaks neither comments nor strings";

pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust_files().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let is_bound =
        |line: usize, text: &str| !text.contains("://") && !file.source().begins_in_literal(line);
    let long = file.lines().filter_map(|(line, text)| {
        let length = text.chars().count();
        (length > CHARACTERS_MAX && is_bound(line, text)).then_some((line, length))
    });
    let finding = |(line, length)| {
        let what = format!("the line has {length} characters, the limit is {CHARACTERS_MAX}");
        Finding::new(&file.path, line, what, WHY, "break it")
    };
    long.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&Tree::of(&[("a.rs", text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn short_lines_addresses_and_long_strings_pass() {
        let long = "é".repeat(101);
        assert_eq!(lines(&format!("{}\n", "é".repeat(100))), [0; 0]);
        assert_eq!(lines(&format!("// https://{long}\n")), [0; 0]);
        assert_eq!(lines(&format!("let a = \"b\n{long}\n\";\n")), [0; 0]);
    }

    #[test]
    fn long_lines_are_found() {
        assert_eq!(lines(&format!("a;\n// {}\n", "b".repeat(98))), [2]);
    }
}
