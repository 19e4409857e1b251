//! The decisions of a node: [`reconcile`] compares what the controller wants with what the node has
//! and returns the actions that lead from one to the other.
//!
//! The crate is pure and never uses a clock, files, sockets or processes. kantd carries out the
//! actions and calls again. Because each result depends on the two inputs alone, restarts,
//! reconnects and lost messages need no special handling.

mod action;
mod desired;
mod health;
mod observed;

mod reconcile;

pub use action::{DeclineReason, NodeAction};
pub use desired::{Desired, DesiredError, Wanted};
pub use health::{HealthMonitor, HealthPolicy, Symptom, hardware_fault_of_xid};
pub use observed::Observed;
pub use reconcile::reconcile;
