//! What a leader does between the log and the nodes, as values that are stepped: rounds, timers,
//! one node's session, who is seated, letters to users. The controller drives them with sockets
//! and clocks, the simulation with virtual ones.
//!
//! Never reads a clock, and never changes the state: it answers commands, and the log takes them
//! or not. All of it follows from the state and the sessions, so a new leader begins with new
//! values and needs no handing over.

pub mod clock;
pub mod letters;
pub mod parts;
pub mod rounds;
pub mod seats;
pub mod session;
pub mod steering;
pub mod timers;

pub use clock::{ClusterClock, Reading};
pub use letters::{Letter, Letters, Marks};
pub use parts::in_parts;
pub use rounds::{Outcome, Rounds};
pub use seats::{Seats, SessionId, Standing};
pub use session::{NodeSession, check_hello, register};
pub use steering::Parts;
pub use timers::{Due, Limits, Watch};

#[cfg(test)]
mod tests;
