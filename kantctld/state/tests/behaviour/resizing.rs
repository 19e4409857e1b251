//! Resizing: permissions, which nodes a job gives up and when they are free, and how it runs on and
//! ends.

use crate::house::{House, OPERATOR, USER, end, exited, name, running, share, tasks_of};
use common::id::{AttemptId, JobKey};
use common::job::{
    Ask, EndCause, JobSize, Launch, Outcome, Phase, PreemptReason, Preempted, ResizeSignal,
};
use common::resource::Request;
use common::unit::{Nodes, Tasks};
use common::wire::node::{DesiredStep, Want};
use query::view::job_view;
use state::{Actor, Command, Event, RoundShrink, Target};

fn resize(actor: Actor, key: JobKey, size: JobSize) -> Command {
    Command::ResizeJob { actor, target: Target { key }, size }
}

const ONE_NODE: JobSize = JobSize::Nodes(Nodes(1));

/// A job that runs its script on g1 and g2, one task each.
fn gang(house: &mut House, launch: Launch, least: Option<u32>) -> AttemptId {
    let asked = tasks_of(2);
    let request = Request { tasks_min: least.map(Tasks), ..asked.request.clone() };
    let resize_signal = "B:USR1".parse::<ResizeSignal>().ok();
    let ask = Ask { request, launch, resize_signal, ..asked };
    let key = JobKey::single(house.submit(ask));
    let id = house.start(key, vec![share("g1", 0, 2, &[0]), share("g2", 0, 2, &[0])]);
    for node in ["g1", "g2"] {
        house.report(node, id, running());
    }
    assert_eq!(house.phase(key), Phase::Running);
    id
}

fn wish(house: &House, node: &str, id: AttemptId) -> Option<DesiredStep> {
    let steps = state::desired::desired_for(&house.state, &name(node));
    steps.into_iter().find(|step| step.id == id)
}

fn holds(house: &House, node: &str, id: AttemptId) -> bool {
    house.state.ledger().holders(&name(node)).any(|holder| holder == id)
}

#[test]
fn a_job_runs_on_without_a_node_that_is_free_once_it_says_so() {
    let mut house = House::new();
    let id = gang(&mut house, Launch::PerNode, Some(1));
    let events = house.apply(resize(USER, id.key, ONE_NODE));
    let nodes = vec![name("g1"), name("g2")];
    let (stays, leaves) = (vec![name("g1")], vec![name("g2")]);
    let by = USER.uid;
    let (tasks, preempted) = (Tasks(1), None);
    assert_eq!(events, [Event::JobResized { id, by, preempted, tasks, stays, leaves, nodes }]);
    let touched = state::effect::touched_nodes(&events);
    assert!(touched.contains(&name("g1")) && touched.contains(&name("g2")));
    // One node is notified. The other ends its share, and holds it until then.
    let first = wish(&house, "g1", id).unwrap();
    let resized = first.resized.as_ref().unwrap();
    assert_eq!((first.want, resized.number, resized.allocation.shares().len()), (Want::Run, 1, 1));
    assert_eq!(resized.signal, "B:USR1".parse().ok());
    let second = wish(&house, "g2", id).unwrap();
    assert_eq!((second.want, second.resized.is_none()), (Want::Stop, true));
    assert!(holds(&house, "g2", id));
    let shown =
        job_view(&house.state, &query::viewer::Viewer::ALL, id.key, &Default::default()).unwrap();
    assert_eq!((shown.cpus.0, shown.leaving.as_slice()), (2, &[name("g2")][..]));

    house.wait(10);
    house.report("g2", id, end(EndCause::Stopped, 143));
    assert!(!holds(&house, "g2", id) && wish(&house, "g2", id).is_none());
    assert_eq!(house.phase(id.key), Phase::Running, "it runs on");
    let shown =
        job_view(&house.state, &query::viewer::Viewer::ALL, id.key, &Default::default()).unwrap();
    assert!(shown.leaving.is_empty() && shown.usage.is_none());
    house.wait(10);
    house.report("g1", id, exited(0));
    assert_eq!(house.outcome(id.key), Some(Outcome::Completed));
    let timeline: Vec<String> = house
        .element(id.key)
        .timeline
        .iter()
        .map(|line| query::timeline::line(&line.what))
        .collect();
    let says = format!("resized by user {} to 1 task on g1: g2 given up", USER.uid);
    assert!(timeline.contains(&says), "{timeline:?}");
    // Two CPUs for 20 s and two for 10 s: each until its node released it.
    let over = query::history::all_ended(&house.state).next().unwrap();
    assert_eq!((over.cpu_milliseconds, over.gpu_milliseconds), (60_000, 30_000));
    assert_eq!(over.job.allocation.unwrap().shares().len(), 1);
}

