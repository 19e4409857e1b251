//! Invitations of controllers: made by operators, for one use and a limited time.

use crate::house::{House, OPERATOR, USER};
use common::reason::{InvitationRefusal, Refusal};
use common::time::Span;
use state::{Command, Event};

const NO_INVITATION: Refusal = Refusal::Invitation(InvitationRefusal::Unknown);
const HOUR: Span = Span::from_minutes(60);

fn invite(hash: &str, lasts: Span) -> Command {
    Command::InviteController { actor: OPERATOR, hash: hash.to_owned(), lasts }
}

fn join(hash: &str) -> Command {
    Command::UseInvitation { hash: hash.to_owned(), address: "b:7600".to_owned() }
}

#[test]
fn an_invitation_of_an_operator_lets_one_controller_in_once() {
    let mut house = House::new();
    assert_eq!(house.refused(join("x")), NO_INVITATION);
    let until = house.now + HOUR;
    let by = OPERATOR.uid;
    assert_eq!(house.apply(invite("x", HOUR)), [Event::ControllerInvited { by, until }]);
    assert_eq!(house.refused(join("y")), NO_INVITATION);
    let address = "b:7600".to_owned();
    let used = Event::InvitationUsed { by, address: address.clone() };
    assert_eq!(house.apply(join("x")), [used]);
    let again = InvitationRefusal::Used { address: address.clone() };
    assert_eq!(house.refused(join("x")), Refusal::Invitation(again));
    assert_eq!(house.state.invitation("x").unwrap().used_by, Some(address));
}

#[test]
fn an_invitation_ends_with_its_time_by_the_clock_of_the_log() {
    let mut house = House::new();
    house.apply(invite("x", HOUR));
    house.now = house.now + HOUR;
    let over = Event::CommandRefused(NO_INVITATION);
    assert_eq!(house.apply(join("x")), [over]);
    assert!(house.state.invitation("x").is_none(), "also before it is forgotten");
    house.apply(Command::ForgetDone);
    assert_eq!(house.state.invitations().count(), 0);
}

#[test]
fn users_invite_no_controller_and_operators_not_without_end() {
    let mut house = House::new();
    let of_user = Command::InviteController { actor: USER, hash: "x".to_owned(), lasts: HOUR };
    assert!(matches!(house.refused(of_user), Refusal::OperatorsOnly { .. }));
    for lasts in [Span(0), Span::from_minutes(60 * 24 * 8)] {
        assert!(matches!(house.refused(invite("x", lasts)), Refusal::BadAsk { .. }));
    }
    for number in 0..64 {
        house.apply(invite(&number.to_string(), HOUR));
    }
    assert!(matches!(
        house.refused(invite("x", HOUR)),
        Refusal::Invitation(InvitationRefusal::TooMany { .. })
    ));
    house.now = house.now + HOUR;
    house.apply(invite("x", HOUR));
    assert_eq!(house.state.invitations().count(), 1, "those before are over");
}

#[test]
fn a_state_that_is_written_and_read_has_its_invitations() {
    let mut house = House::new();
    house.apply(invite("x", HOUR));
    house.apply(join("x"));
    house.apply(invite("y", HOUR));
    let bytes = state::persist::to_bytes(&house.state).unwrap();
    assert_eq!(state::persist::from_bytes(&bytes).unwrap(), house.state);
}
