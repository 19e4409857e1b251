//! Deterministic simulation of the whole control plane. It runs controllers with the real replica,
//! log store, state, engine and leader code, and nodes with the real `reconcile`, together with
//! simulated users, a network and disks that fail. Everything runs in one thread on virtual time:
//! one seed gives one history. Judges check each history; they share no code with what they check.
//! The crate is not installed.
//!
//! Start reading at `world`, then `judge`. docs/operating/simulation.md explains how to use it.

mod answer;
mod cli;
mod controller;
mod dice;
mod disk;
mod faults;
mod judge;
mod leader;
mod machine;
mod mail;
mod message;
mod net;
mod node;
mod plan;
mod run;
mod sabotage;
mod scenarios;
mod shrink;
mod steady;
mod story;
mod table;
mod wishes;
mod work;
mod world;

pub use cli::{Args, main};
pub use run::{check_scenarios, check_seeds};
