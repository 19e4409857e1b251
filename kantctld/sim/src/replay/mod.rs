//! Replays a trace: virtual time, the real engine and state, and jobs that run as long as they did
//! originally. No clock is read here: a caller that wants the scheduler's CPU time supplies one.
//!
//! Source: the rules of trace-driven schedulers, since A. Mu'alem and D. Feitelson, IEEE TPDS
//! 12(6), 2001. At each event time, first all ends are processed, then all arrivals, then the
//! scheduler runs. Starts take no time. A job ends after its run time or its walltime, whichever
//! is shorter. The scheduler knows the requested walltime (without one: twice the run time), or on
//! request the run time itself. A preempted job waits again at once, in its old place, and starts
//! over: its work is lost.
//!
//! Example, nodes a and b of one GPU, EASY. Job 1 arrives at 0 s with one node for 100 s, job 2 at
//! 10 s with two for 10 s, job 3 at 20 s with one for 50 s. Job 1 starts at 0, job 3 at 20 on b,
//! since it ends before job 1 does, job 2 at 100.

mod alone;
pub(crate) mod ask;
mod cluster;
mod entitlement;
mod error;
mod named;
mod placement;
mod play;
mod record;
pub(crate) mod rename;
mod stage;
mod tally;
mod through;

pub use cluster::{Cluster, CpuScale};
pub use error::ReplayError;
pub use named::Named;
pub use placement::placements_of;

pub(crate) use entitlement::Entitlements;
pub(crate) use tally::Tally;

use crate::report::Outcome;
use common::policy::Policy;
use common::time::Time;
use trace::{Estimates, Job, Node};

#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// The trace's name in reports.
    pub trace: &'a str,
    /// Its jobs, by submit time.
    pub jobs: &'a [Job],
    /// Its nodes, in the order in which the scheduler takes them.
    pub nodes: &'a [Node],
    /// The policy's name in reports.
    pub name: &'a str,
    /// The policy. Its nodes have the names of the trace.
    pub policy: &'a Policy,
    /// What the scheduler knows of how long jobs run.
    pub estimates: Estimates,
    /// For the report only: a replay draws no random numbers.
    pub seed: u64,
}

/// The progress of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Jobs that have ended.
    pub over: usize,
    pub jobs: usize,
    /// The time in the trace.
    pub now: Time,
}

/// What a replay needs from its caller.
pub trait Watcher {
    /// CPU time used so far, in seconds. Only differences count. Called before and after each
    /// round.
    fn cpu_seconds(&mut self) -> f64;
    /// Called after every pass.
    fn progress(&mut self, progress: Progress);
}

/// Measures nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watcher for Unwatched {
    fn cpu_seconds(&mut self) -> f64 {
        0.0
    }

    fn progress(&mut self, _: Progress) {}
}

/// Replays a trace to its end, with every step through the state as in production.
///
/// # Errors
/// [`ReplayError`] for more jobs than there are job numbers, and if the engine makes an impossible
/// decision.
pub fn replay(plan: &Plan<'_>, watcher: &mut dyn Watcher) -> Result<Outcome, ReplayError> {
    let (cluster, policy) = prepared(plan);
    let mut stage = through::WholeController::new(&cluster, policy)?;
    play::Play::new(plan, &cluster, &mut stage)?.play_out(watcher)
}

/// Replays a trace to its end with the engine only. It is faster, and gives the same result if the
/// order does not depend on past use and the policy admits every job.
///
/// # Errors
/// As [`replay`].
pub fn replay_engine_alone(
    plan: &Plan<'_>,
    watcher: &mut dyn Watcher,
) -> Result<Outcome, ReplayError> {
    let (cluster, policy) = prepared(plan);
    let mut stage = alone::EngineAlone::new(&cluster, policy);
    play::Play::new(plan, &cluster, &mut stage)?.play_out(watcher)
}

fn prepared(plan: &Plan<'_>) -> (Cluster, Policy) {
    let cluster = Cluster::new(plan.nodes, plan.jobs);
    let policy = rename::renamed(plan.policy, &cluster, plan.nodes);
    (cluster, policy)
}
