//! Deterministic simulation of the whole control plane: controllers with the real replica, log
//! store, state, engine and leader's parts, nodes with the real `reconcile`, users, a network and
//! disks that fail; in one thread, on virtual time. One seed is one history. Judges watch it that
//! share no code with what they judge. Never a part of what is installed.
//!
//! Start reading at `world`, then `judge`. docs/operating/simulation.md says how to use it.

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
