//! Wrapping of long lines between words, with a hanging indent. Without a terminal nothing is
//! wrapped, so scripts see whole lines. A word is never broken, so paths can be copied.

use anstream::adapter::strip_str;

/// The hanging indent of a record's lines: the width of the labels.
pub const FACT: usize = 12;
/// The hanging indent of prose.
pub const PROSE: usize = 2;

/// Wraps lines to `width`, as far as the words allow. An indented line continues two columns
/// further in, any other line at column `hang`.
#[must_use]
pub fn wrapped(text: &str, hang: usize, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let lines = text.split_inclusive('\n');
    lines.map(|line| break_line(line, hang, width)).collect()
}

/// The number of visible characters, without colour sequences.
fn visible_width(text: &str) -> usize {
    strip_str(text).to_string().chars().count()
}

fn break_line(line: &str, hang: usize, width: usize) -> String {
    let bare = line.trim_end();
    let leading = bare.len() - bare.trim_start_matches(' ').len();
    let indent = if leading > 0 { leading + 2 } else { hang };
    if visible_width(bare) <= width || indent * 2 > width {
        return line.to_owned();
    }
    let (mut text, mut column) = (String::new(), 0);
    for word in line.split_inclusive(' ') {
        if column > indent && column + visible_width(word.trim_end()) > width {
            text.truncate(text.trim_end().len());
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
        }
        text.push_str(word);
        column += visible_width(word.trim_end_matches('\n'));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: &str = "used        00:00 CPU time, at most 5.8M memory at once\n";

    #[test]
    fn a_long_line_of_a_record_continues_below_its_value() {
        let expected =
            "used        00:00 CPU time, at\n            most 5.8M memory at\n            once\n";
        assert_eq!(wrapped(FACTS, FACT, Some(31)), expected);
        let bold = FACTS.replace("used        ", "\u{1b}[1mused       \u{1b}[0m ");
        assert_eq!(strip_str(&wrapped(&bold, FACT, Some(31))).to_string(), expected);
    }

    #[test]
    fn short_lines_long_words_and_text_without_a_terminal_stay_unchanged() {
        assert_eq!(wrapped(FACTS, FACT, Some(55)), FACTS);
        assert_eq!(wrapped(FACTS, FACT, None), FACTS);
        let path = "output      /data/projects/vision/runs/2026/slurm-42.out\n";
        assert_eq!(wrapped(path, FACT, Some(30)), path);
        let list = "  node-1: 1 task, CPUs 0, 512M memory\nthe end";
        let expected = "  node-1: 1 task, CPUs\n    0, 512M memory\nthe end";
        assert_eq!(wrapped(list, PROSE, Some(24)), expected);
    }
}
