//! What no user changes of a submitted job, and what a coordinator or support may not do to jobs of
//! others although they have the right to them.

use crate::house::{House, OPERATOR, USER, exited, running, share};
use crate::rights::{BOSS, account, house, name, support};
use common::id::{Gid, JobKey, RequestKey};
use common::job::attributes::{Changeable, ROWS, Removed, TimeLimit, Value};
use common::job::{Ask, Attribute, Outcome, Owner, Patch, Phase};
use common::reason::Refusal;
use common::right::Roles;
use common::time::{Span, Time};
use state::{Actor, Command, Target};

fn coordinator(queues: &[&str], accounts: &[&str]) -> Actor {
    let queues = queues.iter().map(|text| name(text)).collect();
    let accounts = accounts.iter().map(|text| account(text)).collect();
    Actor { roles: Roles { queues, accounts, ..Roles::NONE }, ..Actor::user(BOSS) }
}

fn update(actor: &Actor, key: JobKey, patch: Patch) -> Command {
    Command::UpdateJob { actor: actor.clone(), target: Target { key }, patch: Box::new(patch) }
}

fn submitted(house: &mut House, queue: &str, account: Option<&str>) -> JobKey {
    let account = account.map(self::account);
    let ask = Ask { queue: Some(name(queue)), account, ..Ask::default() };
    JobKey::single(house.submit(ask))
}

#[test]
fn what_can_never_be_changed_or_removed_is_refused_to_everyone() {
    let mut house = house();
    let key = submitted(&mut house, "lab", None);
    let before = house.state.job(key.job).unwrap().spec.ask.clone();
    for row in ROWS {
        let (value, none) = (Value::Flag(true), Patch::default().with_removed(row.attribute));
        let set = Patch::default().with(row.attribute, value);
        for actor in [USER, OPERATOR, coordinator(&["lab"], &[])] {
            if row.changeable == Changeable::Never {
                for patch in [&set, &none] {
                    let refusal = house.refused(update(&actor, key, patch.clone())).to_string();
                    assert!(refusal.contains("of a submitted job cannot be changed"), "{refusal}");
                }
            } else if row.removed == Removed::Never {
                let refusal = house.refused(update(&actor, key, none.clone())).to_string();
                assert!(refusal.contains("cannot be removed"), "{refusal}");
            }
        }
    }
    assert_eq!(house.state.job(key.job).unwrap().spec.ask, before);
}

#[test]
fn a_coordinator_changes_only_how_a_job_is_scheduled() {
    use Attribute::{Comment, JobName, MailType, MailUser};
    let mut house = house();
    let key = submitted(&mut house, "lab", None);
    let boss = coordinator(&["lab"], &[]);
    let mut refused = Vec::new();
    for row in ROWS.iter().filter(|row| row.changeable != Changeable::Never) {
        let patch = match row.attribute {
            JobName => Patch::default().with(JobName, "other".to_owned()),
            MailType => Patch::default().with(MailType, Value::Flag(true)),
            attribute if row.removed != Removed::Never => Patch::default().with_removed(attribute),
            _ => continue,
        };
        let stamped = state::Stamped { at: house.now, command: update(&boss, key, patch) };
        let events = state::apply(&mut house.state, &stamped);
        if let Some(state::Event::CommandRefused(refusal)) = events.first()
            && refusal.code() == "not_yours"
        {
            refused.push(row.attribute);
        }
    }
    assert_eq!(refused, [JobName, Comment, MailType, MailUser]);
}

