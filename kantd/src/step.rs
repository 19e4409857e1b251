//! One attempt of a job on this node: a supervisor of its own, `kantd step --dir DIR`, that
//! outlives kantd (`supervisor`), and kantd's side of it (`handle`).
//! Never talks to the controller; the session does.

mod account;
mod board;
mod book;
mod books;
mod boot;
mod container;
mod control;
mod courier;
mod daemon;
mod dir;
mod environment;
mod fault;
mod files;
mod gpu_tally;
mod guest;
mod handle;
mod hook;
mod ipc;
mod journal;
mod keeper;
mod keyring;
mod leases;
mod login;
mod order;
mod overuse;
mod prepare;
mod private;
mod removal;
mod settle;
mod signal;
mod size;
mod supervisor;
mod task;
mod tasks;

pub(crate) use dir::{StepDir, steps as steps_dir};
pub(crate) use gpu_tally::GpuTally;
pub use handle::{StartLimits, StepChanges, Steps, StepsError, StepsSettings};
pub(crate) use hook::failures as hook_failures;
pub use order::StepRules;
pub(crate) use order::{GpuGrant, StepOrder};
pub use overuse::GpuOveruse;
pub(crate) use private::usable as usable_private_dirs;
pub use supervisor::run_supervisor;
pub(crate) use tasks::tend_leases;

/// Tries what each step has for itself without a setting; a sentence for each that it cannot have.
pub(crate) fn try_out(missing: &mut Vec<String>) {
    keyring::try_out(missing);
    login::try_out(missing);
    ipc::try_out(missing);
}

/// The example order's part on a node, which has one GPU of id `GPU-1`.
#[cfg(test)]
pub(crate) fn example_order(node: &str) -> order::StepOrder {
    let order = order::tests::example(order::tests::example_launch(), node);
    order.expect("the example names the node")
}

/// `kantd step` exits with this if the step has or had a supervisor.
const EXIT_TAKEN: u8 = 3;
