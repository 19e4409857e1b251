//! Deterministic simulation of the whole control plane. It runs controllers with the real replica,
//! log store, state, engine and leader code, and nodes with the real `reconcile`, together with
//! simulated users, a network and disks that fail. Everything runs in one thread on virtual time:
//! one seed gives one history. Judges check each history; they share no code with what they check.
//! The crate is not installed.
//!
//! Start reading at `world`, then `judge`. docs/operating/simulation.md explains how to use it.

mod disk;
mod message;
mod mutants;
mod rng;
mod steady;
mod story;

mod answer;
mod faults;
mod net;
mod requests;
mod services;

mod work;

mod judge;
mod leader;
mod plan;

mod machine;
mod node;
mod scenarios;

mod settle;

mod controller;

mod world;

mod run;

mod shrink;
mod table;

mod cli;

pub use cli::{Args, main};
pub use run::{check_scenarios, check_seeds};
