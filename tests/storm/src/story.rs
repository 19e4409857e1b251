//! A record of one history, line by line, for the search for the cause of a complaint. It stays
//! empty unless it is requested.

use std::collections::VecDeque;

/// Number of lines kept at most: the first half of them from the beginning, the rest from the end.
const LINES_MAX: usize = 4_000;

/// The first and the last lines of a history.
#[derive(Debug, Default)]
pub struct Story {
    is_recorded: bool,
    lines: VecDeque<String>,
}

impl Story {
    /// A story that records lines only if `is_recorded`.
    pub fn new(is_recorded: bool) -> Self {
        Self { is_recorded, lines: VecDeque::new() }
    }

    /// Adds a line, if lines are recorded.
    pub fn add(&mut self, now_ms: u64, line: impl FnOnce() -> String) {
        if !self.is_recorded {
            return;
        }
        if self.lines.len() == LINES_MAX {
            self.lines.remove(LINES_MAX / 2);
        }
        self.lines.push_back(format!("{:>7}.{:03} {}", now_ms / 1000, now_ms % 1000, line()));
    }

    pub fn into_lines(self) -> Vec<String> {
        self.lines.into()
    }
}
