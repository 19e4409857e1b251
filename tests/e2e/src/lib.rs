//! Clusters of real daemons on loopback, each in a directory of its own and used through kantctl,
//! for tests, the demo and the benchmarks.
//!
//! The library never leaves a process behind: it ends every process that it starts, by pid. It
//! listens only on loopback.

mod binaries;
mod daemon;
mod disk;
mod machine;
mod person;
mod ports;
mod small_disk;
mod wait;
mod web_client;

mod kantctl;
mod network;
mod probe;
mod pseudo_terminal;

mod cluster;
mod controllers;

mod emulator;
mod load;

mod load_check;

pub use binaries::{Binaries, Build, PREBUILT, build_next, forget_the_outer_cargo, workspace};
pub use cluster::{Cluster, ClusterOptions, remove_groups};
pub use controllers::Controllers;
pub use daemon::{Daemon, end_daemons_on_signal};
pub use disk::sync_times;
pub use kantctl::{Answer, Kantctl, UNTIL_ENOUGH};
pub use load::{Action, LONG, Load, Record, probe, under_load};
pub use machine::{Gpus, Machine};
pub use network::Network;
pub use person::{Person, is_root};
pub use ports::free_port;
pub use probe::Probe;
pub use pseudo_terminal::PseudoTerminal;
pub use small_disk::SmallDisk;
pub use wait::{DEADLINE, gone, say, wait_for, wait_until};
pub use web_client::{WebAnswers, WebClient, get};
