//! Forecasts of when a waiting job starts if no other job is submitted and every job uses all of
//! its time limit: rounds are simulated in virtual time until it does. Computed on request only,
//! not in rounds.
//!
//! A preempted job is gone at once and does not come back, unless it is moved: a snapshot does not
//! record what other victims would ask for again.

use crate::model::decision::Decision;
use crate::model::job::{RunningJob, WaitingJob};
use crate::model::snapshot::{PlannedStart, Snapshot};
use crate::round::round_result::Round;
use crate::round::schedule;
use common::id::{JobKey, NodeName};
use common::job::Moving;
use common::policy::MOVE_KEPT;
use common::time::Time;
use common::unit::Nodes;

/// The most rounds to simulate.
const ROUNDS_MAX: u32 = 500;

/// The most turns of jobs or classes of equivalent jobs to simulate, over all rounds.
const TURNS_MAX: usize = 500_000;

/// When a job will start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Forecast {
    /// The latest start. `None`: never, as things are, or unknown.
    pub expected_at: Option<Time>,
    /// The nodes, if nothing intervenes. Empty: unknown.
    pub nodes: Vec<NodeName>,
    /// How many other waiting jobs start before it.
    pub after: u32,
    /// The simulation was cut off: the job does not start before `expected_at`, and no better
    /// answer is known.
    pub bounded: bool,
}

/// When this job will start. For a promised job this is the promise, unless a job whose begin time
/// comes by then might go before it: the promise is only kept against jobs of no higher priority.
#[must_use]
pub fn forecast(snapshot: &Snapshot, now: Time, key: JobKey) -> Forecast {
    let mut snapshot = snapshot.clone();
    snapshot.prepare_for_round(now);
    let round = schedule(&snapshot, now);
    after_round(snapshot, now, key, round)
}

/// The same, for a settled snapshot whose round is known.
pub(crate) fn after_round(snapshot: Snapshot, now: Time, key: JobKey, round: Round) -> Forecast {
    let Some(job) = snapshot.waiting_job(key).filter(|job| !job.is_kept_back()) else {
        return Forecast::default();
    };
    // A job of higher priority whose begin time comes by then may take the place. A job never
    // starts too late for its deadline.
    let next_gate = snapshot.wait_queue.next_due_time();
    let in_time = |at: Time| {
        let ends = at + job.time_limit.unwrap_or_default();
        job.deadline.is_none_or(|deadline| ends <= deadline)
    };
    // Promises on no certain nodes do not take each other into account.
    let anywhere = round
        .planned_starts
        .values()
        .filter(|planned_start| planned_start.nodes.is_empty())
        .count();
    let planned_start = round.planned_starts.get(&key);
    let planned_start =
        planned_start.filter(|planned_start| anywhere <= 1 || !planned_start.nodes.is_empty());
    // With fair sharing, other jobs may be preempted for it before.
    let is_last_word =
        |planned_start: &&PlannedStart| planned_start.yielded || !snapshot.policy.fair_sharing;
    let holds = |at: Time| in_time(at) && next_gate.is_none_or(|gate| gate > at);
    if let Some(planned_start) =
        planned_start.filter(is_last_word).filter(|planned_start| holds(planned_start.at))
    {
        let (expected_at, nodes) = (Some(planned_start.at), planned_start.nodes.clone());
        return Forecast { expected_at, nodes, ..Forecast::default() };
    }
    Play { snapshot, at: now, upto: None, after: 0 }.run_until_start(key, round)
}

/// The nodes at its start, for a job that is promised a start wherever there is room: its nodes are
/// not chosen yet, so the rounds until then are simulated. Empty: the simulation ends differently.
pub(crate) fn simulated_start_nodes(
    snapshot: Snapshot,
    now: Time,
    key: JobKey,
    round: Round,
    then: Time,
) -> Vec<NodeName> {
    let upto = Some(then);
    let played = Play { snapshot, at: now, upto, after: 0 }.run_until_start(key, round);
    if played.expected_at == Some(then) && !played.bounded { played.nodes } else { Vec::new() }
}

/// The cluster in virtual time.
struct Play {
    snapshot: Snapshot,
    at: Time,
    /// Where the simulation may stop. `None`: it has no end time.
    upto: Option<Time>,
    after: u32,
}

