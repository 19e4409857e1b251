//! Accounts: which users may charge them, the default account, and access through accounts.

use crate::house::{House, OPERATOR, USER, name, settings};
use common::id::{AccountName, Gid, JobKey, ReservationName, Uid};
use common::job::Ask;
use common::policy::account::Account;
use common::policy::{Access, Limits};
use common::reason::Refusal;
use common::reservation::Reservation;
use common::time::Span;
use state::{Command, Settings, Target};

const STRANGER: u32 = 1000;

fn account(text: &str, users: &[u32], groups: &[u32]) -> Account {
    let access = Access {
        users: users.iter().copied().map(Uid).collect(),
        groups: groups.iter().copied().map(Gid).collect(),
        ..Access::default()
    };
    let name = AccountName::new(text).unwrap();
    let (limits, limits_per_user) = (Limits::default(), Limits::default());
    Account { name, shares: 1, access, limits, limits_per_user }
}

/// `vision` for user 7 and group 70, `speech` for group 80, and `guests` for all users.
fn three() -> Vec<Account> {
    vec![account("guests", &[], &[]), account("vision", &[7], &[70]), account("speech", &[], &[80])]
}

fn house_with(accounts: Vec<Account>, change: impl FnOnce(&mut Settings)) -> House {
    let mut house = House::new();
    reconfigure(&mut house, accounts, change);
    house
}

fn reconfigure(house: &mut House, accounts: Vec<Account>, change: impl FnOnce(&mut Settings)) {
    let mut settings = Settings { accounts, ..settings() };
    change(&mut settings);
    house.apply(Command::Configure(settings));
}

fn charged_to(text: &str) -> Ask {
    Ask { account: text.parse().ok(), ..Ask::default() }
}

/// The same command by another user, with these groups besides the main one.
fn of(mut command: Command, user: u32, more: &[u32], is_operator: bool) -> Command {
    if let Command::SubmitJob { owner, groups, operator, .. } = &mut command {
        owner.uid = Uid(user);
        *groups = more.iter().copied().map(Gid).collect();
        *operator = is_operator;
    }
    command
}

fn submit(house: &mut House, ask: Ask, user: u32, groups: &[u32]) -> JobKey {
    let command = of(house.submission(ask), user, groups, false);
    house.apply(command);
    JobKey::single(house.state.last_job_id())
}

fn refused(house: &mut House, ask: Ask, user: u32, groups: &[u32]) -> Refusal {
    let command = of(house.submission(ask), user, groups, false);
    house.refused(command)
}

fn account_of(house: &House, key: JobKey) -> Option<String> {
    let (record, _) = house.state.element(key).unwrap();
    record.spec.ask.account.as_ref().map(ToString::to_string)
}

#[test]
fn where_there_are_accounts_only_those_may_be_named() {
    let mut house = House::new();
    submit(&mut house, charged_to("anything"), STRANGER, &[]);
    reconfigure(&mut house, vec![account("vision", &[], &[])], |_| ());
    submit(&mut house, charged_to("vision"), STRANGER, &[]);
    submit(&mut house, Ask::default(), STRANGER, &[]);
    let refusal = refused(&mut house, charged_to("anything"), STRANGER, &[]).text_with_hint();
    assert!(refusal.contains("no account `anything`; there are vision"), "{refusal}");
}

#[test]
fn an_account_is_named_by_its_users_and_its_groups_members_alone() {
    let mut house = house_with(three(), |_| ());
    submit(&mut house, charged_to("vision"), 7, &[]);
    submit(&mut house, charged_to("vision"), STRANGER, &[5, 70]);
    for (user, groups, mend) in [
        (STRANGER, &[][..], "name guests with --account"),
        (STRANGER, &[80], "name guests or speech with --account"),
    ] {
        let refusal = refused(&mut house, charged_to("vision"), user, groups);
        assert_eq!(refusal.code(), "account_closed");
        let sentence = format!(
            "account vision is not open to you; {mend}, or ask an operator to add you to its \
             `users` in kantctld.toml"
        );
        assert_eq!(refusal.text_with_hint(), sentence);
    }
    reconfigure(&mut house, vec![account("vision", &[7], &[])], |_| ());
    let refusal = refused(&mut house, charged_to("vision"), STRANGER, &[]).text_with_hint();
    assert!(refusal.contains("not open to you; leave --account out, or"), "{refusal}");
}

