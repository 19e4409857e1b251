//! Slurm's output formats and the layout of lines by them: `%.18i %R` (squeue and sinfo -o),
//! `JobID:12,State` (-O), `jobid,state%20` (sacct).
//! Source: man squeue, sinfo (--format, --Format), sacct (--format).

use common::text::escape_hidden;

/// How one field is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell<F> {
    pub field: F,
    /// The width in characters, to which the value is cut or padded; `None`: the value's own.
    pub width: Option<usize>,
    pub right: bool,
    /// As wide as its widest value.
    pub widest: bool,
    /// A cut value ends with `+`, as in sacct.
    pub plus: bool,
}

/// A part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<F> {
    Text(String),
    Cell(Cell<F>),
}

/// An invalid format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    #[error("there is no field %{0}: see the manual page for the letters")]
    Letter(char),
    #[error("the format ends after `%`: a field's letter is missing")]
    Unfinished,
    #[error("there is no field {0:?}")]
    Name(String),
    #[error("`{0}` is not a width: write a number of at most 10000, as in JobID:12 or State%20")]
    Width(String),
}

/// Parses `%[[.]size]letter` with any text in between; `#` makes the field as wide as needed.
///
/// # Errors
/// [`FormatError`] naming the letter.
pub fn parse_letters<F>(
    format: &str,
    field: impl Fn(char) -> Option<F>,
) -> Result<Vec<Piece<F>>, FormatError> {
    let mut pieces = Vec::new();
    let mut rest = format.chars().peekable();
    let mut text = String::new();
    while let Some(letter) = rest.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        let mut digits = String::new();
        let (mut right, mut widest) = (false, false);
        let letter = loop {
            match rest.next().ok_or(FormatError::Unfinished)? {
                '.' => right = true,
                '-' => right = false,
                '#' => widest = true,
                digit if digit.is_ascii_digit() => digits.push(digit),
                '%' if digits.is_empty() => break None,
                letter => break Some(letter),
            }
        };
        let Some(letter) = letter else {
            text.push('%');
            continue;
        };
        let field = field(letter).ok_or(FormatError::Letter(letter))?;
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        let width = width(&digits)?;
        pieces.push(Piece::Cell(Cell { field, width, right, widest, plus: false }));
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

/// `%all`: every field, each followed by a bar.
fn all_fields<F>(fields: impl Iterator<Item = F>) -> Vec<Piece<F>> {
    let cell = |field| Cell { field, width: None, right: false, widest: false, plus: false };
    let pieces = fields.map(|field| [Piece::Cell(cell(field)), Piece::Text("|".to_owned())]);
    pieces.flatten().collect()
}

/// The pieces of the names of -O, otherwise of the letters of -o (`%all`: of all fields), otherwise
/// of `default`.
///
/// # Errors
/// [`FormatError`] naming the field.
pub fn choose<F>(
    names: Option<&str>,
    letters: Option<&str>,
    default: &str,
    fields: &'static [F],
    by_name: impl Fn(&str) -> Option<&'static F>,
    by_letter: impl Fn(char) -> Option<&'static F>,
) -> Result<Vec<Piece<&'static F>>, FormatError> {
    match (names, letters) {
        (Some(names), _) => parse_names(names, by_name),
        (None, Some("%all")) => Ok(all_fields(fields.iter())),
        (None, letters) => parse_letters(letters.unwrap_or(default), by_letter),
    }
}

/// The width of a field of -O without a size (man squeue).
const DEFAULT_NAME_WIDTH: usize = 20;

/// Parses `name[:[.][size][text]],...`.
///
/// # Errors
/// [`FormatError`] naming the field.
pub fn parse_names<F>(
    format: &str,
    field: impl Fn(&str) -> Option<F>,
) -> Result<Vec<Piece<F>>, FormatError> {
    let mut pieces = Vec::new();
    for word in format.split(',').filter(|word| !word.is_empty()) {
        let (name, size) = word.split_once(':').unwrap_or((word, ""));
        let found = field(&name.to_ascii_lowercase());
        let field = found.ok_or_else(|| FormatError::Name(name.to_owned()))?;
        let right = size.starts_with('.');
        let size = size.trim_start_matches('.');
        let digits = size.chars().take_while(char::is_ascii_digit).count();
        let width = width(&size[..digits])?.or(Some(DEFAULT_NAME_WIDTH));
        pieces.push(Piece::Cell(Cell { field, width, right, widest: false, plus: false }));
        if !size[digits..].is_empty() {
            pieces.push(Piece::Text(size[digits..].to_owned()));
        }
    }
    Ok(pieces)
}

/// Parses `name[%[-]size],...`; `field` returns the field, its default width, and whether it is
/// left-aligned by default.
///
/// # Errors
/// [`FormatError`] naming the field.
pub fn parse_percents<F>(
    format: &str,
    field: impl Fn(&str) -> Option<(F, usize, bool)>,
) -> Result<Vec<Cell<F>>, FormatError> {
    let read = |word: &str| {
        let (name, size) = word.split_once('%').unwrap_or((word, ""));
        let found = field(&name.trim().to_ascii_lowercase());
        let (field, usual, left) =
            found.ok_or_else(|| FormatError::Name(name.trim().to_owned()))?;
        let width = width(size.trim_start_matches('-'))?.or(Some(usual));
        let right = if size.is_empty() { !left } else { !size.starts_with('-') };
        Ok(Cell { field, width, right, widest: false, plus: true })
    };
    format.split(',').filter(|word| !word.trim().is_empty()).map(read).collect()
}

