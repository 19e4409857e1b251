//! The one decision of a node: given what is wanted and what is there, what to do next.
//!
//! Level, not edge: the answer depends on nothing but the two, so it may be asked for at any time
//! and as often as one likes. Never launches without an order, never launches an attempt that is
//! held already, never lets two attempts of one job live here at once, launches nothing beside a
//! stranger (a step that lives unwanted: its CPUs and GPUs may have been given to the next), and
//! touches nothing before the controller has said on this connection what it wants.

use crate::action::{DeclineReason, NodeAction};
use crate::desired::{Desired, Wanted};
use crate::observed::{Observed, is_living};
use common::id::{Attempt, AttemptId, JobKey};
use common::wire::node::{StepPhase, Want};
use std::collections::BTreeMap;

/// What the node must do next: first what frees resources, then what takes them.
#[must_use]
pub fn reconcile(desired: &Desired, observed: &Observed) -> Vec<NodeAction> {
    if !desired.is_in_force() {
        return Vec::new();
    }
    let newest = newest_attempts(desired, observed);
    let is_stranger = |(id, phase)| is_living(phase) && desired.wanted(id).is_none();
    let crowded = observed.iter().any(is_stranger);
    let held = observed.iter().filter_map(|(id, phase)| settle(desired.wanted(id), id, phase));
    let limits = observed.iter().filter_map(|(id, phase)| limit(desired, observed, id, phase));
    let sizes = observed.iter().filter_map(|(id, phase)| resize(desired, observed, id, phase));
    let absent = desired.iter().filter(|(id, _)| observed.phase(*id).is_none());
    let new = absent.filter_map(|(id, wanted)| begin(id, wanted, newest[&id.key], observed));
    let mut actions: Vec<NodeAction> = held.chain(limits).chain(sizes).chain(new).collect();
    actions.retain(|action| !(crowded && matches!(action, NodeAction::Launch(_))));
    actions.sort_by_key(place);
    actions
}

/// For an attempt that the node holds.
fn settle(wanted: Option<&Wanted>, id: AttemptId, phase: &StepPhase) -> Option<NodeAction> {
    match (wanted.map(|w| w.want), phase) {
        (None, StepPhase::Ended(_)) => Some(NodeAction::Forget(id)),
        (None | Some(Want::Stop), phase) if is_living(phase) => Some(NodeAction::Stop(id)),
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

/// For an attempt that the node holds and that goes on: its time limit, if that is another now.
fn limit(
    desired: &Desired,
    observed: &Observed,
    id: AttemptId,
    phase: &StepPhase,
) -> Option<NodeAction> {
    let wanted = desired.wanted(id).filter(|w| w.want != Want::Stop && is_living(phase))?;
    let limit = wanted.time_limit.filter(|limit| observed.limit(id) != Some(*limit))?;
    Some(NodeAction::Limit(id, limit))
}

/// For an attempt that runs and was given another size: that it is told, once it can be.
fn resize(
    desired: &Desired,
    observed: &Observed,
    id: AttemptId,
    phase: &StepPhase,
) -> Option<NodeAction> {
    let runs = matches!(phase, StepPhase::Running { .. });
    let wanted = desired.wanted(id).filter(|wanted| wanted.want == Want::Run && runs)?;
    let resized = wanted.resized.as_ref()?;
    let is_news = observed.size(id).is_none_or(|told| told < resized.number);
    is_news.then(|| NodeAction::Resize(id, resized.clone()))
}

/// For an attempt that is wanted and that the node does not hold.
fn begin(
    id: AttemptId,
    wanted: &Wanted,
    newest: Attempt,
    observed: &Observed,
) -> Option<NodeAction> {
    if wanted.want == Want::Stop {
        return Some(NodeAction::Decline(id, DeclineReason::StoppedBeforeLaunch));
    }
    if observed.past(id.key) == Some(id.attempt) {
        return Some(NodeAction::Decline(id, DeclineReason::EndedBefore));
    }
    if id.attempt < newest {
        return Some(NodeAction::Decline(id, DeclineReason::Superseded));
    }
    let Some(order) = &wanted.order else {
        return Some(NodeAction::Decline(id, DeclineReason::NotHeld));
    };
    let waits = observed.living_of(id.key).next().is_some();
    (!waits).then(|| NodeAction::Launch(order.clone()))
}

/// The highest attempt of each job that is wanted, is held, or was here before.
fn newest_attempts(desired: &Desired, observed: &Observed) -> BTreeMap<JobKey, Attempt> {
    let mut newest = BTreeMap::new();
    for id in desired.iter().map(|(id, _)| id).chain(observed.iter().map(|(id, _)| id)) {
        let past = observed.past(id.key).unwrap_or_default();
        let attempt = newest.entry(id.key).or_insert(past);
        *attempt = id.attempt.max(*attempt);
    }
    newest
}

/// The place of an action in the order: stops first, launches last.
const fn place(action: &NodeAction) -> u8 {
    match action {
        NodeAction::Stop(_) => 0,
        NodeAction::Forget(_) => 1,
        NodeAction::Decline(..) => 2,
        NodeAction::Suspend(_) | NodeAction::Limit(..) | NodeAction::Resize(..) => 3,
        NodeAction::Go(_) | NodeAction::Resume(_) => 4,
        NodeAction::Launch(_) => 5,
    }
}
