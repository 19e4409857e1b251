//! A full record: one labelled line a fact. Never a fact that is not there.

use common::text::shown;
use owo_colors::OwoColorize;

const LABEL_LETTERS: usize = 11;

/// A record being written.
#[derive(Debug, Default)]
pub struct Record {
    text: String,
}

impl Record {
    /// Adds a fact. Control characters of a text are shown escaped: it is some user's, the
    /// terminal somebody else's.
    pub fn fact(&mut self, label: &str, value: impl ToString) {
        let padded = format!("{label:<LABEL_LETTERS$}");
        let line = format!("{} {}", padded.bold(), shown(&value.to_string()));
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// Adds a fact if there is one.
    pub fn maybe(&mut self, label: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.fact(label, value);
        }
    }

    /// Adds a list under a title; nothing for an empty one.
    pub fn list(&mut self, title: &str, lines: impl IntoIterator<Item = String>) {
        let mut lines = lines.into_iter().peekable();
        if lines.peek().is_some() {
            self.text.push_str(&format!("{}\n", title.bold()));
        }
        for line in lines {
            self.text.push_str(&format!("  {}\n", shown(&line)));
        }
    }

    /// The record, each line ended.
    #[must_use]
    pub fn text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_aligned_and_harmless() {
        let mut record = Record::default();
        record.fact("name", "a\u{1b}[31m\nb");
        record.maybe("account", None::<String>);
        record.list("story", ["x".to_owned()]);
        record.list("empty", []);
        let text = anstream::adapter::strip_str(&record.text()).to_string();
        assert_eq!(text, "name        a\\u{1b}[31m\\nb\nstory\n  x\n");
    }
}
