//! Commands about services: who may give them, what is refused, and what is kept.

use common::id::{JobKey, Ordinal, Revision};
use common::job::Ask;
use common::reason::{Refusal, ServiceRefusal};
use common::service::{EVENTS_KEPT, REVISIONS_KEPT, StopReason};
use state::{Actor, Command, Event, ReplicaPlace, ServiceAction};
use testkit::deployment;
use testkit::house::{House, OPERATOR, OTHER, USER, exited, running, share};

fn deploy(name: &str, script: &str) -> Command {
    Command::DeployService(Box::new(deployment(name, script, |_| {})))
}

fn act(actor: Actor, name: &str, action: ServiceAction) -> Command {
    Command::ActOnService { actor, name: name.parse().unwrap(), action }
}

fn start(name: &str, revision: u32, ordinal: u32) -> Command {
    let place = ReplicaPlace { role: "worker".parse().unwrap(), ordinal: Ordinal(ordinal) };
    Command::StartReplicas {
        service: name.parse().unwrap(),
        revision: Revision(revision),
        places: vec![place],
    }
}

fn started(events: &[Event]) -> Option<JobKey> {
    events.iter().find_map(|event| match event {
        Event::JobSubmitted { job, .. } => Some(JobKey::single(*job)),
        _ => None,
    })
}

#[test]
fn only_its_owner_and_operators_change_a_service() {
    let mut house = House::new();
    house.apply(deploy("chat", "#!/bin/sh\na\n"));
    let scale = || ServiceAction::Scale { role: "worker".parse().unwrap(), replicas: 2 };
    let refused = house.refused(act(OTHER, "chat", scale()));
    assert!(matches!(refused, Refusal::Service(ServiceRefusal::NotYours { .. })), "{refused}");
    house.apply(act(USER, "chat", scale()));
    house.apply(act(OPERATOR, "chat", ServiceAction::Pause));
    let mut foreign = deployment("chat", "#!/bin/sh\nb\n", |_| {});
    foreign.owner.uid = OTHER.uid;
    let refused = house.refused(Command::DeployService(Box::new(foreign)));
    assert!(matches!(refused, Refusal::Service(ServiceRefusal::NotYours { .. })), "{refused}");
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let mut house = House::new();
    let with_port = |name: &str, port| {
        let made = deployment(name, "#!/bin/sh\na\n", |spec| spec.port = Some(port));
        Command::DeployService(Box::new(made))
    };
    house.apply(with_port("chat", 8000));
    let refused = house.refused(with_port("other", 8000));
    assert_eq!(refused.to_string(), "port 8000 is that of service chat");
    let refused = house.refused(act(USER, "nosuch", ServiceAction::Pause));
    assert_eq!(
        refused.text_with_hint(),
        "there is no service `nosuch`; see `kantctl service list`"
    );
    let scale =
        |role: &str, replicas| ServiceAction::Scale { role: role.parse().unwrap(), replicas };
    let refused = house.refused(act(USER, "chat", scale("worker", 4)));
    assert!(refused.to_string().contains("has 1 to 3 replicas, 4 were asked for"), "{refused}");
    let refused = house.refused(act(USER, "chat", scale("decode", 1)));
    assert!(refused.text_with_hint().ends_with("there are worker"), "{refused}");
    let refused = house.refused(act(USER, "chat", ServiceAction::Promote));
    assert!(refused.to_string().contains("no canaries"), "{refused}");
    let refused = house.refused(act(USER, "chat", ServiceAction::RollBack { to: None }));
    assert!(refused.to_string().contains("no such revision"), "{refused}");
    let mut textless = deployment("other", "#!/bin/sh\na\n", |_| {});
    textless.texts.clear();
    house.refused(Command::DeployService(Box::new(textless)));
    let queueless = deployment("other", "#!/bin/sh\na\n", |spec| {
        spec.roles[0].ask.queue = Some("nosuch".parse().unwrap());
    });
    let refused = house.refused(Command::DeployService(Box::new(queueless)));
    assert!(matches!(refused, Refusal::UnknownQueue { .. }), "{refused}");
}

