//! A cell of a table: one line of text, its short form and its colour.

use common::text::{escape_hidden, is_all_shown};
use owo_colors::AnsiColors;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tint {
    #[default]
    Plain,
    Good,
    Waiting,
    Bad,
}

impl Tint {
    pub(super) const fn colour(self) -> Option<AnsiColors> {
        match self {
            Self::Plain => None,
            Self::Good => Some(AnsiColors::BrightGreen),
            Self::Waiting => Some(AnsiColors::BrightYellow),
            Self::Bad => Some(AnsiColors::BrightRed),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cell {
    pub(super) text: String,
    pub(super) short: Option<String>,
    pub(super) tint: Tint,
}

impl Cell {
    /// Sets the short form, for columns with [`super::Column::with_short_title`].
    #[must_use]
    pub fn with_short(mut self, short: &str) -> Self {
        self.short = Some(one_line(short.to_owned()));
        self
    }

    #[must_use]
    pub fn with_tint(mut self, tint: Tint) -> Self {
        self.tint = tint;
        self
    }
}

impl<T: ToString> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: one_line(text.to_string()), ..Self::default() }
    }
}

/// Escapes invisible characters, which would break or falsify the table.
fn one_line(text: String) -> String {
    if is_all_shown(&text) { text } else { escape_hidden(&text).into_owned() }
}
