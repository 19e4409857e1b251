//! Policy for queues: order, backfill, placement, quotas, limits, preemption. These types are plain
//! data, one noun per file.
//!
//! They are replicated as part of the settings, so every field has a serde default.

mod access;
pub mod account;
mod backfill;
mod cluster;
mod limits;
mod moves;
mod order;
mod placement;
mod preemption;
pub mod qos;
pub mod queue;
mod quota;
mod sandbox;
mod yields_first;

pub use access::Access;
pub use backfill::{Backfill, Candidates, ReservationKind, RunTimes};
pub use cluster::Policy;
pub use limits::Limits;
pub use moves::{MOVE_KEPT, MOVES_COUNTED, Moves};
pub use order::{Behind, Factors, Order};
pub use placement::{Placement, ZoneOverflow};
pub use preemption::{Preemption, VictimMode};
pub use quota::{Amounts, Quota, QuotaMode};
pub use sandbox::Sandbox;
pub use yields_first::YieldsFirst;
