//! A column of a table: its title, and how it gives way. Never what stands in it.

#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub(super) title: &'static str,
    pub(super) short: Option<&'static str>,
    pub(super) right: bool,
    pub(super) least: Option<usize>,
    pub(super) drops: Option<u8>,
}

impl Column {
    /// A column that keeps its width.
    #[must_use]
    pub const fn new(title: &'static str) -> Self {
        Self { title, short: None, right: false, least: None, drops: None }
    }

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
