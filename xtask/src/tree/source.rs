//! A Rust file as the rules see it: tokens with tests marked, comments and literals. There is no
//! parser: words, brackets and lines are enough for the rules and fast.

mod mask;
mod test_items;
mod token;

pub use test_items::balanced;
pub use token::{Token, first_of_each};

use mask::{Kind, keep, kinds};

/// The tokens, comments and literals of a Rust file.
#[derive(Clone, Default)]
pub struct Source {
    tokens: Vec<Token>,
    comments: Vec<String>,
    literals: Vec<(usize, String)>,
    literal_begins_line: Vec<bool>,
}

/// A string or character literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Literal<'a> {
    /// With its quotes.
    pub text: &'a str,
    /// The line of the token before it, from 1.
    pub line: usize,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// The line of `fn`, from 1.
    pub line: usize,
    /// The number of lines from `fn` to the closing brace.
    pub lines: usize,
}

impl Source {
    pub fn of(text: &str) -> Source {
        let kinds = kinds(text);
        let mut tokens = token::tokens(&keep(text, &kinds, &[Kind::Code]));
        test_items::mark(&mut tokens);
        let comments = keep(text, &kinds, &[Kind::Comment]);
        let comments = comments.lines().map(|line| line.trim().to_owned()).collect();
        let literals = find_literals(text, &kinds);
        // A newline inside a literal belongs to it, so the next line begins inside the literal.
        let ends = text.match_indices('\n').map(|(at, _)| kinds[at] == Kind::Literal);
        let literal_begins_line = std::iter::once(false).chain(ends).collect();
        Source { tokens, comments, literals, literal_begins_line }
    }

    /// All tokens, including those of tests.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The tokens outside tests.
    pub fn tokens_outside_tests(&self) -> Vec<Token> {
        self.tokens.iter().filter(|token| !token.in_test).cloned().collect()
    }

    /// The string and character literals outside tests.
    pub fn literals_outside_tests(&self) -> impl Iterator<Item = Literal<'_>> {
        let outside = self.literals.iter().filter(|(offset, _)| {
            // A literal belongs to a test if the token before it does.
            !self.token_before(*offset).is_some_and(|token| token.in_test)
        });
        outside.map(|(offset, text)| Literal {
            text,
            line: self.token_before(*offset).map_or(1, |token| token.line),
        })
    }

    fn token_before(&self, offset: usize) -> Option<&Token> {
        let before = self.tokens.partition_point(|token| token.offset < offset);
        before.checked_sub(1).map(|index| &self.tokens[index])
    }

    /// The comment on a line (from 1); empty where there is none.
    pub fn comment(&self, line: usize) -> &str {
        self.comments.get(line.wrapping_sub(1)).map_or("", String::as_str)
    }

    /// What is written for people, by line (from 1): comments, and `with_literals` also literals of
    /// more than one word.
    pub fn prose(&self, with_literals: bool) -> Vec<(usize, String)> {
        let comments = self.comments.iter().enumerate().map(|(at, text)| (at + 1, text.clone()));
        let is_sentence = |text: &&(usize, String)| text.1.trim().contains(' ');
        let literals = self.literals.iter().filter(|_| with_literals).filter(is_sentence).flat_map(
            |(offset, text)| {
                let first = self.line_at(*offset);
                text.lines().enumerate().map(move |(at, part)| (first + at, part.to_owned()))
            },
        );
        comments.filter(|(_, text)| !text.is_empty()).chain(literals).collect()
    }

    /// The line (from 1) of the code at or before this offset.
    fn line_at(&self, offset: usize) -> usize {
        let before = self.tokens.partition_point(|token| token.offset <= offset);
        before.checked_sub(1).map_or(1, |index| self.tokens[index].line)
    }

    /// Whether this line (from 1) begins inside a string that began on an earlier line.
    pub fn begins_in_literal(&self, line: usize) -> bool {
        self.literal_begins_line.get(line.wrapping_sub(1)).copied().unwrap_or(false)
    }

    /// The names of modules in files of their own that exist only in tests.
    pub fn test_module_files(&self) -> impl Iterator<Item = &str> {
        let declared = self
            .tokens
            .windows(3)
            .filter(|window| window[0].in_test && window[0].text == "mod" && window[2].text == ";");
        declared.map(|window| window[1].text.as_str())
    }

    /// The number of lines that belong to tests.
    pub fn test_lines(&self) -> usize {
        let mut count = 0;
        let mut rest = self.tokens.as_slice();
        while let Some(first) = rest.iter().position(|token| token.in_test) {
            rest = &rest[first..];
            let length = rest.iter().position(|token| !token.in_test).unwrap_or(rest.len());
            count += rest[length - 1].line - rest[0].line + 1;
            rest = &rest[length..];
        }
        count
    }

    /// The functions outside tests, including nested ones.
    pub fn functions(&self) -> Vec<Function> {
        let tokens = self.tokens_outside_tests();
        let starts = (0..tokens.len()).filter(|at| tokens[*at].text == "fn");
        starts.filter_map(|at| function_at(&tokens[at..])).collect()
    }
}

/// Each run of literal text with its offset.
fn find_literals(text: &str, kinds: &[Kind]) -> Vec<(usize, String)> {
    let mut literals = Vec::new();
    let mut at = 0;
    for run in kinds.chunk_by(|a, b| a == b) {
        if run[0] == Kind::Literal {
            literals.push((at, text[at..at + run.len()].to_owned()));
        }
        at += run.len();
    }
    literals
}

/// The function that begins here; `None` for a function type and for one without a body.
fn function_at(tokens: &[Token]) -> Option<Function> {
    let name = tokens.get(1).filter(|token| token.text != "(")?;
    let mut at = 2;
    loop {
        match tokens.get(at)?.text.as_str() {
            "(" | "[" => at += balanced(&tokens[at..]),
            "{" => break,
            ";" => return None,
            _ => at += 1,
        }
    }
    let end = &tokens[at + balanced(&tokens[at..]) - 1];
    let line = tokens[0].line;
    Some(Function { name: name.text.clone(), line, lines: end.line - line + 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_from_fn_to_brace() {
        let text = "fn a(f: fn(u8) -> u8) -> [u8; 2] {\n    b\n}\ntrait T { fn c(); }\nfn d() {}\n";
        let found = Source::of(text).functions();
        let found: Vec<_> = found.iter().map(|f| (f.name.as_str(), f.line, f.lines)).collect();
        assert_eq!(found, [("a", 1, 3), ("d", 5, 1)]);
    }

    #[test]
    fn functions_of_tests_are_not_measured() {
        let text = "#[cfg(test)]\nmod tests {\n    fn a() {\n    }\n}\n";
        assert_eq!(Source::of(text).functions(), []);
        assert_eq!(Source::of(text).test_lines(), 5);
    }

    #[test]
    fn comments_are_found_by_line() {
        let source = Source::of("a // b\nlet c = \"// d\";\n");
        assert_eq!((source.comment(1), source.comment(2)), ("// b", ""));
    }

    #[test]
    fn lines_inside_a_multiline_string_are_recognized() {
        let source = Source::of("let a = \"b\nc\nd\";\n\"e\";\n");
        let inside: Vec<bool> = (1..=4).map(|line| source.begins_in_literal(line)).collect();
        assert_eq!(inside, [false, true, true, false]);
    }
}
