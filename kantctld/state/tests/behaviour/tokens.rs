//! Tokens of programs: created by users for themselves, within limits, and revoked.

use crate::house::{House, OPERATOR, USER};
use common::id::{Gid, Uid};
use common::reason::{Refusal, TokenRefusal};
use common::time::Span;
use common::token::{LIFESPAN_MAX, Scope, TOKENS_EACH, TokenId};
use state::{Actor, Command, Event, NewToken};

const HOUR: Span = Span::from_minutes(60);
const OTHER: Actor = Actor::user(Uid(77));

fn hash(number: usize) -> String {
    format!("{number:012x}{:052x}", 0)
}

fn id(number: usize) -> TokenId {
    TokenId::of_hash(&hash(number))
}

fn new(number: usize) -> NewToken {
    NewToken {
        hash: hash(number),
        gid: Gid(100),
        name: "grafana".to_owned(),
        scopes: [Scope::JobsRead].into(),
        lifespan: HOUR,
        via: None,
    }
}

fn create(actor: Actor, token: NewToken) -> Command {
    Command::CreateToken { actor, token: Box::new(token) }
}

fn revoke(actor: Actor, number: usize) -> Command {
    Command::RevokeToken { actor, id: id(number) }
}

#[test]
fn a_token_is_known_by_the_hash_of_its_secret_until_it_expires() {
    let mut house = House::new();
    let until = house.now + HOUR;
    let created = Event::TokenCreated { id: id(1), uid: USER.uid, until };
    assert_eq!(house.apply(create(USER, new(1))), [created]);
    let token = house.state.token(&hash(1), house.now).unwrap();
    assert_eq!((token.uid, token.gid, token.name.as_str()), (USER.uid, Gid(100), "grafana"));
    assert!(house.state.token(&hash(2), house.now).is_none());
    assert!(house.state.token(&hash(1), until).is_none(), "by the clock of the reader");
    house.now = until;
    house.apply(Command::ForgetDone);
    assert_eq!(house.state.tokens().count(), 0);
}

#[test]
fn only_its_user_or_an_operator_revokes_a_token() {
    let mut house = House::new();
    house.apply(create(USER, new(1)));
    house.apply(create(USER, new(2)));
    let unknown = Refusal::Token(TokenRefusal::Unknown { id: id(1) });
    assert_eq!(house.refused(revoke(OTHER, 1)), unknown);
    let revoked =
        |number, by: Actor| Event::TokenRevoked { id: id(number), uid: USER.uid, by: by.uid };
    assert_eq!(house.apply(revoke(USER, 1)), [revoked(1, USER)]);
    assert_eq!(house.refused(revoke(USER, 1)), unknown);
    assert_eq!(house.apply(revoke(OPERATOR, 2)), [revoked(2, OPERATOR)]);
    assert!(house.state.token(&hash(2), house.now).is_none());
}

#[test]
fn a_token_has_scopes_a_short_name_and_an_end() {
    let mut house = House::new();
    let long = NewToken { lifespan: LIFESPAN_MAX + Span::from_seconds(1), ..new(1) };
    let bad = [
        NewToken { scopes: [].into(), ..new(1) },
        NewToken { name: "x".repeat(65), ..new(1) },
        NewToken { name: "a\u{202e}b".to_owned(), ..new(1) },
        NewToken { lifespan: Span(0), ..new(1) },
        long,
    ];
    for token in bad {
        let refusal = house.refused(create(USER, token));
        assert!(matches!(refusal, Refusal::BadAsk { .. }), "{refusal:?}");
    }
    let admin = NewToken { scopes: [Scope::Admin].into(), ..new(1) };
    let refusal = house.refused(create(USER, admin.clone()));
    assert_eq!(refusal, Refusal::Token(TokenRefusal::AdminScope));
    house.apply(create(OPERATOR, admin));
}

#[test]
fn a_user_has_a_limited_number_of_tokens_and_others_are_not_affected() {
    let mut house = House::new();
    for number in 0..TOKENS_EACH {
        house.apply(create(USER, new(number)));
    }
    let too_many = Refusal::Token(TokenRefusal::TooMany { limit: TOKENS_EACH });
    assert_eq!(house.refused(create(USER, new(99))), too_many);
    house.apply(create(OTHER, new(99)));
    house.now = house.now + HOUR;
    house.apply(create(USER, new(100)));
    assert_eq!(house.state.tokens().count(), 1, "those before have expired");
}

#[test]
fn two_secrets_with_one_id_are_refused() {
    let mut house = House::new();
    house.apply(create(USER, new(1)));
    let same = NewToken { hash: format!("{}{:052x}", id(1), 1), ..new(1) };
    assert_eq!(house.refused(create(OTHER, same)), Refusal::Token(TokenRefusal::SameId));
}

#[test]
fn a_state_that_is_written_and_read_has_its_tokens() {
    let mut house = House::new();
    house.apply(create(USER, new(1)));
    let bytes = state::persist::to_bytes(&house.state).unwrap();
    assert_eq!(state::persist::from_bytes(&bytes).unwrap(), house.state);
}
