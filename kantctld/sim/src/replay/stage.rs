//! Where a replay plays: something that knows jobs and nodes and holds scheduling rounds. Never
//! knows how long a job truly runs.

use super::ReplayError;
use common::id::JobKey;
use common::job::EndCause;
use common::reason::Refusal;
use common::time::Time;
use engine::{Decision, Round, WaitingJob};

/// What becomes of a job that arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// It waits, under this key: jobs that wait are numbered as they come.
    Waits(JobKey),
    /// The cluster, however empty, cannot hold it.
    NeverFits,
    /// The policy does not let it in.
    Refused(Box<Refusal>),
}

/// Something that schedules: the engine alone, or with the whole state around it.
pub(super) trait Stage {
    /// A job arrives. Its key is the stage's to give.
    fn submit(&mut self, job: &WaitingJob, now: Time) -> Result<Entry, ReplayError>;
    /// One scheduling round. What it decides is not carried out yet.
    fn decide(&mut self, now: Time) -> Round;
    /// Carries a round out: who starts holds its nodes and runs. Who yields does so still.
    fn enact(&mut self, round: &Round, now: Time) -> Result<(), ReplayError>;
    /// A running job ended by itself: all its nodes let go of it.
    fn over(&mut self, key: JobKey, cause: EndCause, now: Time) -> Result<(), ReplayError>;
    /// All nodes have let go of a job that was made to yield: it waits again, as given here, or is
    /// over.
    fn yielded(
        &mut self,
        key: JobKey,
        again: Option<&WaitingJob>,
        now: Time,
    ) -> Result<(), ReplayError>;
    /// How many jobs wait.
    fn waiting(&self) -> usize;
}

/// Does a round that decided this ask for another one at the same time? One that only started jobs
/// has looked at everybody; one that made jobs yield has room to give, and one that says so ran out
/// of trials.
pub(super) fn asks_for_another(round: &Round, now: Time) -> bool {
    let yields = round.decisions.iter().any(|one| matches!(one, Decision::Preempt { .. }));
    let is_short = round.next_look.is_some_and(|look| look <= now);
    yields || is_short
}
