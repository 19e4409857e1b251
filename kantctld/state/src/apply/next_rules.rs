//! The rules of the release after this one, as far as the test of a rolling upgrade needs them
//! (`cargo test -p e2e rolling_upgrade::`). Compiled only with the feature `next-rules`.

use super::drain_node;
use crate::command::{Actor, NEXT};
use crate::event::Event;
use crate::state::State;
use common::id::NodeName;
use common::job::Ask;
use common::reason::Refusal;

/// Drains a node and keeps a note in a field that older releases do not know.
pub(super) fn drain(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    (name, reason): (&NodeName, &str),
    note: &str,
) -> Result<(), Refusal> {
    drain_node::apply(state, events, actor, name, reason)?;
    let node = state.nodes.get_mut(name);
    node.into_iter().for_each(|node| node.note = Some(note.to_owned()));
    Ok(())
}

/// Another effect of a submission: a job without a comment gets one.
pub(super) fn with_default_comment(state: &State, ask: Ask) -> Ask {
    match state.rules_level() >= NEXT && ask.comment.is_none() {
        true => Ask { comment: Some("level-2".to_owned()), ..ask },
        false => ask,
    }
}
