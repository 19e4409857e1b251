//! A table of text with a header: the position of each column, and the line of each value for
//! errors.

use super::TraceError;
use super::field::Problem;
use super::text::text_of;
use csv::{ErrorKind, ReaderBuilder, StringRecord};

/// A column of a format.
pub struct Column {
    /// Its name in the header.
    pub name: &'static str,
    /// Whether a file must have it, and every line a value in it.
    pub required: bool,
}

/// A column that must be present.
pub const fn required_column(name: &'static str) -> Column {
    Column { name, required: true }
}

/// A column that may be missing or empty.
pub const fn optional_column(name: &'static str) -> Column {
    Column { name, required: false }
}

/// A file's rows, and the position of each known column.
pub struct Table {
    file: String,
    columns: &'static [Column],
    places: Vec<Option<usize>>,
    records: Vec<StringRecord>,
}

/// One line of a table.
pub struct Row<'a> {
    table: &'a Table,
    record: &'a StringRecord,
}

impl Table {
    /// Splits a file's text into rows with the known columns.
    ///
    /// # Errors
    /// Faults in the bytes, the header or the shape of a line.
    pub fn read(file: &str, bytes: &[u8], columns: &'static [Column]) -> Result<Self, TraceError> {
        let text = text_of(file, bytes)?;
        if text.trim().is_empty() {
            return Err(TraceError::Empty { file: file.to_owned(), header: header_of(columns) });
        }
        let mut reader = ReaderBuilder::new().has_headers(true).from_reader(text.as_bytes());
        let header = reader.headers().map_err(|error| row_length_error(file, &error))?.clone();
        let places = column_positions(file, &header, columns)?;
        let records = reader
            .records()
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| row_length_error(file, &error))?;
        Ok(Self { file: file.to_owned(), columns, places, records })
    }

    /// The lines after the header.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.records.iter().map(|record| Row { table: self, record })
    }
}

impl Row<'_> {
    /// The value as written; empty if the file lacks the column.
    pub fn text(&self, column: &str) -> &str {
        let known = self.table.columns.iter().position(|known| known.name == column);
        let place = known.and_then(|at| self.table.places[at]);
        place.and_then(|at| self.record.get(at)).unwrap_or_default()
    }

    /// The parsed value, without surrounding spaces.
    ///
    /// # Errors
    /// [`TraceError::Value`] with its place and the parser's problem.
    pub fn read<T>(
        &self,
        column: &str,
        read: impl FnOnce(&str) -> Result<T, Problem>,
    ) -> Result<T, TraceError> {
        let text = self.text(column).trim();
        let must = self.table.columns.iter().any(|known| known.name == column && known.required);
        if text.is_empty() && must {
            return Err(self.wrong(column, "is empty: every line needs a value here".to_owned()));
        }
        read(text).map_err(|problem| self.wrong(column, problem))
    }

    /// The error that this column's value is wrong.
    pub fn wrong(&self, column: &str, problem: Problem) -> TraceError {
        TraceError::Value {
            file: self.table.file.clone(),
            line: self.line(),
            column: column.to_owned(),
            value: self.text(column).to_owned(),
            problem,
        }
    }

    /// The line in the file, from 1.
    pub fn line(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }
}

/// The header line of a format.
pub fn header_of(columns: &[Column]) -> String {
    columns.iter().map(|column| column.name).collect::<Vec<_>>().join(",")
}

/// The position of each known column.
fn column_positions(
    file: &str,
    header: &StringRecord,
    columns: &[Column],
) -> Result<Vec<Option<usize>>, TraceError> {
    let bad = |column: &str, what: &'static str| TraceError::BadColumn {
        file: file.to_owned(),
        column: column.to_owned(),
        what,
        known: columns.iter().map(|known| known.name).collect::<Vec<_>>().join(", "),
    };
    let mut places = vec![None; columns.len()];
    for (place, name) in header.iter().enumerate() {
        let known = columns.iter().position(|column| column.name == name.trim());
        let slot = &mut places[known.ok_or_else(|| bad(name, "unknown"))?];
        if slot.replace(place).is_some() {
            return Err(bad(name, "there twice"));
        }
    }
    let missing = columns.iter().zip(&places).find(|(known, at)| known.required && at.is_none());
    match missing {
        Some((column, _)) => {
            Err(TraceError::MissingColumn { file: file.to_owned(), column: column.name })
        }
        None => Ok(places),
    }
}

/// Text in memory can fail in one way only: a line of another length. Other errors are handled in
/// case `csv` adds some.
fn row_length_error(file: &str, error: &csv::Error) -> TraceError {
    let line = error.position().map_or(0, csv::Position::line);
    match error.kind() {
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            let (found, expected) = (*len, *expected_len);
            TraceError::Shape { file: file.to_owned(), line, found, expected }
        }
        _ => TraceError::NotText { file: file.to_owned(), line },
    }
}

/// Adds a line to a CSV text. Fields with commas, quotes or line ends are quoted (RFC 4180).
pub fn push_row<'a>(text: &mut String, fields: impl IntoIterator<Item = &'a str>) {
    for (at, field) in fields.into_iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        if field.contains([',', '"', '\n', '\r']) {
            text.push('"');
            text.push_str(&field.replace('"', "\"\""));
            text.push('"');
        } else {
            text.push_str(field);
        }
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[required_column("name"), optional_column("size")];

    fn error(text: &str) -> String {
        Table::read("t.csv", text.as_bytes(), COLUMNS).err().expect("a refusal").to_string()
    }

    #[test]
    fn columns_are_found_by_name_in_any_order() {
        let table = Table::read("t.csv", b"size,name\n3,a\n,\"b,c\"\n", COLUMNS).unwrap();
        let show =
            |row: Row<'_>| format!("{} {} {}", row.line(), row.text("name"), row.text("size"));
        let rows: Vec<String> = table.rows().map(show).collect();
        assert_eq!(rows, ["2 a 3", "3 b,c "]);
    }

    #[test]
    fn a_header_that_is_wrong_lists_what_is_known() {
        assert_eq!(
            error("name,colour\na,b\n"),
            "failed to read t.csv, line 1: the column `colour` is unknown; known are name, size"
        );
        assert!(error("name,name\n").contains("`name` is there twice"));
        assert!(error("size\n1\n").contains("the column `name` is missing; add it"));
        assert!(error(" \n").contains("it is empty; a trace begins with the line `name,size`"));
        assert!(error("").contains("it is empty"));
    }

    #[test]
    fn a_line_of_another_length_is_named() {
        let text = error("name,size\na,1\nb\n");
        assert!(text.contains("t.csv, line 3: it has 1 fields where the header has 2"), "{text}");
    }

    #[test]
    fn a_missing_value_is_named_with_its_place() {
        let table = Table::read("t.csv", b"name,size\n,1\n", COLUMNS).unwrap();
        let row = table.rows().next().unwrap();
        let error = row.read("name", |text| Ok(text.to_owned())).unwrap_err().to_string();
        assert!(error.contains("t.csv, line 2, column name: `` is empty"), "{error}");
    }
}
