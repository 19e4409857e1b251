//! The scopes of tokens and their routes in docs/operating/web.md, generated from their table.

use super::Page;
use crate::tree::Tree;
use anyhow::{Context, Result};
use common::route::ROUTES;
use common::token::Scope;

const PATH: &str = "docs/operating/web.md";
const BEGIN: &str = "<!-- gen:scopes -->\n";
const END: &str = "<!-- /gen:scopes -->";

/// The page with the current table.
pub fn page(tree: &Tree) -> Result<Page> {
    let text = tree.file(PATH).map_or("", |file| file.text.as_str());
    let between = text.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) = between.with_context(|| {
        format!(
            "failed to place the scopes: {PATH} has no lines `{}` and `{END}`",
            BEGIN.trim_end()
        )
    })?;
    Ok(Page { path: PATH.to_owned(), text: format!("{before}{BEGIN}{}{END}{after}", table()) })
}

fn table() -> String {
    let mut text = "| scope | allows to | routes |\n|---|---|---|\n".to_owned();
    for scope in Scope::ALL {
        text += &format!("| `{scope}` | {} | {} |\n", scope.purpose(), routes(Some(scope)));
    }
    text + &format!("| none | closed to tokens: use kantctl | {} |\n", routes(None))
}

/// The routes with this scope, each path once.
fn routes(scope: Option<Scope>) -> String {
    let of_scope = ROUTES.iter().filter(|route| route.scope == scope);
    let shown = of_scope.map(|route| format!("{} `{}`", route.method, route.path));
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_route_once() {
        let table = table();
        for route in ROUTES {
            let cell = format!("{} `{}`", route.method, route.path);
            assert_eq!(table.matches(&cell).count(), 1, "{cell}");
        }
    }
}
