//! What queues are entitled to under fair sharing, and on which conditions one may reclaim from
//! others. All of it depends only on its arguments. [`crate::fair_share`] decides rounds by it.
//!
//! Source: KAI Scheduler's documentation and behaviour, clean-room.

mod amount;
pub mod bounds;
pub mod divide;
mod lending;
pub mod order;
mod owed;
mod past;
mod prospect;
mod running_index;
pub mod runtime;
mod standing;
pub mod taking;
pub mod tree;
mod turns;

pub use amount::{Amount, Resource, UNLIMITED};
pub(crate) use owed::tree as tree_of;
pub use past::QueueUse;
pub(crate) use past::used_ppm;
pub use prospect::{Prospect, gpus_of, prospect};
pub(crate) use running_index::{Member, Place, RunningIndex};
pub use standing::standings;
pub(crate) use turns::turns;
