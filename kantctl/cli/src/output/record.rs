//! A record: one labelled line per fact.

use common::text::escape_hidden;
use owo_colors::OwoColorize;

const LABEL_LETTERS: usize = 11;

/// A record under construction.
#[derive(Debug, Default)]
pub struct Record {
    text: String,
}

impl Record {
    /// Adds a fact. Control characters are escaped: the text may come from another user.
    pub fn fact(&mut self, label: &str, value: impl ToString) {
        let padded = format!("{label:<LABEL_LETTERS$}");
        let line = format!("{} {}", padded.bold(), escape_hidden(&value.to_string()));
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// Adds a fact if there is one.
    pub fn add_optional_fact(&mut self, label: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.fact(label, value);
        }
    }

    /// Adds a list under a title, unless it is empty.
    pub fn list(&mut self, title: &str, lines: impl IntoIterator<Item = String>) {
        let mut lines = lines.into_iter().peekable();
        if lines.peek().is_some() {
            self.text.push_str(&format!("{}\n", title.bold()));
        }
        for line in lines {
            self.text.push_str(&format!("  {}\n", escape_hidden(&line)));
        }
    }

    #[must_use]
    pub fn text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_aligned_and_escaped() {
        let mut record = Record::default();
        record.fact("name", "a\u{1b}[31m\nb");
        record.add_optional_fact("account", None::<String>);
        record.list("timeline", ["x".to_owned()]);
        record.list("empty", []);
        let text = anstream::adapter::strip_str(&record.text()).to_string();
        assert_eq!(text, "name        a\\u{1b}[31m\\nb\ntimeline\n  x\n");
    }
}
