//! The replicated state machine: `apply(&mut State, &Stamped<Command>) -> Vec<Event>`. It is pure
//! and deterministic, so that every replica that applies the same commands holds the same bytes.
//!
//! It reads no clock, draws no random numbers and does no IO. Placement is decided by `engine`;
//! side effects are carried out by the shell, which reads [`effect`] and [`desired`]. The life of a
//! job is described in docs/decisions/0001-job-states-and-events.md.

// Layers, the lowest first: a module imports from the groups above its own.
pub mod blobs;
mod by_node;
pub mod enrolment;
pub mod fault;
pub mod held_by;
pub mod invitation;
pub mod key_rotation;
pub mod ledger;
pub mod living;
pub mod timeline;
pub mod token;
pub mod usage;

pub mod command;
pub mod event;
pub mod job;
pub mod node;
pub mod queue_usage;
pub mod run_times;
pub mod service;

mod dependency_index;
pub mod effect;
mod footprint;

mod state;

pub mod charging;
mod deadline;
mod dependency;
pub mod entry;
pub mod invariant;
mod kept;
mod lease;
pub mod persist;
pub mod replicas;
mod rights;
mod texts;

mod expired;
mod lifecycle;
pub mod snapshot;

mod dependents;
pub mod desired;
mod overdue;

mod apply;

pub use apply::{
    CheckedDeployment, apply, apply_to, check_could_wait, check_deployment, patched_request,
};
pub use command::{
    Actor, BulkAction, Command, Deployment, LEVELS, ManyJobs, NewToken, OneOfMany, ReplicaPlace,
    RoundGrow, RoundPreempt, RoundShrink, RoundStart, ServiceAction, Settings, SomeTasks, Stamped,
    Target, UserBounds,
};
pub use deadline::jobs_past_deadline;
pub use dependency::{OpenTerm, Verdict, dependency_reason, open_terms, verdict};
pub use dependents::ENDED_AT_ONCE;
pub use event::Event;
pub use job::TermState;
pub use lease::leased;
pub use lifecycle::components;
pub use overdue::overdue;
pub use state::{KnownRequest, State};
