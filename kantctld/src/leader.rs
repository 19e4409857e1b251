//! The tasks of the leader: rounds, timers and effects. All follow from the state and the sessions,
//! so a new leader needs no handover.

mod cluster_key;
mod effects;
mod notifications;
mod rules_level;
mod scheduler;
pub(crate) mod services;
mod term;
mod timers;

pub use effects::forward_effects;
pub use lead::Limits;
pub use term::{Pace, run as run_terms};
