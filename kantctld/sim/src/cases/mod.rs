//! Cases of fair sharing from another project: clusters to run, whose rounds the scheduler decides,
//! and single rules.

pub mod compare;
pub mod error;
pub mod expectation;
pub mod format;
pub mod player;
mod rules;
pub mod world;

pub use compare::Verdict;
pub use error::ImportError;

use format::Case;
use serde::Deserialize;
use serde_json::Value;

/// A case's name and outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    pub id: String,
    pub verdict: Verdict,
}

/// A file of cases that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// Not a list of cases.
    #[error("failed to read cases: {0}; a file holds a JSON array of them (tests/kai/README.md)")]
    Json(#[from] serde_json::Error),
}

/// Runs all cases of a file's text.
///
/// # Errors
/// [`CaseError`]: the text is no list of cases.
pub fn run(text: &str) -> Result<Vec<Judged>, CaseError> {
    let cases: Vec<Value> = serde_json::from_str(text)?;
    Ok(cases.iter().map(run_case).collect())
}

fn run_case(value: &Value) -> Judged {
    let id = value.get("id").and_then(Value::as_str).unwrap_or("(no id)").to_owned();
    let is_rule = value.get("rule").is_some();
    let verdict = if is_rule { rules::judge(value) } else { run_cluster_case(value) };
    Judged { id, verdict }
}

fn run_cluster_case(value: &Value) -> Verdict {
    let case = match Case::deserialize(value) {
        Err(error) => return Verdict::Unsupported(format!("failed to read the case: {error}")),
        Ok(case) => case,
    };
    let judged = world::world(&case)
        .map(|world| compare::judge(&case, &mut world::SnapshotPlayer::new(&case, world)));
    judged.unwrap_or_else(|error| match error {
        ImportError::Unsupported(what) => Verdict::Unsupported(format!("no {what}")),
        error => Verdict::Unsupported(error.to_string()),
    })
}
