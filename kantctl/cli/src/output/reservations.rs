//! Reservations as a table and as a line.

use super::table::{Cell, Column, Table, Tint};
use super::time::local;
use common::hostlist::compress;
use common::text::escape_hidden;
use common::time::Time;
use common::wire::api::ReservationView;
use jiff::tz::TimeZone;

const COLUMNS: [Column; 8] = [
    Column::new("NAME").with_min_width(10),
    Column::new("STATE"),
    Column::new("FROM"),
    Column::new("TO"),
    Column::new("NODES").with_min_width(12),
    Column::new("FOR").with_min_width(10),
    Column::new("JOBS").right_aligned(),
    Column::new("COMMENT").with_min_width(8).with_drop_order(0),
];

/// Reservations, one per row.
#[must_use]
pub fn table(reservations: &[ReservationView], as_of: Time, zone: &TimeZone) -> Table {
    let mut table = Table::new(&COLUMNS, &["COMMENT", "FOR", "NODES", "NAME"]);
    for one in reservations {
        let (state, tint) = match (one.from <= as_of, one.to <= as_of) {
            (_, true) => ("over", Tint::Plain),
            (true, false) => ("now", Tint::Good),
            (false, false) => ("planned", Tint::Waiting),
        };
        table.add_row(vec![
            Cell::from(&one.name),
            Cell::from(state).with_tint(tint),
            Cell::from(local(one.from, zone)),
            Cell::from(local(one.to, zone)),
            Cell::from(compress(&one.nodes)),
            Cell::from(reserved_for(one)),
            Cell::from(one.jobs.len()),
            Cell::from(&one.comment),
        ]);
    }
    table
}

/// The users, groups and accounts that may use it: `ada,bob,@students,vision (account)`.
fn reserved_for(one: &ReservationView) -> String {
    if one.maintenance {
        return "maintenance".to_owned();
    }
    let groups = one.groups.iter().map(|group| format!("@{group}"));
    let accounts = one.accounts.iter().map(|account| format!("{account} (account)"));
    let names: Vec<String> = one.users.iter().cloned().chain(groups).chain(accounts).collect();
    if names.is_empty() { "all users".to_owned() } else { names.join(",") }
}

/// A reservation in one line: `exam: g-[001-002] from ... to ... for ada`.
#[must_use]
pub fn summary(one: &ReservationView, zone: &TimeZone) -> String {
    let (from, to) = (local(one.from, zone), local(one.to, zone));
    let text = format!(
        "{}: {} from {from} to {to} for {}",
        one.name,
        compress(&one.nodes),
        reserved_for(one)
    );
    escape_hidden(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn views() -> Vec<ReservationView> {
        let view = json!([
            { "name": "exam", "nodes": ["g-001", "g-002"], "from": 1_700_000_000_000_u64,
              "to": 1_700_007_200_000_u64, "users": ["ada"], "groups": ["students"],
              "accounts": ["vision"], "by": "root", "jobs": ["42"] },
            { "name": "fans", "nodes": ["g-007"], "from": 1_700_100_000_000_u64,
              "to": 1_700_107_200_000_u64, "maintenance": true, "by": "root", "comment": "dust" }
        ]);
        serde_json::from_value(view).unwrap()
    }

    #[test]
    fn the_table_shows_state_time_nodes_and_users() {
        let text = table(&views(), Time(1_700_000_000_000), &TimeZone::UTC).render(None, false);
        let expected = "\
NAME  STATE    FROM                 TO                   NODES        FOR                             \
JOBS  COMMENT
exam  now      2023-11-14 22:13:20  2023-11-15 00:13:20  g-[001-002]  ada,@students,vision (account)  \
\x20  1
fans  planned  2023-11-16 02:00:00  2023-11-16 04:00:00  g-007        maintenance                     \
\x20  0  dust
";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_table_fits_a_terminal() {
        let text = table(&views(), Time(0), &TimeZone::UTC).render(Some(100), false);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn a_reservation_is_summarized_in_one_line() {
        let text = summary(&views()[1], &TimeZone::UTC);
        let expected =
            "fans: g-007 from 2023-11-16 02:00:00 to 2023-11-16 04:00:00 for maintenance";
        assert_eq!(text, expected);
    }
}
