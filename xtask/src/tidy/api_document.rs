//! Rule: docs/openapi.json is what `cargo xtask gen` makes of the wire types and routes. kantctld
//! serves the file, so a stale one would be a wrong answer.

use super::finding::Finding;
use crate::generate::openapi;
use crate::tree::Tree;
use std::sync::LazyLock;

const WHY: &str = "programs read it to learn what the API takes and answers";

/// Made once, since tests check many trees.
static CURRENT: LazyLock<Result<String, String>> = LazyLock::new(|| {
    let page = openapi::page().map_err(|error| error.to_string())?;
    Ok(page.text)
});

pub fn check(tree: &Tree) -> Vec<Finding> {
    // Trees of tests of other rules have no such file.
    let Some(file) = tree.file(openapi::PATH) else { return Vec::new() };
    let (what, mend) = match &*CURRENT {
        Ok(text) if *text == file.text => return Vec::new(),
        Ok(_) => ("it is stale", "run `cargo xtask gen`, and commit the result"),
        Err(error) => (error.as_str(), "add the route, or remove the row"),
    };
    vec![Finding::new(openapi::PATH, 1, what, WHY, mend)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_document_is_found_and_the_current_one_is_not() {
        let mut tree = Tree::default();
        let page = openapi::page().unwrap();
        tree.put(openapi::PATH, &page.text);
        assert_eq!(check(&tree), []);
        tree.put(openapi::PATH, &page.text.replace("get_jobs_key_explain", "explain"));
        assert_eq!(check(&tree).len(), 1);
    }
}
