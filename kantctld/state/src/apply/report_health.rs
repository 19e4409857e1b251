//! `ReportHealth`: all that a node finds wrong with itself. A new finding drains it, if the node's
//! policy says so; one that passed by itself ends the drain it caused, unless another is left to
//! drain for; a node that this happens to again and again stays drained until an operator has
//! looked at it.
//! Never touches an operator's drain, and never drains again for what an operator has seen.

use crate::event::Event;
use crate::life::{self, Ending};
use crate::remembered::State;
use common::health::{Check, DrainCause, Finding, Response};
use common::id::{AttemptId, JobKey, NodeName, Uid};
use common::job::{Outcome, Phase};
use common::node::Drain;
use common::reason::Refusal;
use common::time::{Span, Time};

/// Who drains a node that drains itself.
const SYSTEM: Uid = Uid(0);

/// A node that is drained so often for its health within [`FLAPPING_WITHIN`] is held out.
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
        // Whatever would drain it has been answered: else it would not be in use.
        node.answered.clone_from(&before);
    }
    // What passed and comes back is new.
    node.answered.retain(|finding| findings.contains(finding));
    let drains = |finding: &&Finding| finding.response >= Response::Drain;
    let open: Vec<&Finding> = findings
        .iter()
        .filter(|finding| drains(finding) && !node.answered.contains(finding))
        .collect();

    if node.drain.is_none() {
        if let Some(finding) = worst(&open) {
            let (cause, reason) = judge(&mut node.health_drains, finding, now);
            node.drain = Some(Drain { reason: reason.clone(), by: SYSTEM, since: now, cause });
            events.push(Event::NodeDrained { name: name.clone(), by: SYSTEM, reason });
        }
    } else if let Some((drain, check)) = node.drain.as_mut().and_then(passing) {
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
        let message = format!("node {name} is not fit to run it any more: {}", finding.says);
        end_all(state, events, name, &message);
    }
    Ok(())
}

/// Once more: is that too often?
fn judge(drains: &mut Vec<Time>, finding: &Finding, now: Time) -> (DrainCause, String) {
    drains.retain(|at| *at + FLAPPING_WITHIN > now);
    drains.push(now);
    let (check, says) = (finding.check, &finding.says);
    if drains.len() < FLAPPING_AT {
        return (DrainCause::Health(check), reason(finding));
    }
    let reason = format!(
        "{}: {says}; {} times within a day, so it is held out until `kantctl resume`",
        check.word(),
        drains.len()
    );
    (DrainCause::Flapping(check), reason)
}

fn reason(finding: &Finding) -> String {
    format!("{}: {}", finding.check.word(), finding.says)
}

/// The one that asks for most.
fn worst<'a>(findings: &[&'a Finding]) -> Option<&'a Finding> {
    findings.iter().copied().max_by_key(|finding| finding.response)
}

/// A drain for something that comes and goes by itself, and for what.
const fn passing(drain: &mut Drain) -> Option<(&mut Drain, Check)> {
    match drain.cause {
        DrainCause::Health(check) if !check.is_lasting() => Some((drain, check)),
        _ => None,
    }
}

/// Ends what runs there; what may be requeued starts again elsewhere.
fn end_all(state: &mut State, events: &mut Vec<Event>, name: &NodeName, message: &str) {
    let held: Vec<AttemptId> = state.ledger.holders(name).collect();
    let gives_up = |key: JobKey| {
        let run = state.element(key).and_then(|(_, element)| element.run.as_ref());
        run.is_some_and(|run| run.leaving().any(|node| node == name))
    };
    // Who runs on without this node need not end for it.
    let held: Vec<AttemptId> = held.into_iter().filter(|id| !gives_up(id.key)).collect();
    for id in held {
        let key = id.key;
        // Nor need one that it was to join.
        if life::keep_off(state, events, id, name, message) {
            continue;
        }
        let phase = state.element(key).map(|(_, element)| element.phase);
        if matches!(phase, Some(Phase::Starting | Phase::Running | Phase::Suspended)) {
            let requeue = state.job(key.job).is_some_and(|record| record.spec.ask.requeue);
            let message = Some(message.to_owned());
            let ending = Ending { requeue, message, ..Ending::new(Outcome::NodeLost) };
            life::ended(state, events, key, ending);
        }
    }
}
