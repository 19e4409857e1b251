//! The scheduling engine: `schedule(&Snapshot, now) -> Round` decides which waiting jobs start now,
//! on which nodes, CPUs and GPUs, which jobs are preempted for others, and why each other job
//! waits. Read [`round`] first.
//!
//! Its layers, from the lowest: [`model`] is what a round works on, [`place`] finds room,
//! [`policy`] says which job goes first and which may start at all, [`round`] decides, [`check`]
//! judges what a round decided, [`explain`] answers questions about jobs.
//!
//! This crate reads no clock, draws no random numbers, does no IO, and keeps no state between
//! rounds other than what the caller passes back. The same snapshot and time give the same round,
//! bit for bit.

pub mod model;

pub mod place;

pub mod policy;

pub mod round;

pub mod check;

pub mod explain;

#[cfg(test)]
mod testing;

pub use explain::feasibility::{could_ever_be_near, could_ever_fit};
pub use explain::forecast::{Forecast, forecast};
pub use explain::het_feasibility::could_ever_start_together;
pub use explain::overtaking::{Overtaking, overtaking};
pub use explain::position::position;
pub use explain::priority_breakdown::priority_breakdowns;
pub use explain::prospect::{Prospect, gpus_of, prospect};
pub use explain::queue_order::waiting_jobs_in_order;
pub use explain::standings::standings;
pub use explain::what_if::{Outlook, outlook, what_if};
pub use explain::{measure, solve};
pub use model::job::{RunningJob, WaitingJob, nodes_min};
pub use model::node_snapshot::{NodeSnapshot, Unusable};
pub use model::past_usage::QueueUse;
pub use model::resume_cursor::ResumeCursor;
pub use model::shares;
pub use model::snapshot::{Full, Growing, PlannedStart, Snapshot};
pub use model::{decision, decision::Decision, snapshot, typical, usage_accounting};
pub use policy::{order, sharing};
pub use round::round_result::{Cost, Round};
pub use round::schedule;
pub use round::waits::{self, Waits};
