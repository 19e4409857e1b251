//! What a node must do next: [`reconcile`] compares what the controller wants with what the node
//! holds and answers with the steps between the two.
//!
//! This crate never does anything: no clock, no files, no sockets, no processes. kantd carries out
//! the actions, looks again, and asks again. Because every answer follows from the two inputs
//! alone, a restart, a reconnect and a lost message need no path of their own.

mod action;
mod desired;
mod health;
mod observed;
mod reconcile;

pub use action::{DeclineReason, NodeAction};
pub use desired::{Desired, DesiredError, Wanted};
pub use health::{HealthPolicy, Sign, Ward, broken_hardware};
pub use observed::Observed;
pub use reconcile::reconcile;
