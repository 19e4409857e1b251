//! Escaping of invisible characters before text reaches a terminal: text of other users must not
//! move the cursor or change the text direction, even where a caller forgot to escape it.

use common::text::is_shown;
use std::borrow::Cow;

/// Escapes every invisible character other than line breaks, tabs and colour sequences.
pub(super) fn escape_invisible(text: &str) -> Cow<'_, str> {
    let stays = |c: char| matches!(c, '\n' | '\t') || is_shown(c);
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut done = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = leading_colour_sequence(rest).unwrap_or_default();
        let end = colour.len().max(c.len_utf8());
        match stays(c) || !colour.is_empty() {
            true => done.push_str(&rest[..end]),
            false => done.extend(c.escape_default()),
        }
        rest = &rest[end..];
    }
    Cow::Owned(done)
}

/// The colour sequence at the start of a text: `\u{1b}[1;31m`.
fn leading_colour_sequence(text: &str) -> Option<&str> {
    let numbers = text.strip_prefix("\u{1b}[")?;
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    numbers[end..].starts_with('m').then(|| &text[..end + 3])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_line_breaks_stay_and_other_invisible_characters_are_escaped() {
        let text = "\u{1b}[1;31mred\u{1b}[0m\tré\n";
        assert_eq!(escape_invisible(text), text);
        let text = "\u{1b}[2J\u{1b}]0;t\u{7}a\u{202e}b\u{9b}31m\r\u{1b}[31";
        let expected = "\\u{1b}[2J\\u{1b}]0;t\\u{7}a\\u{202e}b\\u{9b}31m\\r\\u{1b}[31";
        assert_eq!(escape_invisible(text), expected);
    }
}
