//! `RevokeToken`: ends a token, by its user or an operator.

use crate::command::Actor;
use crate::event::Event;
use crate::state::State;
use common::reason::{Refusal, TokenRefusal};
use common::right::Right;
use common::token::TokenId;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    id: &TokenId,
) -> Result<(), Refusal> {
    let found = state.token_by_id(id);
    let own = found.filter(|(_, token)| actor.has_for(Right::Own, token.uid));
    let (hash, uid) = match own {
        Some((hash, token)) => (hash.to_owned(), token.uid),
        None => return Err(TokenRefusal::Unknown { id: id.clone() }.into()),
    };
    state.tokens.remove(&hash);
    events.push(Event::TokenRevoked { id: id.clone(), uid, by: actor.uid });
    Ok(())
}
