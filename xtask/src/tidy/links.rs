//! Rule: each link in a document leads to a file and a heading that exist, each source file that it
//! names in backticks exists, and the book's table of contents lists each page of docs/.

use super::finding::Finding;
use crate::tree::{File, Tree};

const WHY: &str = "a reader who follows a dead link, or never finds a page, is lost";

const NAME_WHY: &str = "a reader does not find code and tests that were renamed";

/// The table of contents of the book.
const CONTENTS: &str = "docs/SUMMARY.md";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let pages = tree.files().filter(|file| file.path.ends_with(".md"));
    let of_page = |file| dead_links(tree, file).into_iter().chain(missing_sources(tree, file));
    let mut findings: Vec<Finding> = pages.flat_map(of_page).collect();
    if let Some(contents) = tree.file(CONTENTS) {
        findings.extend(find_unlisted_pages(tree, contents));
    }
    findings
}

fn dead_links(tree: &Tree, file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, target) in links_in_page(file) {
        let (path, heading) = target.split_once('#').unwrap_or((&target, ""));
        let path = if path.is_empty() { file.path.clone() } else { resolve_link(&file.path, path) };
        let what = match tree.file(&path) {
            None if tree.files().any(|other| other.is_in(path.trim_end_matches('/'))) => continue,
            None => format!("the link to `{target}` leads to no file"),
            Some(page)
                if !heading.is_empty() && !heading_anchors(page).contains(&heading.to_owned()) =>
            {
                format!("`{path}` has no heading for `#{heading}`")
            }
            Some(_) => continue,
        };
        let mend = "mend the link, or name what it meant to show";
        findings.push(Finding::new(&file.path, line, what, WHY, mend));
    }
    findings
}

/// Paths from the root to Rust files that do not exist, such as that of a renamed test.
fn missing_sources(tree: &Tree, page: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, text) in page.lines() {
        let quoted = text.split('`').skip(1).step_by(2).filter(|path| path.ends_with(".rs"));
        let quoted = quoted.filter(|path| !path.contains('*')).flat_map(expand_braces);
        for path in quoted.filter(|path| tree.file(path).is_none()) {
            let top = path.split('/').next().unwrap_or_default();
            if !tree.files().any(|file| file.is_in(top)) {
                continue;
            }
            let what = format!("there is no file `{path}`");
            findings.push(Finding::new(&page.path, line, what, NAME_WHY, "name the file of today"));
        }
    }
    findings
}

/// `a/{b,c}.rs` as `a/b.rs` and `a/c.rs`.
fn expand_braces(path: &str) -> Vec<String> {
    let parts = path.split_once('{').and_then(|(before, rest)| {
        let (names, after) = rest.split_once('}')?;
        Some(names.split(',').map(move |name| format!("{before}{name}{after}")).collect())
    });
    parts.unwrap_or_else(|| vec![path.to_owned()])
}

fn find_unlisted_pages(tree: &Tree, contents: &File) -> Vec<Finding> {
    let listed: Vec<String> = links_in_page(contents)
        .into_iter()
        .map(|(_, target)| resolve_link(CONTENTS, &target))
        .collect();
    let pages = tree.files().filter(|file| file.is_in("docs") && file.path.ends_with(".md"));
    let missing = pages.filter(|page| page.path != CONTENTS && !listed.contains(&page.path));
    let finding = |page: &File| {
        let what = format!("{CONTENTS} does not list this page");
        Finding::new(&page.path, 1, what, WHY, format!("add it to {CONTENTS}"))
    };
    missing.map(finding).collect()
}

/// The targets of links within the project, with their lines. Code is left out.
fn links_in_page(file: &File) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    let mut in_code = false;
    for (line, text) in file.lines() {
        in_code ^= text.trim_start().starts_with("```");
        if in_code || text.starts_with("    ") && !text.trim_start().starts_with(['-', '*']) {
            continue;
        }
        let prose: String = text.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        let inside = targets.map(|(target, _)| target).filter(|target| !target.contains(':'));
        links.extend(inside.map(|target| (line, target.to_owned())));
    }
    links
}

/// The path from the root of a link in the file `from`.
fn resolve_link(from: &str, link: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// What links to the headings of a page are called: lower case, `-` for spaces, no other signs.
fn heading_anchors(page: &File) -> Vec<String> {
    let titles =
        page.lines().filter_map(|(_, line)| line.trim_start_matches('#').strip_prefix(' '));
    let is_kept = |c: &char| c.is_alphanumeric() || ['-', '_', ' '].contains(c);
    let name = |title: &str| title.chars().filter(is_kept).collect::<String>();
    titles.map(|title| name(title.trim()).to_lowercase().replace(' ', "-")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files)).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn links_to_files_folders_and_headings_pass() {
        let text =
            "[a](b/c.md#one-two) [d](b/) [e](#here) [f](https://x.org/y)\n\n# Here\n`[g](h)`\n";
        assert_eq!(whats(&[("docs/a.md", text), ("docs/b/c.md", "## One, two\n")]), [""; 0]);
        assert_eq!(whats(&[("docs/b/c.md", "[up](../../x.rs)\n"), ("x.rs", "")]), [""; 0]);
    }

    #[test]
    fn dead_links_are_found() {
        let found = whats(&[("a.md", "[a](b.md) [c](#gone)\n")]);
        assert_eq!(
            found,
            ["the link to `b.md` leads to no file", "`a.md` has no heading for `#gone`"]
        );
    }

    #[test]
    fn a_source_file_that_was_renamed_is_found() {
        let text = "See `a/src/{new,old}.rs`, `lib.rs`, `a/tests/*.rs`.\n";
        let files = [("docs/SUMMARY.md", "[b](b.md)"), ("docs/b.md", text), ("a/src/new.rs", "")];
        assert_eq!(whats(&files), ["there is no file `a/src/old.rs`"]);
    }

    #[test]
    fn a_page_that_the_contents_do_not_list_is_found() {
        let files = [(CONTENTS, "- [A](a.md)\n"), ("docs/a.md", ""), ("docs/b.md", "")];
        assert_eq!(whats(&files), ["docs/SUMMARY.md does not list this page"]);
    }
}
