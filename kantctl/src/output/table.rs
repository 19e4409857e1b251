//! Tables that fit the terminal: what matters least gives way first. Without a terminal nothing
//! is shortened, so that scripts see everything. Never knows what is in a column.

mod cell;
mod column;

pub use cell::{Cell, Tint};
pub use column::Column;
use owo_colors::OwoColorize as _;
use std::borrow::Cow;
use unicode_width::UnicodeWidthStr as _;

const GAP: usize = 2;
/// What stands for letters that were cut off.
const CUT: char = '…';

/// A table. A queue's may have a hundred thousand rows: what is in its cells stands in one text.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Column>,
    /// Columns in the order in which they give way, least important first.
    yielding: Vec<&'static str>,
    text: String,
    slots: Vec<Slot>,
}

/// Where a cell's text stands, its shorter form after it.
#[derive(Debug, Clone, Copy)]
struct Slot {
    start: usize,
    end: usize,
    short_end: Option<usize>,
    tint: Tint,
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
        Self {
            columns: columns.to_vec(),
            yielding: yielding.to_vec(),
            text: String::new(),
            slots: Vec::new(),
        }
    }

    /// Adds a row, one cell a column.
    pub fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        for Cell { text, short, tint } in cells {
            let start = self.text.len();
            self.text.push_str(&text);
            let end = self.text.len();
            let short_end = short.map(|short| {
                self.text.push_str(&short);
                self.text.len()
            });
            self.slots.push(Slot { start, end, short_end, tint });
        }
    }

    fn rows(&self) -> impl Iterator<Item = &[Slot]> {
        self.slots.chunks(self.columns.len())
    }

    fn shown(&self, slot: &Slot, short: bool) -> &str {
        let place = match slot.short_end.filter(|_| short) {
            Some(end) => slot.end..end,
            None => slot.start..slot.end,
        };
        self.text.get(place).unwrap_or_default()
    }

    /// A row as it is laid out.
    fn parts<'a>(&'a self, row: &'a [Slot], layout: &'a Layout) -> impl Iterator<Item = Part<'a>> {
        layout.shown.iter().map(move |(index, letters)| {
            Part::new(cut(self.shown(&row[*index], layout.short), *letters))
        })
    }

    /// The table as text, each line ended, at most `width` letters wide where that is possible.
    #[must_use]
    pub fn render(&self, width: Option<usize>, colour: bool) -> String {
        let layout = width.map_or_else(|| self.whole(), |width| self.fit(width));
        let title =
            |(index, _): &(usize, usize)| Part::new(self.title(*index, layout.short).into());
        let titles: Vec<Part<'_>> = layout.shown.iter().map(title).collect();
        // Wide letters take two places: what was cut by letters is laid out by places.
        let mut widths: Vec<usize> = titles.iter().map(|part| part.width).collect();
        for row in self.rows() {
            for (width, part) in widths.iter_mut().zip(self.parts(row, &layout)) {
                *width = part.width.max(*width);
            }
        }
        let mut text = String::with_capacity(self.text.len() * 2);
        let bold = |title: &str| title.bold().to_string();
        let styled = |_, title: &str| colour.then(|| bold(title));
        self.line(&mut text, &layout, &widths, titles.into_iter(), styled);
        for row in self.rows() {
            let tinted = |index: usize, shown: &str| {
                let colour = row[index].tint.colour().filter(|_| colour)?;
                Some(shown.color(colour).to_string())
            };
            self.line(&mut text, &layout, &widths, self.parts(row, &layout), tinted);
        }
        text
    }

    /// Adds a line; `styled` gives a cell's text in its style, if it has one.
    fn line<'a>(
        &self,
        text: &mut String,
        layout: &Layout,
        widths: &[usize],
        parts: impl Iterator<Item = Part<'a>>,
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

    /// Everything, as long as it is.
    fn whole(&self) -> Layout {
        Layout { shown: (0..self.columns.len()).map(|i| (i, usize::MAX)).collect(), short: false }
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
        let widest = |index: usize| {
            let cells = self.rows().map(|row| letters(self.shown(&row[index], short)));
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

fn letters(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

/// At most so many letters.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most || letters(text) <= most {
        return text.into();
    }
    let mut kept: String = text.chars().take(most.saturating_sub(1)).collect();
    kept.truncate(kept.trim_end().len());
    kept.push(CUT);
    kept.into()
}

#[cfg(test)]
mod tests;
