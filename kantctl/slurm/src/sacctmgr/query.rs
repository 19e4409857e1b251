//! The arguments of `sacctmgr show`: filters and columns. An unknown argument is refused, since a
//! client would otherwise take the full list for the filtered one.

use super::{Listing, unknown};
use crate::fixed_columns;
use cli::failure::Failure;

/// Alternative names of columns (man sacctmgr, LIST/SHOW FORMAT OPTIONS).
const OTHERS: &[(&str, &str)] = &[
    ("defaultaccount", "Def Acct"),
    ("defaultqos", "Def QOS"),
    ("adminlevel", "Admin"),
    ("description", "Descr"),
    ("organization", "Org"),
    ("fairshare", "Share"),
    ("maxtresperuser", "MaxTRESPU"),
    ("maxjobsperuser", "MaxJobsPU"),
    ("qoslevel", "QOS"),
];

/// The filters and columns of `sacctmgr show`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    /// Names of the shown objects; empty: all.
    pub(super) names: Vec<String>,
    pub(super) users: Vec<String>,
    pub(super) accounts: Vec<String>,
    pub(super) format: Option<String>,
    /// Show a line for each account of a user.
    pub(super) with_associations: bool,
}

impl Query {
    /// Parses `X withassoc where account=A format=User,Account%20`.
    pub(super) fn read(words: &[String]) -> Result<Self, Failure> {
        let mut query = Self::default();
        for word in words {
            let (key, value) = match word.split_once('=') {
                Some((key, value)) => (key.to_ascii_lowercase(), value),
                None => (word.to_ascii_lowercase(), ""),
            };
            let list = || value.split(',').filter(|one| !one.is_empty()).map(str::to_owned);
            match (key.as_str(), word.contains('=')) {
                ("withassoc" | "withassociations", false) => query.with_associations = true,
                // Deleted objects are not kept, and there is one cluster.
                ("where" | "withdeleted" | "tree", false) | ("cluster" | "clusters", true) => {}
                ("name" | "names", true) => query.names.extend(list()),
                ("user" | "users", true) => query.users.extend(list()),
                ("account" | "accounts" | "acct", true) => query.accounts.extend(list()),
                ("format", true) => query.format = Some(value.to_owned()),
                (_, false) => query.names.extend(word.split(',').map(str::to_owned)),
                (other, true) => return Err(unknown(other)),
            }
        }
        Ok(query)
    }

    /// Whether `name` is selected: an empty list selects all.
    pub(super) fn selects_name(names: &[String], name: &str) -> bool {
        names.is_empty() || names.iter().any(|asked| asked == name)
    }

    /// Selects the requested columns.
    pub(super) fn select(&self, listing: Listing) -> Result<Listing, Failure> {
        let Some(format) = &self.format else { return Ok(listing) };
        let chosen = fixed_columns::select(&listing.columns, &listing.rows, format, OTHERS);
        let (columns, rows) = chosen.map_err(|error| {
            let titles: Vec<&str> = listing.columns.iter().map(|(title, ..)| *title).collect();
            Failure::usage(error).with_hint(format!("fields are {}", titles.join(", ")))
        })?;
        Ok(Listing { columns, rows })
    }

    /// Whether all requested columns are among these.
    pub(super) fn has_only_columns(&self, columns: &[fixed_columns::Column]) -> bool {
        let format = self.format.as_deref().unwrap_or_default();
        fixed_columns::select(columns, &[], format, OTHERS).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Query, Failure> {
        Query::read(&words.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_are_parsed_and_an_unknown_one_is_refused() {
        let query = read("ada,bob WithAssoc where account=vision format=user,acc%9").unwrap();
        let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let expected = Query {
            names: list(&["ada", "bob"]),
            users: Vec::new(),
            accounts: list(&["vision"]),
            format: Some("user,acc%9".to_owned()),
            with_associations: true,
        };
        assert_eq!(query, expected);
        assert!(read("colour=red").is_err());
    }
}
