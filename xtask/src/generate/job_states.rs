//! The diagram of a job's states in docs/ARCHITECTURE.md, generated from the table of transitions.

use super::Page;
use crate::tree::Tree;
use anyhow::{Context, Result};
use common::job::state::{Phase, TRANSITIONS};

const PATH: &str = "docs/ARCHITECTURE.md";
const BEGIN: &str = "<!-- gen:job-states -->\n";
const END: &str = "<!-- /gen:job-states -->";

/// The page with the current diagram.
pub fn page(tree: &Tree) -> Result<Page> {
    let text = tree.file(PATH).map_or("", |file| file.text.as_str());
    let between = text.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) = between.with_context(|| {
        format!(
            "failed to place the diagram of job states: {PATH} has no lines `{}` and `{END}`; add \
             them where the diagram belongs",
            BEGIN.trim_end()
        )
    })?;
    Ok(Page {
        path: PATH.to_owned(),
        text: format!("{before}{BEGIN}{}{END}{after}", draw_diagram()),
    })
}

/// The table as a diagram; transitions between the same two states share an arrow.
fn draw_diagram() -> String {
    let mut arrows: Vec<(Phase, Phase, Vec<String>)> = Vec::new();
    for (from, change, to) in TRANSITIONS {
        let label = format!("{change:?}").to_lowercase();
        match arrows.iter_mut().find(|arrow| (arrow.0, arrow.1) == (*from, *to)) {
            Some(arrow) => arrow.2.push(label),
            None => arrows.push((*from, *to, vec![label])),
        }
    }
    let first = Phase::ALL[0];
    let last = Phase::ALL[Phase::ALL.len() - 1];
    let mut text = format!("```mermaid\nstateDiagram-v2\n    [*] --> {first:?}\n");
    for (from, to, labels) in arrows {
        text += &format!("    {from:?} --> {to:?}: {}\n", labels.join(", "));
    }
    text + &format!("    {last:?} --> [*]\n```\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_diagram_has_every_transition() {
        let diagram = draw_diagram();
        for (from, change, to) in TRANSITIONS {
            let arrow = format!("    {from:?} --> {to:?}: ");
            let line = diagram.lines().find(|line| line.starts_with(&arrow)).unwrap();
            assert!(line.to_lowercase().contains(&format!("{change:?}").to_lowercase()), "{line}");
        }
    }

    #[test]
    fn only_the_text_between_the_markers_changes() {
        let tree = Tree::of(&[(PATH, &format!("before\n{BEGIN}old\n{END}\nafter\n"))]);
        let text = page(&tree).unwrap().text;
        assert!(text.starts_with(&format!("before\n{BEGIN}```mermaid\n")), "{text}");
        assert!(text.ends_with(&format!("```\n{END}\nafter\n")), "{text}");
        assert!(!text.contains("old"), "{text}");
    }

    #[test]
    fn a_page_without_markers_is_an_error_that_names_them() {
        let error = page(&Tree::of(&[(PATH, "text\n")])).unwrap_err().to_string();
        assert!(error.contains("<!-- gen:job-states -->"), "{error}");
    }
}