#[test]
fn a_wish_that_comes_twice_is_granted_once() {
    let mut house = House::new();
    let id = gang(&mut house, Launch::Once, None);
    house.apply(resize(USER, id.key, ONE_NODE));
    assert_eq!(house.apply(resize(USER, id.key, ONE_NODE)), []);
    assert_eq!(house.apply(resize(USER, id.key, JobSize::Tasks(Tasks(1)))), []);
    house.report("g2", id, running());
    assert!(wish(&house, "g2", id).is_some_and(|step| step.want == Want::Stop), "a late word");
    assert_eq!(wish(&house, "g1", id).unwrap().resized.unwrap().number, 1);
}

#[test]
fn how_a_node_that_is_given_up_ends_says_nothing_of_the_job() {
    for cause in [EndCause::Exited, EndCause::OutOfMemory, EndCause::Lost, EndCause::Stopped] {
        for launch in [Launch::Once, Launch::PerNode, Launch::PerTask, Launch::Held] {
            let mut house = House::new();
            let id = gang(&mut house, launch, None);
            house.apply(resize(OPERATOR, id.key, ONE_NODE));
            house.report("g2", id, end(cause, 9));
            assert_eq!(house.phase(id.key), Phase::Running, "{cause:?} {launch:?}");
            assert!(!holds(&house, "g2", id));
        }
    }
    let mut house = House::new();
    let id = gang(&mut house, Launch::PerNode, None);
    house.apply(resize(OPERATOR, id.key, ONE_NODE));
    house.silence("g2");
    house.lose("g2");
    assert_eq!(house.phase(id.key), Phase::Running, "its node is lost");
}

#[test]
fn a_job_whose_other_nodes_are_through_is_over_with_them() {
    let mut house = House::new();
    let id = gang(&mut house, Launch::PerNode, None);
    house.report("g1", id, exited(0));
    assert_eq!(house.phase(id.key), Phase::Running);
    house.apply(resize(USER, id.key, ONE_NODE));
    assert_eq!(house.phase(id.key), Phase::Completing);
    house.report("g2", id, end(EndCause::Stopped, 143));
    assert_eq!(house.outcome(id.key), Some(Outcome::Completed));

    let id = gang(&mut house, Launch::PerNode, None);
    house.report("g2", id, exited(0));
    house.apply(resize(USER, id.key, ONE_NODE));
    assert_eq!(house.phase(id.key), Phase::Running, "the first still works");
    house.report("g1", id, exited(0));
    assert_eq!(house.outcome(id.key), Some(Outcome::Completed));
}

#[test]
fn a_job_that_gives_nodes_up_can_be_cancelled_and_requeued() {
    let mut house = House::new();
    let id = gang(&mut house, Launch::PerNode, None);
    house.apply(resize(USER, id.key, ONE_NODE));
    let requeue = house.requeue(id.key);
    house.apply(requeue);
    house.report("g1", id, end(EndCause::Stopped, 143));
    assert_eq!(house.phase(id.key), Phase::Completing, "g2 has not let go");
    house.report("g2", id, end(EndCause::Stopped, 143));
    assert_eq!(house.phase(id.key), Phase::Pending);
    let id = house.start(id.key, vec![share("g1", 0, 2, &[0]), share("g2", 0, 2, &[0])]);
    house.report("g1", id, running());
    house.report("g2", id, running());
    assert!(wish(&house, "g1", id).unwrap().resized.is_none(), "another attempt is whole again");
}

