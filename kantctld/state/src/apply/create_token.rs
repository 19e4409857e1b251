//! `CreateToken`: lets a program act for the user who asks for it, within scopes and for a limited
//! time. The state holds a hash of the secret and never the secret itself.

use crate::command::{Actor, NewToken};
use crate::event::Event;
use crate::state::State;
use crate::token::Token;
use common::reason::{BadRequest, Refusal, TokenRefusal};
use common::text::is_all_shown;
use common::token::{LIFESPAN_MAX, NAME_BYTES_MAX, Scope, TOKENS_EACH, TokenId};

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    actor: &Actor,
    new: &NewToken,
) -> Result<(), Refusal> {
    check(state, actor, new)?;
    drop_expired(state);
    let id = TokenId::of_hash(&new.hash);
    let token = Token {
        uid: actor.uid,
        gid: new.gid,
        name: new.name.clone(),
        scopes: new.scopes.clone(),
        created: state.now,
        until: state.now + new.lifespan,
        via: new.via.clone(),
    };
    events.push(Event::TokenCreated { id, uid: actor.uid, until: token.until });
    state.tokens.insert(new.hash.clone(), token);
    Ok(())
}

fn check(state: &State, actor: &Actor, new: &NewToken) -> Result<(), Refusal> {
    if new.lifespan.is_zero() || new.lifespan > LIFESPAN_MAX {
        return Err(BadRequest::TokenLifespan { most: LIFESPAN_MAX }.into());
    }
    if new.scopes.is_empty() {
        return Err(BadRequest::TokenWithoutScope.into());
    }
    if new.name.len() > NAME_BYTES_MAX || !is_all_shown(&new.name) {
        return Err(BadRequest::TokenName { most: NAME_BYTES_MAX }.into());
    }
    if new.scopes.contains(&Scope::Admin) && !actor.operator && actor.roles.is_none() {
        return Err(TokenRefusal::AdminScope.into());
    }
    if state.tokens().filter(|(_, token)| token.uid == actor.uid).count() >= TOKENS_EACH {
        return Err(TokenRefusal::TooMany { limit: TOKENS_EACH }.into());
    }
    let id = TokenId::of_hash(&new.hash);
    if !State::is_hash(&new.hash) || state.token_by_id(&id).is_some() {
        return Err(TokenRefusal::SameId.into());
    }
    Ok(())
}

/// Removes expired tokens.
pub(super) fn drop_expired(state: &mut State) {
    let now = state.now;
    state.tokens.retain(|_, token| token.until > now);
}
