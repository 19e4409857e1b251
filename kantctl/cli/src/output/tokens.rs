//! Tokens as a table.

use super::table::{Cell, Column, Table};
use super::time::local;
use super::user_names::user;
use common::wire::api::TokenView;
use jiff::tz::TimeZone;

const COLUMNS: [Column; 8] = [
    Column::new("ID"),
    Column::new("NAME").with_min_width(8),
    Column::new("USER"),
    Column::new("SCOPES").with_min_width(12),
    Column::new("CREATED").with_drop_order(1),
    Column::new("UNTIL"),
    Column::new("LAST USE"),
    Column::new("FROM").with_drop_order(0),
];

/// Tokens, one per row.
#[must_use]
pub fn table(tokens: &[TokenView], zone: &TimeZone) -> Table {
    let mut table = Table::new(&COLUMNS, &["SCOPES", "NAME", "FROM"]);
    for token in tokens {
        let from = token.via.as_ref().map_or("a controller".to_owned(), ToString::to_string);
        let last_use = token.last_use.map_or("-".to_owned(), |at| local(at, zone));
        table.add_row(vec![
            Cell::from(&token.id),
            Cell::from(&token.name),
            Cell::from(user(token.uid.0)),
            Cell::from(scopes(token)),
            Cell::from(local(token.created, zone)),
            Cell::from(local(token.until, zone)),
            Cell::from(last_use),
            Cell::from(from),
        ]);
    }
    table
}

/// The scopes of a token, as `--scope` reads them.
#[must_use]
pub fn scopes(token: &TokenView) -> String {
    token.scopes.iter().map(|scope| scope.word()).collect::<Vec<_>>().join(",")
}
