//! Fair sharing between teams: the fair share of each queue, and the five steps of a round that
//! enforces it. A plan depends only on the [`World`] it gets; it reads no clock.
//!
//! 1. Allocate: a job starts where there is room, or gets a place reserved that others are leaving.
//! 2. Consolidate: running jobs move to make room for a waiting one, if all of them get a place.
//! 3. Reclaim: jobs of queues above their share are stopped for queues below theirs.
//! 4. Preempt: jobs are stopped for a job of higher priority in their queue.
//! 5. Stale: gangs that have been short of tasks for too long are ended.
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
mod running_index;
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
pub(crate) use owed::tree as tree_of;
pub use past::QueueUse;
pub(crate) use past::used_ppm;
pub use plan::{Act, Plan, Step, accounts, plan};
pub use prospect::{Prospect, gpus_of, prospect};
pub(crate) use refusal::over_quota;
pub(crate) use round::round;
pub(crate) use running_index::{Member, Place, RunningIndex};
pub use standing::standings;
pub(crate) use turns::turns;
pub use world::World;
pub use yielding::Why;
