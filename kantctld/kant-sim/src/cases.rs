//! `kant-sim cases`: runs fair-sharing test cases from files against the engine and reports
//! the result of each.

use clap::Args;
use serde_json::json;
use sim::cases::{CaseError, Judged, Verdict};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of `cases`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// Files with cases, each a JSON array (see tests/kai/README.md)
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Print one JSON object per case, and one with the totals
    #[arg(long)]
    json: bool,
}

/// Why cases were not run, or failed.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    #[error("failed to read {file}: {source}")]
    Read { file: String, source: std::io::Error },
    /// The file contains no cases.
    #[error("failed to run the cases of {file}: {source}")]
    Play { file: String, source: CaseError },
    #[error("failed to write the results: {0}")]
    Write(#[from] std::io::Error),
    #[error("{0} cases did not have the expected outcome")]
    Failed(usize),
}

/// Runs the cases and writes the results to `out`.
///
/// # Errors
/// [`ScenarioError`]; also when cases fail, after all have run.
pub fn run(arguments: &Arguments, out: &mut impl Write) -> Result<(), ScenarioError> {
    let mut counts = [0usize; 3];
    for file in &arguments.files {
        for judged in cases(file)? {
            counts[verdict_index(&judged.verdict)] += 1;
            if arguments.json {
                writeln!(out, "{}", as_json(&judged))?;
            } else {
                writeln!(out, "{}", as_text(&judged))?;
            }
        }
    }
    let [pass, fail, unsupported] = counts;
    let all = pass + fail + unsupported;
    if arguments.json {
        let sums = json!({
            "cases": all, "pass": pass, "fail": fail, "unsupported": unsupported,
        });
        writeln!(out, "{sums}")?;
    } else {
        writeln!(out, "{all} cases: {pass} pass, {fail} fail, {unsupported} unsupported")?;
    }
    if fail > 0 { Err(ScenarioError::Failed(fail)) } else { Ok(()) }
}

fn cases(file: &Path) -> Result<Vec<Judged>, ScenarioError> {
    let name = || file.display().to_string();
    let text = std::fs::read_to_string(file)
        .map_err(|source| ScenarioError::Read { file: name(), source })?;
    sim::cases::run(&text).map_err(|source| ScenarioError::Play { file: name(), source })
}

const fn verdict_index(verdict: &Verdict) -> usize {
    match verdict {
        Verdict::Pass => 0,
        Verdict::Fail(_) => 1,
        Verdict::Unsupported(_) => 2,
    }
}

fn verdict_words(verdict: &Verdict) -> (&'static str, &str) {
    match verdict {
        Verdict::Pass => ("pass", ""),
        Verdict::Fail(why) => ("fail", why),
        Verdict::Unsupported(why) => ("unsupported", why),
    }
}

fn as_text(judged: &Judged) -> String {
    match verdict_words(&judged.verdict) {
        (word, "") => format!("{word:<11} {}", judged.id),
        (word, why) => format!("{word:<11} {}: {why}", judged.id),
    }
}

fn as_json(judged: &Judged) -> serde_json::Value {
    match verdict_words(&judged.verdict) {
        (word, "") => json!({ "id": judged.id, "outcome": word }),
        (word, why) => json!({ "id": judged.id, "outcome": word, "difference": why }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(text: &str, json: bool) -> (String, Result<(), ScenarioError>) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cases.json");
        std::fs::write(&file, text).unwrap();
        let mut out = Vec::new();
        let result = run(&Arguments { files: vec![file], json }, &mut out);
        (String::from_utf8(out).unwrap(), result)
    }

    fn rule(allowed: bool) -> String {
        let queue = r#"{"id":"q","gpu":{"limit":2,"allocated":1}}"#;
        format!(
            r#"[{{"id":"r/1","rule":"request_within_limit","given":{{"queues":[{queue}],
            "job":{{"queue":"q"}},"request":{{"gpu":1}}}},"expect":{{"allowed":{allowed}}}}}]"#
        )
    }

    #[test]
    fn results_are_printed_and_a_failure_is_an_error() {
        let (printed, result) = played(&rule(true), false);
        assert_eq!(printed, "pass        r/1\n1 cases: 1 pass, 0 fail, 0 unsupported\n");
        assert!(result.is_ok());
        let (printed, result) = played(&rule(false), true);
        assert!(printed.starts_with(r#"{"difference":"allowed: expected false"#), "{printed}");
        assert!(matches!(result, Err(ScenarioError::Failed(1))));
    }

    #[test]
    fn a_file_that_is_no_list_of_cases_is_refused_with_its_name() {
        let (output, result) = played("{}", false);
        assert_eq!(output, "");
        let error = result.unwrap_err().to_string();
        assert!(error.contains("cases.json") && error.contains("JSON array"), "{error}");
    }
}
