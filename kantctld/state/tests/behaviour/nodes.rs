//! Nodes that connect, disconnect, return with changes, or are replaced by another machine.

use crate::house::{House, OPERATOR, USER, attempt, end, exited, inventory, name, running, share};
use common::id::{AttemptId, DataName, JobKey};
use common::job::{Ask, EndCause, Launch, Outcome, Phase};
use common::node::{Contact, NodeStatus, Resumed};
use common::unit::{Nodes, Tasks};
use common::wire::node::{StepPhase, StepStatus, Want};
use state::snapshot::SnapshotKeeper;
use state::{Command, Event};
use std::sync::Arc;

fn living(house: &mut House, ask: Ask) -> AttemptId {
    let key = JobKey::single(house.submit(ask));
    let id = house.start(key, vec![share("g1", 0, 2, &[])]);
    house.report("g1", id, running());
    id
}

#[test]
fn a_silent_node_keeps_its_jobs_and_goes_on_with_them() {
    let mut house = House::new();
    let id = living(&mut house, Ask::default());
    let name = name("g1");
    assert_eq!(house.silence("g1"), [Event::NodeSilent { name: name.clone() }]);
    assert_eq!(house.silence("g1"), [], "silent already");
    assert_eq!((house.phase(id.key), house.want("g1", id)), (Phase::Running, Some(Want::Run)));
    let back = house.register("g1", &[StepStatus { id, phase: running() }]);
    assert_eq!(back, [Event::NodeRegistered { name }]);
    assert_eq!(house.phase(id.key), Phase::Running);
}

#[test]
fn a_job_that_ended_while_its_node_was_silent_is_done_at_the_hello() {
    let mut house = House::new();
    let id = living(&mut house, Ask::default());
    house.silence("g1");
    house.register("g1", &[StepStatus { id, phase: exited(0) }]);
    assert_eq!(house.outcome(id.key), Some(Outcome::Completed));
}

#[test]
fn a_lost_node_sends_its_jobs_back_to_their_queues_or_ends_them() {
    let mut house = House::new();
    let again = living(&mut house, Ask::default());
    let key = JobKey::single(house.submit(Ask { requeue: false, ..Ask::default() }));
    let once = house.start(key, vec![share("g1", 2, 2, &[])]);
    house.lose("g1");
    assert_eq!(house.phase(again.key), Phase::Pending);
    assert_eq!(house.outcome(once.key), Some(Outcome::NodeLost));
    assert!(house.state.ledger().holdings_on(&name("g1")).is_none());

    // The node returns and still runs both. Neither is wanted, so it must kill them.
    let next = house.start(again.key, vec![share("g2", 0, 2, &[])]);
    let steps = [again, once].map(|id| StepStatus { id, phase: running() });
    house.register("g1", &steps);
    assert_eq!((house.want("g1", again), house.want("g1", once)), (None, None));
    assert_eq!(house.want("g2", next), Some(Want::Run));
    assert_eq!(next, attempt(again.key, 2));
}

#[test]
fn a_node_that_came_back_in_time_is_not_lost() {
    let mut house = House::new();
    let id = living(&mut house, Ask::default());
    house.silence("g1");
    house.register("g1", &[StepStatus { id, phase: running() }]);
    assert_eq!(house.apply(Command::NodeLost { name: name("g1") }), []);
    assert_eq!(house.phase(id.key), Phase::Running);
}

#[test]
fn a_gang_that_loses_a_node_waits_for_the_others_before_it_goes_back() {
    let mut house = House::new();
    let mut ask = Ask { launch: Launch::PerNode, ..Ask::default() };
    (ask.request.nodes, ask.request.tasks) = (Some(Nodes(2)), Tasks(2));
    let key = JobKey::single(house.submit(ask));
    let id = house.start(key, vec![share("g1", 0, 2, &[]), share("g2", 0, 2, &[])]);
    house.lose("g1");
    assert_eq!((house.phase(key), house.want("g2", id)), (Phase::Completing, Some(Want::Stop)));
    house.report("g2", id, end(EndCause::Stopped, 0));
    assert_eq!(house.phase(key), Phase::Pending);
}

