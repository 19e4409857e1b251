//! Tables that fit the terminal: what matters least gives way first. Without a terminal nothing
//! is shortened, so that scripts see everything. Never knows what is in a column.

use comfy_table::{Attribute, Cell as Drawn, CellAlignment, Color, Row, presets};

/// Blanks between columns.
const GAP: usize = 2;
/// What stands for letters that were cut off.
const CUT: char = '…';

/// How a cell is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tint {
    /// Not at all.
    #[default]
    Plain,
    /// It goes well.
    Good,
    /// It waits.
    Waiting,
    /// It went wrong.
    Bad,
}

impl Tint {
    const fn colour(self) -> Option<Color> {
        match self {
            Self::Plain => None,
            Self::Good => Some(Color::Green),
            Self::Waiting => Some(Color::Yellow),
            Self::Bad => Some(Color::Red),
        }
    }
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cell {
    text: String,
    short: Option<String>,
    tint: Tint,
}

impl Cell {
    /// With a shorter way to say it, for columns that have [`Column::short`].
    #[must_use]
    pub fn short(mut self, short: &str) -> Self {
        self.short = Some(one_line(short));
        self
    }

    /// In a colour.
    #[must_use]
    pub fn tint(mut self, tint: Tint) -> Self {
        self.tint = tint;
        self
    }

    fn shown(&self, short: bool) -> &str {
        self.short.as_deref().filter(|_| short).unwrap_or(&self.text)
    }
}

impl<T: ToString> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: one_line(&text.to_string()), ..Self::default() }
    }
}

/// Control characters would break the table, or worse: a job's name is its user's, the terminal
/// somebody else's.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// One column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    title: &'static str,
    short: Option<&'static str>,
    right: bool,
    least: Option<usize>,
    drops: Option<u8>,
}

impl Column {
    /// A column that keeps its width.
    #[must_use]
    pub const fn new(title: &'static str) -> Self {
        Self { title, short: None, right: false, least: None, drops: None }
    }

    /// Numbers: aligned right.
    #[must_use]
    pub const fn right(mut self) -> Self {
        self.right = true;
        self
    }

    /// Its cells have a shorter form, under this title.
    #[must_use]
    pub const fn short(mut self, title: &'static str) -> Self {
        self.short = Some(title);
        self
    }

    /// May be cut down to so many letters.
    #[must_use]
    pub const fn least(mut self, letters: usize) -> Self {
        self.least = Some(letters);
        self
    }

    /// May be left out; the lowest number goes first.
    #[must_use]
    pub const fn drops(mut self, order: u8) -> Self {
        self.drops = Some(order);
        self
    }
}

/// A table.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Column>,
    /// Columns in the order in which they give way, least important first.
    yielding: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

/// Which columns are shown, and how.
struct Layout {
    /// `(column, letters)`.
    shown: Vec<(usize, usize)>,
    short: bool,
}

