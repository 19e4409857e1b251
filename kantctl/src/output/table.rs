//! Tables that fit the terminal: what matters least gives way first. Without a terminal nothing
//! is shortened, so that scripts see everything. Never knows what is in a column.

use owo_colors::{AnsiColors, OwoColorize as _};
use std::borrow::Cow;
use unicode_width::UnicodeWidthStr as _;

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
    const fn colour(self) -> Option<AnsiColors> {
        match self {
            Self::Plain => None,
            Self::Good => Some(AnsiColors::BrightGreen),
            Self::Waiting => Some(AnsiColors::BrightYellow),
            Self::Bad => Some(AnsiColors::BrightRed),
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
        self.short = Some(one_line(short.to_owned()));
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
        Self { text: one_line(text.to_string()), ..Self::default() }
    }
}

/// Control characters would break the table, or worse: a job's name is its user's, the terminal
/// somebody else's.
fn one_line(text: String) -> String {
    if !text.chars().any(char::is_control) {
        return text;
    }
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
        let title =
            |(index, _): &(usize, usize)| Part::new(self.title(*index, layout.short).into());
        let titles: Vec<Part<'_>> = layout.shown.iter().map(title).collect();
        let rows: Vec<Vec<Part<'_>>> = self.rows.iter().map(|row| parts(row, &layout)).collect();
        // Wide letters take two places: what was cut by letters is laid out by places.
        let widest = |place: usize| rows.iter().chain([&titles]).map(|row| row[place].width).max();
        let widths: Vec<usize> = (0..titles.len()).filter_map(widest).collect();
        let mut text = String::new();
        let bold = |title: &str| title.bold().to_string();
        self.line(&mut text, &layout, &widths, &titles, |_, title| colour.then(|| bold(title)));
        for (cells, parts) in self.rows.iter().zip(&rows) {
            let tinted = |index: usize, shown: &str| {
                let colour = cells[index].tint.colour().filter(|_| colour)?;
                Some(shown.color(colour).to_string())
            };
            self.line(&mut text, &layout, &widths, parts, tinted);
        }
        text
    }

    /// Adds a line; `styled` gives a cell's text in its style, if it has one.
    fn line(
        &self,
        text: &mut String,
        layout: &Layout,
        widths: &[usize],
        parts: &[Part<'_>],
        styled: impl Fn(usize, &str) -> Option<String>,
    ) {
        // Blanks are written before what follows them, so that no line ends with any.
        let mut blanks = 0;
        for (((index, _), width), part) in layout.shown.iter().zip(widths).zip(parts) {
            let free = width - part.width;
            let (before, after) = if self.columns[*index].right { (free, 0) } else { (0, free) };
            blanks += before;
            let shown = part.text.trim_end();
            if !shown.is_empty() {
                text.extend(std::iter::repeat_n(' ', blanks));
                match styled(*index, shown) {
                    Some(styled) => text.push_str(&styled),
                    None => text.push_str(shown),
                }
                blanks = 0;
            }
            blanks += part.text.len() - shown.len() + after + GAP;
        }
        text.push('\n');
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

/// What stands in a line, and how many places it takes.
struct Part<'a> {
    text: Cow<'a, str>,
    width: usize,
}

impl<'a> Part<'a> {
    fn new(text: Cow<'a, str>) -> Self {
        let width = if text.is_ascii() { text.len() } else { text.width() };
        Self { text, width }
    }
}

/// A row as it is shown.
fn parts<'a>(cells: &'a [Cell], layout: &Layout) -> Vec<Part<'a>> {
    let part = |(index, letters): &(usize, usize)| {
        Part::new(cut(cells[*index].shown(layout.short), *letters))
    };
    layout.shown.iter().map(part).collect()
}

/// At most so many letters.
fn cut(text: &str, letters: usize) -> Cow<'_, str> {
    if text.len() <= letters || text.chars().count() <= letters {
        return text.into();
    }
    let mut kept: String = text.chars().take(letters.saturating_sub(1)).collect();
    kept.truncate(kept.trim_end().len());
    kept.push(CUT);
    kept.into()
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