#[test]
fn a_place_gets_one_replica_and_only_the_leader_makes_replicas() {
    let mut house = House::new();
    house.apply(deploy("chat", "#!/bin/sh\na\n"));
    let job = started(&house.apply(start("chat", 1, 0))).unwrap();
    assert_eq!(started(&house.apply(start("chat", 1, 0))), None, "a repeated command");
    assert_eq!(started(&house.apply(start("chat", 7, 1))), None, "no such revision");
    let replica = house.state.job(job.job).unwrap().spec.ask.replica.clone();
    assert!(replica.is_some());
    // A user's submission that claims to be a replica is a plain job.
    let forged = house.submission(Ask { replica, ..Ask::default() });
    let forged = started(&house.apply(forged)).unwrap();
    assert_eq!(house.state.job(forged.job).unwrap().spec.ask.replica, None);
    assert_eq!(house.state.replicas_of(&"chat".parse().unwrap()).count(), 1);
    // A replica that was stopped does not come back by hand.
    house.apply(Command::StopReplica { key: job, why: StopReason::ScaledDown });
    let requeue = house.requeue(job);
    let refused = house.refused(requeue);
    assert!(matches!(refused, Refusal::Service(ServiceRefusal::IsReplica { .. })), "{refused}");
    house.apply(act(USER, "chat", ServiceAction::Stop));
    assert_eq!(started(&house.apply(start("chat", 1, 0))), None, "it is being stopped");
    house.apply(Command::RemoveService { name: "chat".parse().unwrap() });
    assert_eq!(house.state.services().count(), 0);
}

#[test]
fn a_refused_replica_is_noted_once_and_not_submitted_again_at_once() {
    let mut house = House::new();
    house.apply(deploy("chat", "#!/bin/sh\na\n"));
    let mut settings = testkit::house::settings();
    settings.queues[0].access.users = std::collections::BTreeSet::from([OTHER.uid]);
    house.apply(Command::Configure(settings));
    for _ in 0..3 {
        assert_eq!(started(&house.apply(start("chat", 1, 0))), None);
    }
    let service = house.state.service(&"chat".parse().unwrap()).unwrap();
    let refusals = service.events.iter().filter(|one| one.kind.to_string().contains("failed to"));
    assert_eq!(refusals.count(), 1);
    assert!(service.submits_after > Some(house.now));
}

#[test]
fn revisions_events_and_texts_are_bounded() {
    let mut house = House::new();
    for revision in 0..30 {
        house.apply(deploy("chat", &format!("#!/bin/sh\n{revision}\n")));
    }
    let service = house.state.service(&"chat".parse().unwrap()).unwrap();
    assert_eq!(service.revisions.len(), REVISIONS_KEPT);
    assert_eq!(service.current, Revision(30));
    // One script for each revision, and the empty environment.
    assert_eq!(house.state.blobs().uses().count(), REVISIONS_KEPT + 1);
    for _ in 0..EVENTS_KEPT {
        house.apply(act(USER, "chat", ServiceAction::Pause));
        house.apply(act(USER, "chat", ServiceAction::Resume));
    }
    let service = house.state.service(&"chat".parse().unwrap()).unwrap();
    assert_eq!(service.events.len(), EVENTS_KEPT);
}

#[test]
fn a_replica_that_fails_is_replaced_at_once_and_after_more_failures_in_a_row_later() {
    let mut house = House::new();
    house.apply(deploy("chat", "#!/bin/sh\n"));
    let mut pauses = Vec::new();
    for _ in 0..4 {
        let key = started(&house.apply(start("chat", 1, 0))).unwrap();
        let id = house.start(key, vec![share("g1", 0, 1, &[])]);
        house.report("g1", id, running());
        house.wait(5);
        house.report("g1", id, exited(0));
        let service = house.state.service(&"chat".parse().unwrap()).unwrap();
        let failures = service.failures(&"worker".parse().unwrap(), Ordinal(0)).unwrap();
        pauses.push(failures.not_before.since(house.now).seconds());
    }
    assert_eq!(pauses, [0, 10, 20, 40]);
}
