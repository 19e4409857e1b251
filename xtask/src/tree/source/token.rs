//! Tokens of Rust code: words and punctuation, each with its line. Comments and literals are
//! blanked before.

/// A word, a number, `::`, or a single punctuation character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub text: String,
    /// The line, from 1.
    pub line: usize,
    /// The start, in bytes.
    pub offset: usize,
    pub in_test: bool,
}

impl Token {
    pub fn is_number(&self) -> bool {
        self.text.starts_with(|first: char| first.is_ascii_digit())
    }

    /// Whether it is a number with a fraction or a float suffix.
    pub fn is_float(&self) -> bool {
        let float_suffix = self.text.ends_with("f32") || self.text.ends_with("f64");
        let hex = self.text.starts_with("0x");
        self.is_number() && (self.text.contains('.') || (float_suffix && !hex))
    }
}

/// The tokens of blanked code.
pub fn tokens(code: &str) -> Vec<Token> {
    let bytes = code.as_bytes();
    let mut tokens: Vec<Token> = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let after_dot = tokens.last().is_some_and(|token| token.text == ".");
        let length = match bytes[at] {
            b'\n' => {
                line += 1;
                at += 1;
                continue;
            }
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            byte if byte.is_ascii_digit() && !after_dot => number(&bytes[at..]),
            byte if is_word(byte) => word(&bytes[at..]),
            b':' if bytes.get(at + 1) == Some(&b':') => 2,
            _ => 1,
        };
        let text = code[at..at + length].to_owned();
        tokens.push(Token { text, line, offset: at, in_test: false });
        at += length;
    }
    tokens
}

/// The first word of each part of a braced list.
pub fn first_of_each(braced: &[Token]) -> Vec<(&str, usize)> {
    let mut words = Vec::new();
    let (mut depth, mut begins) = (0_usize, true);
    for token in braced {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 1 => begins = true,
            word if begins && depth == 1 => {
                words.push((word, token.line));
                begins = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    words
}

/// Every byte beyond ASCII counts as part of a word, so that no character is split.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

fn word(rest: &[u8]) -> usize {
    rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len())
}

/// The length of a number with its fraction: `1.5`, but `1` in `1..5` and in `1.max(2)`.
fn number(rest: &[u8]) -> usize {
    let whole = word(rest);
    match (rest.get(whole), rest.get(whole + 1)) {
        (Some(b'.'), Some(digit)) if digit.is_ascii_digit() => whole + 1 + word(&rest[whole + 1..]),
        _ => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(code: &str) -> Vec<String> {
        tokens(code).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn paths_and_calls_are_split_into_tokens() {
        assert_eq!(texts("std::fs::read(a)"), ["std", "::", "fs", "::", "read", "(", "a", ")"]);
    }

    #[test]
    fn numbers_keep_their_fraction_but_ranges_and_fields_have_none() {
        assert_eq!(texts("1.5 0..5 x.0.1"), ["1.5", "0", ".", ".", "5", "x", ".", "0", ".", "1"]);
        let floats = ["1.5", "2f64", "1e3f32", "0.0"];
        assert!(floats.iter().all(|text| tokens(text)[0].is_float()), "{floats:?}");
        let others = ["15", "0xf32", "1_000u64", "f64_of"];
        assert!(others.iter().all(|text| !tokens(text)[0].is_float()), "{others:?}");
    }

    #[test]
    fn lines_are_counted_from_one() {
        let lines: Vec<usize> = tokens("a\n\nb c").iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 3, 3]);
    }
}
