//! A service and training on one cluster, over days: the service is kept at its size by day all the
//! time, or its size follows the hours or the load. Everything that decides is the real code; the
//! figures come from the events.
//!
//! The service has a queue of its own, whose quota is its size by day. Teams share the rest of the
//! GPUs by quota, and their training may be preempted and so may borrow. A preempted job is
//! requeued, and repeats its work since its last checkpoint.

mod parts;
mod play;
mod record;

pub use play::play;

use crate::cluster::SimError;
use crate::report::{Percentiles, ReportError, TeamOutcome, Waits};
use common::id::QueueName;
use common::policy::Moves;
use common::time::{Span, Time};
use common::unit::Gpus;
use serde::Serialize;

/// What the size of the service follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sizing {
    /// Nothing: it has its size by day all the time.
    Fixed,
    /// The hours: its size by day from [`Setup::day`] on, else its size by night.
    Hours,
    /// The load, by the rule `concurrency`.
    Load,
}

impl Sizing {
    pub const ALL: [Self; 3] = [Self::Fixed, Self::Hours, Self::Load];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Hours => "hours",
            Self::Load => "load",
        }
    }
}

/// The cluster and the service.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setup {
    pub days: u32,
    pub nodes: u32,
    pub gpus_per_node: u16,
    /// GPUs of each replica.
    pub gpus_per_replica: Gpus,
    pub replicas_by_day: u32,
    pub replicas_by_night: u32,
    /// The first and the last hour of the day.
    pub day: (u32, u32),
    /// Requests on which a replica works at a time.
    pub concurrency: u32,
    /// With [`Sizing::Load`]: replicas are removed when fewer have been enough for this time.
    pub down_delay: Span,
    /// The time from the start of a replica until it is ready.
    pub start_delay: Span,
    /// The queues that train, with their quotas.
    pub teams: Vec<(QueueName, Gpus)>,
    /// For this long after its start, training is not stopped for another queue.
    pub protection: Span,
    /// Training saves its work this often.
    pub checkpoint: Span,
    /// The moves of training that make room for larger jobs.
    pub moves: Moves,
}

/// A training job: on one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Training {
    pub at: Time,
    /// Its position in [`Setup::teams`].
    pub team: usize,
    pub gpus: Gpus,
    /// How long it runs if it is not preempted.
    pub run: Span,
}

/// What happens from outside.
#[derive(Debug, Clone, Copy)]
pub struct Demand<'a> {
    /// By time.
    pub training: &'a [Training],
    /// Requests in flight at the beginning of each [`LOAD_STEP`].
    pub in_flight: &'a [u32],
}

/// The load is constant for this time.
pub const LOAD_STEP: Span = Span::from_seconds(10);

/// The figures of one run. Ratios are from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    pub sizing: Sizing,
    /// GPU allocation rate, over time.
    pub gar: Percentiles,
    /// Scheduling occupancy rate, from the first to the last submission.
    pub sor: Option<f64>,
    pub training: TrainingFigures,
    pub service: ServiceFigures,
    /// The longest time in which a queue with a waiting job was below its quota.
    pub below_quota: Vec<BelowQuota>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrainingFigures {
    /// From the submission to the first start, in seconds.
    pub wait_mean_seconds: Option<f64>,
    pub wait_p90_seconds: Option<f64>,
    pub done: usize,
    /// Jobs that wait or run at the end.
    pub unfinished: usize,
    /// GPU-hours that were allocated to training.
    pub gpu_hours: f64,
    /// Those of them whose work was repeated.
    pub lost_gpu_hours: f64,
    pub preemptions: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServiceFigures {
    pub gpu_hours: f64,
    /// The part of the requests in flight, over time, for which no ready replica had a place.
    pub without_place: f64,
    pub replicas_started: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BelowQuota {
    pub queue: QueueName,
    pub longest_seconds: f64,
    /// What of it was longer than the protection of running jobs.
    pub beyond_protection_seconds: f64,
}

/// A run that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DayNightError {
    #[error("failed to simulate: {0}")]
    Sim(#[from] SimError),
    #[error("failed to record: {0}")]
    Report(#[from] ReportError),
    #[error("failed to simulate: {what} was refused: {why}")]
    Refused { what: &'static str, why: String },
}

impl BelowQuota {
    fn of(team: TeamOutcome, protection: Span) -> Self {
        let seconds = |span: Span| crate::report::seconds(span.0);
        let beyond = Span(team.below.0.saturating_sub(protection.0));
        Self {
            queue: team.queue,
            longest_seconds: seconds(team.below),
            beyond_protection_seconds: seconds(beyond),
        }
    }
}

impl TrainingFigures {
    fn of(wait: Waits, jobs: usize, unfinished: usize) -> Self {
        Self {
            wait_mean_seconds: wait.mean,
            wait_p90_seconds: wait.p90,
            done: jobs - unfinished,
            unfinished,
            gpu_hours: 0.0,
            lost_gpu_hours: 0.0,
            preemptions: 0,
        }
    }
}

#[cfg(test)]
mod tests;
