//! What coordinators, support and viewers may do to jobs of others, by the job as it is when the
//! command is applied.

use crate::house::{House, OPERATOR, OTHER, USER, queue, running, settings, share};
use common::id::{AccountName, Gid, JobKey, QueueName, RequestKey, Uid};
use common::job::{Ask, Attribute, Owner, Patch, Phase};
use common::policy::queue::Queue;
use common::reason::Refusal;
use common::right::{Right, Roles};
use common::time::Span;
use state::{Actor, BulkAction, Command, Event, Settings, SomeTasks, Target};

pub const BOSS: Uid = Uid(2000);

pub fn name(text: &str) -> QueueName {
    QueueName::new(text).unwrap()
}

pub fn account(text: &str) -> AccountName {
    AccountName::new(text).unwrap()
}

/// Queues main, lab with team below it, and ops.
pub fn house() -> House {
    let mut house = House::new();
    let team = Queue { parent: Some(name("lab")), ..queue("team", false) };
    let queues = vec![queue("main", true), queue("lab", false), team, queue("ops", false)];
    house.apply(Command::Configure(Settings { queues, ..settings() }));
    house
}

fn coordinator_of_queue(text: &str) -> Actor {
    let roles = Roles { queues: [name(text)].into(), ..Roles::NONE };
    Actor { roles, ..Actor::user(BOSS) }
}

fn coordinator_of_account(text: &str) -> Actor {
    let roles = Roles { accounts: [account(text)].into(), ..Roles::NONE };
    Actor { roles, ..Actor::user(BOSS) }
}

pub fn support() -> Actor {
    Actor { roles: Roles { support: true, ..Roles::NONE }, ..Actor::user(BOSS) }
}

fn viewer() -> Actor {
    Actor { roles: Roles { viewer: true, ..Roles::NONE }, ..Actor::user(BOSS) }
}

fn in_queue(house: &mut House, text: &str) -> JobKey {
    JobKey::single(house.submit(Ask { queue: Some(name(text)), ..Ask::default() }))
}

fn in_account(house: &mut House, text: &str) -> JobKey {
    JobKey::single(house.submit(Ask { account: Some(account(text)), ..Ask::default() }))
}

fn update(actor: Actor, key: JobKey, patch: Patch) -> Command {
    Command::UpdateJob { actor, target: Target { key }, patch: Box::new(patch) }
}

/// Each command that can be given to a waiting job.
fn commands(actor: &Actor, key: JobKey) -> [(&'static str, Command); 6] {
    let (actor, target) = (actor.clone(), Target { key });
    let limit = Patch::default().with(Attribute::Time, Span::from_minutes(5));
    [
        ("update", update(actor.clone(), key, limit)),
        ("hold", Command::HoldJob { actor: actor.clone(), target }),
        ("release", Command::ReleaseJob { actor: actor.clone(), target }),
        ("suspend", Command::SuspendJob { actor: actor.clone(), target }),
        ("checkpoint", Command::CheckpointJob { actor: actor.clone(), target }),
        ("cancel", Command::CancelJob { actor, target }),
    ]
}

/// The verbs that are not refused for want of a right.
fn granted(house: &House, actor: &Actor, key: JobKey) -> Vec<&'static str> {
    let (mut granted, mut state) = (Vec::new(), house.state.clone());
    for (verb, command) in commands(actor, key) {
        let stamped = state::Stamped { at: house.now, command };
        let events = state::apply(&mut state, &stamped);
        let lacks = events.iter().any(|event| {
            let code = match event {
                Event::CommandRefused(refusal) => refusal.code(),
                _ => "",
            };
            code == "not_yours" || code == "operators_only"
        });
        if !lacks {
            granted.push(verb);
        }
    }
    granted
}

#[test]
fn a_coordinator_manages_the_jobs_of_the_account_and_of_the_queue_and_those_below() {
    let manages = ["update", "hold", "release", "cancel"];
    let mut house = house();
    for (actor, key) in [
        (coordinator_of_queue("lab"), in_queue(&mut house, "lab")),
        (coordinator_of_queue("lab"), in_queue(&mut house, "team")),
        (coordinator_of_account("vision"), in_account(&mut house, "vision")),
    ] {
        assert_eq!(granted(&house, &actor, key), manages, "{actor:?}");
    }
    for (actor, key) in [
        (coordinator_of_queue("team"), in_queue(&mut house, "lab")),
        (coordinator_of_queue("lab"), in_queue(&mut house, "ops")),
        (coordinator_of_account("vision"), in_account(&mut house, "speech")),
        (coordinator_of_account("vision"), in_queue(&mut house, "lab")),
        (support(), in_queue(&mut house, "lab")),
        (viewer(), in_queue(&mut house, "lab")),
        (OTHER, in_queue(&mut house, "lab")),
    ] {
        assert_eq!(granted(&house, &actor, key), [""; 0], "{actor:?}");
    }
}

#[test]
fn a_job_that_left_the_queue_before_the_command_is_applied_is_not_touched() {
    let mut house = house();
    let key = in_queue(&mut house, "lab");
    let coordinator = coordinator_of_queue("lab");
    let cancel = Command::CancelJob { actor: coordinator.clone(), target: Target { key } };
    let to_ops = Patch::default().with(Attribute::Queue, name("ops"));
    house.apply(update(USER, key, to_ops));
    let refusal = house.refused(cancel);
    let owner = "ada".to_owned();
    assert_eq!(refusal, Refusal::NotYours { job: key.job, owner, right: Right::Manage });
    assert_eq!(
        refusal.to_string(),
        "job 1 belongs to user ada: only they, coordinators of its queue or account, and operators \
         may do that"
    );
    assert_eq!(house.phase(key), Phase::Pending);
}