#[test]
fn the_main_group_makes_a_member_too() {
    let mut house = house_with(vec![account("vision", &[], &[1000])], |_| ());
    let key = submit(&mut house, charged_to("vision"), STRANGER, &[]);
    assert_eq!(account_of(&house, key).as_deref(), Some("vision"));
}

#[test]
fn operators_and_root_name_any_account() {
    let mut house = house_with(three(), |settings| settings.allow_root_jobs = true);
    for (user, is_operator) in [(STRANGER, true), (0, false)] {
        let command = of(house.submission(charged_to("vision")), user, &[], is_operator);
        house.apply(command);
        let key = JobKey::single(house.state.last_job_id());
        assert_eq!(account_of(&house, key).as_deref(), Some("vision"), "{user}");
    }
    assert_eq!(house.state.last_job_id().0, 2);
}

#[test]
fn a_job_without_account_is_charged_to_the_first_of_which_its_user_is_a_member() {
    let mut house = house_with(three(), |_| ());
    for (user, groups, charged) in [
        (7, &[][..], Some("vision")),
        (STRANGER, &[80], Some("speech")),
        (STRANGER, &[80, 70], Some("vision")),
        (STRANGER, &[], None),
    ] {
        let key = submit(&mut house, Ask::default(), user, groups);
        assert_eq!(account_of(&house, key).as_deref(), charged, "{user} {groups:?}");
    }
    let command = of(house.submission(Ask::default()), STRANGER, &[], true);
    house.apply(command);
    let key = JobKey::single(house.state.last_job_id());
    assert_eq!(account_of(&house, key), None, "an operator is no member by that");
}

#[test]
fn naming_an_account_of_others_opens_no_queue_and_no_reservation() {
    let visions =
        || Access { accounts: [AccountName::new("vision").unwrap()].into(), ..Access::default() };
    let mut house = house_with(three(), |settings| settings.queues[0].access = visions());
    let booked = Reservation {
        name: ReservationName::new("exam").unwrap(),
        nodes: [name("g1")].into(),
        from: house.now,
        to: house.now + Span::from_minutes(60),
        access: visions(),
        maintenance: false,
        by: OPERATOR.uid,
        comment: String::new(),
    };
    let create = |reservation| Command::CreateReservation {
        actor: OPERATOR,
        reservation: Box::new(reservation),
    };
    let mut unlisted = booked.clone();
    unlisted.access.accounts = [AccountName::new("visoin").unwrap()].into();
    let refusal = house.refused(create(unlisted));
    assert!(matches!(refusal, Refusal::UnknownAccount { .. }), "no user could use it");
    house.apply(create(booked));

    let in_main = charged_to("vision");
    let in_exam = Ask {
        queue: "short".parse().ok(),
        reservation: "exam".parse().ok(),
        ..charged_to("vision")
    };
    for ask in [in_main, in_exam] {
        let refusal = refused(&mut house, ask.clone(), STRANGER, &[]);
        assert!(matches!(refusal, Refusal::AccountClosed { .. }), "{refusal}");
        submit(&mut house, ask, 7, &[]);
    }
    let refusal = refused(&mut house, Ask::default(), STRANGER, &[]);
    assert!(matches!(refusal, Refusal::QueueClosed { .. }));
    submit(&mut house, Ask::default(), 7, &[]);
    assert_eq!(house.state.last_job_id().0, 3, "a member need not name the account");
}

#[test]
fn who_is_no_member_any_more_keeps_waiting_jobs_but_revives_none() {
    let mut house = house_with(three(), |_| ());
    let (waits, over) = (
        submit(&mut house, charged_to("vision"), STRANGER, &[70]),
        submit(&mut house, charged_to("speech"), STRANGER, &[80]),
    );
    let cancel = house.cancel(over);
    house.apply(cancel);
    reconfigure(
        &mut house,
        vec![account("vision", &[7], &[]), account("speech", &[7], &[])],
        |_| (),
    );
    let (record, _) = house.state.element(waits).unwrap();
    let asked = state::check_could_wait(&house.state, record, false, &record.spec.ask);
    assert!(matches!(asked, Err(Refusal::AccountClosed { .. })), "{asked:?}");
    assert_eq!(state::check_could_wait(&house.state, record, true, &record.spec.ask), Ok(()));
    assert_eq!(house.phase(waits), common::job::Phase::Pending);
    let again = |actor| Command::RequeueJob { actor, target: Target { key: over } };
    assert!(matches!(house.refused(again(USER)), Refusal::AccountClosed { .. }));
    house.apply(again(OPERATOR));
    assert_eq!(house.phase(over), common::job::Phase::Pending);
}
