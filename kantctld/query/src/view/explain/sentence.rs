//! The reason why a job waits, in more detail than in lists: who holds it, which of its amounts are
//! defaults, and what is wrong with which node.

use super::waiting::Waiting;
use super::{length, outage};
use common::reason::{Need, WaitReason};
use state::timeline::TimelineEvent;

/// The reason, without the expected start, which has a line of its own.
pub(super) fn sentence(waiting: &Waiting<'_>, reason: &WaitReason) -> String {
    let mut reason = reason.clone();
    if let Some(expected_at) = reason.expected_at_mut() {
        *expected_at = None;
    }
    match &reason {
        WaitReason::Held => held(waiting),
        WaitReason::NodesReserved { name, from, to } if *from <= waiting.now => {
            format!("reservation {name} holds the nodes that are free, until {to}")
        }
        WaitReason::NodesReserved { name, .. } if waiting.job.ask.time_limit.is_some() => {
            let what = match waiting.state.reservation(name) {
                Some(booking) if booking.maintenance => "that maintenance",
                _ => "that",
            };
            let limit = waiting.job.ask.time_limit.map(length::in_words).unwrap_or_default();
            format!("{reason}, and its time limit, {limit}, reaches into {what}")
        }
        WaitReason::NodesReserved { .. } => {
            format!("{reason}, and without a time limit it might run into that")
        }
        WaitReason::NodesUnavailable { need, .. } => match outage::sentence(waiting, need) {
            Some(outage) => format!("needs {}; {outage}", needs_in_words(waiting, need)),
            None => reason.to_string(),
        },
        WaitReason::Resources { need, .. } | WaitReason::NeverFits { need, .. } => {
            reason.to_string().replacen(&need.to_string(), &needs_in_words(waiting, need), 1)
        }
        _ => reason.to_string(),
    }
}

/// What the job needs, with default amounts marked as such.
fn needs_in_words(waiting: &Waiting<'_>, need: &Need) -> String {
    let request = &waiting.job.ask.request;
    if request.memory.is_none() && !request.exclusive {
        format!("{need:#}")
    } else {
        need.to_string()
    }
}

fn held(waiting: &Waiting<'_>) -> String {
    let element = waiting.state.element(waiting.job.key).map(|(_, element)| element);
    if element.is_some_and(|element| element.held_by.includes_operator()) {
        return "an operator holds it".to_owned();
    }
    if element.is_some_and(|element| element.held_by.includes_coordinator()) {
        return "a coordinator holds it".to_owned();
    }
    let last = element.into_iter().flat_map(|element| element.timeline.iter().rev());
    let by = last.into_iter().find_map(|line| match &line.what {
        TimelineEvent::Held(by) => Some(Some(*by)),
        TimelineEvent::HeldForFaults { .. } => Some(None),
        _ => None,
    });
    match by {
        Some(None) => waiting.job.message.clone().unwrap_or_else(|| {
            "it is held, after attempts that failed for no fault of its own".to_owned()
        }),
        Some(Some(_)) => "its user holds it".to_owned(),
        None => "it was submitted with --hold and is not released yet".to_owned(),
    }
}
