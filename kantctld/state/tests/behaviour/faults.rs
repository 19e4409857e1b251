//! Attempts that end through no fault of their job: delays, holds, and drained nodes.

use crate::house::{House, OPERATOR, OTHER, USER, end, exited, name, running, share};
use common::id::{AttemptId, JobKey, Uid};
use common::job::{Ask, EndCause, Launch, Outcome, Phase};
use common::time::{Span, Time};
use common::unit::{Nodes, Tasks};
use common::wire::node::{StepPhase, Want};
use query::view::{self, Waits};
use state::fault::{FAULTS_MAX, NodeFaults, START_MAX};
use state::{Command, Event, Target, overdue};

fn fault(why: &str) -> StepPhase {
    let StepPhase::Ended(mut end) = end(EndCause::NodeFault, 0) else { unreachable!() };
    (end.started_at, end.message) = (None, Some(why.to_owned()));
    StepPhase::Ended(end)
}

/// Starts the next attempt on a node, where it fails by a fault of the node.
fn meet_fault(house: &mut House, key: JobKey, node: &str) -> Vec<Event> {
    let id = house.start(key, vec![share(node, 0, 2, &[])]);
    house.report(node, id, fault("the spool is full"))
}

fn not_before(house: &House, key: JobKey) -> Option<Time> {
    let seen = state::snapshot::snapshot(&house.state);
    seen.waiting_job(key).unwrap().not_before
}

fn message(house: &House, key: JobKey) -> Option<String> {
    view::job_view(&house.state, &query::viewer::Viewer::ALL, key, &Waits::new()).unwrap().message
}

#[test]
fn a_fault_of_its_node_sends_a_job_back_to_wait_a_while() {
    let mut house = House::new();
    let key = house.job();
    meet_fault(&mut house, key, "g1");
    assert_eq!(house.phase(key), Phase::Pending);
    assert_eq!(not_before(&house, key), Some(house.now + Span::from_seconds(10)));
    assert!(message(&house, key).unwrap().contains("(the spool is full)"));
    house.wait(10);
    meet_fault(&mut house, key, "g2");
    assert_eq!(not_before(&house, key), Some(house.now + Span::from_seconds(20)));

    // A job that runs to its end has no faults left, and a requeue starts without any.
    house.wait(20);
    let id = house.start(key, vec![share("g1", 0, 2, &[])]);
    house.report("g1", id, running());
    house.report("g1", id, exited(1));
    assert_eq!((house.outcome(key), &house.element(key).faults), (Some(Outcome::Failed), &None));
    let requeue = house.requeue(key);
    house.apply(requeue);
    assert_eq!(not_before(&house, key), None);
}

#[test]
fn a_job_that_may_not_be_requeued_ends_with_the_words_of_its_node() {
    let mut house = House::new();
    let key = JobKey::single(house.submit(Ask { requeue: false, ..Ask::default() }));
    meet_fault(&mut house, key, "g1");
    assert_eq!(house.outcome(key), Some(Outcome::LaunchFailed));
    assert_eq!(message(&house, key).as_deref(), Some("the spool is full"));
}

#[test]
fn a_lost_node_delays_its_jobs_too_and_a_requeue_by_hand_does_not() {
    let mut house = House::new();
    let key = house.job();
    let id = house.start(key, vec![share("g1", 0, 2, &[])]);
    house.report("g1", id, running());
    house.lose("g1");
    assert_eq!(not_before(&house, key), Some(house.now + Span::from_seconds(10)));
    house.wait(10);
    let id = house.start(key, vec![share("g2", 0, 2, &[])]);
    let requeue = house.requeue(key);
    house.apply(requeue);
    house.report("g2", id, end(EndCause::Stopped, 0));
    assert_eq!((house.phase(key), not_before(&house, key)), (Phase::Pending, None));
}

