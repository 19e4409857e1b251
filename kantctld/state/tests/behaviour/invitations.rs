//! Invitations of controllers and nodes: made by operators, for a limited time. The enrolment of
//! nodes, and its end.

use crate::house::{House, OPERATOR, USER};
use common::id::NodeName;
use common::reason::{InvitationRefusal, Refusal};
use common::time::Span;
use state::enrolment::Invalid;
use state::invitation::Admits;
use state::{Command, Event};

const NO_INVITATION: Refusal = Refusal::Invitation(InvitationRefusal::Unknown);
const HOUR: Span = Span::from_minutes(60);

fn invite(hash: &str, lasts: Span) -> Command {
    invite_to(hash, lasts, Admits::Controller)
}

fn invite_to(hash: &str, lasts: Span, admits: Admits) -> Command {
    Command::Invite { actor: OPERATOR, hash: hash.to_owned(), lasts, admits }
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
    assert_eq!(house.apply(invite("x", HOUR)), [Event::Invited { by, until }]);
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
    let of_user = Command::Invite {
        actor: USER,
        hash: "x".to_owned(),
        lasts: HOUR,
        admits: Admits::Controller,
    };
    assert!(matches!(house.refused(of_user), Refusal::OperatorsOnly { .. }));
    for lasts in [Span(0), Span::from_minutes(60 * 24 * 8)] {
        assert!(matches!(house.refused(invite("x", lasts)), Refusal::BadAsk { .. }));
    }
    for number in 0..1024 {
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

fn node(name: &str) -> NodeName {
    NodeName::new(name).unwrap()
}

fn enrol(hash: &str, name: &str, key: &str) -> Command {
    Command::EnrolNode { hash: hash.to_owned(), name: node(name), key: key.to_owned() }
}

fn invite_nodes(hash: &str, names: &[&str]) -> Command {
    invite_to(hash, HOUR, Admits::Nodes(names.iter().map(|name| node(name)).collect()))
}

fn enrolled(name: &str, number: u32) -> [Event; 1] {
    [Event::NodeEnrolled { name: node(name), number, by: OPERATOR.uid }]
}

fn revoke(name: &str) -> Command {
    Command::RevokeNode { actor: OPERATOR, name: node(name) }
}

#[test]
fn an_invitation_enrols_each_node_that_it_names_once() {
    let mut house = House::new();
    house.apply(invite_nodes("x", &["g1", "g2"]));
    let other = InvitationRefusal::NotForNode { name: node("g3") };
    assert_eq!(house.refused(enrol("x", "g3", "k3")), Refusal::Invitation(other));
    assert_eq!(house.apply(enrol("x", "g1", "k1")), enrolled("g1", 1));
    assert_eq!(house.apply(enrol("x", "g1", "k1")), enrolled("g1", 1), "its answer was lost");
    let again = InvitationRefusal::NotForNode { name: node("g1") };
    assert_eq!(house.refused(enrol("x", "g1", "other")), Refusal::Invitation(again));
    assert_eq!(house.apply(enrol("x", "g2", "k2")), enrolled("g2", 1));
    assert_eq!(house.refused(join("x")), NO_INVITATION, "no controller joins by it");
}

#[test]
fn an_invitation_without_a_name_enrols_one_new_node() {
    let mut house = House::new();
    house.apply(invite_nodes("names", &["g1"]));
    house.apply(enrol("names", "g1", "k1"));
    house.apply(invite_to("any", HOUR, Admits::AnyNode));
    let taken = InvitationRefusal::NameTaken { name: node("g1") };
    assert_eq!(house.refused(enrol("any", "g1", "thief")), Refusal::Invitation(taken));
    assert_eq!(house.apply(enrol("any", "new-1", "k2")), enrolled("new-1", 1));
    let used = InvitationRefusal::UsedByNode { name: "new-1".to_owned() };
    assert_eq!(house.refused(enrol("any", "new-2", "k3")), Refusal::Invitation(used));
}

#[test]
fn invitations_of_controllers_and_expired_ones_enrol_no_node() {
    let mut house = House::new();
    house.apply(invite("x", HOUR));
    assert_eq!(house.refused(enrol("x", "g1", "k")), NO_INVITATION);
    house.apply(invite_nodes("y", &["g1"]));
    house.now = house.now + HOUR;
    assert_eq!(house.apply(enrol("y", "g1", "k")), [Event::CommandRefused(NO_INVITATION)]);
}

#[test]
fn a_node_that_is_enrolled_again_or_revoked_invalidates_its_earlier_certificates() {
    let mut house = House::new();
    let name = node("g1");
    house.apply(invite_nodes("x", &["g1"]));
    house.apply(enrol("x", "g1", "first"));
    assert_eq!(house.state.check_certificate(&name, 1), Ok(()));
    house.apply(invite_nodes("y", &["g1"]));
    assert_eq!(house.apply(enrol("y", "g1", "second")), enrolled("g1", 2));
    assert_eq!(house.state.check_certificate(&name, 1), Err(Invalid::Superseded(2)));
    assert_eq!(house.state.check_certificate(&name, 2), Ok(()));

    let by = OPERATOR.uid;
    assert_eq!(house.apply(revoke("g1")), [Event::NodeRevoked { name: name.clone(), by }]);
    assert!(matches!(house.state.check_certificate(&name, 2), Err(Invalid::Revoked(_))));
    house.apply(invite_nodes("z", &["g1"]));
    assert_eq!(house.apply(enrol("z", "g1", "second")), enrolled("g1", 3), "a revoked key too");
    assert!(house.state.check_certificate(&name, 2).is_err());
    assert_eq!(house.state.check_certificate(&name, 3), Ok(()));
    let bytes = state::persist::to_bytes(&house.state).unwrap();
    assert_eq!(state::persist::from_bytes(&bytes).unwrap(), house.state);
}

#[test]
fn only_operators_revoke_and_only_nodes_that_exist() {
    let mut house = House::new();
    house.apply(invite_nodes("x", &["g1"]));
    house.apply(enrol("x", "g1", "k"));
    let of_user = Command::RevokeNode { actor: USER, name: node("g1") };
    assert!(matches!(house.refused(of_user), Refusal::OperatorsOnly { .. }));
    assert!(matches!(house.refused(revoke("nosuch")), Refusal::UnknownNode { .. }));
}

#[test]
fn a_lost_answer_is_repeated_only_for_the_same_invitation() {
    let mut house = House::new();
    house.apply(invite_nodes("x", &["g1"]));
    house.apply(enrol("x", "g1", "k1"));
    house.apply(invite_nodes("y", &["g2"]));
    let other = InvitationRefusal::NotForNode { name: node("g1") };
    assert_eq!(house.refused(enrol("y", "g1", "k1")), Refusal::Invitation(other));
}

#[test]
fn an_operator_withdraws_an_invitation_by_the_beginning_of_its_hash() {
    let mut house = House::new();
    let hash = "0123456789abcdef";
    house.apply(invite_nodes(hash, &["g1", "g2"]));
    house.apply(enrol(hash, "g1", "k1"));
    let withdraw = |actor, id: &str| Command::WithdrawInvitation { actor, id: id.to_owned() };
    assert!(matches!(house.refused(withdraw(USER, "0123456789ab")), Refusal::OperatorsOnly { .. }));
    for id in ["", "0123456789a", "0123456789abc", "ffffffffffff"] {
        let unknown = InvitationRefusal::NoSuchId { id: id.to_owned() };
        assert_eq!(house.refused(withdraw(OPERATOR, id)), Refusal::Invitation(unknown));
    }
    house.apply(withdraw(OPERATOR, "0123456789ab"));
    assert_eq!(house.refused(enrol(hash, "g2", "k2")), NO_INVITATION);
    assert_eq!(house.state.check_certificate(&node("g1"), 1), Ok(()), "who joined stays");
}

#[test]
fn a_revoked_node_leaves_no_place_in_an_invitation() {
    let mut house = House::new();
    house.apply(invite_nodes("x", &["g1", "g2"]));
    house.apply(enrol("x", "g1", "k1"));
    house.apply(revoke("g1"));
    house.apply(revoke("g2"));
    let not_invited = InvitationRefusal::NotForNode { name: node("g2") };
    assert_eq!(house.refused(enrol("x", "g2", "k2")), Refusal::Invitation(not_invited));
}

#[test]
fn after_a_restore_no_number_is_given_again_and_a_revocation_covers_unknown_numbers() {
    let mut house = House::new();
    house.apply(invite_nodes("x", &["g1"]));
    house.apply(enrol("x", "g1", "k1"));
    // Number 2 was enrolled after the backup, and stolen.
    house.state.skip_enrolments(1_000_000);
    let name = node("g1");
    assert_eq!(house.state.check_certificate(&name, 2), Ok(()));
    house.apply(revoke("g1"));
    assert!(house.state.check_certificate(&name, 2).is_err());
    house.apply(invite_nodes("y", &["g1"]));
    assert_eq!(house.apply(enrol("y", "g1", "k2")), enrolled("g1", 1_000_001));
    assert!(house.state.check_certificate(&name, 2).is_err());
    // A node that the backup does not know.
    house.apply(revoke("g9"));
    assert!(house.state.check_certificate(&node("g9"), 1).is_err());
}
