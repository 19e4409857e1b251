//! Fixed columns as sprio, sshare, sreport and sacctmgr lay them out: padded, or with a sign
//! between them for programs. Never knows what is in a column.

use super::format::{self, Cell, FormatError};
use common::text::shown;

/// A column: its title, how many letters it takes, and whether it stands right.
pub type Column = (&'static str, usize, bool);

/// How fields are kept apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Apart {
    /// Padded, with a line of dashes under the titles where `ruled`.
    #[default]
    Padded,
    /// With this sign between them, and after the last where it says so.
    Signed {
        sign: String,
        /// After the last field, too.
        last: bool,
    },
}

impl Apart {
    /// As -p, -P and --delimiter say.
    #[must_use]
    pub fn of(parsable: bool, parsable2: bool, delimiter: Option<&str>) -> Self {
        if !parsable && !parsable2 {
            return Self::Padded;
        }
        Self::Signed { sign: delimiter.unwrap_or("|").to_owned(), last: parsable && !parsable2 }
    }
}

/// The columns that a format asks for (`Account%20,User`), in its order, and their cells alone.
/// Names may be cut to three letters; `others` are further names that a column goes by.
///
/// # Errors
/// [`FormatError`] naming the column that there is not.
pub fn chosen(
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
        let (_, letters, right) = columns.get(place)?;
        Some((place, *letters, !right))
    };
    let cells = format::percents(format, field)?;
    let column = |cell: &Cell<usize>| {
        let (title, usual, _) = columns[cell.field];
        (title, cell.letters.unwrap_or(usual), cell.right)
    };
    let row = |row: &Vec<String>| cells.iter().map(|cell| row[cell.field].clone()).collect();
    Ok((cells.iter().map(column).collect(), rows.iter().map(row).collect()))
}

/// Rows under their titles, as lines.
#[must_use]
pub fn lines(
    columns: &[Column],
    rows: &[Vec<String>],
    apart: &Apart,
    titled: bool,
    ruled: bool,
) -> Vec<String> {
    let title = |(title, letters, _): &Column| match apart {
        Apart::Padded => title.chars().take(*letters).collect(),
        Apart::Signed { .. } => (*title).to_owned(),
    };
    let titles: Vec<String> = columns.iter().map(title).collect();
    let mut lines = Vec::new();
    if titled {
        lines.push(line(columns, &titles, apart));
        if ruled && *apart == Apart::Padded {
            lines.push(columns.iter().map(|(_, letters, _)| "-".repeat(*letters) + " ").collect());
        }
    }
    lines.extend(rows.iter().map(|row| line(columns, row, apart)));
    lines
}

fn line(columns: &[Column], row: &[String], apart: &Apart) -> String {
    match apart {
        Apart::Signed { sign, last } => {
            let joined = row.iter().map(|text| shown(text)).collect::<Vec<_>>().join(sign);
            if *last { joined + sign } else { joined }
        }
        Apart::Padded => {
            let cells = columns.iter().zip(row).map(|((_, letters, right), text)| {
                let cut = cut(&shown(text), *letters);
                if *right { format!("{cut:>letters$} ") } else { format!("{cut:<letters$} ") }
            });
            cells.collect()
        }
    }
}

/// What is too long ends with a `+`, as Slurm has it.
fn cut(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    text.chars().take(letters.saturating_sub(1)).collect::<String>() + "+"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_padded_or_kept_apart_by_a_sign() {
        let columns: &[Column] = &[("Account", 6, false), ("Use", 4, true)];
        let rows = [vec!["vision-lab".to_owned(), "7".to_owned()]];
        let padded = lines(columns, &rows, &Apart::Padded, true, true);
        assert_eq!(padded, ["Accoun  Use ", "------ ---- ", "visio+    7 "]);
        let signed = |p, p2| lines(columns, &rows, &Apart::of(p, p2, None), true, true);
        assert_eq!(signed(true, false), ["Account|Use|", "vision-lab|7|"]);
        assert_eq!(signed(false, true), ["Account|Use", "vision-lab|7"]);
    }

    #[test]
    fn a_format_names_columns_whole_or_cut_and_their_widths() {
        let columns: &[Column] = &[("User", 10, true), ("Def Acct", 10, true), ("Share", 9, true)];
        let rows = [vec!["ada".to_owned(), "vision".to_owned(), "3".to_owned()]];
        let others = [("defaultaccount", "Def Acct"), ("fairshare", "Share")];
        let read = |format: &str| chosen(columns, &rows, format, &others);
        let (titles, cells) = read("fairshare,DefaultAccount%-4,use").unwrap();
        assert_eq!(titles, [("Share", 9, true), ("Def Acct", 4, false), ("User", 10, true)]);
        assert_eq!(cells, [["3", "vision", "ada"]]);
        assert_eq!(read("user,colour"), Err(FormatError::Name("colour".to_owned())));
        assert_eq!(read("us"), Err(FormatError::Name("us".to_owned())));
    }
}
