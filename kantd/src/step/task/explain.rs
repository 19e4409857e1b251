//! Messages for a process that did not start, with the fault: the job's or the node's.

use super::{StartFailure, child};
use crate::step::launch_fault::LaunchFault;
use crate::step::spec::StepSpec;
use std::path::Path;

/// The fault of a task that did not start.
pub fn explain(failure: StartFailure, spec: &StepSpec, script: &Path) -> LaunchFault {
    let (what, error) = (failure.step.description(), failure.error);
    let (id, node) = (spec.launch.id, &spec.node);
    let hint = match (failure.step, error) {
        // root owns the runtime; other failures may be caused by the job's limits.
        (child::StartStep::Exec, nix::Error::ENOENT | nix::Error::EACCES | nix::Error::ENOEXEC)
            if spec.launch.container.is_some() =>
        {
            let message = format!(
                "failed to start {id} on node {node}: the container runtime is \
                missing: {error}; restart kantd there"
            );
            return LaunchFault::of_node(message);
        }
        (child::StartStep::Exec, nix::Error::ENOENT) => {
            let line = spec.launch.script.lines().next().unwrap_or_default();
            format!("its interpreter is not on this node (first line: `{line}`)")
        }
        (child::StartStep::Exec, nix::Error::ENOEXEC) => {
            "its first line names no interpreter: begin it with #!/bin/sh or the like".to_owned()
        }
        (child::StartStep::Exec, nix::Error::EACCES) => {
            format!(
                "the script ({}) or its interpreter is not executable for the user",
                script.display()
            )
        }
        (child::StartStep::Exec, nix::Error::E2BIG) => {
            "its environment and arguments are too large: pass less with --export".to_owned()
        }
        (child::StartStep::Exec, nix::Error::EAGAIN) => {
            "the user's process limit is reached: submit with a larger `ulimit -u`".to_owned()
        }
        (child::StartStep::WorkDir, _) => {
            format!("directory {}, user {}", spec.launch.work_dir, spec.user_text())
        }
        (child::StartStep::Streams, _) => {
            "its limit of open files is too small: submit with a larger `ulimit -n`".to_owned()
        }
        _ => format!("user {}", spec.user_text()),
    };
    let message = format!("failed to start {id} on node {node}: failed to {what}: {error}; {hint}");
    if failure.step.is_job_fault() {
        LaunchFault::of_job(message)
    } else {
        LaunchFault::unclear(message)
    }
}

/// Characters of a program's name in a message, which must fit into one line to kantd.
const PROGRAM_CHARS_MAX: usize = 200;

/// A sentence that says why a program did not start in a step.
pub fn explain_program(failure: StartFailure, program: &str, spec: &StepSpec) -> String {
    let (error, user) = (failure.error, spec.user_text());
    let what = match failure.step {
        child::StartStep::Exec => "run it",
        step => step.description(),
    };
    let shown: String = program.chars().take(PROGRAM_CHARS_MAX).collect();
    let more = if shown.len() < program.len() { "..." } else { "" };
    let is_missing = failure.step == child::StartStep::Exec && error == nix::Error::ENOENT;
    let hidden = spec.rules.private_dirs.iter().find(|dir| Path::new(program).starts_with(dir));
    let hint = match hidden.filter(|_| is_missing) {
        Some(dir) => format!(
            "; each job has its own {} (private_dirs in kantd.toml), which hides the node's: \
             move the program to another directory, or remove that directory from private_dirs",
            dir.display()
        ),
        None => String::new(),
    };
    format!("failed to {what}: {error} (program {shown}{more}, user {user}){hint}")
}
