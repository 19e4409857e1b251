//! The scheduling engine: `schedule(&Snapshot, now) -> Round` decides which waiting jobs start now,
//! on which nodes, CPUs and GPUs, which jobs are preempted for others, and why each other job
//! waits. Read [`round`] first.
//!
//! This crate reads no clock, draws no random numbers, does no IO, and keeps no state between
//! rounds other than what the caller passes back. The same snapshot and time give the same round,
//! bit for bit.

mod admit;
mod backfill;
pub mod books;
pub mod check;
mod claims;
pub mod decision;
mod desk;
pub mod fair;
mod features;
mod fit;
mod floor;
mod forecast;
mod halfway;
mod in_order;
mod line;
pub mod measure;
pub mod order;
mod place;
mod position;
mod preempt;
mod queue_up;
pub mod round;
mod score;
mod shape;
mod shapes;
mod sheet;
pub mod snapshot;
pub mod solve;
#[cfg(test)]
mod testing;
mod together;
mod trial;
pub mod typical;
mod wait;
pub mod waits;
mod what_if;
mod whole;

pub use decision::Decision;
pub use forecast::{Forecast, forecast};
pub use halfway::Halfway;
pub use in_order::in_order;
pub use position::position;
pub use round::{Cost, Round, schedule};
pub use sheet::sheets;
pub use snapshot::{
    Full, Growing, NodeSnapshot, Promise, RunningJob, Snapshot, Unusable, WaitingJob, nodes_min,
};
pub use together::could_ever_start_together;
pub use waits::Waits;
pub use what_if::{Outlook, outlook, what_if};
pub use whole::{could_ever_be_near, could_ever_fit};
