//! The stage of a replay: it knows jobs and nodes and runs scheduling rounds, but not how long a
//! job really runs.

use super::ReplayError;
use common::id::JobKey;
use common::job::EndCause;
use common::reason::Refusal;
use common::time::Time;
use engine::{Decision, Round, WaitingJob};

/// The result of a job's arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// It waits, under this key. Waiting jobs are numbered as they arrive.
    Waits(JobKey),
    /// The cluster cannot hold it, even if idle.
    NeverFits,
    /// The policy does not admit it.
    Refused(Box<Refusal>),
}

/// A scheduler: the engine only, or with the whole state around it.
pub(super) trait Stage {
    /// A job arrives. The stage gives it its key.
    fn submit(&mut self, job: &WaitingJob, now: Time) -> Result<Entry, ReplayError>;
    /// Runs one scheduling round, without carrying it out.
    fn decide(&mut self, now: Time) -> Round;
    /// Carries a round out: starting jobs hold their nodes and run. Preempted jobs still hold
    /// theirs.
    fn enact(&mut self, round: &Round, now: Time) -> Result<(), ReplayError>;
    /// A running job ended by itself and left all its nodes.
    fn end_job(&mut self, key: JobKey, cause: EndCause, now: Time) -> Result<(), ReplayError>;
    /// A preempted job left all its nodes: it waits again, as given here, or has ended.
    fn end_preempted(
        &mut self,
        key: JobKey,
        again: Option<&WaitingJob>,
        now: Time,
    ) -> Result<(), ReplayError>;
    /// The number of waiting jobs.
    fn waiting_count(&self) -> usize;
}

/// Whether another round is needed at the same time. A round that only started jobs has considered
/// all jobs. After preemptions there is room to give, and a round may ask for another one because
/// it ran out of trials.
pub(super) fn needs_another_round(round: &Round, now: Time) -> bool {
    let yields = round.decisions.iter().any(|one| matches!(one, Decision::Preempt { .. }));
    let is_short = round.next_look.is_some_and(|look| look <= now);
    yields || is_short
}
