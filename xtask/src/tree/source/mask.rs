//! Separation of a Rust file's code from comments and literals, so that a rule does not mistake a
//! word in a sentence for code. It is not a parser: it knows only where comments and literals begin
//! and end.

/// What a byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Code,
    /// A comment with its markers.
    Comment,
    /// A string or character literal, with its quotes.
    Literal,
}

/// The kind of each byte of the text.
pub fn kinds(text: &str) -> Vec<Kind> {
    let bytes = text.as_bytes();
    let mut kinds = Vec::with_capacity(bytes.len());
    while kinds.len() < bytes.len() {
        let at = kinds.len();
        let (kind, length) = next_piece(bytes, at);
        kinds.resize((at + length).min(bytes.len()), kind);
    }
    kinds
}

/// Replaces every byte of another kind with a blank; lines and offsets stay.
pub fn keep(text: &str, kinds: &[Kind], wanted: &[Kind]) -> String {
    let keeps = |byte: u8, kind: &Kind| byte == b'\n' || wanted.contains(kind);
    let bytes = text.bytes().zip(kinds).map(|(byte, kind)| match keeps(byte, kind) {
        true => byte,
        false => b' ',
    });
    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
}

/// The kind and length of the piece that begins here.
fn next_piece(bytes: &[u8], at: usize) -> (Kind, usize) {
    let rest = &bytes[at..];
    match rest {
        [b'/', b'/', ..] => (Kind::Comment, until_newline(rest)),
        [b'/', b'*', ..] => (Kind::Comment, block_comment(rest)),
        [b'"', ..] => (Kind::Literal, quoted_length(rest, b'"')),
        [b'\'', ..] => match character_length(rest) {
            Some(length) => (Kind::Literal, length),
            None => (Kind::Code, 1),
        },
        [b'r', ..] if begins_word(bytes, at) => match raw_string(rest) {
            Some(length) => (Kind::Literal, length),
            None => (Kind::Code, 1),
        },
        _ => (Kind::Code, 1),
    }
}

/// Whether a literal's prefix begins here; also true after the `b` or `c` of `br"` and `cr"`.
fn begins_word(bytes: &[u8], at: usize) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let before = |steps: usize| at.checked_sub(steps).map(|index| bytes[index]);
    match before(1) {
        Some(b'b' | b'c') => !before(2).is_some_and(is_word),
        Some(byte) => !is_word(byte),
        None => true,
    }
}

fn until_newline(rest: &[u8]) -> usize {
    rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// The length from one quote to the next unescaped one.
fn quoted_length(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// A character literal's length; `None` for a lifetime.
fn character_length(rest: &[u8]) -> Option<usize> {
    if rest.get(1) == Some(&b'\\') {
        return Some(quoted_length(rest, b'\''));
    }
    // A UTF-8 character has one leading byte and up to three continuation bytes.
    let continued = rest.iter().skip(2).take_while(|byte| **byte & 0xC0 == 0x80).count();
    (rest.get(2 + continued) == Some(&b'\'')).then_some(3 + continued)
}

/// A raw string's length; `None` for anything else that begins with `r`, such as `r#type`.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let hashes = rest.iter().skip(1).take_while(|byte| **byte == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return None;
    }
    let end: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let body = &rest[hashes + 2..];
    let length = body.windows(end.len()).position(|window| window == end);
    Some(length.map_or(rest.len(), |length| hashes + 2 + length + end.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        keep(text, &kinds(text), &[Kind::Code]).trim_end().to_owned()
    }

    #[test]
    fn comments_are_not_code() {
        assert_eq!(code("a // b\nc"), "a     \nc");
        assert_eq!(code("a /* b /* c */ d */ e"), "a                   e");
        assert_eq!(code("/// a doc comment"), "");
    }

    #[test]
    fn insides_of_strings_are_not_code() {
        assert_eq!(code(r#"f("a // \" b") + c"#), "f(           ) + c");
        assert_eq!(code("f(r#\"a \" b\"#) + c"), "f(          ) + c");
        assert_eq!(code("f(br\"a\") + c"), "f(b    ) + c");
        assert_eq!(code("\"two\nlines\" + a"), "    \n       + a");
    }

    #[test]
    fn characters_are_literals_and_lifetimes_are_code() {
        assert_eq!(code("('\"', b)"), "(   , b)");
        assert_eq!(code(r"('\'', b)"), "(    , b)");
        assert_eq!(code("('é', b)"), "(    , b)");
        assert_eq!(code("fn f<'a>(x: &'a u8)"), "fn f<'a>(x: &'a u8)");
    }

    #[test]
    fn words_with_r_are_not_raw_strings() {
        assert_eq!(code("for r in r#type { var }"), "for r in r#type { var }");
        assert_eq!(code("expr\"a\""), "expr");
    }

    #[test]
    fn an_unfinished_literal_ends_with_the_file() {
        for text in ["a \"b", "a /* b", "a r#\"b\"", "a '\\"] {
            assert_eq!(code(text), "a", "{text}");
        }
    }
}
