//! Rendering of selected columns, as a table or as CSV.

use super::{DROP_ORDER, Field, Line, SHRINKABLE, Value};
use crate::output::jobs;
use crate::output::table::{Cell, Column, Table};
use crate::output::time::{local, localized};
use jiff::tz::TimeZone;

/// A table with every column.
#[must_use]
pub fn table(fields: &[&'static Field], lines: &[Line<'_>], zone: &TimeZone) -> Table {
    build_table(fields.iter().map(|field| column(field)).collect(), fields, lines, zone)
}

/// A table of default columns, some of which are omitted if they do not fit.
#[must_use]
pub fn table_fitting(fields: &[&'static Field], lines: &[Line<'_>], zone: &TimeZone) -> Table {
    let columns = fields.iter().map(|field| {
        let place = DROP_ORDER.iter().position(|name| *name == field.name);
        let place = place.and_then(|place| u8::try_from(place).ok());
        place.map_or(column(field), |place| column(field).with_drop_order(place))
    });
    build_table(columns.collect(), fields, lines, zone)
}

fn build_table(
    columns: Vec<Column>,
    fields: &[&'static Field],
    lines: &[Line<'_>],
    zone: &TimeZone,
) -> Table {
    let shrinkable: Vec<&'static str> = SHRINKABLE.iter().map(|(title, _)| *title).collect();
    let mut table = Table::new(&columns, &shrinkable);
    for line in lines {
        let cell = |field: &&Field| {
            let cell = Cell::from(shown(&field.value(line), zone));
            if field.name != "state" {
                return cell;
            }
            cell.with_short(&line.job.state_code).with_tint(jobs::tint(line.job))
        };
        table.add_row(fields.iter().map(cell).collect());
    }
    table
}

fn column(field: &'static Field) -> Column {
    let column = Column::new(&field.title);
    let column = if field.is_number { column.right_aligned() } else { column };
    let column = if field.name == "state" { column.with_short_title("ST") } else { column };
    match SHRINKABLE.iter().find(|(title, _)| *title == field.title) {
        Some((_, least)) => column.with_min_width(*least),
        None => column,
    }
}

fn shown(value: &Value, zone: &TimeZone) -> String {
    match value {
        Value::None => "-".to_owned(),
        Value::Words(words) => localized(words, zone),
        Value::Number(number) => number.to_string(),
        Value::Milli(milli) => thousandths(*milli, 2),
        Value::Size(bytes) => bytes.to_string(),
        Value::At(at) => local(*at, zone),
        Value::Long(span) => span.to_string(),
    }
}

/// `1.5`, with at most `places` decimals and no trailing zeros.
fn thousandths(milli: u64, places: usize) -> String {
    let text = format!("{}.{:03}", milli / 1000, milli % 1000);
    let text = &text[..text.len() - 3 + places.min(3)];
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// CSV (RFC 4180), with a line of column names.
#[must_use]
pub fn csv(fields: &[&'static Field], lines: &[Line<'_>]) -> String {
    let names: Vec<String> = fields.iter().map(|field| field.name.to_owned()).collect();
    let rows = lines.iter().map(|line| {
        let cells = fields.iter().map(|field| quoted(&csv_text(&field.value(line))));
        cells.collect::<Vec<_>>().join(",")
    });
    std::iter::once(names.join(",")).chain(rows).map(|row| row + "\n").collect()
}

fn csv_text(value: &Value) -> String {
    match value {
        Value::None => String::new(),
        Value::Words(words) => words.clone(),
        Value::Number(number) => number.to_string(),
        Value::Milli(milli) => thousandths(*milli, 3),
        Value::Size(bytes) => bytes.0.to_string(),
        Value::At(at) => at.to_string(),
        Value::Long(span) => span.seconds().to_string(),
    }
}

/// A CSV field, quoted if necessary.
#[must_use]
pub fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_cut_and_csv_fields_are_quoted() {
        assert_eq!(thousandths(1500, 3), "1.5");
        assert_eq!(thousandths(1_234_567, 2), "1234.56");
        assert_eq!(thousandths(2000, 2), "2");
        assert_eq!(thousandths(7, 2), "0");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("plain"), "plain");
    }
}
