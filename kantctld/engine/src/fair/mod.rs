//! Fair sharing between teams: what every queue is due, and a round of five steps that gives it
//! to them. Never looks at a clock, and never at anything but the [`World`] it is handed.
//!
//! 1. Allocate     what has room starts, or is promised what is on its way out
//! 2. Consolidate  running jobs move so that one that waits has room, if everybody has a place
//! 3. Reclaim      jobs of queues above their share yield to queues below it
//! 4. Preempt      jobs yield to a job of their queue with a higher priority
//! 5. Stale        gangs that are short of tasks for too long are ended
//!
//! Source: KAI Scheduler's documentation and behaviour, clean-room.

mod acts;
mod amount;
mod asking;
mod attempt;
mod bars;
mod board;
pub mod bounds;
mod choice;
mod counted;
pub mod divide;
mod exposed;
mod gang;
mod gather;
mod ground;
mod held;
mod later;
mod lending;
mod line;
mod loads;
mod movers;
mod muster;
mod named;
pub mod order;
mod owed;
mod parts;
mod past;
mod plan;
mod prospect;
mod refusal;
mod rooms;
mod round;
pub mod runtime;
mod seat;
mod sets;
mod settings;
mod sight;
mod standing;
pub mod taking;
pub mod tree;
mod turns;
mod unseen;
mod victims;
mod view;
pub mod world;
mod yielding;

pub use amount::{Amount, Resource, UNLIMITED};
pub(crate) use movers::may_move;
pub(crate) use muster::{Member, Muster};
pub(crate) use owed::tree as tree_of;
pub use past::QueueUse;
pub(crate) use past::used_ppm;
pub use plan::{Act, Plan, Step, accounts, plan};
pub use prospect::{Prospect, gpus_of, prospect};
pub(crate) use refusal::over_quota;
pub(crate) use round::round;
pub use standing::standings;
pub use world::World;
pub use yielding::Why;
