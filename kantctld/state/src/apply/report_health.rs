//! `ReportHealth`: records a node's findings on its own health. A new finding drains the node if
//! the node's policy asks for that. When the finding passes by itself, its drain ends unless
//! another finding needs it. A node to which this happens repeatedly stays drained until an
//! operator resumes it. A drain by an operator is never ended, and a finding that an operator has
//! seen does not drain the node again.

use crate::event::Event;
use crate::lifecycle::{self, Ending};
use crate::state::State;
use common::health::{Check, DrainCause, Finding, Response};
use common::id::{AttemptId, JobKey, NodeName, Uid};
use common::job::{Outcome, Phase};
use common::node::Drain;
use common::reason::{Note, Refusal};
use common::time::{Span, Time};

/// The user to which drains for health are attributed.
const SYSTEM: Uid = Uid(0);

/// The number of drains for health within [`FLAPPING_WITHIN`] that keeps a node drained.
const FLAPPING_AT: usize = 3;

/// See [`FLAPPING_AT`].
const FLAPPING_WITHIN: Span = Span::from_minutes(24 * 60);

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    name: &NodeName,
    findings: &[Finding],
) -> Result<(), Refusal> {
    let now = state.now;
    let unknown = || Refusal::UnknownNode { name: name.clone() };
    let node = state.nodes.get_mut(name).ok_or_else(unknown)?;
    let before = std::mem::replace(&mut node.findings, findings.to_vec());
    if node.drain.is_none() {
        // The node is in use, so every earlier finding that could drain it has been answered.
        node.answered.clone_from(&before);
    }
    // A finding that passed and returns counts as new.
    node.answered.retain(|finding| findings.contains(finding));
    let drains = |finding: &&Finding| finding.response >= Response::Drain;
    let open: Vec<&Finding> = findings
        .iter()
        .filter(|finding| drains(finding) && !node.answered.contains(finding))
        .collect();

    if node.drain.is_none() {
        if let Some(finding) = worst(&open) {
            let (cause, reason) = count_health_drain(&mut node.health_drains, finding, now);
            node.drain = Some(Drain { reason: reason.clone(), by: SYSTEM, since: now, cause });
            events.push(Event::NodeDrained { name: name.clone(), by: SYSTEM, reason });
        }
    } else if let Some((drain, check)) = node.drain.as_mut().and_then(passing_health_drain) {
        let left: Vec<&Finding> =
            open.iter().filter(|finding| finding.check.is_lasting()).copied().collect();
        let stays = open.iter().any(|finding| finding.check == check);
        match worst(&left).or_else(|| worst(&open).filter(|_| !stays)) {
            Some(finding) => {
                (drain.cause, drain.reason) = (DrainCause::Health(finding.check), reason(finding));
                let reason = drain.reason.clone();
                events.push(Event::NodeDrained { name: name.clone(), by: SYSTEM, reason });
            }
            None if !stays => {
                node.drain = None;
                events.push(Event::NodeResumed { name: name.clone(), by: SYSTEM });
            }
            None => {}
        }
    }
    let mut new = open.into_iter().filter(|finding| !before.contains(finding));
    if let Some(finding) = new.find(|finding| finding.response == Response::DrainNow) {
        let note = Note::NodeUnfit { node: name, finding };
        end_all(state, events, name, &note.to_string());
    }
    Ok(())
}

/// Counts one more drain for health, and keeps the node out if there were too many.
fn count_health_drain(
    drains: &mut Vec<Time>,
    finding: &Finding,
    now: Time,
) -> (DrainCause, String) {
    drains.retain(|at| *at + FLAPPING_WITHIN > now);
    drains.push(now);
    let (check, times) = (finding.check, drains.len());
    if times < FLAPPING_AT {
        return (DrainCause::Health(check), reason(finding));
    }
    (DrainCause::Flapping(check), Note::Flapping { finding, times }.to_string())
}

fn reason(finding: &Finding) -> String {
    Note::Health { finding }.to_string()
}

/// The finding that asks for the strongest response.
fn worst<'a>(findings: &[&'a Finding]) -> Option<&'a Finding> {
    findings.iter().copied().max_by_key(|finding| finding.response)
}

/// The drain and its check, if it is for a finding that may pass by itself.
const fn passing_health_drain(drain: &mut Drain) -> Option<(&mut Drain, Check)> {
    match drain.cause {
        DrainCause::Health(check) if !check.is_lasting() => Some((drain, check)),
        _ => None,
    }
}

/// Ends the jobs on the node. Those that may be requeued start again elsewhere.
fn end_all(state: &mut State, events: &mut Vec<Event>, name: &NodeName, message: &str) {
    let held: Vec<AttemptId> = state.ledger.holders(name).collect();
    let gives_up = |key: JobKey| {
        let run = state.element(key).and_then(|(_, element)| element.run.as_ref());
        run.is_some_and(|run| run.leaving().any(|node| node == name))
    };
    // A job that is giving up this node need not end.
    let held: Vec<AttemptId> = held.into_iter().filter(|id| !gives_up(id.key)).collect();
    for id in held {
        let key = id.key;
        // Nor need a job that this node was only about to join.
        if lifecycle::turn_away_node(state, events, id, name, message) {
            continue;
        }
        let phase = state.element(key).map(|(_, element)| element.phase);
        if matches!(phase, Some(Phase::Starting | Phase::Running | Phase::Suspended)) {
            let requeue = state.job(key.job).is_some_and(|record| record.spec.ask.requeue);
            let message = Some(message.to_owned());
            let ending = Ending { requeue, message, ..Ending::new(Outcome::NodeLost) };
            lifecycle::end_attempt(state, events, key, ending);
        }
    }
}
