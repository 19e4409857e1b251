//! Sums the closing lines of test programs, `test result: ok. 3 passed; 0 failed; 1 ignored; ...`.
//! Never guesses: what does not read like one is no result.

use std::fmt;

const MARK: &str = "test result: ";

/// Tests by how they ended, over all test programs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Totals {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Totals {
    /// Adds a line's numbers, if it is a closing line.
    pub fn count(&mut self, line: &str) {
        let Some((_, result)) = line.split_once(MARK) else { return };
        for part in result.split([';', '.']) {
            match part.trim().split_once(' ') {
                Some((number, "passed")) => self.passed += number.parse().unwrap_or(0),
                Some((number, "failed")) => self.failed += number.parse().unwrap_or(0),
                Some((number, "ignored")) => self.skipped += number.parse().unwrap_or(0),
                _ => {}
            }
        }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(lines: &[&str]) -> String {
        let mut totals = Totals::default();
        lines.iter().for_each(|line| totals.count(line));
        totals.to_string()
    }

    #[test]
    fn closing_lines_are_summed() {
        let ok = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; \
                  finished in 0.42s\n";
        let bad = "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(totals(&[ok, "running 3 tests", bad]), "13 passed, 2 failed, 1 skipped");
    }

    #[test]
    fn nothing_skipped_is_not_mentioned_and_no_result_is_zero() {
        assert_eq!(totals(&["test a ... ok", "5 passed"]), "0 passed, 0 failed");
    }
}
