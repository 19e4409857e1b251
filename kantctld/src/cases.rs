//! `kantctld scenario run`: plays cases of fair sharing that others wrote against the engine, and
//! says of each how it came out. Never touches a cluster.

use clap::{Args, Subcommand};
use serde_json::json;
use sim::cases::{CaseError, Judged, Verdict, run};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What can be done with scenarios.
#[derive(Debug, Clone, Subcommand)]
pub enum Verb {
    /// Play the cases of these files, and say of each whether it came out as expected
    Run(Arguments),
}

/// Options of `scenario run`.
#[derive(Debug, Clone, Args)]
pub struct Arguments {
    /// Files with cases: a JSON array each (tests/kai/README.md says what is in them)
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// One JSON object a case, and one with the sums
    #[arg(long)]
    json: bool,
}

/// Why cases were not played, or did not come out as expected.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A file that cannot be read.
    #[error("failed to read {file}: {source}")]
    Read {
        /// Which.
        file: String,
        /// Why not.
        source: std::io::Error,
    },
    /// A file that holds no cases.
    #[error("failed to play {file}: {source}")]
    Play {
        /// Which.
        file: String,
        /// Why not.
        source: CaseError,
    },
    /// Nobody takes what is told.
    #[error("failed to write what came of it: {0}")]
    Write(#[from] std::io::Error),
    /// Some came out otherwise than expected.
    #[error("{0} cases did not come out as expected")]
    Failed(usize),
}

/// Plays them, and tells on `out`.
///
/// # Errors
/// [`ScenarioError`]; also when cases fail, once all have been played.
pub fn play(verb: &Verb, out: &mut impl Write) -> Result<(), ScenarioError> {
    let Verb::Run(arguments) = verb;
    let mut counts = [0usize; 3];
    for file in &arguments.files {
        for judged in cases(file)? {
            counts[place(&judged.verdict)] += 1;
            if arguments.json {
                writeln!(out, "{}", as_json(&judged))?;
            } else {
                writeln!(out, "{}", in_words(&judged))?;
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
    run(&text).map_err(|source| ScenarioError::Play { file: name(), source })
}

const fn place(verdict: &Verdict) -> usize {
    match verdict {
        Verdict::Pass => 0,
        Verdict::Fail(_) => 1,
        Verdict::Unsupported(_) => 2,
    }
}

fn word(verdict: &Verdict) -> (&'static str, &str) {
    match verdict {
        Verdict::Pass => ("pass", ""),
        Verdict::Fail(why) => ("fail", why),
        Verdict::Unsupported(why) => ("unsupported", why),
    }
}

fn in_words(judged: &Judged) -> String {
    match word(&judged.verdict) {
        (word, "") => format!("{word:<11} {}", judged.id),
        (word, why) => format!("{word:<11} {}: {why}", judged.id),
    }
}

fn as_json(judged: &Judged) -> serde_json::Value {
    match word(&judged.verdict) {
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
        let result = play(&Verb::Run(Arguments { files: vec![file], json }), &mut out);
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
    fn what_comes_of_a_case_is_told_and_a_failure_is_an_error() {
        let (told, result) = played(&rule(true), false);
        assert_eq!(told, "pass        r/1\n1 cases: 1 pass, 0 fail, 0 unsupported\n");
        assert!(result.is_ok());
        let (told, result) = played(&rule(false), true);
        assert!(told.starts_with(r#"{"difference":"allowed: expected false"#), "{told}");
        assert!(matches!(result, Err(ScenarioError::Failed(1))));
    }

    #[test]
    fn a_file_that_is_no_list_of_cases_is_refused_with_its_name() {
        let (told, result) = played("{}", false);
        assert_eq!(told, "");
        let error = result.unwrap_err().to_string();
        assert!(error.contains("cases.json") && error.contains("JSON array"), "{error}");
    }
}
