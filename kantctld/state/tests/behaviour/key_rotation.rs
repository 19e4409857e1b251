//! The replacement of the cluster key, as the log records it.

use crate::house::{House, OPERATOR, USER};
use common::reason::{KeyRotationRefusal, Refusal};
use common::time::Span;
use common::wire::api::RotationStep;
use state::command::KeyAction;
use state::invitation::Admits;
use state::{Command, Event};

const OF_OPERATOR: Option<common::id::Uid> = Some(common::id::Uid(0));

fn rotate(new: &str) -> Command {
    Command::RotateKey(KeyAction::Begin { actor: OPERATOR, new: new.to_owned(), followed: 0 })
}

const fn all_followed(generation: u32) -> Command {
    Command::RotateKey(KeyAction::Advance { generation, actor: None })
}

fn step(house: &House) -> Option<RotationStep> {
    house.state.key_status().rotation.as_ref().map(|rotation| rotation.step)
}

#[test]
fn a_new_key_is_trusted_then_issues_then_is_the_only_one() {
    let mut house = House::new();
    let begun = Event::KeyStepBegun { generation: 1, by: OF_OPERATOR };
    assert_eq!(house.apply(rotate("new")), [begun]);
    assert_eq!(step(&house), Some(RotationStep::Trust));
    assert_eq!(house.refused(rotate("other")), KeyRotationRefusal::Underway.into());
    assert_eq!(house.apply(all_followed(0)), [], "decided on an earlier state");
    house.apply(all_followed(1));
    assert_eq!(step(&house), Some(RotationStep::Issue));
    assert_eq!(house.state.key_status().authority, None);
    house.apply(all_followed(2));
    assert_eq!(step(&house), None);
    assert_eq!(house.state.key_status().authority.as_deref(), Some("new"));
    assert_eq!(house.state.key_status().generation, 3);
    assert_eq!(house.refused(all_followed(3)), KeyRotationRefusal::NotUnderway.into());
    house.apply(rotate("newer"));
    assert_eq!(house.state.key_status().authority.as_deref(), Some("new"), "until it is over");
}

#[test]
fn invitations_end_when_the_authority_that_they_name_does() {
    let mut house = House::new();
    let (hash, lasts) = ("x".to_owned(), Span::from_minutes(60));
    let invite = Command::Invite { actor: OPERATOR, hash, lasts, admits: Admits::Controller };
    house.apply(invite);
    house.apply(rotate("new"));
    assert!(house.state.invitation("x").is_some());
    house.apply(all_followed(1));
    assert!(house.state.invitation("x").is_none());
}

#[test]
fn a_rotation_is_cancelled_only_before_the_new_key_is_in_use() {
    let mut house = House::new();
    let cancel = Command::RotateKey(KeyAction::Cancel { actor: OPERATOR });
    assert_eq!(house.refused(cancel.clone()), KeyRotationRefusal::NotUnderway.into());
    house.apply(rotate("new"));
    let cancelled = Event::KeyStepBegun { generation: 2, by: OF_OPERATOR };
    assert_eq!(house.apply(cancel.clone()), [cancelled]);
    let status = house.state.key_status();
    assert!(status.is_settled() && status.authority.is_none());
    house.apply(rotate("new"));
    house.apply(all_followed(3));
    assert_eq!(house.refused(cancel), KeyRotationRefusal::InUse.into());
}

#[test]
fn a_key_that_was_made_while_all_controllers_were_stopped_is_adopted_also_in_a_rotation() {
    let mut house = House::new();
    house.apply(rotate("new"));
    house.apply(all_followed(1));
    let authority = "made".to_owned();
    let adopt = |actor| KeyAction::Adopt { actor, authority: authority.clone() };
    let of_user = house.refused(Command::RotateKey(adopt(USER)));
    assert!(matches!(of_user, Refusal::OperatorsOnly { .. }));
    let adopted = house.apply(Command::RotateKey(adopt(OPERATOR)));
    assert_eq!(adopted, [Event::KeyStepBegun { generation: 3, by: OF_OPERATOR }]);
    let status = house.state.key_status();
    assert!(status.is_settled() && status.authority.as_deref() == Some("made"));
}

#[test]
fn a_rotation_begins_after_all_generations_that_controllers_follow() {
    let mut house = House::new();
    let (actor, new) = (OPERATOR, "new".to_owned());
    house.apply(Command::RotateKey(KeyAction::Begin { actor, new, followed: 7 }));
    assert_eq!(house.state.key_status().generation, 8);
}

#[test]
fn only_operators_rotate_and_leave_hosts_behind() {
    let mut house = House::new();
    let by_user =
        Command::RotateKey(KeyAction::Begin { actor: USER, new: "new".to_owned(), followed: 0 });
    assert!(matches!(house.refused(by_user), Refusal::OperatorsOnly { .. }));
    house.apply(rotate("new"));
    let leave_behind =
        |actor| Command::RotateKey(KeyAction::Advance { generation: 1, actor: Some(actor) });
    assert!(matches!(house.refused(leave_behind(USER)), Refusal::OperatorsOnly { .. }));
    let of_user = house.refused(Command::RotateKey(KeyAction::Cancel { actor: USER }));
    assert!(matches!(of_user, Refusal::OperatorsOnly { .. }));
    house.apply(leave_behind(OPERATOR));
    assert_eq!(step(&house), Some(RotationStep::Issue));
}

#[test]
fn a_restored_state_has_no_rotation_and_repeats_no_generation() {
    let mut house = House::new();
    house.apply(rotate("new"));
    house.state.end_key_rotation(1000);
    let status = house.state.key_status();
    assert!(status.is_settled() && status.authority.is_none() && status.generation == 1001);
}
