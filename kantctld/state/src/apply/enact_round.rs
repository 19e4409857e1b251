//! `EnactRound`: carries out the decisions of a round, first preemptions, then starts, then growth.
//! Each entry is applied whole or not at all; of the entries of one group, all or none. An entry
//! that no longer fits the state is refused and the others go on. No replacement is searched for.

use crate::command::{RoundGrow, RoundPreempt, RoundShrink, RoundStart};
use crate::event::Event;
use crate::ledger::StartRefusal;
use crate::lifecycle;
use crate::state::State;
use common::id::{AttemptId, JobKey};
use common::reason::Refusal;
use std::collections::BTreeMap;

#[allow(clippy::unnecessary_wraps)] // all commands have the same signature
pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    (preempts, shrinks): (&[RoundPreempt], &[RoundShrink]),
    (starts, grows): (&[RoundStart], &[RoundGrow]),
) -> Result<(), Refusal> {
    for entry in preempts {
        if let Err(reason) = lifecycle::preempt(state, events, entry) {
            refuse(events, entry.id, reason);
        }
    }
    for entry in shrinks {
        if let Err(reason) = lifecycle::shrink_for_preemptor(state, events, entry) {
            refuse(events, entry.id, reason);
        }
    }
    let mut groups: BTreeMap<JobKey, Vec<&RoundStart>> = BTreeMap::new();
    for start in starts {
        if let Some(group) = start.group {
            groups.entry(group).or_default().push(start);
        }
    }
    for start in starts {
        match start.group {
            None => {
                if let Err(reason) = lifecycle::start(state, events, start) {
                    refuse(events, start.id, reason);
                }
            }
            // A group starts in the place of its first entry.
            Some(group) => {
                if let Some(members) = groups.remove(&group) {
                    start_gang(state, events, &members);
                }
            }
        }
    }
    for entry in grows {
        if let Err(reason) = lifecycle::grow(state, events, entry) {
            refuse(events, entry.id, reason);
        }
    }
    Ok(())
}

fn start_gang(state: &mut State, events: &mut Vec<Event>, members: &[&RoundStart]) {
    let Err((guilty, reason)) = lifecycle::start_together(state, events, members) else { return };
    let broken_by = members[guilty].id.key;
    for (place, start) in members.iter().enumerate() {
        let broken = || StartRefusal::GroupBroken(broken_by);
        refuse(events, start.id, if place == guilty { reason.clone() } else { broken() });
    }
}

/// Refusals are events of the answer only. They are not in a job's timeline, since the next round
/// usually corrects them.
fn refuse(events: &mut Vec<Event>, id: AttemptId, reason: StartRefusal) {
    events.push(Event::RoundEntryRefused { id, reason });
}
