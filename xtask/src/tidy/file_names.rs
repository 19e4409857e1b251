//! Rule: a file or folder has a name that says something. Never minds words inside other words.

use super::finding::Finding;
use crate::tree::{File, Tree};

const WHY: &str = "a name that fits everything is where everything ends up";
const BANNED: &[&str] = &["util", "utils", "helper", "helpers", "manager", "misc"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.files().filter_map(check_file).collect()
}

fn check_file(file: &File) -> Option<Finding> {
    let words = file.path.split(|sign: char| !sign.is_ascii_alphanumeric());
    let banned = words.into_iter().find(|word| BANNED.contains(word))?;
    let what = format!("the path has a part called `{banned}`");
    let mend = "name it after the one thing it holds, or put its parts where they are used";
    Some(Finding::new(&file.path, 1, what, WHY, mend))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str) -> usize {
        check(&Tree::of(&[(path, "")])).len()
    }

    #[test]
    fn names_that_say_something_pass() {
        assert_eq!(findings("kantd/src/utilisation.rs"), 0);
        assert_eq!(findings("kantd/src/miscount.rs"), 0);
    }

    #[test]
    fn names_that_fit_everything_are_found() {
        for path in ["a/utils.rs", "a/src/misc/mod.rs", "a/job_manager.rs", "docs/helper.md"] {
            assert_eq!(findings(path), 1, "{path}");
        }
    }
}
