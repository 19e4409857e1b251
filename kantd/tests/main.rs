//! kantd with real steps and stand-in controllers. One program, since each test program is linked
//! with all of kantd; tests that change the environment of their process have their own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod controller;
#[macro_use]
mod harness;
mod leftovers;
mod real_node;
#[path = "../../tests/nvml-standin/find.rs"]
mod standin;

mod cgroup_v2;
mod daemon;
mod hostile;
mod hostile_users;
mod inventory;
mod orphans;
mod output;
mod replica_probes;
mod session;
mod step_container;
mod step_disk;
mod step_failure;
mod step_fence;
mod step_hooks;
mod step_limits;
mod step_outlive;
mod step_private;
mod step_programs;
mod step_run;
mod step_sandbox;
mod step_suspend;
mod step_warning;
