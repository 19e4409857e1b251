//! Why a process did not start, in a sentence, and whose fault that is: the job's or the node's.
//! Never finds it out; `child` reports it.

use super::{StartFailure, child};
use crate::step::fault::LaunchFault;
use crate::step::order::StepOrder;
use std::path::Path;

/// Why a task did not start, and whose fault that is.
pub fn explain(failure: StartFailure, order: &StepOrder, script: &Path) -> LaunchFault {
    let (what, error) = (failure.step.words(), failure.error);
    let (id, node) = (order.launch.id, &order.node);
    let hint = match (failure.step, error) {
        // The runtime is root's; what else fails, the job's limits may have brought about.
        (child::Step::Exec, nix::Error::ENOENT | nix::Error::EACCES | nix::Error::ENOEXEC)
            if order.launch.container.is_some() =>
        {
            let message = format!(
                "failed to start {id} on node {node}: its container runtime is \
                gone: {error}; restart kantd there"
            );
            return LaunchFault::of_node(message);
        }
        (child::Step::Exec, nix::Error::ENOENT) => {
            let line = order.launch.script.lines().next().unwrap_or_default();
            format!("its interpreter is not on this node (first line: `{line}`)")
        }
        (child::Step::Exec, nix::Error::ENOEXEC) => {
            "its first line names no interpreter: let it be #!/bin/sh or the like".to_owned()
        }
        (child::Step::Exec, nix::Error::EACCES) => {
            format!("the script ({}) or its interpreter may not be run", script.display())
        }
        (child::Step::Exec, nix::Error::E2BIG) => {
            "its environment and arguments are too large: pass less with --export".to_owned()
        }
        (child::Step::Exec, nix::Error::EAGAIN) => {
            "its user has as many processes as its limit allows: submit with a larger `ulimit -u`"
                .to_owned()
        }
        (child::Step::WorkDir, _) => {
            format!("directory {}, user {}", order.launch.work_dir, order.user())
        }
        (child::Step::Streams, _) => {
            "its limit of open files leaves no room for them: submit with a larger `ulimit -n`"
                .to_owned()
        }
        _ => format!("user {}", order.user()),
    };
    let message = format!("failed to start {id} on node {node}: failed to {what}: {error}; {hint}");
    if failure.step.is_of_job() {
        LaunchFault::of_job(message)
    } else {
        LaunchFault::unclear(message)
    }
}

/// Letters of a program's name that are told: the sentence must fit into a line to kantd.
const TOLD_MAX: usize = 200;

/// Why a program did not start in a step, in a sentence.
pub fn explain_guest(failure: StartFailure, program: &str, order: &StepOrder) -> String {
    let (error, user) = (failure.error, order.user());
    let what = match failure.step {
        child::Step::Exec => "run it",
        step => step.words(),
    };
    let told: String = program.chars().take(TOLD_MAX).collect();
    let more = if told.len() < program.len() { "..." } else { "" };
    let is_missing = failure.step == child::Step::Exec && error == nix::Error::ENOENT;
    let hidden = order.rules.private_dirs.iter().find(|dir| Path::new(program).starts_with(dir));
    let hint = match hidden.filter(|_| is_missing) {
        Some(dir) => format!(
            "; each job has a {} of its own (private_dirs in kantd.toml), which hides what lies in \
             the node's: let the program lie elsewhere, or leave that directory out there",
            dir.display()
        ),
        None => String::new(),
    };
    format!("failed to {what}: {error} (program {told}{more}, user {user}){hint}")
}
