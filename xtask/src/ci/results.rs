//! The results of tests, read from the output of test programs: totals, the tests that skipped
//! themselves with their reasons, and the slowest tests.

use std::fmt;

/// The line that the runner of tests prints before it starts a test program.
pub const PROGRAM: &str = "test program: ";
/// A test that cannot run on this machine prints this and the reason, and passes.
const SKIPPED: &str = "skipped: ";
/// A test that ran without a part of its checks prints this and the reason.
const PARTLY_SKIPPED: &str = "partly skipped: ";
const RESULT: &str = "test result: ";
/// How many of the slowest tests are shown.
const SLOWEST: usize = 20;

/// The results of all test programs of all steps.
#[derive(Debug, Default)]
pub struct Results {
    passed: u64,
    failed: u64,
    ignored: u64,
    /// Skipped tests and their reasons; of them, this number ran nothing.
    skips: Vec<(String, String)>,
    skipped: u64,
    /// Seconds by test.
    times: Vec<(f64, String)>,
    /// The program whose output is read, or the step.
    program: String,
    /// The test whose captured output is read.
    test: String,
    /// Whether the output of passed tests is read.
    is_in_output: bool,
}

impl Results {
    /// Begins with the output of a step or a test program.
    pub fn begin(&mut self, program: &str) {
        let file = program.rsplit('/').next().unwrap_or(program);
        // kantd_tests-0123456789abcdef
        let name = file.rsplit_once('-').map_or(file, |(name, _)| name);
        (self.program, self.is_in_output) = (name.to_owned(), false);
    }

    /// Reads a line, and returns whether it is to be shown. The captured output of tests that
    /// passed is not.
    pub fn read(&mut self, line: &str) -> bool {
        let line = line.trim_end();
        if let Some(program) = line.strip_prefix(PROGRAM) {
            self.begin(program);
            return false;
        }
        match line {
            "successes:" => self.is_in_output = true,
            "failures:" => self.is_in_output = false,
            _ if line.starts_with(RESULT) => {
                self.is_in_output = false;
                self.count(line);
            }
            _ if self.is_in_output => self.read_output(line),
            _ => self.read_test_line(line),
        }
        !self.is_in_output
    }

    /// Adds the numbers of `test result: ok. 3 passed; 0 failed; 1 ignored`.
    fn count(&mut self, line: &str) {
        for part in line.split([';', '.']) {
            match part.trim().split_once(' ') {
                Some((number, "passed")) => self.passed += number.parse().unwrap_or(0),
                Some((number, "failed")) => self.failed += number.parse().unwrap_or(0),
                Some((number, "ignored")) => self.ignored += number.parse().unwrap_or(0),
                _ => {}
            }
        }
    }

    /// Reads a line of the captured output of a test that passed.
    fn read_output(&mut self, line: &str) {
        let head = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"));
        if let Some(test) = head {
            self.test = self.full_name(test);
        } else if let Some(reason) = line.strip_prefix(SKIPPED) {
            // A test may give several reasons.
            let is_known = self.skips.last().is_some_and(|(test, _)| *test == self.test);
            self.skipped += u64::from(!is_known);
            self.skips.push((self.test.clone(), reason.to_owned()));
        } else if line.starts_with(PARTLY_SKIPPED) {
            self.skips.push((self.test.clone(), line.to_owned()));
        }
    }

    /// Reads `test NAME ... ok <1.250s>`, and `test NAME ... ignored, REASON`.
    fn read_test_line(&mut self, line: &str) {
        let Some((test, end)) =
            line.strip_prefix("test ").and_then(|line| line.rsplit_once(" ... "))
        else {
            return;
        };
        if let Some(reason) = end.strip_prefix("ignored") {
            let reason = reason.trim_start_matches(", ").to_owned();
            self.skips.push((self.full_name(test), reason));
        } else if let Some((_, time)) = end.split_once(" <")
            && let Some(Ok(seconds)) = time.strip_suffix("s>").map(str::parse)
        {
            self.times.push((seconds, self.full_name(test)));
        }
    }

    fn full_name(&self, test: &str) -> String {
        format!("{} {test}", self.program)
    }

    /// The slowest tests, and the skipped ones.
    pub fn details(&self) -> String {
        let mut text = String::new();
        let mut times: Vec<&(f64, String)> = self.times.iter().collect();
        times.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (seconds, test) in times.iter().take(SLOWEST) {
            text += &format!("slow       {seconds:>7.1} s  {test}\n");
        }
        for (test, reason) in &self.skips {
            text += &format!("skipped    {test}: {reason}\n");
        }
        text
    }
}

impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passed = self.passed.saturating_sub(self.skipped);
        write!(f, "{passed} passed, {} failed", self.failed)?;
        match self.skipped + self.ignored {
            0 => Ok(()),
            skipped => write!(f, ", {skipped} skipped"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is shown of these lines, and what is known after them.
    fn read(text: &str) -> (Vec<&str>, Results) {
        let mut results = Results::default();
        results.begin("test");
        let shown = text.lines().filter(|line| results.read(line)).collect();
        (shown, results)
    }

    #[test]
    fn results_of_programs_are_summed() {
        let (_, results) = read(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out\n\
             running 3 tests\ntest a ... ok\n5 passed\n\
             test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
        );
        assert_eq!(results.to_string(), "13 passed, 2 failed, 1 skipped");
        assert_eq!(read("test a ... ok").1.to_string(), "0 passed, 0 failed");
    }

    #[test]
    fn a_test_that_skipped_itself_does_not_count_as_passed() {
        let text = "test a::b ... ok\n\nsuccesses:\n\n---- a::b stdout ----\nhello\n\
                    skipped: no root\nskipped: no disk\n\n---- c stdout ----\n\
                    partly skipped: no crun\n\n\nsuccesses:\n    a::b\n    c\n\n\
                    test result: ok. 2 passed; 0 failed";
        let (shown, results) = read(text);
        assert_eq!(shown, ["test a::b ... ok", "", "test result: ok. 2 passed; 0 failed"]);
        assert_eq!(results.to_string(), "1 passed, 0 failed, 1 skipped");
        assert_eq!(
            results.details(),
            "skipped    test a::b: no root\nskipped    test a::b: no disk\n\
             skipped    test c: partly skipped: no crun\n"
        );
    }

    #[test]
    fn an_ignored_test_is_listed_with_its_reason() {
        let (_, results) = read("test a ... ignored, needs a GPU\ntest result: ok. 1 ignored");
        assert_eq!(results.to_string(), "0 passed, 0 failed, 1 skipped");
        assert_eq!(results.details(), "skipped    test a: needs a GPU\n");
    }

    #[test]
    fn the_output_of_failed_tests_is_shown() {
        let (shown, _) = read("successes:\n    a\n\nfailures:\n\n---- b stdout ----\nbad");
        assert_eq!(shown, ["failures:", "", "---- b stdout ----", "bad"]);
    }

    #[test]
    fn the_slowest_tests_are_listed_with_their_programs() {
        let (shown, results) = read(
            "test program: /target/debug/deps/kantd_tests-01ab\ntest quick ... ok <0.001s>\n\
             test slow - should panic ... ok <61.25s>\ntest bad ... FAILED <2s>",
        );
        assert_eq!(shown.len(), 3);
        assert_eq!(
            results.details(),
            "slow          61.2 s  kantd_tests slow - should panic\n\
             slow           2.0 s  kantd_tests bad\n\
             slow           0.0 s  kantd_tests quick\n"
        );
    }
}
