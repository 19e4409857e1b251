//! The characters that are safe to display. A job's name is chosen by one user and shown on another
//! user's terminal, where a control or format character could move the cursor, reverse text or be
//! invisible, so that the text reads as something else.
//! Source: Unicode 16, general categories Cc, Cf, Zl and Zp, and `Default_Ignorable_Code_Point`
//! without the variation selectors that belong to emoji.

use std::borrow::Cow;

/// Format characters, line and paragraph separators, and invisible characters.
const UNSHOWN: [(char, char); 24] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Is this character visible, and neither a control nor a format character?
#[must_use]
pub fn is_shown(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    !c.is_control() && !UNSHOWN.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

/// Does the text consist of such characters?
#[must_use]
pub fn is_all_shown(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || text.chars().all(is_shown)
}

/// The text with all other characters escaped, on one line: `\n`, `\u{202e}`.
#[must_use]
pub fn escape_hidden(text: &str) -> Cow<'_, str> {
    if is_all_shown(text) { Cow::Borrowed(text) } else { Cow::Owned(escaped(text, is_shown)) }
}

/// The same for a text with several lines.
#[must_use]
pub fn escape_hidden_lines(text: &str) -> Cow<'_, str> {
    let stays = |c| c == '\n' || is_shown(c);
    if text.chars().all(stays) { Cow::Borrowed(text) } else { Cow::Owned(escaped(text, stays)) }
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> String {
    text.chars().fold(String::with_capacity(text.len() + 16), |mut done, c| {
        if stays(c) {
            done.push(c)
        } else {
            done.extend(c.escape_default())
        }
        done
    })
}

/// Equivalent JSON with each such character outside ASCII escaped: `\u202e`. In JSON they occur
/// only in strings.
#[must_use]
pub fn escape_hidden_json(json: &str) -> Cow<'_, str> {
    let stays = |c: char| c.is_ascii() || is_shown(c);
    if json.chars().all(stays) {
        return Cow::Borrowed(json);
    }
    let mut done = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if stays(c) {
            done.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            done.push_str(&format!("\\u{unit:04x}"));
        }
    }
    Cow::Owned(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn control_and_format_characters_are_not_shown_and_letters_of_all_scripts_are() {
        for c in "\0\u{7}\n\t\u{1b}\u{7f}\u{85}\u{9b}\u{ad}\u{61c}\u{200b}\u{200e}\u{200f}\u{2028}\
                  \u{2029}\u{202a}\u{202e}\u{2066}\u{2069}\u{206f}\u{feff}\u{3164}\u{e0001}\u{e0041}\u{e007f}"
            .chars()
        {
            assert!(!is_shown(c), "{c:?}");
        }
        for c in "aZ ~\"\\éß漢字かなاعдפ🦘\u{a0}\u{301}\u{fe0f}…".chars() {
            assert!(is_shown(c), "{c:?}");
        }
    }

    #[test]
    fn what_is_not_shown_is_escaped_and_nothing_else_changes() {
        assert_eq!(escape_hidden("Zoë's \"job\" \\ 1"), "Zoë's \"job\" \\ 1");
        assert_eq!(escape_hidden("a\u{1b}[31m\nb\u{9b}c"), "a\\u{1b}[31m\\nb\\u{9b}c");
        assert_eq!(escape_hidden("gpj.\u{202e}exe"), "gpj.\\u{202e}exe");
        assert_eq!(escape_hidden_lines("a\nb\tc\u{2066}"), "a\nb\\tc\\u{2066}");
    }

    proptest! {
        #[test]
        fn any_text_is_shown_with_such_characters_alone(text in any::<String>()) {
            prop_assert!(is_all_shown(&escape_hidden(&text)));
            let one_line = escape_hidden_lines(&text).replace('\n', "");
            prop_assert!(is_all_shown(&one_line));
        }

        #[test]
        fn json_says_the_same_after_it(
            text in any::<String>(),
            also in "[\u{202e}\u{e0041}\u{9b}a]{0,9}",
        ) {
            let text = text + &also;
            let json = serde_json::to_string(&text).unwrap();
            let shown = escape_hidden_json(&json);
            prop_assert!(shown.chars().all(is_shown), "{}", shown);
            prop_assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        }
    }
}