#[test]
fn no_limit_is_more_than_any_limit() {
    let mut house = house();
    let limit = Some(Span::from_minutes(60));
    let ask = Ask { queue: Some(name("lab")), time_limit: limit, ..Ask::default() };
    let key = JobKey::single(house.submit(ask));
    house.start(key, vec![share("g1", 0, 2, &[])]);
    let unlimited: Patch = serde_json::from_str(r#"{"time": null}"#).unwrap();
    assert_eq!(unlimited.value(Attribute::Time), Some(&TimeLimit(None)));
    for actor in [USER, coordinator(&["lab"], &[])] {
        let refusal = house.refused(update(&actor, key, unlimited.clone())).to_string();
        assert!(refusal.contains("operators raise it"), "{refusal}");
    }
    house.apply(update(&OPERATOR, key, unlimited));
    assert_eq!(house.state.job(key.job).unwrap().spec.ask.time_limit, None);
}

#[test]
fn a_role_in_a_queue_is_none_in_an_account_and_the_reverse() {
    let mut house = house();
    let to_queue = |text: &str| Patch::default().with(Attribute::Queue, name(text));
    let to_account = |text: &str| Patch::default().with(Attribute::Account, account(text));
    let of_queue = coordinator(&["lab", "main"], &[]);
    let of_account = coordinator(&[], &["vision", "speech"]);
    let key = submitted(&mut house, "lab", Some("vision"));
    assert_eq!(
        house.refused(update(&of_queue, key, to_account("speech"))).code(),
        "not_coordinated"
    );
    assert_eq!(house.refused(update(&of_account, key, to_queue("ops"))).code(), "not_coordinated");
    house.apply(update(&of_queue, key, to_queue("main")));
    house.apply(update(&of_account, key, to_account("speech")));
    let ask = &house.state.job(key.job).unwrap().spec.ask;
    assert_eq!((&ask.queue, &ask.account), (&Some(name("main")), &Some(account("speech"))));
}

#[test]
fn a_component_is_changed_only_by_who_coordinates_the_whole_set() {
    let mut house = house();
    let component = |text: &str| Ask { queue: Some(name(text)), ..Ask::default() };
    house.apply(Command::SubmitSet {
        request_key: RequestKey("set".to_owned()),
        owner: Owner { uid: USER.uid, gid: Gid(1000), name: "ada".to_owned() },
        groups: Vec::new(),
        operator: false,
        via: None,
        asks: vec![component("lab"), component("ops")],
        script: "#!/bin/sh\n".to_owned(),
        environment: String::new(),
    });
    let first: JobKey = "1+0".parse().unwrap();
    let limit = Patch::default().with(Attribute::Time, Span::from_minutes(5));
    for patch in [limit, Patch::default().with(Attribute::Begin, Time(9_000_000))] {
        let lab = coordinator(&["lab"], &[]);
        assert_eq!(house.refused(update(&lab, first, patch.clone())).code(), "not_yours");
        house.apply(update(&coordinator(&["lab", "ops"], &[]), first, patch));
    }
}

#[test]
fn a_job_that_a_coordinator_holds_stays_where_the_coordinator_can_release_it() {
    let mut house = house();
    let key = submitted(&mut house, "lab", None);
    let boss = coordinator(&["lab"], &[]);
    house.apply(Command::HoldJob { actor: boss.clone(), target: Target { key } });
    let to_ops = Patch::default().with(Attribute::Queue, name("ops"));
    let refusal = house.refused(update(&USER, key, to_ops.clone()));
    assert_eq!(refusal, Refusal::HeldByCoordinator { key });
    let to_account = Patch::default().with(Attribute::Account, account("vision"));
    assert_eq!(house.refused(update(&USER, key, to_account)), Refusal::HeldByCoordinator { key });
    house.apply(Command::ReleaseJob { actor: boss, target: Target { key } });
    house.apply(update(&USER, key, to_ops));
}

#[test]
fn neither_coordinators_nor_support_start_again_what_ended_by_itself_or_by_a_cancel() {
    let mut house = house();
    let requeue =
        |actor: &Actor, key| Command::RequeueJob { actor: actor.clone(), target: Target { key } };
    let others = [support(), coordinator(&["lab"], &[])];
    let start = |house: &mut House, ask: Ask| {
        let key = JobKey::single(house.submit(Ask { queue: Some(name("lab")), ..ask }));
        let id = house.start(key, vec![share("g1", 0, 2, &[])]);
        house.report("g1", id, running());
        (key, id)
    };
    // A cancel that is decided, and then carried out.
    let (key, id) = start(&mut house, Ask::default());
    let cancel = Command::CancelJob { actor: USER, target: Target { key } };
    house.apply(cancel);
    for actor in &others {
        assert_eq!(house.refused(requeue(actor, key)), Refusal::OwnerRequeues { key });
    }
    house.report("g1", id, exited(0));
    // One that ended by itself.
    let (done, id) = start(&mut house, Ask::default());
    house.report("g1", id, exited(1));
    for (key, actor) in [(key, &others[0]), (key, &others[1]), (done, &others[0])] {
        assert_eq!(house.phase(key), Phase::Done);
        assert_eq!(house.refused(requeue(actor, key)), Refusal::OwnerRequeues { key });
    }
    house.apply(requeue(&USER, done));
    house.apply(Command::CancelJob { actor: USER, target: Target { key: done } });
    // One that its owner wants once only.
    let (once, id) = start(&mut house, Ask { requeue: false, ..Ask::default() });
    assert_eq!(house.refused(requeue(&others[0], once)), Refusal::OwnerRequeues { key: once });
    house.report("g1", id, exited(0));
    assert_eq!(house.outcome(once), Some(Outcome::Completed));
    // A running one, by the coordinator.
    let (runs, _) = start(&mut house, Ask::default());
    house.apply(requeue(&others[1], runs));
    assert_eq!(house.phase(runs), Phase::Completing);
}
