//! The expected start of a waiting job in one sentence: the time, how long that is from now, and
//! what may make it earlier. An unknown start is reported as unknown.

use super::waiting::Waiting;
use super::{length, outage};
use common::id::JobKey;
use common::job::Phase;
use common::reason::WaitReason;
use common::time::Time;

/// The expected start; `None` if the reason already answers that.
pub(super) fn expected_start_line(waiting: &Waiting<'_>, reason: &WaitReason) -> Option<String> {
    match reason {
        WaitReason::Held
        | WaitReason::Dependency { .. }
        | WaitReason::QueueGone { .. }
        | WaitReason::DeadlineTooNear { .. }
        | WaitReason::ReservationClosed { from: None, .. } => return None,
        WaitReason::NeverFits { .. }
        | WaitReason::NeverNear { .. }
        | WaitReason::DependencyNever { .. } => {
            return Some("it will never start as things are".to_owned());
        }
        reason if reason.is_for_ever() => return None,
        WaitReason::NodesUnavailable { .. } => {
            let unknown = "its start is unknown: it depends on when nodes come back";
            return Some(unknown.to_owned());
        }
        _ => {}
    }
    if let Some(deadline) = waiting.deadline_likely_missed() {
        let late = match waiting.waits_for_jobs() {
            true => {
                "if the jobs that run now use all their time, it cannot be over by its deadline"
            }
            false => "it cannot be over by its deadline",
        };
        let latest = waiting.latest_start();
        let latest = latest.map(|at| format!("; it can start until {at}")).unwrap_or_default();
        return Some(format!("{late}, {deadline}{latest}"));
    }
    let Some(at) = waiting.forecast.expected_at else {
        return Some(unknown_start_line(waiting));
    };
    let length = length::in_words(at.since(waiting.now));
    if waiting.forecast.bounded {
        return Some(format!("its start is unknown, but it takes {length} or more"));
    }
    if at <= waiting.now {
        return Some("it is expected to start any moment".to_owned());
    }
    if earliest_start(reason).is_some_and(|gate| at <= gate) {
        return Some(format!("it is expected to start then, in {length}"));
    }
    if matches!(reason, WaitReason::NodesReserved { to, .. } if at == *to) {
        return Some(format!("it is expected to start when that is over, at {at} (in {length})"));
    }
    let runs = waiting.snapshot.all_running().next().is_some();
    let sooner = if runs { ", or sooner if jobs end before their time limits" } else { "" };
    Some(format!("it is expected to start at about {at} (in {length}){sooner}"))
}

/// The time before which the reason keeps the job from starting.
const fn earliest_start(reason: &WaitReason) -> Option<Time> {
    match reason {
        WaitReason::BeginTime { at } => Some(*at),
        WaitReason::BackOff { until } => Some(*until),
        WaitReason::ReservationClosed { from, .. } => *from,
        _ => None,
    }
}

/// The maximum number of jobs that are named.
const NAMED_MAX: usize = 3;

fn unknown_start_line(waiting: &Waiting<'_>) -> String {
    let running = waiting.snapshot.all_running();
    let endless = running.filter(|job| job.ends_by.is_none() && !job.ending);
    let is_still =
        |key| waiting.state.element(key).is_some_and(|(_, found)| found.phase == Phase::Suspended);
    // A suspended job has no known end, even with a time limit.
    let (still, endless): (Vec<JobKey>, Vec<JobKey>) =
        endless.map(|job| job.key).partition(|key| is_still(*key));
    let endless: Vec<String> = endless.iter().map(ToString::to_string).collect();
    let unknown = "its start is unknown";
    if let ([], [first, others @ ..]) = (endless.as_slice(), still.as_slice()) {
        let others = match others.len() {
            0 => " is".to_owned(),
            more => format!(" and {more} more are"),
        };
        return format!("{unknown}: job {first}{others} suspended for an unknown time");
    }
    match endless.as_slice() {
        [] => match outage::named_nodes_sentence(waiting) {
            Some(outage) => format!("{unknown}: {outage}"),
            None => unknown.to_owned(),
        },
        [one] => format!("{unknown}: job {one}, which runs now, has no time limit"),
        [all @ .., last] if all.len() < NAMED_MAX => {
            let all = all.join(", ");
            format!("{unknown}: jobs {all} and {last}, which run now, have no time limit")
        }
        all => format!("{unknown}: {} jobs that run now have no time limit", all.len()),
    }
}
