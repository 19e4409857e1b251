//! The kant node daemon: takes the inventory of its machine, holds a session with the controller,
//! launches and confines jobs on the node, and reports how they end.
//!
//! The pure crate `node` decides what to do next; this crate carries it out. It never schedules,
//! and never knows the state of the cluster.

pub mod clock;
pub mod data_dirs;
pub mod features;
pub mod logging;
mod probe_thread;
mod safe_open;
pub mod spool;
pub mod user;

pub mod cgroup;
pub mod config;
pub mod config_warnings;
pub mod container_support;
pub mod gpu;
pub mod inventory;
pub mod trust;

pub mod step;

pub mod idle_gpus;

pub mod accounting;
pub mod gpu_jobs;
pub mod health;
pub mod node_probe;

pub mod local;
pub mod notify;
pub mod output;
pub mod probes;
pub mod routes;
pub mod runner;
pub mod session;

pub mod enrolment;
pub mod node_runtime;
pub mod setup;

pub mod daemon;
pub mod emulate;
