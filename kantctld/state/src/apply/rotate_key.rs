//! `RotateKey`: the steps of the replacement of the cluster key. For operators only, except for
//! the next step when all hosts have followed.

use super::target;
use crate::command::{Actor, KeyAction};
use crate::event::Event;
use crate::key_rotation::Rotation;
use crate::state::State;
use common::id::Uid;
use common::reason::{KeyRotationRefusal, Refusal};
use common::wire::api::RotationStep;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    action: &KeyAction,
) -> Result<(), Refusal> {
    match action {
        KeyAction::Begin { actor, new, followed } => begin(state, events, actor, (new, *followed)),
        KeyAction::Advance { generation, actor } => {
            advance(state, events, *generation, actor.as_ref())
        }
        KeyAction::Adopt { actor, authority } => adopt(state, events, actor, authority),
        KeyAction::Cancel { actor } => cancel(state, events, actor),
    }
}

fn begin(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    (new, followed): (&str, u32),
) -> Result<(), Refusal> {
    target::operators_only(actor)?;
    if !state.keys.is_settled() {
        return Err(KeyRotationRefusal::Underway.into());
    }
    state.keys.generation = state.keys.generation.max(followed);
    let (new, step, by) = (new.to_owned(), RotationStep::Trust, actor.uid);
    state.keys.rotation = Some(Rotation { new, step, by, begun_at: state.now });
    begin_generation(state, events, Some(by));
    Ok(())
}

/// Begins the next step. `actor`: an operator who leaves hosts behind that have not followed.
fn advance(
    state: &mut State,
    events: &mut Vec<Event>,
    generation: u32,
    actor: Option<&Actor>,
) -> Result<(), Refusal> {
    actor.map_or(Ok(()), target::operators_only)?;
    let Some(rotation) = &mut state.keys.rotation else {
        return Err(KeyRotationRefusal::NotUnderway.into());
    };
    // Decided on an earlier state.
    if state.keys.generation != generation {
        return Ok(());
    }
    match rotation.step {
        RotationStep::Trust => {
            rotation.step = RotationStep::Issue;
            // They name the old authority, which controllers no longer show.
            state.invitations.clear();
        }
        RotationStep::Issue => {
            state.keys.authority = Some(rotation.new.clone());
            state.keys.rotation = None;
        }
    }
    begin_generation(state, events, actor.map(|actor| actor.uid));
    Ok(())
}

/// Takes the authority of the leader's key for that of the cluster.
fn adopt(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    authority: &str,
) -> Result<(), Refusal> {
    target::operators_only(actor)?;
    state.keys.rotation = None;
    state.keys.authority = Some(authority.to_owned());
    begin_generation(state, events, Some(actor.uid));
    Ok(())
}

fn cancel(state: &mut State, events: &mut Vec<Event>, actor: &Actor) -> Result<(), Refusal> {
    target::operators_only(actor)?;
    match state.keys.rotation.as_ref().map(|rotation| rotation.step) {
        None => return Err(KeyRotationRefusal::NotUnderway.into()),
        Some(RotationStep::Issue) => return Err(KeyRotationRefusal::InUse.into()),
        Some(RotationStep::Trust) => state.keys.rotation = None,
    }
    begin_generation(state, events, Some(actor.uid));
    Ok(())
}

fn begin_generation(state: &mut State, events: &mut Vec<Event>, by: Option<Uid>) {
    state.keys.generation += 1;
    events.push(Event::KeyStepBegun { generation: state.keys.generation, by });
}