#[test]
fn a_node_that_forgot_what_it_had_spoken_of_has_lost_it() {
    let mut house = House::new();
    let id = living(&mut house, Ask::default());
    house.register("g1", &[]);
    assert_eq!(house.phase(id.key), Phase::Pending);
}

#[test]
fn a_node_that_never_spoke_of_a_step_is_asked_again() {
    let mut house = House::new();
    let key = house.job();
    let id = house.start(key, vec![share("g1", 0, 2, &[])]);
    house.silence("g1");
    house.register("g1", &[]);
    assert_eq!((house.phase(key), house.want("g1", id)), (Phase::Starting, Some(Want::Run)));

    // Cancelled before the node knew of the job: at its next Hello there is nothing to stop.
    house.silence("g1");
    let cancel = house.cancel(key);
    house.apply(cancel);
    assert_eq!(house.phase(key), Phase::Completing, "the silent node might have it");
    house.register("g1", &[]);
    assert_eq!(house.outcome(key), Some(Outcome::Cancelled));
}

#[test]
fn two_machines_do_not_share_a_name_but_one_may_replace_another() {
    let mut house = House::new();
    let id = living(&mut house, Ask::default());
    let Command::RegisterNode { name, address, version, inventory, .. } =
        house.hello("g1", inventory(8, 64, 4), &[])
    else {
        unreachable!()
    };
    let identity = "another".to_owned();
    let steps = vec![StepStatus { id, phase: StepPhase::Preparing }];
    let other = Command::RegisterNode { name, identity, address, version, inventory, steps };
    let refusal = house.refused(other.clone()).to_string();
    assert!(refusal.contains("already connected from another machine"), "{refusal}");
    house.silence("g1");
    house.apply(other);
    assert_eq!(house.phase(id.key), Phase::Pending, "what the old machine held is lost");
    assert_eq!(house.want("g1", id), None);
}

#[test]
fn a_restarted_kantd_may_register_before_its_silence_was_noticed() {
    let mut house = House::new();
    let id = living(&mut house, Ask::default());
    house.register("g1", &[StepStatus { id, phase: running() }]);
    assert_eq!(house.phase(id.key), Phase::Running);
}

#[test]
fn draining_is_for_operators_and_stops_nothing() {
    let mut house = House::new();
    let id = living(&mut house, Ask::default());
    let drain = |actor| Command::DrainNode { actor, name: name("g1"), reason: "fan".to_owned() };
    let refusal = house.refused(drain(USER)).to_string();
    assert!(refusal.contains("user 1000 is not an operator"), "{refusal}");
    let silent = Command::DrainNode { actor: OPERATOR, name: name("g1"), reason: " ".to_owned() };
    assert!(house.refused(silent).to_string().contains("a drain needs a reason"));
    house.apply(drain(OPERATOR));
    let status = |house: &House| {
        query::view::node_view(&house.state, &query::viewer::Viewer::ALL, &name("g1"))
            .unwrap()
            .status
    };
    assert_eq!((house.phase(id.key), status(&house)), (Phase::Running, NodeStatus::Draining));
    house.report("g1", id, exited(0));
    assert_eq!(status(&house), NodeStatus::Drained);
    house.lose("g1");
    house.register("g1", &[]);
    assert_eq!(status(&house), NodeStatus::Drained, "a drain outlives a reconnect");
    let resume = Command::ResumeNode { actor: OPERATOR, name: name("g1") };
    house.apply(resume.clone());
    assert_eq!(status(&house), NodeStatus::Idle);
    assert_eq!(house.apply(resume), []);
}

