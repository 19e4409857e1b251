//! Tables that fit the terminal: the least important columns shrink first. Without a terminal
//! nothing is shortened, so scripts see everything.

mod cell;
mod column;

pub use cell::{Cell, Tint};
pub use column::Column;
use owo_colors::OwoColorize as _;
use std::borrow::Cow;
use unicode_width::UnicodeWidthStr as _;

const GAP: usize = 2;
const ELLIPSIS: char = '…';

/// A table. It may have a hundred thousand rows, so the texts of all cells are in one string.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<Column>,
    /// The columns that may be cut, least important first.
    shrinkable: Vec<&'static str>,
    text: String,
    slots: Vec<Slot>,
}

/// The position of a cell's text in the string, followed by its short form.
#[derive(Debug, Clone, Copy)]
struct Slot {
    start: usize,
    end: usize,
    short_end: Option<usize>,
    tint: Tint,
}

/// The columns that are shown.
struct Layout {
    /// `(column, width)`.
    shown: Vec<(usize, usize)>,
    short: bool,
}

impl Table {
    /// An empty table; `shrinkable` names the columns that may be cut, least important first.
    #[must_use]
    pub fn new(columns: &[Column], shrinkable: &[&'static str]) -> Self {
        Self {
            columns: columns.to_vec(),
            shrinkable: shrinkable.to_vec(),
            text: String::new(),
            slots: Vec::new(),
        }
    }

    /// Adds a row, one cell per column.
    pub fn add_row(&mut self, cells: Vec<Cell>) {
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

    fn cell_text(&self, slot: &Slot, short: bool) -> &str {
        let place = match slot.short_end.filter(|_| short) {
            Some(end) => slot.end..end,
            None => slot.start..slot.end,
        };
        self.text.get(place).unwrap_or_default()
    }

    /// The texts of a row, cut to the layout.
    fn row_texts<'a>(
        &'a self,
        row: &'a [Slot],
        layout: &'a Layout,
    ) -> impl Iterator<Item = CellText<'a>> {
        layout.shown.iter().map(move |(index, width)| {
            CellText::new(cut(self.cell_text(&row[*index], layout.short), *width))
        })
    }

    /// The table as text, at most `width` columns wide if possible.
    #[must_use]
    pub fn render(&self, width: Option<usize>, colour: bool) -> String {
        let layout = width.map_or_else(|| self.full_layout(), |width| self.fit(width));
        let title =
            |(index, _): &(usize, usize)| CellText::new(self.title(*index, layout.short).into());
        let titles: Vec<CellText<'_>> = layout.shown.iter().map(title).collect();
        // Wide characters take two columns: text is cut by characters and laid out by columns.
        let mut widths: Vec<usize> = titles.iter().map(|part| part.width).collect();
        for row in self.rows() {
            for (width, part) in widths.iter_mut().zip(self.row_texts(row, &layout)) {
                *width = part.width.max(*width);
            }
        }
        let mut text = String::with_capacity(self.text.len() * 2);
        let bold = |title: &str| title.bold().to_string();
        let styled = |_, title: &str| colour.then(|| bold(title));
        self.append_line(&mut text, &layout, &widths, titles.into_iter(), styled);
        for row in self.rows() {
            let tinted = |index: usize, shown: &str| {
                let colour = row[index].tint.colour().filter(|_| colour)?;
                Some(shown.color(colour).to_string())
            };
            self.append_line(&mut text, &layout, &widths, self.row_texts(row, &layout), tinted);
        }
        text
    }

    /// Adds a line; `styled` returns a cell's text in its style, if it has one.
    fn append_line<'a>(
        &self,
        text: &mut String,
        layout: &Layout,
        widths: &[usize],
        parts: impl Iterator<Item = CellText<'a>>,
        styled: impl Fn(usize, &str) -> Option<String>,
    ) {
        // Blanks are written only before further text, so that no line ends with blanks.
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

    /// The layout that shows everything.
    fn full_layout(&self) -> Layout {
        Layout { shown: (0..self.columns.len()).map(|i| (i, usize::MAX)).collect(), short: false }
    }

    /// Shrinks step by step: cut columns, then short forms, then omitted columns.
    fn fit(&self, width: usize) -> Layout {
        let mut order: Vec<(u8, usize)> = self
            .columns
            .iter()
            .enumerate()
            .filter_map(|(index, column)| column.drop_order.map(|order| (order, index)))
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

    fn natural_widths(&self, shown: &[usize], short: bool) -> Vec<(usize, usize)> {
        let widest = |index: usize| {
            let cells = self.rows().map(|row| char_count(self.cell_text(&row[index], short)));
            cells.chain([char_count(self.title(index, short))]).max().unwrap_or(0)
        };
        shown.iter().map(|index| (*index, widest(*index))).collect()
    }

    /// Cuts columns until the table fits. The error is the narrowest layout, if it does not fit.
    fn cut(&self, shown: &[usize], short: bool, width: usize) -> Result<Layout, Layout> {
        let mut widths = self.natural_widths(shown, short);
        let gaps = GAP * shown.len().saturating_sub(1);
        let total = widths.iter().map(|(_, w)| w).sum::<usize>() + gaps;
        let mut excess = total.saturating_sub(width);
        for title in &self.shrinkable {
            for (index, width) in &mut widths {
                let column = &self.columns[*index];
                if column.title == *title {
                    let spare = width.saturating_sub(column.min_width.unwrap_or(usize::MAX));
                    let cut = spare.min(excess);
                    (*width, excess) = (*width - cut, excess - cut);
                }
            }
        }
        let layout = Layout { shown: widths, short };
        if excess == 0 { Ok(layout) } else { Err(layout) }
    }
}

/// The text of a cell and its width in columns.
struct CellText<'a> {
    text: Cow<'a, str>,
    width: usize,
}

impl<'a> CellText<'a> {
    fn new(text: Cow<'a, str>) -> Self {
        let width = if text.is_ascii() { text.len() } else { text.width() };
        Self { text, width }
    }
}

fn char_count(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().count() }
}

/// Cuts text to at most `most` characters.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most || char_count(text) <= most {
        return text.into();
    }
    let mut kept: String = text.chars().take(most.saturating_sub(1)).collect();
    kept.truncate(kept.trim_end().len());
    kept.push(ELLIPSIS);
    kept.into()
}

#[cfg(test)]
mod tests;