/// A gang on g1 and g2.
fn gang(house: &mut House) -> AttemptId {
    let mut ask = Ask { launch: Launch::PerNode, ..Ask::default() };
    (ask.request.nodes, ask.request.tasks) = (Some(Nodes(2)), Tasks(2));
    let key = JobKey::single(house.submit(ask));
    house.start(key, vec![share("g1", 0, 2, &[]), share("g2", 0, 2, &[])])
}

#[test]
fn a_requeue_by_hand_while_a_faulty_attempt_stops_lifts_the_delay() {
    let mut house = House::new();
    let id = gang(&mut house);
    house.report("g1", id, fault("no cgroup"));
    assert_eq!((house.phase(id.key), house.want("g2", id)), (Phase::Completing, Some(Want::Stop)));
    let requeue = house.requeue(id.key);
    let events = house.apply(requeue);
    assert!(matches!(events.as_slice(), [Event::JobEndChanged { requeue: true, .. }]));
    house.report("g2", id, end(EndCause::Stopped, 0));
    assert_eq!((house.phase(id.key), not_before(&house, id.key)), (Phase::Pending, None));
}

#[test]
fn after_five_faults_in_a_row_a_job_is_held_until_a_user_releases_it() {
    let mut house = House::new();
    let key = house.job();
    for _ in 0..FAULTS_MAX {
        assert!(!house.element(key).held);
        house.wait(600);
        meet_fault(&mut house, key, "g1");
        house.apply(Command::ResumeNode { actor: OPERATOR, name: name("g1") });
    }
    assert!(house.element(key).held);
    let text = message(&house, key).unwrap();
    assert!(text.contains("held after 5 attempts in a row"), "{text}");
    assert!(text.contains("failed for no fault of its own"), "{text}");
    let jobs = view::job_detail(&house.state, &query::viewer::Viewer::ALL, key, &Waits::new())
        .unwrap()
        .jobs;
    assert_eq!(jobs[0].timeline.last().unwrap().text, text);
    house.apply(Command::ReleaseJob { actor: USER, target: Target { key } });
    assert_eq!((house.element(key).held, not_before(&house, key)), (false, None));
    meet_fault(&mut house, key, "g1");
    assert!(!house.element(key).held, "a release begins again");
}

#[test]
fn two_faults_in_a_row_drain_the_node_and_a_start_between_them_does_not() {
    let mut house = House::new();
    let keys = [(); 3].map(|()| house.job());
    meet_fault(&mut house, keys[0], "g1");
    let id = house.start(keys[1], vec![share("g1", 0, 2, &[])]);
    house.report("g1", id, running());
    house.report("g1", id, exited(0));
    meet_fault(&mut house, keys[2], "g1");
    assert_eq!(house.state.node(&name("g1")).unwrap().drain, None);

    house.wait(600);
    let events = meet_fault(&mut house, keys[0], "g1");
    assert!(matches!(events.last(), Some(Event::NodeDrained { .. })), "{events:?}");
    let node = view::node_view(&house.state, &query::viewer::Viewer::ALL, &name("g1")).unwrap();
    let drain = node.drain.unwrap();
    assert_eq!((drain.by, drain.since), (OPERATOR.uid, house.now));
    assert!(drain.reason.contains("2 starts in a row"), "{}", drain.reason);
    assert!(drain.reason.contains("the spool is full"), "{}", drain.reason);

    // After the repair, the first fault does not drain it again.
    house.apply(Command::ResumeNode { actor: OPERATOR, name: name("g1") });
    house.wait(600);
    meet_fault(&mut house, keys[2], "g1");
    assert_eq!(house.state.node(&name("g1")).unwrap().drain, None);
}