#[test]
fn an_unknown_node_is_refused() {
    let mut house = House::new();
    let name = name("g9");
    let (reason, steps, node) = ("x".to_owned(), vec![], name.clone());
    for command in [
        Command::NodeSilent { name: name.clone() },
        Command::NodeLost { name: name.clone() },
        Command::ReportSteps { node, steps },
        Command::DrainNode { actor: OPERATOR, name: name.clone(), reason },
        Command::ResumeNode { actor: OPERATOR, name },
    ] {
        assert!(house.refused(command).to_string().contains("there is no node g9"));
    }
}

#[test]
fn contact_is_remembered_with_its_time() {
    let mut house = House::new();
    house.silence("g1");
    let since = house.now;
    assert_eq!(house.state.node(&name("g1")).unwrap().contact, Contact::Silent { since });
    house.wait(300);
    house.apply(Command::NodeLost { name: name("g1") });
    let since = house.now;
    assert_eq!(house.state.node(&name("g1")).unwrap().contact, Contact::Lost { since });
}

#[test]
fn a_node_says_who_drained_it_and_who_put_it_in_use_again() {
    let mut house = House::new();
    let of = |house: &House| {
        let node =
            query::view::node_view(&house.state, &query::viewer::Viewer::ALL, &name("g1")).unwrap();
        (node.drain.map(|drain| (drain.by, drain.since)), node.resumed)
    };
    let drained_at = house.now;
    let (actor, reason) = (OPERATOR, "new fans".to_owned());
    house.apply(Command::DrainNode { actor: actor.clone(), name: name("g1"), reason });
    assert_eq!(of(&house), (Some((OPERATOR.uid, drained_at)), None));
    house.wait(60);
    house.apply(Command::ResumeNode { actor: actor.clone(), name: name("g1") });
    let resumed = Some(Resumed { by: OPERATOR.uid, at: house.now });
    assert_eq!(of(&house), (None, resumed.clone()));
    house.wait(60);
    // The node is already in use, and reconnects.
    house.apply(Command::ResumeNode { actor, name: name("g1") });
    house.silence("g1");
    house.register("g1", &[]);
    assert_eq!(of(&house), (None, resumed));
}

#[test]
fn the_data_of_a_node_is_that_of_its_last_report_since_it_connected() {
    let mut house = House::new();
    let mut keeper = SnapshotKeeper::new(&house.state);
    let names = |text: &str| -> Vec<DataName> {
        text.split_whitespace().map(|name| name.parse().unwrap()).collect()
    };
    let mut report = |house: &mut House, node: &str, data: &str| {
        let data = names(data);
        let events = house.apply(Command::ReportData { node: name(node), data });
        keeper.update(&house.state, &events);
        let fresh = SnapshotKeeper::new(&house.state);
        assert_eq!(keeper.snapshot().nodes(), fresh.snapshot().nodes());
        events
    };
    let changed = Event::NodeDataChanged { name: name("g2") };
    assert_eq!(report(&mut house, "g2", "imagenet llama3"), std::slice::from_ref(&changed));
    assert_eq!(report(&mut house, "g2", "imagenet llama3"), []);
    let of = |house: &House, node: &str| house.state.node(&name(node)).unwrap().data.clone();
    assert_eq!(of(&house, "g2").to_vec(), names("imagenet llama3"));
    assert_eq!(report(&mut house, "g2", "llama3"), [changed]);
    let nodes = state::snapshot::snapshot(&house.state).nodes();
    let node = nodes.iter().find(|node| node.name == name("g2")).unwrap();
    assert_eq!(node.data.to_vec(), names("llama3"));

    // Equal lists of neighbours are one; a node that connects again reports again.
    report(&mut house, "g1", "imagenet");
    report(&mut house, "g2", "imagenet");
    assert!(Arc::ptr_eq(&of(&house, "g1"), &of(&house, "g2")));
    house.register("g2", &[]);
    assert!(of(&house, "g2").is_empty());
    house.refused(Command::ReportData { node: name("nowhere"), data: names("x") });
}
