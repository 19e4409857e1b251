//! A column of a table: its title, alignment, and how it shrinks.

#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub(super) title: &'static str,
    pub(super) short: Option<&'static str>,
    pub(super) right: bool,
    pub(super) min_width: Option<usize>,
    pub(super) drop_order: Option<u8>,
}

impl Column {
    /// A column that keeps its width.
    #[must_use]
    pub const fn new(title: &'static str) -> Self {
        Self { title, short: None, right: false, min_width: None, drop_order: None }
    }

    #[must_use]
    pub const fn right_aligned(mut self) -> Self {
        self.right = true;
        self
    }

    /// The cells have a short form, under this title.
    #[must_use]
    pub const fn with_short_title(mut self, title: &'static str) -> Self {
        self.short = Some(title);
        self
    }

    /// The column may be cut to this width.
    #[must_use]
    pub const fn with_min_width(mut self, width: usize) -> Self {
        self.min_width = Some(width);
        self
    }

    /// The column may be omitted; the lowest number is omitted first.
    #[must_use]
    pub const fn with_drop_order(mut self, order: u8) -> Self {
        self.drop_order = Some(order);
        self
    }
}
