//! The shared types of kant: ids, units, requests, nodes, reasons, configuration, and messages on
//! the wire.
//!
//! This crate never uses a clock, files, sockets, randomness or threads. It depends neither on the
//! scheduler (`engine`) nor on the replicated state (`state`), which both use it.

pub mod blob;
pub mod causes;
pub mod counts;
pub mod cpuset;
pub mod hex;
pub mod id;
pub mod rules_level;
pub mod serde_skip;
pub mod sync;
pub mod task_prolog;
pub mod text;
pub mod time;
pub mod unit;

pub mod constraint;
pub mod gpu;
pub mod gpu_parts;
pub mod health;
pub mod hostlist;
pub mod node_names;
pub mod right;
pub mod token;
pub mod topology;

pub mod node;
pub mod policy;
pub mod resource;
pub mod route;

pub mod autoscale;
pub mod job;
pub mod reservation;

pub mod config;
pub mod reason;

pub mod service;

pub mod wire;
