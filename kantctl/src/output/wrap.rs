//! Lines that are too long for the terminal are broken between words, and go on under what they
//! say. Without a terminal nothing is broken, so that scripts see lines whole. Never breaks a
//! word: a path that is broken cannot be pasted.

use anstream::adapter::strip_str;

/// Letters that a broken line goes on behind, of one that is not itself indented: below a record's
/// facts, right of its labels.
pub const FACT: usize = 12;
/// The same of prose.
pub const PROSE: usize = 2;

/// Text with no line longer than that, where its words allow it. A line that is indented goes on
/// two letters further in, any other behind `hang` letters.
#[must_use]
pub fn wrapped(text: &str, hang: usize, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let lines = text.split_inclusive('\n');
    lines.map(|line| broken(line, hang, width)).collect()
}

/// Letters that are seen: colours take no room.
fn letters(text: &str) -> usize {
    strip_str(text).to_string().chars().count()
}

fn broken(line: &str, hang: usize, width: usize) -> String {
    let bare = line.trim_end();
    let leading = bare.len() - bare.trim_start_matches(' ').len();
    let indent = if leading > 0 { leading + 2 } else { hang };
    if letters(bare) <= width || indent * 2 > width {
        return line.to_owned();
    }
    let (mut text, mut column) = (String::new(), 0);
    for word in line.split_inclusive(' ') {
        if column > indent && column + letters(word.trim_end()) > width {
            text.truncate(text.trim_end().len());
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
        }
        text.push_str(word);
        column += letters(word.trim_end_matches('\n'));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: &str = "used        00:00 CPU time, at most 5.8M memory at once\n";

    #[test]
    fn a_long_fact_goes_on_under_itself() {
        let expected =
            "used        00:00 CPU time, at\n            most 5.8M memory at\n            once\n";
        assert_eq!(wrapped(FACTS, FACT, Some(31)), expected);
        let bold = FACTS.replace("used        ", "\u{1b}[1mused       \u{1b}[0m ");
        assert_eq!(strip_str(&wrapped(&bold, FACT, Some(31))).to_string(), expected);
    }

    #[test]
    fn what_fits_or_has_no_terminal_stays_as_it_is_and_so_does_a_long_word() {
        assert_eq!(wrapped(FACTS, FACT, Some(55)), FACTS);
        assert_eq!(wrapped(FACTS, FACT, None), FACTS);
        let path = "output      /data/projects/vision/runs/2026/slurm-42.out\n";
        assert_eq!(wrapped(path, FACT, Some(30)), path);
        let list = "  node-1: 1 task, CPUs 0, 512M memory\nthe end";
        let expected = "  node-1: 1 task, CPUs\n    0, 512M memory\nthe end";
        assert_eq!(wrapped(list, PROSE, Some(24)), expected);
    }
}
