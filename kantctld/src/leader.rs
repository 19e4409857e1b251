//! What only a leader does: rounds, and the clock's consequences. All of it follows from the state
//! and the sessions, so a new leader needs no handing over. Never changes the state but by the log.

mod booking;
mod effects;
mod letters;
mod scheduler;
mod term;
mod timers;

pub use booking::{Choice, choose as choose_booking};
pub use effects::pass_on;
pub use lead::Limits;
pub use term::{Pace, run as run_terms};