impl Play {
    fn run_until_start(mut self, key: JobKey, mut round: Round) -> Forecast {
        let mut turns = 0;
        for _ in 0..ROUNDS_MAX {
            let mut starts = round.decisions.iter().filter_map(started);
            if let Some(ahead) = starts.position(|started| started == key) {
                self.after += u32::try_from(ahead).unwrap_or(u32::MAX);
                let nodes = starts_on(&round.decisions, key).unwrap_or_default();
                return Forecast { nodes, ..self.to_forecast(Some(self.at), false) };
            }
            turns += self.snapshot.wait_queue.classes().count() + round.decisions.len();
            if turns > TURNS_MAX || self.upto.is_some_and(|upto| self.at > upto) {
                break;
            }
            let yielded = self.enact(&round);
            let is_unfinished = round.next_look == Some(self.at);
            if !yielded && !is_unfinished && !self.advance_to_next_event(round.next_look) {
                return self.to_forecast(None, false);
            }
            self.snapshot.prepare_for_round(self.at);
            round = schedule(&self.snapshot, self.at);
        }
        match round.planned_starts.get(&key) {
            Some(planned_start) => {
                let nodes = planned_start.nodes.clone();
                Forecast { nodes, ..self.to_forecast(Some(planned_start.at), false) }
            }
            None => self.to_forecast(Some(self.at), true),
        }
    }

    const fn to_forecast(&self, expected_at: Option<Time>, bounded: bool) -> Forecast {
        Forecast { expected_at, nodes: Vec::new(), after: self.after, bounded }
    }

    /// Carries out a round's decisions. Returns whether any job was preempted.
    fn enact(&mut self, round: &Round) -> bool {
        self.snapshot.set_planned_starts(round.planned_starts.clone());
        self.snapshot.set_resume_cursor(round.resume_cursor.clone());
        let mut yielded = false;
        for decision in &round.decisions {
            match decision {
                Decision::Start { key, allocation, .. } => {
                    self.snapshot.start(*key, allocation.clone(), self.at);
                    self.after += 1;
                }
                Decision::Preempt { key, to, .. } => {
                    yielded = true;
                    let until = self.at + MOVE_KEPT;
                    let moving = Moving { to: to.clone(), until };
                    if !to.is_empty() {
                        let moves = self.snapshot.moves.iter().copied().chain([self.at]);
                        self.snapshot.moves = moves.collect();
                    }
                    self.remove_job(*key, Some(moving).filter(|moving| !moving.to.is_empty()));
                }
                Decision::Shrink { key, keeps, .. } => {
                    yielded = true;
                    self.snapshot.shrink(*key, *keeps);
                }
                Decision::Grow { key, shares, .. } => self.snapshot.grow(*key, shares),
            }
        }
        yielded
    }

    /// Advances to the next end of a job, or to the time when another round could decide something.
    /// Returns whether there is such a time.
    fn advance_to_next_event(&mut self, next_look: Option<Time>) -> bool {
        let at = self.at;
        let giving_up: Vec<JobKey> = self.snapshot.giving_up.keys().copied().collect();
        if !giving_up.is_empty() {
            // Shrinking takes no longer than stopping a job, which takes no time here.
            for key in giving_up {
                let stays =
                    self.snapshot.running_job(key).map_or(0, |job| job.staying_shares().len());
                self.snapshot.shrink(key, Nodes(u32::try_from(stays).unwrap_or(u32::MAX)));
            }
            return true;
        }
        let all = self.snapshot.all_running().filter_map(|job| ends(job, at));
        let looks = next_look.filter(|look| *look > at);
        let Some(next) = all.chain(looks).min() else { return false };
        self.at = next;
        let over = self.snapshot.all_running();
        let over = over.filter(|job| ends(job, at).is_some_and(|end| end <= next));
        let over: Vec<JobKey> = over.map(|job| job.key).collect();
        for key in over {
            let goes_on = self.snapshot.restarts_elsewhere(key, at).is_some();
            let moving = self.snapshot.moving.get(&key).filter(|_| goes_on).cloned();
            self.remove_job(key, moving);
        }
        true
    }

    /// Removes a job, for good or to start again elsewhere.
    fn remove_job(&mut self, key: JobKey, moving: Option<Moving>) {
        let again = self.snapshot.movable.get(&key).cloned();
        self.snapshot.remove_job(key);
        if let (Some(again), Some(_)) = (again, &moving) {
            self.snapshot.set_waiting(WaitingJob::clone(&again));
            self.snapshot.set_moving(key, moving);
        }
    }
}

/// The nodes on which a round starts a job. `None`: it does not.
pub(crate) fn starts_on(decisions: &[Decision], key: JobKey) -> Option<Vec<NodeName>> {
    decisions.iter().find_map(|decision| match decision {
        Decision::Start { key: started, allocation, .. } if *started == key => {
            Some(allocation.shares().iter().map(|share| share.node.clone()).collect())
        }
        _ => None,
    })
}

/// The job that a decision starts.
const fn started(decision: &Decision) -> Option<JobKey> {
    match decision {
        Decision::Start { key, .. } => Some(*key),
        Decision::Preempt { .. } | Decision::Shrink { .. } | Decision::Grow { .. } => None,
    }
}

/// The latest end of a running job. For one that is ending or past its limit: now.
fn ends(job: &RunningJob, now: Time) -> Option<Time> {
    if job.ending { Some(now) } else { job.ends_by.map(|end| end.max(now)) }
}

#[cfg(test)]
mod tests;
