//! Slurm's JSON in its versions: kant's views in Slurm's fields, for `--json` of Slurm's commands
//! and for the routes under /slurm and /slurmdb, and Slurm's requests as kant's. Tables say where a
//! field stands in each version, and how its value is written there.
//!
//! This crate never asks a controller, and never decides what a user may do.

pub mod version;

pub mod input;

pub mod field;
pub mod node_state;
pub mod partitions;
pub mod size;

pub mod frame;

pub mod failure;
pub mod job_file;
pub mod job_line;
pub mod past_jobs;

pub mod changed;
pub mod diag;
pub mod job;
pub mod node;
pub mod ping;
pub mod reservation;

pub mod account_job;
pub mod partition;

pub mod accounts;
pub mod qos;

mod description;

pub mod change;
pub mod submission;

pub use version::Version;
