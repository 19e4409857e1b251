//! kantctl against controllers with scripted answers. One program, since each one is linked with
//! all of kantctl.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

mod checkpoint;
mod cluster;
mod completions;
mod engine;
mod examples;
mod export;
mod golden;
mod history;
mod jobs;
mod manual;
mod openapi;
mod resize;
mod scripts;
mod slurm;
mod slurm_reservations;
mod slurm_warnings;
mod submit;
mod terminal;
mod unseen;
