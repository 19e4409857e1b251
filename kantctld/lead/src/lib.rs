//! The work of a leader between the log and the nodes, as values that are stepped: rounds, timers,
//! sessions of nodes, mail to users. The controller drives them with sockets and clocks, a
//! simulation with virtual ones.
//!
//! They never read a clock or change the state: they return commands for the log. All of it
//! follows from the state and the sessions, so a new leader starts with new values and needs no
//! handover.

pub mod bulk_action;
pub mod clock;
pub mod idle_gpus;
pub mod notifications;
pub mod round_parts;
pub mod rounds;
pub mod rules_level;
pub mod services;
pub mod session;
pub mod session_table;
pub mod timers;

pub use bulk_action::Parts;
pub use clock::{ClusterClock, Reading};
pub use notifications::{Notification, Notifier, TimeLimitMarks};
pub use round_parts::split_round;
pub use rounds::{Outcome, Rounds};
pub use rules_level::ReportedLevels;
pub use session::{NodeSession, check_hello, register_command};
pub use session_table::{Presence, SessionId, SessionTable};
pub use timers::{Due, Limits, Watch};