#[test]
fn a_coordinator_changes_no_more_than_the_owner_could_and_keeps_the_job() {
    let mut house = house();
    let key = in_queue(&mut house, "team");
    let coordinator = coordinator_of_queue("lab");
    let change = |patch| update(coordinator.clone(), key, patch);
    let patch = |attribute, value: &str| Patch::default().with(attribute, name(value));
    assert_eq!(house.refused(change(patch(Attribute::Queue, "ops"))).code(), "not_coordinated");
    house.apply(change(patch(Attribute::Queue, "lab")));
    let nice = Patch::default().with(Attribute::Nice, -1_i32);
    assert_eq!(house.refused(change(nice)), Refusal::NiceNegative);
    let mail = Patch::default().with(Attribute::MailUser, "boss@example.org".to_owned());
    assert_eq!(house.refused(change(mail)).code(), "not_yours");
    let limit = |minutes| Patch::default().with(Attribute::Time, Span::from_minutes(minutes));
    house.apply(change(limit(10)));
    let id = house.start(key, vec![share("g1", 0, 2, &[])]);
    house.report("g1", id, running());
    house.apply(change(limit(5)));
    assert!(house.refused(change(limit(6))).to_string().contains("operators raise it"));
}

#[test]
fn the_hold_of_a_coordinator_is_for_coordinators_and_operators_to_end() {
    let mut house = house();
    let key = in_queue(&mut house, "lab");
    let coordinator = coordinator_of_queue("lab");
    let hold = |actor: &Actor| Command::HoldJob { actor: actor.clone(), target: Target { key } };
    let release =
        |actor: &Actor| Command::ReleaseJob { actor: actor.clone(), target: Target { key } };
    house.apply(hold(&USER));
    house.apply(hold(&coordinator));
    assert_eq!(house.refused(release(&USER)), Refusal::HeldByCoordinator { key });
    let view = query::view::job_view(
        &house.state,
        &query::viewer::Viewer::ALL,
        key,
        &query::view::Waits::new(),
    )
    .unwrap();
    let reason = view.reason.unwrap();
    assert_eq!(reason.code, "JobHeldAdmin");
    assert!(reason.sentence.contains("held by a coordinator"), "{}", reason.sentence);
    house.apply(release(&coordinator));
    assert!(!house.element(key).held && !house.element(key).held_by.includes_coordinator());
    house.apply(hold(&coordinator));
    house.apply(hold(&OPERATOR));
    assert_eq!(house.refused(release(&coordinator)), Refusal::HeldByOperator { key });
    house.apply(release(&OPERATOR));
    house.apply(hold(&USER));
    house.apply(release(&USER));
}

#[test]
fn support_requeues_and_a_viewer_does_not() {
    let mut house = house();
    let key = in_queue(&mut house, "lab");
    let id = house.start(key, vec![share("g1", 0, 2, &[])]);
    house.report("g1", id, running());
    let requeue = |actor| Command::RequeueJob { actor, target: Target { key } };
    let refusal = house.refused(requeue(viewer()));
    assert!(matches!(refusal, Refusal::NotYours { right: Right::Requeue, .. }), "{refusal:?}");
    house.apply(requeue(support()));
    assert_eq!(house.phase(key), Phase::Completing);
}

#[test]
fn a_part_of_a_command_to_an_array_needs_the_right_too() {
    let mut house = house();
    let array = "0-9".parse().ok();
    let job = house.submit(Ask { queue: Some(name("lab")), array, ..Ask::default() });
    let part = |actor, how| {
        let (first, last) = (common::id::ArrayIndex(0), common::id::ArrayIndex(4));
        let tasks = SomeTasks { job, first, last, asked_at: common::time::Time(0) };
        Command::ActOnTasks { actor, tasks, how }
    };
    let refusal = house.refused(part(coordinator_of_queue("ops"), BulkAction::Cancel));
    assert_eq!(refusal.code(), "not_yours");
    assert_eq!(house.refused(part(support(), BulkAction::Hold)).code(), "not_yours");
    house.apply(part(coordinator_of_queue("lab"), BulkAction::Cancel));
}

#[test]
fn a_set_is_managed_only_by_who_coordinates_all_its_components() {
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
    let target = Target { key: "1".parse().unwrap() };
    let actor = coordinator_of_queue("lab");
    let begin = Patch::default().with(Attribute::Begin, common::time::Time(9_000_000));
    assert_eq!(
        house.refused(update(actor.clone(), "1+0".parse().unwrap(), begin)).code(),
        "not_yours"
    );
    assert_eq!(house.refused(Command::CancelJob { actor, target }).code(), "not_yours");
    let queues = [name("lab"), name("ops")].into();
    let actor = Actor { roles: Roles { queues, ..Roles::NONE }, ..Actor::user(BOSS) };
    house.apply(Command::CancelJob { actor, target });
}

#[test]
fn an_actor_without_roles_is_written_and_read_as_before_there_were_any() {
    let text = serde_json::to_string(&Actor::operator(Uid(7))).unwrap();
    assert_eq!(text, r#"{"uid":7,"operator":true}"#);
    assert_eq!(serde_json::from_str::<Actor>(&text).unwrap(), Actor::operator(Uid(7)));
    let actor = coordinator_of_queue("lab");
    let text = serde_json::to_string(&actor).unwrap();
    assert_eq!(text, r#"{"uid":2000,"operator":false,"roles":{"queues":["lab"]}}"#);
    assert_eq!(serde_json::from_str::<Actor>(&text).unwrap(), actor);
}
