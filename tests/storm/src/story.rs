//! What happened, line by line, for people who look for the cause of a complaint. Never read by a
//! program, and empty unless somebody wants to read it.

use std::collections::VecDeque;

/// So many lines are kept: the first half of them, and the last.
const LINES_MAX: usize = 4_000;

/// The first and the last lines of a history.
#[derive(Debug, Default)]
pub struct Story {
    is_told: bool,
    lines: VecDeque<String>,
}

impl Story {
    /// A story that is told, or not.
    pub fn new(is_told: bool) -> Self {
        Self { is_told, lines: VecDeque::new() }
    }

    /// One more line, if anybody reads it.
    pub fn tell(&mut self, now_ms: u64, line: impl FnOnce() -> String) {
        if !self.is_told {
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
