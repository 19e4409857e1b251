//! One attempt of a job on this node: its supervisor process, `kantd step --dir DIR`, which
//! outlives kantd (`supervisor`), and kantd's side of it (`handle`).

mod account;
mod boot;
mod container;
mod control;
mod detach;
mod dir;
mod driver;
mod environment;
mod fd_passing;
mod fence;
mod files;
mod gpu_tally;
mod handle;
mod hook;
mod ipc;
mod job_signal;
mod job_size;
mod journal;
mod keyring;
mod launch_fault;
mod leases;
mod ledger;
mod ledger_service;
mod liveness;
mod loginuid;
mod overuse;
mod prepare;
mod private_dirs;
mod program_requests;
mod program_spec;
mod recovery;
mod registry;
mod removal;
mod replicas;
mod sandbox;
mod spec;
mod supervisor;
mod task;

#[doc(hidden)]
pub use container::open_image;
pub(crate) use dir::{StepDir, steps_dir};
pub use fence::LeaderContact;
pub(crate) use gpu_tally::GpuTally;
pub use handle::{StartLimits, StepChanges, Steps, StepsError, StepsSettings};
pub(crate) use hook::failure_file as hook_failure_file;
#[doc(hidden)]
pub use journal::read as read_journal;
pub(crate) use leases::expire_leases;
pub use liveness::LivenessFailure;
pub use overuse::GpuOveruse;
pub(crate) use private_dirs::usable_private_dirs;
pub use spec::StepRules;
pub(crate) use spec::{GpuGrant, StepSpec};
pub use supervisor::run_supervisor;

/// Tries each facility that a step gets without a setting; adds a sentence for each one missing.
pub(crate) fn check_support(missing: &mut Vec<String>) {
    keyring::check_support(missing);
    loginuid::check_support(missing);
    ipc::check_support(missing);
    sandbox::check_support(missing);
}

/// The example spec's part on a node, which has one GPU of id `GPU-1`.
#[cfg(test)]
pub(crate) fn example_spec(node: &str) -> spec::StepSpec {
    let spec = spec::tests::example(spec::tests::example_launch(), node);
    spec.expect("the example names the node")
}

/// Exit code of `kantd step` if the step has, or had, a supervisor already.
const EXIT_TAKEN: u8 = 3;
