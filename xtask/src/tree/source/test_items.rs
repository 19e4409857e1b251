//! The parts of a file that exist only in tests: items with `#[cfg(test)]` or `#[test]`. Files of
//! tests are recognized by their path, elsewhere.

use super::token::Token;

/// Marks the tokens of every test item, with its attributes.
pub fn mark(tokens: &mut [Token]) {
    if begins_inner_test(tokens) {
        tokens.iter_mut().for_each(|token| token.in_test = true);
        return;
    }
    let mut at = 0;
    while at < tokens.len() {
        match test_attribute(&tokens[at..]) {
            Some(length) => {
                let end = at + length + item(&tokens[at + length..]);
                tokens[at..end].iter_mut().for_each(|token| token.in_test = true);
                at = end;
            }
            None => at += 1,
        }
    }
}

/// Whether `#![cfg(test)]` makes the whole file test code.
fn begins_inner_test(tokens: &[Token]) -> bool {
    tokens.len() > 3 && tokens[0].text == "#" && tokens[1].text == "!" && is_test(&tokens[2..])
}

/// The number of tokens of the test attribute that begins here, if one does.
fn test_attribute(tokens: &[Token]) -> Option<usize> {
    let begins = tokens.first()?.text == "#" && is_test(&tokens[1..]);
    begins.then(|| 1 + balanced(&tokens[1..]))
}

/// Whether this is `[cfg(test)]`, `[cfg(all(test, ...))]` or `[test]`; not `any(test, ...)`, since
/// such an item also exists outside tests.
fn is_test(tokens: &[Token]) -> bool {
    let begins_with = |parts: &[&str]| {
        tokens.len() >= parts.len() && parts.iter().zip(tokens).all(|(p, t)| *p == t.text)
    };
    begins_with(&["[", "cfg", "(", "test", ")"])
        || begins_with(&["[", "cfg", "(", "all", "(", "test"])
        || begins_with(&["[", "test", "]"])
}

/// The number of tokens of the item that begins here, including further attributes.
fn item(tokens: &[Token]) -> usize {
    let mut at = 0;
    while tokens.get(at).is_some_and(|token| token.text == "#") {
        at += 1 + balanced(&tokens[at + 1..]);
    }
    while at < tokens.len() {
        match tokens[at].text.as_str() {
            ";" => return at + 1,
            "{" => return at + balanced(&tokens[at..]),
            "(" | "[" => at += balanced(&tokens[at..]),
            // The end of the enclosing block: the item was a field or a match arm.
            "}" | ")" | "]" => return at,
            _ => at += 1,
        }
    }
    at
}

/// The number of tokens from an opening bracket to its closing one.
pub fn balanced(tokens: &[Token]) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::super::token::tokens;
    use super::*;

    /// The tokens outside tests.
    fn outside(code: &str) -> String {
        let mut tokens = tokens(code);
        mark(&mut tokens);
        let left = tokens.into_iter().filter(|token| !token.in_test).map(|token| token.text);
        left.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_the_test_item_is_left_out() {
        assert_eq!(outside("a; #[cfg(test)] mod tests { b(); } c;"), "a ; c ;");
        assert_eq!(outside("#[cfg(test)] mod tests; use c;"), "use c ;");
        assert_eq!(outside("#[cfg(all(test, unix))] #[allow(x)] fn f(a: [u8; 2]) { } g"), "g");
        assert_eq!(outside("#[test] fn f() { { b } } g"), "g");
    }

    #[test]
    fn items_that_also_exist_outside_tests_stay() {
        let code = "#[cfg(not(test))] fn f() { }";
        assert_eq!(outside(code), "# [ cfg ( not ( test ) ) ] fn f ( ) { }");
        assert!(outside("#[cfg(any(test, unix))] fn f() { }").contains("fn f"));
    }

    #[test]
    fn an_inner_attribute_makes_a_test_of_the_file() {
        assert_eq!(outside("#![cfg(test)] use a; fn f() { }"), "");
    }
}
