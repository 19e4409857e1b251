//! The result of a fair-sharing round.

use super::{Account, Act, Excess, JobAt, NodeAt, TaskAt};
use std::collections::{BTreeMap, BTreeSet};

/// What a round decides.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// What becomes of tasks; of those that are not named nothing does.
    pub acts: BTreeMap<TaskAt, Act>,
    /// Why jobs with waiting tasks were not placed when free room was handed out.
    pub refused: BTreeMap<JobAt, Option<Excess>>,
    /// Jobs that start or are promised a place, in the order in which that was decided.
    pub turns: Vec<JobAt>,
    /// Who had to leave for others, in the order in which the reasons for it hold: each is looked
    /// at as if those before it were gone.
    pub gone: Vec<TaskAt>,
    /// Jobs for which nobody can yield, or nobody was found before the searches ran out.
    pub in_vain: BTreeSet<JobAt>,
    /// Did the searches run out before all had their turn that had none in earlier rounds? Then
    /// the next round is to know who had ([`super::world::Job::was_tried`]).
    pub is_unfinished: bool,
    /// Did they run out at all?
    pub ran_out: bool,
    /// Would jobs have had to be asked that the world does not name? Then nothing of it holds.
    pub is_short: bool,
    /// Where every task that runs or starts is, and on which devices.
    pub seated: BTreeMap<TaskAt, (NodeAt, Vec<usize>)>,
    /// What every queue has, with what this round decides.
    pub accounts: Vec<Account>,
    /// How often two queues were compared to hand out free room: what that cost.
    pub compared: u64,
}