/// Starts a job of this user on g1, where it fails by a fault that the user may have caused.
fn meet_unclear_fault(house: &mut House, user: Uid) -> Vec<Event> {
    let command = house.submission(Ask::default());
    let Command::SubmitJob { mut owner, request_key, ask, script, environment, .. } = command
    else {
        unreachable!()
    };
    owner.uid = user;
    let (groups, operator) = (Vec::new(), false);
    let events = house.apply(Command::SubmitJob {
        request_key,
        owner,
        groups,
        operator,
        via: None,
        ask,
        script,
        environment,
    });
    let [Event::JobSubmitted { job, .. }] = events.as_slice() else { panic!("{events:?}") };
    let id = house.start(JobKey::single(*job), vec![share("g1", 0, 2, &[])]);
    let StepPhase::Ended(mut end) = end(EndCause::UnclearFault, 0) else { unreachable!() };
    (end.started_at, end.message) = (None, Some("the disk is full".to_owned()));
    let events = house.report("g1", id, StepPhase::Ended(end));
    assert_eq!(house.phase(id.key), Phase::Pending, "it is tried again");
    events
}

#[test]
fn faults_that_one_user_may_have_made_drain_no_node_and_those_of_two_users_do() {
    let mut house = House::new();
    let drain = |house: &House| house.state.node(&name("g1")).unwrap().drain.clone();
    for _ in 0..4 {
        meet_unclear_fault(&mut house, USER.uid);
        assert_eq!(drain(&house), None);
    }
    meet_unclear_fault(&mut house, OTHER.uid);
    let reason = drain(&house).unwrap().reason;
    assert!(reason.contains("5 starts in a row") && reason.contains("disk is full"), "{reason}");

    // If one fault was certainly not caused by the user, faults of a single user are enough.
    house.apply(Command::ResumeNode { actor: OPERATOR, name: name("g1") });
    meet_unclear_fault(&mut house, USER.uid);
    assert_eq!(drain(&house), None);
    let key = house.job();
    meet_fault(&mut house, key, "g1");
    assert!(drain(&house).is_some());
}

#[test]
fn an_attempt_that_never_gets_off_the_ground_is_stopped_and_tried_again() {
    let mut house = House::new();
    let id = gang(&mut house);
    house.report("g1", id, StepPhase::Ready);
    house.report("g2", id, StepPhase::Preparing);
    let due = house.now + START_MAX;
    assert_eq!(overdue(&house.state, due - Span(1)), []);
    assert_eq!(overdue(&house.state, due), [id]);
    assert_eq!(house.apply(Command::StartOverdue { id }), [], "not yet by the stamp");

    house.wait(START_MAX.0 / 1000);
    let events = house.apply(Command::StartOverdue { id });
    assert!(matches!(events.as_slice(), [Event::JobEnded { requeue: true, by: None, .. }]));
    let wants = [house.want("g1", id), house.want("g2", id)];
    assert_eq!(wants, [Some(Want::Stop), Some(Want::Stop)]);
    let text = message(&house, id.key).unwrap();
    assert_eq!(text, "did not begin to run within 05:00 on g2", "g1 was ready");
    assert_eq!(overdue(&house.state, house.now), []);
    assert_eq!(house.apply(Command::StartOverdue { id }), []);
    for node in ["g1", "g2"] {
        house.report(node, id, end(EndCause::Stopped, 0));
        assert_eq!(house.state.node(&name(node)).unwrap().start_faults, NodeFaults::default());
    }
    assert_eq!(house.phase(id.key), Phase::Pending);
    assert!(not_before(&house, id.key).is_some());
}

#[test]
fn what_runs_or_is_out_of_contact_is_not_overdue() {
    let mut house = House::new();
    let keys = [(); 2].map(|()| house.job());
    let runs = house.start(keys[0], vec![share("g1", 0, 2, &[])]);
    house.report("g1", runs, running());
    let silent = house.start(keys[1], vec![share("g2", 0, 2, &[])]);
    house.silence("g2");
    house.wait(START_MAX.0 / 1000);
    assert_eq!(overdue(&house.state, house.now), []);
    assert_eq!(house.apply(Command::StartOverdue { id: silent }), []);
    house.register("g2", &[]);
    assert_eq!(overdue(&house.state, house.now), [silent]);
}
