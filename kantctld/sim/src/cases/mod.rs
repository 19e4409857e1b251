//! Cases of fair sharing from another project, clusters to run and single rules, played against
//! `engine::fair` itself.

pub mod compare;
pub mod expectation;
pub mod format;
pub mod import;
pub mod player;
pub mod product;
pub mod rounds;
mod rules;

pub use compare::Verdict;
pub use import::ImportError;

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

/// What decides the rounds of the clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decider {
    /// `engine::fair`, on its own model of a cluster.
    Plan,
    /// `engine::fair_share`, on a snapshot.
    Product,
}

/// Runs all cases of a file's text.
///
/// # Errors
/// [`CaseError`]: the text is no list of cases.
pub fn run(text: &str, decider: Decider) -> Result<Vec<Judged>, CaseError> {
    let cases: Vec<Value> = serde_json::from_str(text)?;
    Ok(cases.iter().map(|case| one(case, decider)).collect())
}

fn one(value: &Value, decider: Decider) -> Judged {
    let id = value.get("id").and_then(Value::as_str).unwrap_or("(no id)").to_owned();
    let is_rule = value.get("rule").is_some();
    let verdict = if is_rule { rules::judge(value) } else { cluster(value, decider) };
    Judged { id, verdict }
}

fn cluster(value: &Value, decider: Decider) -> Verdict {
    let case = match Case::deserialize(value) {
        Err(error) => return Verdict::Unsupported(format!("failed to read the case: {error}")),
        Ok(case) => case,
    };
    let judged = match decider {
        Decider::Plan => import::world(&case)
            .map(|world| compare::judge(&case, &mut rounds::Playing::new(&case, world))),
        Decider::Product => product::world(&case)
            .map(|world| compare::judge(&case, &mut product::ProductPlayer::new(&case, world))),
    };
    judged.unwrap_or_else(|error| match error {
        ImportError::Unsupported(what) => Verdict::Unsupported(format!("no {what}")),
        error => Verdict::Unsupported(error.to_string()),
    })
}
