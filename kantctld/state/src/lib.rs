//! The replicated state machine: `apply(&mut State, &Stamped<Command>) -> Vec<Event>`. It is pure
//! and deterministic, so that every replica that applies the same commands holds the same bytes.
//!
//! It reads no clock, draws no random numbers and does no IO. Placement is decided by `engine`;
//! side effects are carried out by the shell, which reads [`effect`] and [`desired`]. The life of a
//! job is described in docs/decisions/0001-job-states-and-events.md.

mod apply;
pub mod blobs;
pub mod command;
mod deadline;
mod dependency;
pub mod desired;
pub mod effect;
pub mod event;
mod expired;
pub mod fault;
mod footprint;
pub mod history;
pub mod invariant;
pub mod invitation;
pub mod job;
mod kept;
mod lease;
pub mod ledger;
mod lifecycle;
pub mod living;
pub mod node;
mod overdue;
pub mod persist;
pub mod queue_usage;
pub mod snapshot;
mod state;
pub mod timeline;
pub mod usage;
pub mod view;

pub use apply::{apply, may_wait, updated};
pub use command::{
    Actor, BulkAction, Command, ManyJobs, OneOfMany, RoundGrow, RoundPreempt, RoundShrink,
    RoundStart, Settings, SomeTasks, Stamped, Target, UserBounds,
};
pub use deadline::missed;
pub use dependency::{ENDED_AT_ONCE, TermState, Verdict, verdict};
pub use event::Event;
pub use lease::leased;
pub use overdue::overdue;
pub use state::{KnownRequest, State};
