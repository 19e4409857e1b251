//! Would a waiting job have room if others moved? Nobody moves by asking. Never decides;
//! `engine::solve` does.

use crate::id::{JobKey, NodeName};
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Asks for moves that make room (POST /v1/jobs/{key}/solve).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SolveRequest {
    /// So many places are looked at, at most; `None`: as many as is usual.
    pub trials: Option<u64>,
}

/// What a search for moves came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SolveAnswer {
    /// These moves make room; none, where there is room without.
    Moves,
    /// No moves do: proved.
    Impossible,
    /// Neither was found out.
    GaveUp,
}

/// One job that would move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveView {
    pub key: JobKey,
    pub name: String,
    pub from: Vec<NodeName>,
    /// Where it would have its place.
    pub to: Vec<NodeName>,
    /// What it has used since it started, or said that its work is saved, in minutes of one GPU:
    /// lost unless it saved that, too.
    pub lost_gpu_minutes: u64,
}

/// The answer to a search for moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SolveView {
    /// The job or, of an array, its first waiting task.
    pub key: JobKey,
    pub answer: SolveAnswer,
    /// A stable word for how it was come to: `fewest`, `not_fewest`; `may_not_start`, `never_fits`,
    /// `counts`, `exhausted`; `trials`, `stopped`, `in_detail`, `parts`, `component`.
    pub by: String,
    #[serde(default)]
    pub moves: Vec<MoveView>,
    /// The nodes that the job would have then.
    #[serde(default)]
    pub room: Vec<NodeName>,
    /// How many places were looked at.
    pub trials: u64,
    /// How many running jobs may be moved.
    pub movable: u64,
    /// The answer in sentences.
    pub lines: Vec<String>,
    pub advice: Option<String>,
    /// The controller's time when it looked.
    pub as_of: Time,
}
