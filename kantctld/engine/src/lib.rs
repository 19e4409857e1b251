//! The scheduling engine: `schedule(&Snapshot, now) -> Round` decides which waiting jobs start now,
//! on which nodes, CPUs and GPUs, which jobs are preempted for others, and why each other job
//! waits. Read [`round`] first.
//!
//! This crate reads no clock, draws no random numbers, does no IO, and keeps no state between
//! rounds other than what the caller passes back. The same snapshot and time give the same round,
//! bit for bit.

mod admit;
mod backfill;
pub mod check;
mod claims;
mod cluster;
pub mod decision;
mod explain;
pub mod fair;
mod feasibility;
mod features;
mod fit;
mod forecast;
mod het_feasibility;
pub mod measure;
pub mod order;
mod place;
mod planner;
mod position;
mod preempt;
mod priority_breakdown;
mod queue_order;
mod queue_scan;
mod resume_cursor;
pub mod round;
mod score;
mod shape;
mod shape_cache;
pub mod snapshot;
pub mod solve;
#[cfg(test)]
mod testing;
mod trial;
pub mod typical;
pub mod usage_accounting;
mod wait_queue;
pub mod waits;
mod what_if;

pub use decision::Decision;
pub use feasibility::{could_ever_be_near, could_ever_fit};
pub use forecast::{Forecast, forecast};
pub use het_feasibility::could_ever_start_together;
pub use position::position;
pub use priority_breakdown::priority_breakdowns;
pub use queue_order::in_order;
pub use resume_cursor::ResumeCursor;
pub use round::{Cost, Round, schedule};
pub use snapshot::{
    Full, Growing, NodeSnapshot, PlannedStart, RunningJob, Snapshot, Unusable, WaitingJob,
    nodes_min,
};
pub use waits::Waits;
pub use what_if::{Outlook, outlook, what_if};