impl Table {
    /// An empty table; `yielding` names the columns that may be cut, least important first.
    #[must_use]
    pub fn new(columns: &[Column], yielding: &[&'static str]) -> Self {
        Self { columns: columns.to_vec(), yielding: yielding.to_vec(), rows: Vec::new() }
    }

    /// Adds a row, one cell a column.
    pub fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// The table as text, each line ended, at most `width` letters wide where that is possible.
    #[must_use]
    pub fn render(&self, width: Option<usize>, colour: bool) -> String {
        let layout = self.fit(width.unwrap_or(usize::MAX));
        let mut drawn = comfy_table::Table::new();
        drawn.load_style(presets::NOTHING).force_no_tty();
        if colour {
            drawn.enforce_styling().style_text_only();
        }
        drawn.set_header(self.header(&layout));
        for cells in &self.rows {
            drawn.add_row(draw_row(cells, &layout));
        }
        let last = layout.shown.len().saturating_sub(1);
        for (place, (index, _)) in layout.shown.iter().enumerate() {
            let Some(column) = drawn.column_mut(place) else { continue };
            column.set_padding((0, if place == last { 0 } else { GAP as u16 }));
            if self.columns[*index].right {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        drawn.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
    }

    fn header(&self, layout: &Layout) -> Row {
        let bold = |title: &str| Drawn::new(title).add_attribute(Attribute::Bold);
        let titles = layout.shown.iter().map(|(i, _)| bold(self.title(*i, layout.short)));
        Row::from(titles.collect::<Vec<_>>())
    }

    fn title(&self, index: usize, short: bool) -> &'static str {
        let column = &self.columns[index];
        column.short.filter(|_| short).unwrap_or(column.title)
    }

    /// Gives way step by step: cut, then shorter forms, then columns left out.
    fn fit(&self, width: usize) -> Layout {
        let mut order: Vec<(u8, usize)> = self
            .columns
            .iter()
            .enumerate()
            .filter_map(|(index, column)| column.drops.map(|order| (order, index)))
            .collect();
        order.sort_unstable();
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        if let Ok(layout) = self.cut(&shown, false, width) {
            return layout;
        }
        for (_, dropped) in order {
            match self.cut(&shown, true, width) {
                Ok(layout) => return layout,
                Err(_) => shown.retain(|index| *index != dropped),
            }
        }
        self.cut(&shown, true, width).unwrap_or_else(|too_wide| too_wide)
    }

    fn natural(&self, shown: &[usize], short: bool) -> Vec<(usize, usize)> {
        let letters = |text: &str| text.chars().count();
        let widest = |index: usize| {
            let cells = self.rows.iter().map(|row| letters(row[index].shown(short)));
            cells.chain([letters(self.title(index, short))]).max().unwrap_or(0)
        };
        shown.iter().map(|index| (*index, widest(*index))).collect()
    }

    /// Cuts columns until the table fits; an error is as near as it gets.
    fn cut(&self, shown: &[usize], short: bool, width: usize) -> Result<Layout, Layout> {
        let mut widths = self.natural(shown, short);
        let gaps = GAP * shown.len().saturating_sub(1);
        let total = widths.iter().map(|(_, w)| w).sum::<usize>() + gaps;
        let mut over = total.saturating_sub(width);
        for title in &self.yielding {
            for (index, letters) in &mut widths {
                let column = &self.columns[*index];
                if column.title == *title {
                    let spare = letters.saturating_sub(column.least.unwrap_or(usize::MAX));
                    let cut = spare.min(over);
                    (*letters, over) = (*letters - cut, over - cut);
                }
            }
        }
        let layout = Layout { shown: widths, short };
        if over == 0 { Ok(layout) } else { Err(layout) }
    }
}

fn draw_row(cells: &[Cell], layout: &Layout) -> Row {
    let draw = |(index, letters): &(usize, usize)| {
        let cell = &cells[*index];
        let drawn = Drawn::new(cut(cell.shown(layout.short), *letters));
        match cell.tint.colour() {
            Some(colour) => drawn.fg(colour),
            None => drawn,
        }
    };
    Row::from(layout.shown.iter().map(draw).collect::<Vec<_>>())
}

/// At most so many letters.
fn cut(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(letters.saturating_sub(1)).collect();
    kept.truncate(kept.trim_end().len());
    kept.push(CUT);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let columns = [
            Column::new("ID").right(),
            Column::new("NAME").least(6),
            Column::new("STATE").short("ST"),
            Column::new("LIMIT").drops(1),
            Column::new("WHY").least(8),
        ];
        let mut table = Table::new(&columns, &["WHY", "NAME"]);
        table.row(vec![
            Cell::from(7),
            Cell::from("training-run"),
            Cell::from("RUNNING").short("R"),
            Cell::from("02:00:00"),
            Cell::from("needs eight GPUs"),
        ]);
        table.row(vec![
            Cell::from(1234),
            Cell::from("x\ny"),
            Cell::from("PENDING").short("PD"),
            Cell::from("-"),
            Cell::from(""),
        ]);
        table
    }

    #[test]
    fn without_a_terminal_everything_is_shown() {
        let expected = "  ID  NAME          STATE    LIMIT     WHY
   7  training-run  RUNNING  02:00:00  needs eight GPUs
1234  x y           PENDING  -
";
        assert_eq!(table().render(None, false), expected);
    }

    #[test]
    fn what_matters_least_gives_way_first() {
        let why_cut = "  ID  NAME          STATE    LIMIT     WHY
   7  training-run  RUNNING  02:00:00  needs eig…
1234  x y           PENDING  -
";
        assert_eq!(table().render(Some(49), false), why_cut);
        let name_cut = "  ID  NAME    STATE    LIMIT     WHY
   7  train…  RUNNING  02:00:00  needs e…
1234  x y     PENDING  -
";
        assert_eq!(table().render(Some(41), false), name_cut);
        let short = "  ID  NAME      ST  LIMIT     WHY
   7  trainin…  R   02:00:00  needs e…
1234  x y       PD  -
";
        assert_eq!(table().render(Some(38), false), short);
        let dropped = "  ID  NAME      ST  WHY
   7  trainin…  R   needs e…
1234  x y       PD
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
        table.row(vec![Cell::from("x").tint(Tint::Bad), Cell::from("y")]);
        let text = table.render(None, true);
        assert!(text.contains("\u{1b}["), "{text:?}");
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert_eq!(plain.lines().map(str::trim_end).collect::<Vec<_>>(), ["A  B", "x  y"]);
    }
}
