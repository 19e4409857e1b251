//! The kant node daemon: takes the inventory of its machine, holds a session with the controller,
//! launches and confines jobs on the node, and reports how they end.
//!
//! The pure crate `node` decides what to do next; this crate carries it out. It never schedules,
//! and never knows the state of the cluster.

pub mod accounting;
pub mod cgroup;
pub mod clock;
pub mod config;
pub mod config_warnings;
pub mod container_support;
pub mod daemon;
pub mod emulate;
pub mod features;
pub mod gpu;
pub mod health;
pub mod inventory;
pub mod local;
pub mod logging;
pub mod node_probe;
pub mod node_runtime;
pub mod notify;
pub mod output;
pub mod runner;
mod safe_open;
pub mod session;
pub mod spool;
pub mod step;
pub mod trust;
pub mod user;
