//! The scheduling engine: `schedule(&Snapshot, now) -> Round` decides which waiting jobs start now,
//! on which nodes, CPUs and GPUs, which jobs are preempted for others, and why each other job
//! waits. Read [`round`] first.
//!
//! This crate reads no clock, draws no random numbers, does no IO, and keeps no state between
//! rounds other than what the caller passes back. The same snapshot and time give the same round,
//! bit for bit.

pub mod decision;
mod job;
mod node_snapshot;
mod queues;
mod resume_cursor;
pub mod typical;
pub mod usage_accounting;

mod cluster;

mod demand;
mod features;
mod hold;
mod judge_ledger;
mod trial;
mod yardstick;

mod shape;
mod victim_index;

mod claims;
mod idle_fit;
mod node_search;
mod shape_cache;

mod backfill;
pub mod order;
mod score;

mod fit;
mod wait_queue;

mod place;
pub mod snapshot;

mod admit;
mod feasibility;
pub mod measure;
mod position;
mod priority_breakdown;
mod queue_order;
mod queue_scan;

pub mod waits;

mod round_result;

mod planner;
mod preempt;

pub mod fair;

pub mod fair_share;

pub mod check;
pub mod round;

mod forecast;
mod het_feasibility;
pub mod solve;
mod what_if;

#[cfg(test)]
mod testing;

pub use decision::Decision;
pub use feasibility::{could_ever_be_near, could_ever_fit};
pub use forecast::{Forecast, forecast};
pub use het_feasibility::could_ever_start_together;
pub use job::{RunningJob, WaitingJob, nodes_min};
pub use node_snapshot::{NodeSnapshot, Unusable};
pub use position::position;
pub use priority_breakdown::priority_breakdowns;
pub use queue_order::in_order;
pub use resume_cursor::ResumeCursor;
pub use round::schedule;
pub use round_result::{Cost, Round};
pub use snapshot::{Full, Growing, PlannedStart, Snapshot};
pub use waits::Waits;
pub use what_if::{Outlook, outlook, what_if};
