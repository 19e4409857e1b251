//! The result of a fair-sharing round.

use super::{Account, Act, Excess, JobAt, NodeAt, TaskAt};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// What is done with each task; the other tasks stay as they are.
    pub acts: BTreeMap<TaskAt, Act>,
    /// Why jobs with waiting tasks were not placed when free room was handed out.
    pub refused: BTreeMap<JobAt, Option<Excess>>,
    /// Jobs that start or get a place reserved, in the order of these decisions.
    pub turns: Vec<JobAt>,
    /// The tasks that have to leave for others, in the order in which the reasons hold: each reason
    /// assumes that those before it are gone.
    pub gone: Vec<TaskAt>,
    /// Jobs for which no victims make room, or none were found before the searches ran out.
    pub in_vain: BTreeSet<JobAt>,
    /// Whether the searches ran out before every job that no earlier round had tried had its turn.
    /// Then the next round must know which jobs had theirs ([`super::world::Job::was_tried`]).
    pub is_unfinished: bool,
    /// Whether the searches ran out at all.
    pub ran_out: bool,
    /// Whether the plan needed a running job that the world does not name. Then the plan is void.
    pub is_short: bool,
    /// The node and devices of every task that runs or starts.
    pub seated: BTreeMap<TaskAt, (NodeAt, Vec<usize>)>,
    /// The account of every queue after this round's decisions.
    pub accounts: Vec<Account>,
    /// How many times two queues were compared to hand out free room: a measure of the cost.
    pub compared: u64,
}
