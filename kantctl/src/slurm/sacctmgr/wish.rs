//! The words after what sacctmgr shows: which of them, and in which columns. A word that is not
//! known is refused, for a client would take all for what it asked for.

use super::{Sheet, unknown};
use crate::failure::Failure;
use crate::slurm::sheet;

/// Names that columns go by besides their titles (man sacctmgr, LIST/SHOW FORMAT OPTIONS).
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

/// What the words ask for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Wish {
    /// Only these, of what is shown; none: all.
    pub(super) names: Vec<String>,
    /// Only of these users.
    pub(super) users: Vec<String>,
    /// Only of these accounts.
    pub(super) accounts: Vec<String>,
    pub(super) format: Option<String>,
    /// A line for each account of a user.
    pub(super) with_associations: bool,
}

impl Wish {
    /// Reads `X withassoc where account=A format=User,Account%20`.
    pub(super) fn read(words: &[String]) -> Result<Self, Failure> {
        let mut wish = Self::default();
        for word in words {
            let (key, value) = match word.split_once('=') {
                Some((key, value)) => (key.to_ascii_lowercase(), value),
                None => (word.to_ascii_lowercase(), ""),
            };
            let list = || value.split(',').filter(|one| !one.is_empty()).map(str::to_owned);
            match (key.as_str(), word.contains('=')) {
                ("withassoc" | "withassociations", false) => wish.with_associations = true,
                // Deleted ones are not kept, and there is one cluster.
                ("where" | "withdeleted" | "tree", false) | ("cluster" | "clusters", true) => {}
                ("name" | "names", true) => wish.names.extend(list()),
                ("user" | "users", true) => wish.users.extend(list()),
                ("account" | "accounts" | "acct", true) => wish.accounts.extend(list()),
                ("format", true) => wish.format = Some(value.to_owned()),
                (_, false) => wish.names.extend(word.split(',').map(str::to_owned)),
                (other, true) => return Err(unknown(other)),
            }
        }
        Ok(wish)
    }

    /// Is this name asked for?
    pub(super) fn takes(names: &[String], name: &str) -> bool {
        names.is_empty() || names.iter().any(|asked| asked == name)
    }

    /// The columns that are asked for.
    pub(super) fn chosen(&self, sheet: Sheet) -> Result<Sheet, Failure> {
        let Some(format) = &self.format else { return Ok(sheet) };
        let chosen = sheet::chosen(&sheet.columns, &sheet.rows, format, OTHERS);
        let (columns, rows) = chosen.map_err(|error| {
            let titles: Vec<&str> = sheet.columns.iter().map(|(title, ..)| *title).collect();
            Failure::usage(error).hint(format!("there are {}", titles.join(", ")))
        })?;
        Ok(Sheet { columns, rows })
    }

    /// Are all columns that are asked for among these?
    pub(super) fn is_within(&self, columns: &[sheet::Column]) -> bool {
        let format = self.format.as_deref().unwrap_or_default();
        sheet::chosen(columns, &[], format, OTHERS).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Wish, Failure> {
        Wish::read(&words.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn bare_words_are_names_or_say_how_and_none_is_passed_over() {
        let wish = read("ada,bob WithAssoc where account=vision format=user,acc%9").unwrap();
        let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let expected = Wish {
            names: list(&["ada", "bob"]),
            users: Vec::new(),
            accounts: list(&["vision"]),
            format: Some("user,acc%9".to_owned()),
            with_associations: true,
        };
        assert_eq!(wish, expected);
        assert!(read("colour=red").is_err());
    }
}
