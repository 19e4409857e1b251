//! The kant node daemon: discovers what its machine has, holds a session with the controller,
//! launches and confines its share of jobs, and reports what became of them.
//!
//! The decision what to do next is made by the pure crate `node`; everything here is the shell
//! around it. Never schedules, and never knows the cluster's state.

pub mod accounting;
pub mod cgroup;
pub mod clock;
pub mod config;
pub mod container;
pub mod daemon;
pub mod doubts;
pub mod emulate;
pub mod features;
pub mod gpu;
pub mod health;
pub mod inventory;
pub mod local;
pub mod logging;
pub mod notify;
mod opening;
pub mod output;
pub mod parts;
pub mod runner;
pub mod session;
pub mod spool;
pub mod step;
pub mod survey;
pub mod trust;
pub mod user;
