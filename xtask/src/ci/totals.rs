//! The totals of the result lines of test programs, `test result: ok. 3 passed; 0 failed; 1
//! ignored`.

use std::fmt;

const MARK: &str = "test result: ";

/// Numbers of tests by outcome, over all test programs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Totals {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Totals {
    /// Adds a line's numbers, if it is a result line.
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
    fn result_lines_are_summed() {
        let ok = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; \
                  finished in 0.42s\n";
        let bad = "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(totals(&[ok, "running 3 tests", bad]), "13 passed, 2 failed, 1 skipped");
    }

    #[test]
    fn zero_skipped_tests_are_not_mentioned_and_other_lines_do_not_count() {
        assert_eq!(totals(&["test a ... ok", "5 passed"]), "0 passed, 0 failed");
    }
}
