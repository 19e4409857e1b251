//! One step of the checks: a cargo command whose output is passed through while its test results
//! are read.

use super::results::Results;
use crate::programs::cargo;
use anyhow::{Context, Result};
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

/// The seed of property tests. The gate fixes it, so that a failure belongs to the change under
/// test; `cargo test` alone draws a new one each time, and finds what this one does not.
const PROPERTY_SEED: &str = "PROPTEST_RNG_SEED";

/// A named cargo command.
pub struct Step {
    /// The name in the summary.
    pub name: &'static str,
    arguments: &'static [&'static str],
    /// Returns why the step cannot run on this machine, if it cannot.
    blocked: fn() -> Option<String>,
}

/// How a step ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// How the command ended.
    Failed(String),
    /// What this machine lacks, and how to install it.
    Skipped(String),
    /// An earlier step failed.
    NotRun,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => write!(f, "passed"),
            Self::Failed(how) => write!(f, "FAILED ({how})"),
            Self::Skipped(why) => write!(f, "skipped: {why}"),
            Self::NotRun => write!(f, "not run"),
        }
    }
}

impl Step {
    /// A step that always runs.
    pub const fn cargo(name: &'static str, arguments: &'static [&'static str]) -> Step {
        Step { name, arguments, blocked: || None }
    }

    /// A step that is skipped if `blocked` returns a reason.
    pub const fn unless(
        blocked: fn() -> Option<String>,
        name: &'static str,
        arguments: &'static [&'static str],
    ) -> Step {
        Step { name, arguments, blocked }
    }

    /// The command line.
    pub fn shown(&self) -> String {
        format!("cargo {}", self.arguments.join(" "))
    }

    /// Runs the step to its end.
    ///
    /// # Errors
    /// When cargo cannot be started; a command that fails is an [`Outcome`].
    pub fn run(&self, root: &Path, results: &mut Results) -> Result<Outcome> {
        if let Some(why) = (self.blocked)() {
            return Ok(Outcome::Skipped(why));
        }
        let mut command = cargo();
        command.args(self.arguments).current_dir(root).stdout(Stdio::piped());
        // The step `build` has built the daemons that tests start.
        command.env(e2e::PREBUILT, "1");
        if std::env::var_os(PROPERTY_SEED).is_none() {
            command.env(PROPERTY_SEED, "1");
        }
        if std::env::var_os("CI").is_some() {
            // A build machine discards its target folder, so incremental builds do not pay off.
            command.env("CARGO_INCREMENTAL", "0");
        }
        results.begin(self.name);
        let shown = self.shown();
        let mut child = command.spawn().with_context(|| format!("failed to start `{shown}`"))?;
        let output = child.stdout.take().context("failed to read the output: no pipe")?;
        pass_through(BufReader::new(output), &mut std::io::stdout(), results)?;
        let status = child.wait().with_context(|| format!("failed to wait for `{shown}`"))?;
        Ok(if status.success() { Outcome::Passed } else { Outcome::Failed(status.to_string()) })
    }
}

/// Copies bytes unchanged (a test may print anything), except lines that only `results` needs.
fn pass_through(mut from: impl BufRead, to: &mut impl Write, results: &mut Results) -> Result<()> {
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).context("failed to read the output")? > 0 {
        if results.read(&String::from_utf8_lossy(&line)) {
            to.write_all(&line).context("failed to pass the output on")?;
        }
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_passes_through_unchanged_and_is_read() {
        let text: &[u8] = b"a\n\xff\xfe\ntest result: ok. 2 passed; 0 failed; 0 ignored; x\nend";
        let (mut seen, mut results) = (Vec::new(), Results::default());
        pass_through(text, &mut seen, &mut results).unwrap();
        assert_eq!(seen, text);
        assert_eq!(results.to_string(), "2 passed, 0 failed");
    }

    #[test]
    fn a_step_has_the_outcome_of_its_command() {
        let run = |arguments| {
            Step::cargo("x", arguments).run(&crate::tree::root(), &mut Results::default()).unwrap()
        };
        assert_eq!(run(&["--version"]), Outcome::Passed);
        assert!(matches!(run(&["no-such-command"]), Outcome::Failed(_)));
    }

    #[test]
    fn a_blocked_step_is_skipped_with_its_reason() {
        let step = Step::unless(|| Some("no machine".to_owned()), "x", &["--version"]);
        let outcome = step.run(&crate::tree::root(), &mut Results::default()).unwrap();
        assert_eq!(outcome.to_string(), "skipped: no machine");
    }
}
