//! Tests of the layout of tables.

use super::*;

fn table() -> Table {
    let columns = [
        Column::new("ID").right_aligned(),
        Column::new("NAME").with_min_width(6),
        Column::new("STATE").with_short_title("ST"),
        Column::new("LIMIT").with_drop_order(1),
        Column::new("WHY").with_min_width(8),
    ];
    let mut table = Table::new(&columns, &["WHY", "NAME"]);
    table.add_row(vec![
        Cell::from(7),
        Cell::from("training-run"),
        Cell::from("RUNNING").with_short("R"),
        Cell::from("02:00:00"),
        Cell::from("needs eight GPUs"),
    ]);
    table.add_row(vec![
        Cell::from(1234),
        Cell::from("x\ny"),
        Cell::from("PENDING").with_short("PD"),
        Cell::from("-"),
        Cell::from(""),
    ]);
    table
}

#[test]
fn without_a_terminal_everything_is_shown() {
    let expected = "  ID  NAME          STATE    LIMIT     WHY
   7  training-run  RUNNING  02:00:00  needs eight GPUs
1234  x\\ny          PENDING  -
";
    assert_eq!(table().render(None, false), expected);
}

#[test]
fn the_least_important_columns_shrink_first() {
    let why_cut = "  ID  NAME          STATE    LIMIT     WHY
   7  training-run  RUNNING  02:00:00  needs eig…
1234  x\\ny          PENDING  -
";
    assert_eq!(table().render(Some(49), false), why_cut);
    let name_cut = "  ID  NAME    STATE    LIMIT     WHY
   7  train…  RUNNING  02:00:00  needs e…
1234  x\\ny    PENDING  -
";
    assert_eq!(table().render(Some(41), false), name_cut);
    let short = "  ID  NAME      ST  LIMIT     WHY
   7  trainin…  R   02:00:00  needs e…
1234  x\\ny      PD  -
";
    assert_eq!(table().render(Some(38), false), short);
    let dropped = "  ID  NAME      ST  WHY
   7  trainin…  R   needs e…
1234  x\\ny      PD
";
    assert_eq!(table().render(Some(28), false), dropped);
}

#[test]
fn a_terminal_too_narrow_for_anything_still_shows_the_rest() {
    let text = table().render(Some(3), false);
    assert!(text.starts_with("  ID  NAME    ST  WHY\n"), "{text}");
}

#[test]
fn colours_do_not_move_columns() {
    let mut table = Table::new(&[Column::new("A"), Column::new("B")], &[]);
    table.add_row(vec![Cell::from("x").with_tint(Tint::Bad), Cell::from("y")]);
    let text = table.render(None, true);
    assert!(text.contains("\u{1b}["), "{text:?}");
    let plain = anstream::adapter::strip_str(&text).to_string();
    assert_eq!(plain.lines().map(str::trim_end).collect::<Vec<_>>(), ["A  B", "x  y"]);
}
