//! Rule: the map in docs/ARCHITECTURE.md has a row for each crate of the workspace, with its folder
//! and the crates that it may import, as house.rs has them, and no row for a crate that is gone.

use super::finding::Finding;
use super::house::{ROOMS, Room};
use crate::tree::Tree;

const PATH: &str = "docs/ARCHITECTURE.md";
const WHY: &str = "a map that lies costs its reader more than no map";

/// The head of the map's table. Folders that are no crate have `-` in the second column.
const HEAD: &str = "| folder | crate | may import |";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.file(PATH) else { return Vec::new() };
    let head = file.line_of(HEAD);
    let table = file.lines().skip(head + 1).take_while(|(_, line)| line.starts_with('|'));
    let rows: Vec<(usize, &str)> = table.collect();
    let mut findings = Vec::new();
    for begin in ROOMS.iter().map(row_begin) {
        if !rows.iter().any(|(_, row)| row.starts_with(&begin)) {
            let what = format!("the map has no row that begins with `{begin}`");
            let mend = "add it, or mend the row of that folder";
            findings.push(Finding::new(PATH, head, what, WHY, mend));
        }
    }
    for (line, row) in rows {
        let is_crate = row.split('|').nth(2).is_some_and(|name| name.trim() != "-");
        if is_crate && !ROOMS.iter().any(|room| row.starts_with(&row_begin(room))) {
            let what = "the map has a row that fits no crate of the workspace";
            let mend = "mend it by ROOMS in xtask/src/tidy/house.rs, or delete it";
            findings.push(Finding::new(PATH, line, what, WHY, mend));
        }
    }
    findings
}

/// The first three cells of a crate's row.
fn row_begin(room: &Room) -> String {
    let may_import = match room.may_import {
        None => "any".to_owned(),
        Some([]) => "-".to_owned(),
        Some(some) => some.join(", "),
    };
    format!("| `{}/` | {} | {may_import} |", room.folder, room.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(table: &str) -> Vec<String> {
        let text = format!("{HEAD} what it does |\n|---|---|---|---|\n{table}");
        let findings = check(&Tree::of(&[(PATH, &text)]));
        findings.into_iter().map(|finding| finding.what).collect()
    }

    fn rows() -> Vec<String> {
        ROOMS.iter().map(|room| format!("{} what |\n", row_begin(room))).collect()
    }

    #[test]
    fn a_true_map_passes() {
        assert_eq!(whats(&(rows().concat() + "| `tests/vm/` | - | - | the machine |\n")), [""; 0]);
    }

    #[test]
    fn a_missing_row_is_found() {
        assert_eq!(whats(&rows()[1..].concat()).len(), 1);
    }

    #[test]
    fn a_row_that_lies_is_found_and_the_true_one_is_missed() {
        let sim = row_begin(ROOMS.iter().find(|room| room.name == "sim").unwrap());
        let lie = rows().concat().replace(&sim, &sim.replace("state", "state, wal"));
        assert_eq!(whats(&lie).len(), 2);
    }

    #[test]
    fn a_crate_that_is_gone_is_found() {
        assert_eq!(whats(&(rows().concat() + "| `attic/` | attic | - | old |\n")).len(), 1);
    }
}
