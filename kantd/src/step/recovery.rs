//! The state of a step, found out from its directory: whether its supervisor lives, and if not, how
//! the step ended. A step whose supervisor died without recording an end is lost: its remaining
//! processes are killed and its end is recorded. Blocks; not for async threads.

use super::boot;
use super::dir::StepDir;
use super::hook::HookKind;
use super::journal::{self, Event, Journal};
use super::launch_fault::LaunchFault;
use super::private_dirs;
use super::spec::StepSpec;
use crate::cgroup::{self, CgroupError, CgroupParent};
use crate::clock;
use common::id::{AttemptId, Uid};
use common::job::{EndCause, ExitStatus, StepEnd, Usage};
use std::io;
use std::time::Duration;

/// The longest single attempt to clean up after a lost step.
const TRY: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepState {
    /// No spec, and no supervisor has taken it over.
    Nothing,
    /// A spec that no supervisor has taken over yet.
    Unlaunched,
    Alive,
    Ended(Box<StepEnd>),
}

/// A step whose state cannot be found out now, or that cannot be cleaned up.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    #[error("failed to find out the state of step {id}: {source}")]
    Io { id: AttemptId, source: io::Error },
    #[error("failed to clean up after lost step {id}: {source}")]
    Cgroup { id: AttemptId, source: CgroupError },
}

/// Whether the directory is incomplete: it has no whole spec and no supervisor took it over,
/// because kantd died while it made the directory, or the power failed before a sync.
pub fn is_incomplete(dir: &StepDir) -> bool {
    let is_torn = match std::fs::read(dir.spec_path()) {
        Ok(text) => serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_err(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    is_torn && journal::read(&dir.journal_path()).is_ok_and(|events| events.is_empty())
}

/// Finds out the state of a step; ends a lost one. `place` is the parent of its cgroup if its spec
/// cannot be read.
///
/// # Errors
/// [`RecoveryError`]; worth a retry.
pub fn recover(
    dir: &StepDir,
    id: AttemptId,
    parent: &CgroupParent,
) -> Result<StepState, RecoveryError> {
    let io = |source| RecoveryError::Io { id, source };
    // Held to the end of this function, so that no supervisor starts meanwhile.
    let Some(_lock) = dir.try_lock().map_err(io)? else { return Ok(StepState::Alive) };
    let events = journal::read(&dir.journal_path()).map_err(io)?;
    let spec = dir.read_spec();
    let end = match (events.last(), spec) {
        (Some(Event::Ended(end)), _) => return Ok(StepState::Ended(end.clone())),
        (None, Ok(_)) => return Ok(StepState::Unlaunched),
        (None, Err(e)) if e.kind() == io::ErrorKind::NotFound => return Ok(StepState::Nothing),
        (None, Err(e)) => {
            failed_launch_end(LaunchFault::of_node(format!("failed to read the spec of {id}: {e}")))
        }
        (Some(_), spec) => {
            clean_up(id, spec.ok().as_ref(), parent)?;
            private_dirs::remove(dir).map_err(io)?;
            lost_end(&events).map_err(io)?
        }
    };
    let (mut journal, _) = Journal::open(&dir.journal_path()).map_err(io)?;
    journal.append(&Event::Ended(Box::new(end.clone()))).map_err(io)?;
    Ok(StepState::Ended(Box::new(end)))
}

/// Records that this node could not launch a step, unless a supervisor has taken it over after all.
///
/// # Errors
/// [`RecoveryError`]; worth a retry.
pub fn record_failed_launch(
    dir: &StepDir,
    id: AttemptId,
    why: String,
) -> Result<(), RecoveryError> {
    let io = |source| RecoveryError::Io { id, source };
    let Some(_lock) = dir.try_lock().map_err(io)? else { return Ok(()) };
    let (mut journal, events) = Journal::open(&dir.journal_path()).map_err(io)?;
    if events.is_empty() {
        let end = failed_launch_end(LaunchFault::of_node(why));
        journal.append(&Event::Ended(Box::new(end))).map_err(io)?;
    }
    Ok(())
}

/// The end of a step that could not be launched.
pub fn failed_launch_end(fault: LaunchFault) -> StepEnd {
    never_ran_end(fault.cause, Some(fault.message))
}

/// The end of a step that never ran.
pub fn never_ran_end(cause: EndCause, message: Option<String>) -> StepEnd {
    StepEnd {
        cause,
        exit: ExitStatus::default(),
        started_at: None,
        ended_at: clock::now(),
        held: None,
        ran: None,
        usage: Usage::default(),
        message,
        steps: Vec::new(),
    }
}

fn lost_end(events: &[Event]) -> io::Result<StepEnd> {
    let this_boot = boot::boot_id()?;
    let boot = events.iter().find_map(|event| match event {
        Event::Preparing { boot, .. } => Some(boot),
        _ => None,
    });
    let message = if boot.is_some_and(|boot| *boot != this_boot) {
        "the node rebooted while it ran the job"
    } else {
        "its supervisor on the node was killed, and so were its remaining processes"
    };
    let started_at = events.iter().find_map(|event| match event {
        Event::Running { since } => Some(*since),
        _ => None,
    });
    Ok(StepEnd { started_at, ..never_ran_end(EndCause::Lost, Some(message.to_owned())) })
}

fn clean_up(
    id: AttemptId,
    spec: Option<&StepSpec>,
    parent: &CgroupParent,
) -> Result<(), RecoveryError> {
    let failed = |source| RecoveryError::Cgroup { id, source };
    let parent = spec.map_or(parent, |spec| &spec.cgroup);
    // Without an owner, no process is found by its user.
    let owner = spec.map_or(Uid(u32::MAX), |spec| spec.launch.owner.uid);
    let step = id.to_string();
    let hooks = HookKind::ALL.map(|kind| kind.cgroup_name(&step));
    for cgroup_name in std::iter::once(step).chain(hooks) {
        let group = cgroup::open(parent, &cgroup_name, owner, None).map_err(failed)?;
        cgroup::kill_all(group.as_ref(), TRY).map_err(failed)?;
        cgroup::remove(group.as_ref(), TRY).map_err(failed)?;
    }
    Ok(())
}
