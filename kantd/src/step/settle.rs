//! What kantd makes of a step's directory: whether its supervisor lives, and if not, how the step
//! ended. A step whose supervisor died without a last word is lost: what is left of it is killed,
//! and its end written down. Blocks; never called on an async thread.

use super::boot;
use super::dir::StepDir;
use super::fault::LaunchFault;
use super::hook::HookKind;
use super::journal::{self, Event, Journal};
use super::order::StepOrder;
use super::private;
use crate::cgroup::{self, CgroupError, Place};
use crate::clock;
use common::id::{AttemptId, Uid};
use common::job::{EndCause, ExitStatus, StepEnd, Usage};
use std::io;
use std::time::Duration;

/// How long one try to kill and remove what a lost step left behind may take.
const TRY: Duration = Duration::from_secs(5);

/// What a step's directory holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// No order, and no supervisor was ever there.
    Nothing,
    /// An order that no supervisor has taken on yet.
    Unlaunched,
    Alive,
    Ended(Box<StepEnd>),
}

/// A step whose state could not be found out, or made tidy, now.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    /// Its directory could not be read or written.
    #[error("failed to settle step {id}: {source}")]
    Io { id: AttemptId, source: io::Error },
    /// What a lost step left behind could not be killed or removed.
    #[error("failed to clean up after lost step {id}: {source}")]
    Cgroup { id: AttemptId, source: CgroupError },
}

/// Was the directory never finished? It has no whole order, and no supervisor was ever there: kantd
/// died while it made it, or the power was cut before anything of it was synced.
pub fn is_half_made(dir: &StepDir) -> bool {
    let is_torn = match std::fs::read(dir.order()) {
        Ok(text) => serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_err(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    is_torn && journal::read(&dir.journal()).is_ok_and(|events| events.is_empty())
}

/// Finds out what became of a step; of a lost one, makes an end. `place` is where its cgroup would
/// be if its order cannot be read.
///
/// # Errors
/// [`SettleError`]; worth another try later.
pub fn settle(dir: &StepDir, id: AttemptId, place: &Place) -> Result<Found, SettleError> {
    let io = |source| SettleError::Io { id, source };
    // Held to the end of this function: no supervisor starts meanwhile.
    let Some(_lock) = dir.try_lock().map_err(io)? else { return Ok(Found::Alive) };
    let events = journal::read(&dir.journal()).map_err(io)?;
    let order = dir.read_order();
    let end = match (events.last(), order) {
        (Some(Event::Ended(end)), _) => return Ok(Found::Ended(end.clone())),
        (None, Ok(_)) => return Ok(Found::Unlaunched),
        (None, Err(e)) if e.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        (None, Err(e)) => {
            failed_launch(LaunchFault::of_node(format!("failed to read the order of {id}: {e}")))
        }
        (Some(_), order) => {
            clean_up(id, order.ok().as_ref(), place)?;
            private::remove(dir).map_err(io)?;
            lost(&events).map_err(io)?
        }
    };
    let (mut journal, _) = Journal::open(&dir.journal()).map_err(io)?;
    journal.append(&Event::Ended(Box::new(end.clone()))).map_err(io)?;
    Ok(Found::Ended(Box::new(end)))
}

/// Writes down that this node could not launch a step, unless a supervisor took it on after all.
///
/// # Errors
/// [`SettleError`]; worth another try later.
pub fn give_up(dir: &StepDir, id: AttemptId, why: String) -> Result<(), SettleError> {
    let io = |source| SettleError::Io { id, source };
    let Some(_lock) = dir.try_lock().map_err(io)? else { return Ok(()) };
    let (mut journal, events) = Journal::open(&dir.journal()).map_err(io)?;
    if events.is_empty() {
        let end = failed_launch(LaunchFault::of_node(why));
        journal.append(&Event::Ended(Box::new(end))).map_err(io)?;
    }
    Ok(())
}

/// The end of a step that could not be launched.
pub fn failed_launch(fault: LaunchFault) -> StepEnd {
    never_ran(fault.cause, Some(fault.message))
}

/// The end of a step that never ran.
pub fn never_ran(cause: EndCause, message: Option<String>) -> StepEnd {
    StepEnd {
        cause,
        exit: ExitStatus::default(),
        started_at: None,
        ended_at: clock::now(),
        usage: Usage::default(),
        message,
        steps: Vec::new(),
    }
}

fn lost(events: &[Event]) -> io::Result<StepEnd> {
    let this_boot = boot::boot_id()?;
    let boot = events.iter().find_map(|event| match event {
        Event::Preparing { boot, .. } => Some(boot),
        _ => None,
    });
    let message = if boot.is_some_and(|boot| *boot != this_boot) {
        "the node rebooted while it had the job"
    } else {
        "its supervisor on the node was killed; what was left of the job was killed too"
    };
    let started_at = events.iter().find_map(|event| match event {
        Event::Running { since } => Some(*since),
        _ => None,
    });
    Ok(StepEnd { started_at, ..never_ran(EndCause::Lost, Some(message.to_owned())) })
}

fn clean_up(id: AttemptId, order: Option<&StepOrder>, place: &Place) -> Result<(), SettleError> {
    let failed = |source| SettleError::Cgroup { id, source };
    let place = order.map_or(place, |order| &order.cgroup);
    // Without an owner, nobody's processes are touched.
    let owner = order.map_or(Uid(u32::MAX), |order| order.launch.owner.uid);
    let step = id.to_string();
    let hooks = HookKind::ALL.map(|kind| kind.group(&step));
    for group in std::iter::once(step).chain(hooks) {
        let group = cgroup::open(place, &group, owner, None).map_err(failed)?;
        cgroup::kill_all(group.as_ref(), TRY).map_err(failed)?;
        cgroup::remove(group.as_ref(), TRY).map_err(failed)?;
    }
    Ok(())
}
