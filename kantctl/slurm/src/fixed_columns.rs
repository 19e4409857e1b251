//! Fixed columns as sshare, sreport and sacctmgr lay them out: padded for people, or with a
//! delimiter for programs.

use super::format::{self, Cell, FormatError};
use common::text::escape_hidden;

/// A column: its title, its width in characters, and whether it is right-aligned.
pub type Column = (&'static str, usize, bool);

/// How the fields of a line are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Separator {
    /// By padding, with a line of dashes under the titles.
    #[default]
    Padded,
    /// By `|`, with `trailing` also after the last field.
    Bar { trailing: bool },
}

impl Separator {
    /// From -p and -P.
    #[must_use]
    pub const fn from_options(parsable: bool, parsable2: bool) -> Self {
        match (parsable, parsable2) {
            (false, false) => Self::Padded,
            (_, has_no_last) => Self::Bar { trailing: !has_no_last },
        }
    }
}

/// Selects the columns that a format names (`Account%20,User`), in its order. Names may be
/// abbreviated to three letters; `others` are alternative names of columns.
///
/// # Errors
/// [`FormatError`] naming the unknown column.
pub fn select(
    columns: &[Column],
    rows: &[Vec<String>],
    format: &str,
    others: &[(&str, &str)],
) -> Result<(Vec<Column>, Vec<Vec<String>>), FormatError> {
    let own = |column: &Column| column.0.replace(' ', "").to_ascii_lowercase();
    let place = |name: &str| {
        let titled = |title: &str| columns.iter().position(|column| column.0 == title);
        let other = others.iter().find(|(other, _)| *other == name);
        let cut = || columns.iter().position(|column| own(column).starts_with(name));
        let whole = columns.iter().position(|column| own(column) == name);
        whole.or_else(|| titled(other?.1)).or_else(|| (name.len() >= 3).then(cut).flatten())
    };
    let field = |name: &str| {
        let place = place(name)?;
        let (_, width, right) = columns.get(place)?;
        Some((place, *width, !right))
    };
    let cells = format::parse_percents(format, field)?;
    let column = |cell: &Cell<usize>| {
        let (title, usual, _) = columns[cell.field];
        (title, cell.width.unwrap_or(usual), cell.right)
    };
    let row = |row: &Vec<String>| cells.iter().map(|cell| row[cell.field].clone()).collect();
    Ok((cells.iter().map(column).collect(), rows.iter().map(row).collect()))
}

/// The titles and rows as lines.
#[must_use]
pub fn lines(
    columns: &[Column],
    rows: &[Vec<String>],
    separator: Separator,
    titled: bool,
) -> Vec<String> {
    let title = |(title, width, _): &Column| match separator {
        Separator::Padded => title.chars().take(*width).collect(),
        Separator::Bar { .. } => (*title).to_owned(),
    };
    let titles: Vec<String> = columns.iter().map(title).collect();
    let mut lines = Vec::new();
    if titled {
        lines.push(line(columns, &titles, separator));
        if separator == Separator::Padded {
            lines.push(columns.iter().map(|(_, width, _)| "-".repeat(*width) + " ").collect());
        }
    }
    lines.extend(rows.iter().map(|row| line(columns, row, separator)));
    lines
}

fn line(columns: &[Column], row: &[String], separator: Separator) -> String {
    match separator {
        Separator::Bar { trailing } => {
            let joined = row.iter().map(|text| escape_hidden(text)).collect::<Vec<_>>().join("|");
            if trailing { joined + "|" } else { joined }
        }
        Separator::Padded => {
            let cells = columns.iter().zip(row).map(|((_, width, right), text)| {
                let cut = cut(&escape_hidden(text), *width);
                if *right { format!("{cut:>width$} ") } else { format!("{cut:<width$} ") }
            });
            cells.collect()
        }
    }
}

/// Text that is too long is cut and ends with `+`, as in Slurm.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).collect::<String>() + "+"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_padded_or_separated_by_a_delimiter() {
        let columns: &[Column] = &[("Account", 6, false), ("Use", 4, true)];
        let rows = [vec!["vision-lab".to_owned(), "7".to_owned()]];
        let padded = lines(columns, &rows, Separator::Padded, true);
        assert_eq!(padded, ["Accoun  Use ", "------ ---- ", "visio+    7 "]);
        let signed = |p, p2| lines(columns, &rows, Separator::from_options(p, p2), true);
        assert_eq!(signed(true, false), ["Account|Use|", "vision-lab|7|"]);
        assert_eq!(signed(false, true), ["Account|Use", "vision-lab|7"]);
    }

    #[test]
    fn a_format_selects_columns_by_full_or_abbreviated_names_with_widths() {
        let columns: &[Column] = &[("User", 10, true), ("Def Acct", 10, true), ("Share", 9, true)];
        let rows = [vec!["ada".to_owned(), "vision".to_owned(), "3".to_owned()]];
        let others = [("defaultaccount", "Def Acct"), ("fairshare", "Share")];
        let read = |format: &str| select(columns, &rows, format, &others);
        let (titles, cells) = read("fairshare,DefaultAccount%-4,use").unwrap();
        assert_eq!(titles, [("Share", 9, true), ("Def Acct", 4, false), ("User", 10, true)]);
        assert_eq!(cells, [["3", "vision", "ada"]]);
        assert_eq!(read("user,colour"), Err(FormatError::Name("colour".to_owned())));
        assert_eq!(read("us"), Err(FormatError::Name("us".to_owned())));
    }
}
