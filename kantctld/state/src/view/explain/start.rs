//! When a waiting job will start, in one sentence: at about which time, how long that is from now,
//! and what may make it sooner. Never guesses: where nobody can say, that is said.

use super::length;
use super::waiting::Waiting;
use common::reason::WaitReason;
use common::time::Time;

/// When it will start; `None`: the reason says it all.
pub(super) fn start(waiting: &Waiting<'_>, reason: &WaitReason) -> Option<String> {
    match reason {
        WaitReason::Held
        | WaitReason::QueueGone { .. }
        | WaitReason::DeadlineTooNear { .. }
        | WaitReason::ReservationClosed { from: None, .. } => return None,
        WaitReason::NeverFits { .. } => {
            return Some("it will never start as things are".to_owned());
        }
        reason if reason.is_for_ever() => return None,
        WaitReason::NodesUnavailable { .. } => {
            let told = "nobody can say when it starts: nodes come back when somebody sees to it";
            return Some(told.to_owned());
        }
        _ => {}
    }
    if let Some(deadline) = waiting.will_miss() {
        return Some(format!(
            "as things are, it cannot start in time to be over by its deadline, {deadline}"
        ));
    }
    let Some(at) = waiting.forecast.expected_at else {
        return Some(unknown(waiting).to_owned());
    };
    let length = length::words(at.since(waiting.now));
    if waiting.forecast.bounded {
        return Some(format!("nobody can say when it starts, only that it takes {length} or more"));
    }
    if at <= waiting.now {
        return Some("it is expected to start any moment".to_owned());
    }
    if gate(reason).is_some_and(|gate| at <= gate) {
        return Some(format!("it is expected to start then, in {length}"));
    }
    if matches!(reason, WaitReason::NodesReserved { to, .. } if at == *to) {
        return Some(format!("it is expected to start when that is over, in {length}"));
    }
    let runs = waiting.snapshot.all_running().next().is_some();
    let sooner = if runs { ", or sooner if jobs end before their time limits" } else { "" };
    Some(format!("it is expected to start at about {at} (in {length}){sooner}"))
}

/// The time before which the reason does not let it start.
const fn gate(reason: &WaitReason) -> Option<Time> {
    match reason {
        WaitReason::BeginTime { at } => Some(*at),
        WaitReason::BackOff { until } => Some(*until),
        WaitReason::ReservationClosed { from, .. } => *from,
        _ => None,
    }
}

fn unknown(waiting: &Waiting<'_>) -> &'static str {
    let mut running = waiting.snapshot.all_running();
    match running.any(|job| job.ends_by.is_none() && !job.ending) {
        true => "nobody can say when it starts: jobs that run now have no time limit",
        false => "nobody can say when it starts",
    }
}
