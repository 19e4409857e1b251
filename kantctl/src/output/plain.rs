//! Makes other people's words harmless: a job's name is some user's, the terminal somebody else's.
//! Never changes what can be seen.

/// The text with its control characters shown escaped.
#[must_use]
pub fn plain(text: &str) -> String {
    text.chars().fold(String::new(), |mut done, c| {
        if c.is_control() {
            done.extend(c.escape_default());
        } else {
            done.push(c);
        }
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_control_characters_change() {
        assert_eq!(plain("Zoë's \"job\" \\ 1"), "Zoë's \"job\" \\ 1");
        assert_eq!(plain("a\u{1b}[31m\nb\u{9b}c"), "a\\u{1b}[31m\\nb\\u{9b}c");
    }
}
