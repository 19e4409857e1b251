//! Lists of node names in compact form: `g[001-004,007],login` (man scontrol, "hostlist").

use crate::id::{IdError, NodeName};

/// The maximum number of names in one text, which bounds the memory that a typing error can use.
pub const HOSTS_MAX: usize = 100_000;

/// The text is not a host list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostlistError {
    #[error("`{0}` is not a list of nodes: write names and ranges like g[001-004,007],login")]
    Shape(String),
    #[error("`{0}` stands for more than {HOSTS_MAX} nodes")]
    TooMany(String),
    #[error(transparent)]
    Name(#[from] IdError),
}

/// Expands a host list; order is kept, repetitions too.
///
/// # Errors
/// [`HostlistError`] if the text is malformed or has too many names.
pub fn expand(text: &str) -> Result<Vec<NodeName>, HostlistError> {
    let mut names = Vec::new();
    for word in split_outside_brackets(text)? {
        expand_word(word, text, &mut names)?;
    }
    names.into_iter().map(|n| NodeName::new(n).map_err(Into::into)).collect()
}

fn split_outside_brackets(text: &str) -> Result<Vec<&str>, HostlistError> {
    let (mut words, mut start, mut depth) = (Vec::new(), 0, 0_i32);
    for (i, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                words.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
        if !(0..=1).contains(&depth) {
            return Err(HostlistError::Shape(text.to_owned()));
        }
    }
    words.push(&text[start..]);
    let words: Vec<&str> = words.into_iter().map(str::trim).filter(|w| !w.is_empty()).collect();
    if depth != 0 || words.is_empty() {
        return Err(HostlistError::Shape(text.to_owned()));
    }
    Ok(words)
}

/// Expands one item with any number of bracket groups, leftmost slowest.
fn expand_word(word: &str, whole: &str, names: &mut Vec<String>) -> Result<(), HostlistError> {
    let shape = || HostlistError::Shape(whole.to_owned());
    let mut done = vec![String::new()];
    let mut rest = word;
    while let Some(open) = rest.find('[') {
        let close = rest[open..].find(']').ok_or_else(shape)? + open;
        let mut longer = Vec::new();
        let choices = expand_ranges(&rest[open + 1..close], whole)?;
        if done.len().saturating_mul(choices.len()) > HOSTS_MAX {
            return Err(HostlistError::TooMany(whole.to_owned()));
        }
        for prefix in &done {
            longer.extend(choices.iter().map(|c| format!("{prefix}{}{c}", &rest[..open])));
        }
        done = longer;
        rest = &rest[close + 1..];
    }
    if names.len() + done.len() > HOSTS_MAX {
        return Err(HostlistError::TooMany(whole.to_owned()));
    }
    names.extend(done.into_iter().map(|prefix| prefix + rest));
    Ok(())
}

/// Expands `001-003,7`, with the leading zeros of each range's first number.
fn expand_ranges(ranges: &str, whole: &str) -> Result<Vec<String>, HostlistError> {
    let shape = || HostlistError::Shape(whole.to_owned());
    let mut numbers = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let digits =
            |t: &str| !t.is_empty() && t.len() <= 9 && t.bytes().all(|b| b.is_ascii_digit());
        if !digits(first) || !digits(last) {
            return Err(shape());
        }
        let width = first.len();
        let (a, b): (usize, usize) =
            (first.parse().map_err(|_| shape())?, last.parse().map_err(|_| shape())?);
        if a > b {
            return Err(shape());
        }
        if b - a >= HOSTS_MAX {
            return Err(HostlistError::TooMany(whole.to_owned()));
        }
        numbers.extend((a..=b).map(|n| format!("{n:0width$}")));
    }
    Ok(numbers)
}

/// A prefix, the width of its numbers, and their ranges.
type Group<'a> = (&'a str, usize, Vec<(u64, u64)>);

/// Joins names, with ranges for consecutive numbers; the order of names is kept.
#[must_use]
pub fn compress<'a>(names: impl IntoIterator<Item = &'a NodeName>) -> String {
    let mut groups: Vec<Group> = Vec::new();
    for name in names {
        let text = name.as_str();
        let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count().min(9);
        let (prefix, number) = text.split_at(text.len() - digits);
        let Ok(number_value) = number.parse::<u64>() else {
            groups.push((text, 0, Vec::new()));
            continue;
        };
        // The number must have the group's padding, or expanding would change it.
        let fits = |width| digits == width || (digits > width && !number.starts_with('0'));
        match groups.last_mut() {
            Some((p, width, ranges)) if *p == prefix && *width > 0 && fits(*width) => {
                match ranges.last_mut() {
                    Some((_, last)) if *last + 1 == number_value => *last = number_value,
                    _ => ranges.push((number_value, number_value)),
                }
            }
            _ => groups.push((prefix, digits, vec![(number_value, number_value)])),
        }
    }
    let words: Vec<String> = groups.into_iter().map(|(p, w, r)| show_group(p, w, &r)).collect();
    words.join(",")
}

fn show_group(prefix: &str, width: usize, ranges: &[(u64, u64)]) -> String {
    let pad = |n: u64| format!("{n:0width$}");
    match ranges {
        [] => prefix.to_owned(),
        [(a, b)] if a == b => format!("{prefix}{}", pad(*a)),
        _ => {
            let texts: Vec<String> = ranges
                .iter()
                .map(|(a, b)| if a == b { pad(*a) } else { format!("{}-{}", pad(*a), pad(*b)) })
                .collect();
            format!("{prefix}[{}]", texts.join(","))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn names(text: &str) -> Vec<String> {
        expand(text).unwrap().into_iter().map(String::from).collect()
    }

    #[test]
    fn ranges_lists_and_padding_expand() {
        assert_eq!(names("g[001-003,7],login"), ["g001", "g002", "g003", "g7", "login"]);
        assert_eq!(names("r[1-2]n[1-2]"), ["r1n1", "r1n2", "r2n1", "r2n2"]);
        assert_eq!(names("a, b"), ["a", "b"]);
    }

    #[test]
    fn malformed_lists_are_refused() {
        for text in ["", "g[", "g]1[", "g[[1]]", "g[2-1]", "g[x]", "g[1-]", "g[0-999999999]", ","] {
            assert!(expand(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_fold_into_ranges() {
        for (text, folded) in [
            ("g001,g002,g003,g007", "g[001-003,007]"),
            ("a,b", "a,b"),
            ("n9,n10,n11", "n[9-11]"),
            ("n1,m1,n2", "n1,m1,n2"),
            ("n1", "n1"),
        ] {
            assert_eq!(compress(&expand(text).unwrap()), folded);
        }
    }

    proptest! {
        #[test]
        fn folding_loses_nothing(raw in vec("[a-c]{1,2}[0-9]{0,3}", 1..30)) {
            let name = |n: &String| NodeName::new(n.clone()).unwrap();
            let list: Vec<NodeName> = raw.iter().map(name).collect();
            prop_assert_eq!(expand(&compress(&list)).unwrap(), list);
        }
    }
}