fn width(digits: &str) -> Result<Option<usize>, FormatError> {
    if digits.is_empty() {
        return Ok(None);
    }
    let most = 10_000;
    let wrong = || FormatError::Width(digits.to_owned());
    digits.parse().ok().filter(|width| *width <= most).map(Some).ok_or_else(wrong)
}

/// The rows as lines, after a line of titles if there is one; `value` returns a field's text.
pub fn format_lines<F, R>(
    pieces: &[Piece<F>],
    title: Option<&dyn Fn(&F) -> String>,
    rows: &[R],
    value: impl Fn(&F, &R) -> String,
) -> Vec<String> {
    let fields = |row: &dyn Fn(&F) -> String| -> Vec<String> {
        let show = |piece: &Piece<F>| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Cell(cell) => escape_hidden(&row(&cell.field)).into_owned(),
        };
        pieces.iter().map(show).collect()
    };
    let mut shown: Vec<Vec<String>> = Vec::new();
    shown.extend(title.map(fields));
    shown.extend(rows.iter().map(|row| fields(&|field| value(field, row))));
    let widest = |place: usize| shown.iter().map(|row| row[place].chars().count()).max();
    let widths: Vec<Option<usize>> = pieces
        .iter()
        .enumerate()
        .map(|(place, piece)| match piece {
            Piece::Cell(cell) if cell.widest => widest(place),
            Piece::Cell(cell) => cell.width,
            Piece::Text(_) => None,
        })
        .collect();
    let line = |row: &Vec<String>| {
        let parts = row.iter().zip(pieces).zip(&widths);
        parts.map(|((text, piece), width)| fitted_piece(text, *width, piece)).collect()
    };
    shown.iter().map(line).collect()
}

/// The lines as one text, which is written with a single system call.
pub fn format_text<F, R>(
    pieces: &[Piece<F>],
    title: Option<&dyn Fn(&F) -> String>,
    rows: &[R],
    value: impl Fn(&F, &R) -> String,
) -> String {
    let ended = |text: String, line: String| text + &line + "\n";
    format_lines(pieces, title, rows, value).into_iter().fold(String::new(), ended)
}

fn fitted_piece<F>(text: &str, width: Option<usize>, piece: &Piece<F>) -> String {
    let Piece::Cell(cell) = piece else { return pad_or_cut(text, width, false) };
    match width {
        Some(width @ 1..) if cell.plus && text.chars().count() > width => {
            let kept: String = text.chars().take(width - 1).collect();
            pad_or_cut(&format!("{kept}+"), Some(width), cell.right)
        }
        width => pad_or_cut(text, width, cell.right),
    }
}

/// A text cut or padded to a width.
#[must_use]
pub fn pad_or_cut(text: &str, width: Option<usize>, right: bool) -> String {
    let clean = escape_hidden(text);
    match width {
        None => clean.into_owned(),
        Some(width) => {
            let kept: String = clean.chars().take(width).collect();
            if right { format!("{kept:>width$}") } else { format!("{kept:<width$}") }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pieces: &[Piece<char>]) -> Vec<String> {
        let title = |field: &char| format!("<{field}>");
        format_lines(pieces, Some(&title), &["ab", "abcdef"], |field, row| match field {
            'r' => (*row).to_owned(),
            other => other.to_string(),
        })
    }

    #[test]
    fn a_letter_format_keeps_the_text_between_fields() {
        let read = parse_letters("%.5r|%3x %r%%", Some).unwrap();
        assert_eq!(shown(&read), ["  <r>|<x> <r>%", "   ab|x   ab%", "abcde|x   abcdef%"]);
        let read = parse_letters("%#r|", Some).unwrap();
        assert_eq!(shown(&read), ["<r>   |", "ab    |", "abcdef|"]);
    }

    #[test]
    fn field_names_may_have_widths_and_be_followed_by_text() {
        let field = |name: &str| name.chars().next().filter(|c| *c != 'z');
        let read = parse_names("Row:4,X:.3|,row:", field).unwrap();
        let expected = "<r> <x>|<r>                 ";
        assert_eq!(shown(&read)[0], expected);
        assert_eq!(parse_names("row,zzz", field), Err(FormatError::Name("zzz".to_owned())));
    }

    #[test]
    fn fields_of_sacct_are_right_aligned_unless_the_format_says_otherwise() {
        let field = |name: &str| name.chars().next().map(|letter| (letter, 7, letter == 'i'));
        let read = parse_percents("row,x%-3,id,id%9", field).unwrap();
        assert_eq!((read[0].width, read[0].right), (Some(7), true));
        assert_eq!((read[2].right, read[3].right), (false, true));
        let cut = Cell { field: 'r', width: Some(4), right: true, widest: false, plus: true };
        assert_eq!(shown(&[Piece::Cell(cut)]), [" <r>", "  ab", "abc+"]);
        assert_eq!((read[1].width, read[1].right), (Some(3), false));
        assert!(matches!(parse_percents("row%x", field), Err(FormatError::Width(_))));
    }

    #[test]
    fn an_invalid_format_is_refused() {
        assert_eq!(parse_letters("%z", |_| None::<char>), Err(FormatError::Letter('z')));
        assert_eq!(parse_letters("%1", Some), Err(FormatError::Unfinished));
        assert!(matches!(parse_letters("%99999999999r", Some), Err(FormatError::Width(_))));
    }

    #[test]
    fn a_jobs_name_cannot_break_the_line() {
        assert_eq!(pad_or_cut("a\nb\u{1b}[1m", Some(20), false).trim_end(), "a\\nb\\u{1b}[1m");
    }
}