#[test]
fn only_owners_and_operators_may_and_only_what_runs_and_not_below_the_least() {
    let mut house = House::new();
    let id = gang(&mut house, Launch::PerNode, Some(2));
    let other = Actor::user(common::id::Uid(4242));
    assert!(house.refused(resize(other, id.key, ONE_NODE)).to_string().contains("belongs to"));
    let refusal = house.refused(resize(OPERATOR, id.key, ONE_NODE)).to_string();
    assert_eq!(refusal, "job 1 would keep 1 task, and requested at least 2");
    let more = JobSize::Nodes(Nodes(3));
    let refusal = house.refused(resize(USER, id.key, more)).to_string();
    assert!(
        refusal.contains("2 tasks on 2 nodes") && refusal.contains("not enlarged"),
        "{refusal}"
    );
    let waits = house.job();
    let refusal = house.refused(resize(USER, waits, ONE_NODE)).to_string();
    assert_eq!(refusal, "cannot resize job 2: it is PENDING");
}

/// Shrinks an attempt to this number of nodes for another job, by a round.
fn pressed(house: &mut House, id: AttemptId, keeps: u32, by: JobKey) -> Vec<Event> {
    let preempted = Preempted { by, why: PreemptReason::Reclaim };
    let shrinks = vec![RoundShrink { id, preempted, keeps: Nodes(keeps) }];
    house.apply(Command::EnactRound { preempts: vec![], shrinks, starts: vec![], grows: vec![] })
}

#[test]
fn a_round_has_an_elastic_job_give_nodes_up_and_run_on() {
    let mut house = House::new();
    let id = gang(&mut house, Launch::PerNode, Some(1));
    let by = JobKey::single(house.submit(tasks_of(1)));
    let events = pressed(&mut house, id, 1, by);
    let is_resized = |event: &Event| {
        matches!(event, Event::JobResized { preempted: Some(to), leaves, .. }
            if to.by == by && *leaves == [name("g2")])
    };
    assert!(events.iter().any(is_resized), "{events:?}");
    let seen = |house: &House| {
        let seen = state::snapshot::snapshot(&house.state);
        let job = seen.running_job(id.key).unwrap();
        (job.leaving, job.yields_to, job.nodes_min, job.allocation.shares().len())
    };
    assert_eq!(seen(&house), (1, Some(by), None, 2), "what rounds see of it");
    assert!(wish(&house, "g2", id).is_some_and(|step| step.want == Want::Stop));
    assert_eq!(wish(&house, "g1", id).unwrap().resized.unwrap().number, 1, "it is notified");
    // A second time meanwhile is refused and changes nothing.
    let again = pressed(&mut house, id, 1, by);
    assert!(matches!(again[..], [Event::RoundEntryRefused { .. }]), "{again:?}");
    house.report("g2", id, end(EndCause::Stopped, 143));
    assert_eq!(seen(&house), (0, None, None, 1));
    assert_eq!(house.phase(id.key), Phase::Running);
    let timelines = |key| {
        let timeline = &house.element(key).timeline;
        timeline.iter().map(|line| query::timeline::line(&line.what)).collect::<Vec<_>>().join("; ")
    };
    let (own, other) = (timelines(id.key), timelines(by));
    let says = format!("gives up g2 for job {by} (");
    assert!(own.contains(&says) && own.contains("continues with 1 task on g1"), "{own}");
    assert!(other.contains(&format!("preempts job {} (", id.key)), "{other}");
}

#[test]
fn a_round_takes_no_node_that_a_job_needs_or_that_no_job_waits_for() {
    let mut house = House::new();
    let waits = JobKey::single(house.submit(tasks_of(1)));
    for (least, keeps) in [(None, 1), (Some(2), 1), (Some(1), 0), (Some(1), 2), (Some(1), 3)] {
        let mut house = House::new();
        let by = JobKey::single(house.submit(tasks_of(1)));
        let id = gang(&mut house, Launch::PerNode, least);
        let events = pressed(&mut house, id, keeps, by);
        let refused = matches!(events[..], [Event::RoundEntryRefused { .. }]);
        assert!(refused, "at least {least:?}, keeps {keeps}: {events:?}");
        assert!(wish(&house, "g2", id).is_some_and(|step| step.want == Want::Run));
    }
    let id = gang(&mut house, Launch::PerNode, Some(1));
    house.apply(Command::CancelJob { actor: USER, target: Target { key: waits } });
    let events = pressed(&mut house, id, 1, waits);
    assert!(matches!(events[..], [Event::RoundEntryRefused { .. }]), "{events:?}");
}
