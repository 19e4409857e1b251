//! The decision of a node: the next actions, given what is wanted and what is there.
//!
//! It is level-triggered: the result depends on the two inputs alone, so that it may be computed at
//! any time. An attempt is launched only with an order and only once, two attempts of one job never
//! live here at the same time, nothing is launched while an unwanted step lives (its CPUs and GPUs
//! may be allocated to the next job), and nothing happens before the controller has sent a full
//! update on this connection.

use crate::action::{DeclineReason, NodeAction};
use crate::desired::{Desired, Wanted};
use crate::observed::{Observed, is_alive};
use common::id::{Attempt, AttemptId, JobKey};
use common::wire::node::{StepPhase, Want};
use std::collections::BTreeMap;

/// The next actions: those that free resources first, those that take them last.
#[must_use]
pub fn reconcile(desired: &Desired, observed: &Observed) -> Vec<NodeAction> {
    if !desired.is_in_force() {
        return Vec::new();
    }
    let newest = newest_attempts(desired, observed);
    let is_unwanted = |(id, phase)| is_alive(phase) && desired.wanted(id).is_none();
    let has_unwanted = observed.iter().any(is_unwanted);
    let held =
        observed.iter().filter_map(|(id, phase)| action_for_held(desired.wanted(id), id, phase));
    let limits =
        observed.iter().filter_map(|(id, phase)| action_for_limit(desired, observed, id, phase));
    let sizes =
        observed.iter().filter_map(|(id, phase)| action_for_resize(desired, observed, id, phase));
    let absent = desired.iter().filter(|(id, _)| observed.phase(*id).is_none());
    let new =
        absent.filter_map(|(id, wanted)| action_for_absent(id, wanted, newest[&id.key], observed));
    let mut actions: Vec<NodeAction> = held.chain(limits).chain(sizes).chain(new).collect();
    actions.retain(|action| !(has_unwanted && matches!(action, NodeAction::Launch(_))));
    actions.sort_by_key(rank_of_action);
    actions
}

/// The action for an attempt that the node has.
fn action_for_held(
    wanted: Option<&Wanted>,
    id: AttemptId,
    phase: &StepPhase,
) -> Option<NodeAction> {
    match (wanted.map(|w| w.want), phase) {
        (None, StepPhase::Ended(_)) => Some(NodeAction::Forget(id)),
        (None | Some(Want::Stop), phase) if is_alive(phase) => Some(NodeAction::Stop(id)),
        (Some(Want::Run), StepPhase::Ready) => Some(NodeAction::Go(id)),
        (Some(Want::Run), StepPhase::Running { suspended, .. }) => {
            match (wanted.is_some_and(|w| w.suspended), *suspended) {
                (true, false) => Some(NodeAction::Suspend(id)),
                (false, true) => Some(NodeAction::Resume(id)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The action for a changed time limit of a step that has not ended.
fn action_for_limit(
    desired: &Desired,
    observed: &Observed,
    id: AttemptId,
    phase: &StepPhase,
) -> Option<NodeAction> {
    let wanted = desired.wanted(id).filter(|w| w.want != Want::Stop && is_alive(phase))?;
    let limit = wanted.time_limit.filter(|limit| observed.limit(id) != Some(*limit))?;
    Some(NodeAction::Limit(id, limit))
}

/// The action for a resize of a running step.
fn action_for_resize(
    desired: &Desired,
    observed: &Observed,
    id: AttemptId,
    phase: &StepPhase,
) -> Option<NodeAction> {
    let runs = matches!(phase, StepPhase::Running { .. });
    let wanted = desired.wanted(id).filter(|wanted| wanted.want == Want::Run && runs)?;
    let resized = wanted.resized.as_ref()?;
    let is_news = observed.resize_number(id).is_none_or(|sent| sent < resized.number);
    is_news.then(|| NodeAction::Resize(id, resized.clone()))
}

/// The action for a wanted attempt that the node does not have.
fn action_for_absent(
    id: AttemptId,
    wanted: &Wanted,
    newest: Attempt,
    observed: &Observed,
) -> Option<NodeAction> {
    if wanted.want == Want::Stop {
        return Some(NodeAction::Decline(id, DeclineReason::StoppedBeforeLaunch));
    }
    if observed.newest_forgotten_attempt(id.key) == Some(id.attempt) {
        return Some(NodeAction::Decline(id, DeclineReason::EndedBefore));
    }
    if id.attempt < newest {
        return Some(NodeAction::Decline(id, DeclineReason::Superseded));
    }
    let Some(order) = &wanted.order else {
        return Some(NodeAction::Decline(id, DeclineReason::NotHeld));
    };
    let waits = observed.alive_attempts_of(id.key).next().is_some();
    (!waits).then(|| NodeAction::Launch(order.clone()))
}

/// The highest attempt of each job that is wanted, is here, or was here.
fn newest_attempts(desired: &Desired, observed: &Observed) -> BTreeMap<JobKey, Attempt> {
    let mut newest = BTreeMap::new();
    for id in desired.iter().map(|(id, _)| id).chain(observed.iter().map(|(id, _)| id)) {
        let past = observed.newest_forgotten_attempt(id.key).unwrap_or_default();
        let attempt = newest.entry(id.key).or_insert(past);
        *attempt = id.attempt.max(*attempt);
    }
    newest
}

/// The rank of an action: stops first, launches last.
const fn rank_of_action(action: &NodeAction) -> u8 {
    match action {
        NodeAction::Stop(_) => 0,
        NodeAction::Forget(_) => 1,
        NodeAction::Decline(..) => 2,
        NodeAction::Suspend(_) | NodeAction::Limit(..) | NodeAction::Resize(..) => 3,
        NodeAction::Go(_) | NodeAction::Resume(_) => 4,
        NodeAction::Launch(_) => 5,
    }
}
