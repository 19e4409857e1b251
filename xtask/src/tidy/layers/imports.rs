//! The imports among the modules that a root file declares, read from their tokens: paths that
//! begin with `crate::` and the root's own name, and those that climb to the root by `super::`.

use crate::tree::source::{Token, first_of_each};
use crate::tree::{File, Tree};
use std::collections::BTreeMap;

/// One module names another.
pub struct Import {
    /// The file that names it.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    pub from: String,
    pub to: String,
}

/// All imports below this root file, those of tests left out. `inside` is the root's own module, or
/// `None` for the crate's root; `folder` has the files of its modules.
pub fn imports(tree: &Tree, root: &File, inside: Option<&str>, folder: &str) -> Vec<Import> {
    let reexports = find_reexports(root);
    let mut imports = Vec::new();
    for file in tree.rust_files_in(folder).filter(|file| !tree.is_test(file)) {
        let modules = modules_of(file, folder);
        let Some(from) = modules.first().filter(|_| file.path != root.path) else { continue };
        let tokens = file.source().tokens_outside_tests();
        for (name, line) in names_at_root(&tokens, inside, modules.len()) {
            let to = reexports.get(&name).cloned().unwrap_or(name);
            if to != *from {
                let (path, from) = (file.path.clone(), (*from).to_owned());
                imports.push(Import { path, line, from, to });
            }
        }
    }
    imports
}

/// The modules from the root to this file; none for a crate's root itself.
fn modules_of<'a>(file: &'a File, folder: &str) -> Vec<&'a str> {
    let inside = file.path.strip_prefix(folder).unwrap_or(&file.path).trim_start_matches('/');
    let inside = inside.strip_suffix(".rs").unwrap_or(inside);
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    inside.split('/').filter(|part| !["lib", "main"].contains(part)).collect()
}

/// What the root file exports under a name of its own, with the module that it comes from.
fn find_reexports(root: &File) -> BTreeMap<String, String> {
    let tokens = root.source().tokens_outside_tests();
    let mut reexports = BTreeMap::new();
    for at in (0..tokens.len()).filter(|at| tokens[*at].text == "use") {
        let statement: Vec<&str> = tokens[at + 1..]
            .iter()
            .map(|t| t.text.as_str())
            .take_while(|text| *text != ";")
            .collect();
        let Some(module) = statement.first() else { continue };
        for name in
            statement.iter().filter(|text| text.chars().all(|c| c.is_alphanumeric() || c == '_'))
        {
            reexports.entry((*name).to_owned()).or_insert_with(|| (*module).to_owned());
        }
    }
    reexports
}

/// The names that are looked up at the root, by a file that lies `depth` modules below it.
fn names_at_root(tokens: &[Token], inside: Option<&str>, depth: usize) -> Vec<(String, usize)> {
    let mut names = Vec::new();
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.text == text);
    let mut at = 0;
    while at < tokens.len() {
        let begins = !is(at.wrapping_sub(1), "::");
        let climbs = (0..depth).take_while(|n| is(at + 2 * n, "super") && is(at + 2 * n + 1, "::"));
        let is_inside = |name| is(at + 2, name) && is(at + 3, "::");
        let after = match () {
            () if begins && is(at, "crate") && is(at + 1, "::") && inside.is_none_or(is_inside) => {
                at + if inside.is_some() { 4 } else { 2 }
            }
            () if begins && climbs.count() == depth && depth > 0 => at + 2 * depth,
            () => {
                at += 1;
                continue;
            }
        };
        match tokens.get(after) {
            Some(token) if token.text == "{" => {
                let each = first_of_each(&tokens[after..]);
                names.extend(each.into_iter().map(|(name, line)| (name.to_owned(), line)));
            }
            Some(token) => names.push((token.text.clone(), token.line)),
            None => {}
        }
        at = after;
    }
    names
}
