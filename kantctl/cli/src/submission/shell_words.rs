//! Splitting of a directive line into words as in a shell: whitespace, quotes, backslashes, and `#`
//! at the start of a word for a comment. Variables and patterns are not expanded.

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a quote ({0}) is not closed")]
pub struct OpenQuote(char);

/// Splits a line into words.
///
/// # Errors
/// [`OpenQuote`].
pub fn split(line: &str) -> Result<Vec<String>, OpenQuote> {
    let mut words = Vec::new();
    let mut letters = line.chars().peekable();
    loop {
        while letters.next_if(|c| c.is_whitespace()).is_some() {}
        match letters.peek() {
            None | Some('#') => return Ok(words),
            Some(_) => words.push(read_word(&mut letters)?),
        }
    }
}

fn read_word(
    letters: &mut std::iter::Peekable<impl Iterator<Item = char>>,
) -> Result<String, OpenQuote> {
    let mut word = String::new();
    while let Some(c) = letters.next_if(|c| !c.is_whitespace()) {
        match c {
            '\'' | '"' => read_quoted(c, letters, &mut word)?,
            '\\' => word.extend(letters.next()),
            _ => word.push(c),
        }
    }
    Ok(word)
}

/// Reads up to the closing quote. Between double quotes, a backslash escapes a quote or a
/// backslash; elsewhere it is literal.
fn read_quoted(
    quote: char,
    letters: &mut std::iter::Peekable<impl Iterator<Item = char>>,
    word: &mut String,
) -> Result<(), OpenQuote> {
    while let Some(c) = letters.next() {
        match c {
            _ if c == quote => return Ok(()),
            '\\' if quote == '"' => match letters.next_if(|next| matches!(next, '"' | '\\')) {
                Some(kept) => word.push(kept),
                None => word.push(c),
            },
            _ => word.push(c),
        }
    }
    Err(OpenQuote(quote))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        for (line, words) in [
            (" -n 2\t--time=10 ", vec!["-n", "2", "--time=10"]),
            ("--comment='two words' x", vec!["--comment=two words", "x"]),
            (r#"-J "a \"b\" \n" c\ d"#, vec!["-J", r#"a "b" \n"#, "c d"]),
            ("-n 2 # two tasks", vec!["-n", "2"]),
            ("-J a#b", vec!["-J", "a#b"]),
            ("-J ''", vec!["-J", ""]),
            ("", vec![]),
        ] {
            assert_eq!(split(line), Ok(words.into_iter().map(String::from).collect()), "{line}");
        }
        assert_eq!(split("-J 'a"), Err(OpenQuote('\'')));
    }
}
