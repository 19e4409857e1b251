//! Searches for moves of running jobs that make room for a waiting job. A search moves no job.

use crate::id::{JobKey, NodeName};
use crate::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A request to search for moves (POST /v1/jobs/{key}/solve).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SolveRequest {
    /// The maximum number of placements tried; `None`: the default.
    pub trials: Option<u64>,
}

/// The result of a search for moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SolveAnswer {
    /// These moves make room; empty if there is room without any.
    Moves,
    /// No moves make room: proved.
    Impossible,
    /// The search ended without a result.
    GaveUp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MoveView {
    pub key: JobKey,
    pub name: String,
    pub from: Vec<NodeName>,
    /// Its nodes after the move.
    pub to: Vec<NodeName>,
    /// The time since its start or last checkpoint, in minutes of one GPU: lost unless it makes a
    /// checkpoint.
    pub lost_gpu_minutes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SolveView {
    /// The job or, of an array, its first waiting task.
    pub key: JobKey,
    pub answer: SolveAnswer,
    /// A stable code for the reason of the answer: `fewest`, `not_fewest`; `may_not_start`,
    /// `never_fits`, `counts`, `exhausted`; `trials`, `stopped`, `in_detail`, `parts`, `component`.
    pub by: String,
    #[serde(default)]
    pub moves: Vec<MoveView>,
    /// The nodes that the job would then have.
    #[serde(default)]
    pub room: Vec<NodeName>,
    /// The number of placements tried.
    pub trials: u64,
    /// The number of running jobs that may be moved.
    pub movable: u64,
    pub lines: Vec<String>,
    pub advice: Option<String>,
    /// The controller's time of the answer.
    pub as_of: Time,
}
