//! Growth: which nodes a running job gets, when it has them, which nodes are notified, and what
//! follows from a node that does not join.

use crate::house::{House, OPERATOR, USER, end, exited, name, running, share, tasks_of};
use common::id::{AttemptId, JobKey};
use common::job::{Ask, EndCause, JobSize, Launch, Outcome, Phase, PreemptReason, Preempted};
use common::policy::VictimMode;
use common::resource::{Request, Share};
use common::time::Span;
use common::unit::{Nodes, Tasks};
use common::wire::node::{DesiredStep, StepPhase, Want};
use query::view::job_view;
use state::event::Growth;
use state::ledger::StartRefusal;
use state::{Command, Event, RoundGrow, RoundPreempt, RoundShrink, Target};

/// A request for one to four tasks that takes more nodes as they become free.
fn growing(launch: Launch) -> Ask {
    let asked = tasks_of(4);
    let request = Request { tasks_min: Some(Tasks(1)), grow: true, ..asked.request.clone() };
    Ask { request, launch, time_limit: Some(Span::from_minutes(60)), ..asked }
}

/// Four nodes, and a job that has run on the first for 100 s.
fn begun(launch: Launch) -> (House, AttemptId) {
    let mut house = House::new();
    house.register("g3", &[]);
    house.register("g4", &[]);
    let key = JobKey::single(house.submit(growing(launch)));
    let id = house.start(key, vec![on("g1")]);
    house.report("g1", id, running());
    house.wait(100);
    (house, id)
}

fn on(node: &str) -> Share {
    share(node, 0, 2, &[0])
}

fn grow(house: &mut House, id: AttemptId, nodes: &[&str]) -> Vec<Event> {
    let shares = nodes.iter().map(|node| on(node)).collect();
    let grows = vec![RoundGrow { id, shares }];
    let (preempts, shrinks, starts) = (Vec::new(), Vec::new(), Vec::new());
    house.apply(Command::EnactRound { preempts, shrinks, starts, grows })
}

fn grows(house: &mut House, id: AttemptId, nodes: &[&str]) {
    let events = grow(house, id, nodes);
    assert!(
        matches!(&events[..], [Event::JobGrowth { news: Growth::Given { .. }, .. }]),
        "{events:?}"
    );
}

fn refusal(events: &[Event]) -> &StartRefusal {
    match events {
        [Event::RoundEntryRefused { reason, .. }] => reason,
        other => panic!("{other:?}"),
    }
}

fn wish(house: &House, node: &str, id: AttemptId) -> Option<DesiredStep> {
    let steps = state::desired::desired_for(&house.state, &name(node));
    steps.into_iter().find(|step| step.id == id)
}

fn holds(house: &House, node: &str, id: AttemptId) -> bool {
    house.state.ledger().holders(&name(node)).any(|holder| holder == id)
}

/// The number of the last change of size of which the first node was notified, and the number of
/// nodes then.
fn notified(house: &House, id: AttemptId) -> Option<(u32, usize)> {
    let resized = wish(house, "g1", id)?.resized?;
    Some((resized.number, resized.allocation.shares().len()))
}

fn timeline(house: &House, key: JobKey) -> String {
    let lines = house.element(key).timeline.iter().map(|line| query::timeline::line(&line.what));
    lines.collect::<Vec<_>>().join("; ")
}

/// Whether a round sees that the job takes more nodes.
fn takes_more(house: &House, id: AttemptId) -> bool {
    state::snapshot::snapshot(&house.state).growing(id.key).is_some()
}

#[test]
fn nodes_join_as_a_gang_and_the_others_are_notified_once_they_run() {
    let (mut house, id) = begun(Launch::PerNode);
    assert!(takes_more(&house, id));
    let events = grow(&mut house, id, &["g2", "g3"]);
    let touched = state::effect::touched_nodes(&events);
    assert_eq!(touched.into_iter().collect::<Vec<_>>(), [name("g2"), name("g3")]);
    assert!(!takes_more(&house, id), "not while some join");
    let wants = |house: &House| ["g1", "g2", "g3"].map(|node| wish(house, node, id).unwrap().want);
    assert_eq!(wants(&house), [Want::Run, Want::Prepare, Want::Prepare]);
    let shown =
        job_view(&house.state, &query::viewer::Viewer::ALL, id.key, &Default::default()).unwrap();
    assert_eq!((shown.cpus.0, &shown.joining[..]), (6, &[name("g2"), name("g3")][..]));
    // The order shows all joining nodes, and the change of size that the job has had then.
    let order = state::desired::launch_order(&house.state, id, &name("g3")).unwrap();
    assert_eq!((order.resized, order.allocation.shares().len()), (1, 3));
    // A minute and 40 s of the hour have passed.
    assert_eq!(order.time_limit, Some(Span::from_seconds(3500)));
    assert_eq!(wish(&house, "g1", id).unwrap().time_limit, Some(Span::from_minutes(60)));

    house.wait(10);
    house.report("g3", id, StepPhase::Ready);
    assert_eq!(wants(&house), [Want::Run, Want::Prepare, Want::Prepare]);
    let events = house.report("g2", id, StepPhase::Ready);
    assert!(state::effect::touched_nodes(&events).contains(&name("g3")), "{events:?}");
    assert_eq!(wants(&house), [Want::Run; 3]);
    house.report("g2", id, running());
    assert_eq!((notified(&house, id), takes_more(&house, id)), (None, false), "not all of it runs");
    let events = house.report("g3", id, running());
    assert!(state::effect::touched_nodes(&events).contains(&name("g1")));
    assert!(state::effect::wakes_scheduler(&events));
    assert_eq!(notified(&house, id), Some((1, 3)));
    assert!(takes_more(&house, id), "it could have a fourth");
    let shown =
        job_view(&house.state, &query::viewer::Viewer::ALL, id.key, &Default::default()).unwrap();
    assert!(shown.joining.is_empty() && shown.phase == Phase::Running);
    grows(&mut house, id, &["g4"]);
    assert_eq!(wish(&house, "g4", id).unwrap().want, Want::Run, "one alone waits for no other");
    house.report("g4", id, running());
    assert_eq!((notified(&house, id), takes_more(&house, id)), (Some((2, 4)), false));
    let timeline = timeline(&house, id.key);
    assert!(timeline.contains("gets g[2-3] in addition"), "{timeline}");
    assert!(timeline.contains("grew to 3 tasks on g[1-3], with g[2-3]"), "{timeline}");
}

#[test]
fn each_share_is_charged_from_when_it_was_given() {
    let (mut house, id) = begun(Launch::PerNode);
    grows(&mut house, id, &["g2"]);
    house.wait(10);
    house.report("g2", id, running());
    let (now, fresh) = (house.now, |used: &state::usage::Usages| -> u64 {
        used.iter().flat_map(|(_, hours)| hours.values()).map(|used| used.cpu_milliseconds).sum()
    });
    assert_eq!(fresh(&state::charging::running_usage(&house.state, now)), 2 * 110_000 + 2 * 10_000);
    let lives = query::history::unfinished_runs(&house.state, now).next().unwrap();
    assert_eq!(lives.cpu_milliseconds, 240_000);
    house.wait(10);
    house.report("g2", id, exited(0));
    house.report("g1", id, exited(0));
    assert_eq!(house.outcome(id.key), Some(Outcome::Completed));
    let over = query::history::all_ended(&house.state).next().unwrap();
    assert_eq!((over.cpu_milliseconds, over.gpu_milliseconds), (280_000, 140_000));
    assert_eq!(fresh(house.state.usage()), 280_000);
}

#[test]
fn a_node_that_does_not_join_goes_with_those_behind_it_and_the_job_runs_on() {
    for cause in [EndCause::LaunchFailed, EndCause::NodeFault, EndCause::Lost, EndCause::Stopped] {
        for launch in [Launch::Once, Launch::PerNode, Launch::PerTask] {
            let (mut house, id) = begun(launch);
            grows(&mut house, id, &["g2", "g3", "g4"]);
            house.report("g2", id, StepPhase::Ready);
            house.report("g4", id, StepPhase::Ready);
            let events = house.report("g3", id, end(cause, 1));
            let touched = state::effect::touched_nodes(&events);
            assert!(touched.contains(&name("g2")), "it alone is left, and runs: {events:?}");
            assert_eq!(house.phase(id.key), Phase::Running, "{cause:?} {launch:?}");
            assert!(!holds(&house, "g3", id));
            assert_eq!(wish(&house, "g2", id).unwrap().want, Want::Run, "no rank changes for it");
            assert_eq!(wish(&house, "g4", id).unwrap().want, Want::Stop);
            house.report("g2", id, running());
            assert_eq!(notified(&house, id), Some((2, 2)), "it has the first of them");
            assert!(!takes_more(&house, id), "g4 has not let go");
            house.report("g4", id, end(EndCause::Stopped, 0));
            assert!(takes_more(&house, id));
            house.wait(60);
            let again = grow(&mut house, id, &["g3"]);
            assert_eq!(refusal(&again), &StartRefusal::HadBefore(name("g3")));
            let timeline = timeline(&house, id.key);
            assert!(timeline.contains("continues without g[3-4]"), "{timeline}");
        }
    }
}

#[test]
fn a_node_that_is_lost_unfit_or_late_while_it_joins_costs_the_job_nothing() {
    let (mut house, id) = begun(Launch::PerNode);
    grows(&mut house, id, &["g2"]);
    house.lose("g2");
    assert_eq!((house.phase(id.key), holds(&house, "g2", id)), (Phase::Running, false));
    house.wait(60);
    grows(&mut house, id, &["g3"]);
    house.report("g3", id, StepPhase::Preparing);
    house.wait(state::fault::START_MAX.0 / 1000 + 1);
    let overdue = state::overdue(&house.state, house.now);
    assert_eq!(overdue, [id]);
    house.apply(Command::StartOverdue { id });
    assert_eq!(house.phase(id.key), Phase::Running);
    assert_eq!(wish(&house, "g3", id).unwrap().want, Want::Stop);
    house.report("g3", id, end(EndCause::Stopped, 0));
    assert_eq!(notified(&house, id), None, "it never was another size");
    assert_eq!(state::overdue(&house.state, house.now), []);
}

#[test]
fn what_ends_or_shrinks_a_job_ends_what_joins_it() {
    let wants = |house: &House, id, node: &str| wish(house, node, id).map(|step| step.want);
    // By a cancellation.
    let (mut house, id) = begun(Launch::PerNode);
    grows(&mut house, id, &["g2"]);
    let cancel = house.cancel(id.key);
    house.apply(cancel);
    assert_eq!(wants(&house, id, "g2"), Some(Want::Stop));
    house.report("g1", id, end(EndCause::Stopped, 143));
    assert_eq!(house.phase(id.key), Phase::Completing);
    house.report("g2", id, end(EndCause::Stopped, 0));
    assert_eq!(house.outcome(id.key), Some(Outcome::Cancelled));
    // All other shares succeeded: the joining one must not continue alone.
    let (mut house, id) = begun(Launch::PerNode);
    grows(&mut house, id, &["g2"]);
    house.report("g1", id, exited(0));
    assert_eq!(wants(&house, id, "g2"), Some(Want::Stop));
    house.report("g2", id, end(EndCause::Stopped, 0));
    assert_eq!(house.outcome(id.key), Some(Outcome::Completed));
    // By a user, first to its earlier size and then below.
    let (mut house, id) = begun(Launch::PerNode);
    let resize = |nodes| {
        let (actor, target) = (USER, Target { key: id.key });
        Command::ResizeJob { actor, target, size: JobSize::Nodes(Nodes(nodes)) }
    };
    grows(&mut house, id, &["g2", "g3"]);
    house.apply(resize(2));
    assert_eq!((wants(&house, id, "g2"), notified(&house, id)), (Some(Want::Run), None));
    assert_eq!(wants(&house, id, "g3"), Some(Want::Stop));
    house.report("g2", id, running());
    house.report("g3", id, end(EndCause::Stopped, 0));
    assert_eq!(notified(&house, id), Some((2, 2)));
    house.apply(resize(1));
    assert_eq!((wants(&house, id, "g2"), notified(&house, id)), (Some(Want::Stop), Some((3, 1))));
    // By a round.
    let (mut house, id) = begun(Launch::PerNode);
    grows(&mut house, id, &["g2", "g3"]);
    let by = JobKey::single(house.submit(tasks_of(1)));
    let preempted = Preempted { by, why: PreemptReason::Reclaim };
    let shrinks = vec![RoundShrink { id, preempted, keeps: Nodes(1) }];
    let (preempts, starts, grows) = (Vec::new(), Vec::new(), Vec::new());
    house.apply(Command::EnactRound { preempts, shrinks, starts, grows });
    assert_eq!(["g2", "g3"].map(|node| wants(&house, id, node)), [Some(Want::Stop); 2]);
    assert_eq!(notified(&house, id), None, "it has what it had");
}

#[test]
fn a_suspended_job_is_notified_of_what_joined_when_it_resumes() {
    let (mut house, id) = begun(Launch::PerNode);
    grows(&mut house, id, &["g2"]);
    house.apply(Command::SuspendJob { actor: OPERATOR, target: Target { key: id.key } });
    let step = wish(&house, "g2", id).unwrap();
    assert!(step.suspended && step.want == Want::Run);
    house.report("g2", id, running());
    assert_eq!((house.phase(id.key), notified(&house, id)), (Phase::Suspended, Some((1, 2))));
    assert!(!takes_more(&house, id));
    let more = grow(&mut house, id, &["g3"]);
    assert_eq!(refusal(&more), &StartRefusal::DoesNotGrow);
    house.apply(Command::ResumeJob { actor: OPERATOR, target: Target { key: id.key } });
    assert!(takes_more(&house, id));
}

#[test]
fn no_job_grows_beyond_what_it_asked_for_nor_onto_what_is_not_free() {
    let (mut house, id) = begun(Launch::PerNode);
    house.apply(Command::DrainNode { actor: OPERATOR, name: name("g4"), reason: "dust".into() });
    let beside = house.job();
    house.start(beside, vec![share("g3", 0, 1, &[])]);
    for (nodes, says) in [
        (&[][..], "1 task"),
        (&["g1"][..], "has or had node g1"),
        (&["g2", "g2"], "has or had node g2"),
        (&["g3"], "in use on node g3"),
        (&["g4"], "no new jobs"),
        (&["g5"], "no node g5"),
    ] {
        let events = grow(&mut house, id, nodes);
        let why = refusal(&events).to_string();
        assert!(why.contains(says) || nodes.is_empty(), "{nodes:?}: {why}");
        assert!(!holds(&house, "g2", id));
    }
    let four = Share { tasks: Tasks(4), ..on("g2") };
    let grows = vec![RoundGrow { id, shares: vec![four] }];
    let (preempts, shrinks, starts) = (Vec::new(), Vec::new(), Vec::new());
    let events = house.apply(Command::EnactRound { preempts, shrinks, starts, grows });
    assert!(matches!(refusal(&events), StartRefusal::OtherTasks { .. }), "{events:?}");
    let old = AttemptId { attempt: common::id::Attempt(2), ..id };
    let events = grow(&mut house, old, &["g2"]);
    assert_eq!(refusal(&events), &StartRefusal::DoesNotGrow);
    // A job that did not ask for it.
    let plain = Ask {
        request: Request { grow: false, ..growing(Launch::Once).request },
        ..growing(Launch::Once)
    };
    let key = JobKey::single(house.submit(plain));
    let id = house.start(key, vec![share("g1", 4, 1, &[])]);
    house.report("g1", id, running());
    let events = grow(&mut house, id, &["g2"]);
    assert_eq!((refusal(&events), takes_more(&house, id)), (&StartRefusal::DoesNotGrow, false));
}

#[test]
fn a_new_attempt_may_have_the_nodes_that_the_last_one_gave_up() {
    let (mut house, id) = begun(Launch::PerNode);
    grows(&mut house, id, &["g2"]);
    house.report("g2", id, end(EndCause::LaunchFailed, 1));
    let requeue = house.requeue(id.key);
    house.apply(requeue);
    house.report("g1", id, end(EndCause::Stopped, 143));
    let id = house.start(id.key, vec![on("g1")]);
    house.report("g1", id, running());
    grows(&mut house, id, &["g2"]);
}

#[test]
fn a_node_that_joins_with_fewer_than_ordered_is_notified_of_their_number() {
    let fails: fn(&mut House, AttemptId) = |house, id| {
        house.report("g3", id, end(EndCause::LaunchFailed, 1));
    };
    let resized: fn(&mut House, AttemptId) = |house, id| {
        let (actor, target) = (USER, Target { key: id.key });
        let size = JobSize::Nodes(Nodes(2));
        house.apply(Command::ResizeJob { actor, target, size });
    };
    for cut in [fails, resized] {
        let (mut house, id) = begun(Launch::PerNode);
        grows(&mut house, id, &["g2", "g3"]);
        let order = state::desired::launch_order(&house.state, id, &name("g2")).unwrap();
        assert_eq!((order.resized, order.allocation.shares().len()), (1, 3));
        cut(&mut house, id);
        house.report("g2", id, running());
        let news = wish(&house, "g2", id).unwrap().resized.unwrap();
        assert_eq!(news.allocation.shares().len(), 2);
        assert!(news.number > order.resized, "it hears only of what is newer than its order");
        // Further changes are counted as usual.
        house.report("g3", id, end(EndCause::Stopped, 0));
        assert_eq!(notified(&house, id), Some((news.number, 2)));
    }
}

#[test]
fn who_had_succeeded_when_it_was_to_stop_did_succeed_whatever_joined_it() {
    for is_preempted in [false, true] {
        let (mut house, id) = begun(Launch::PerNode);
        grows(&mut house, id, &["g2"]);
        if is_preempted {
            let by = JobKey::single(house.submit(tasks_of(1)));
            let preempted = Preempted { by, why: PreemptReason::Reclaim };
            let (mode, to) = (VictimMode::Requeue, Vec::new());
            let preempts = vec![RoundPreempt { id, preempted, mode, to }];
            let (shrinks, starts, grows) = (Vec::new(), Vec::new(), Vec::new());
            house.apply(Command::EnactRound { preempts, shrinks, starts, grows });
        } else {
            let cancel = house.cancel(id.key);
            house.apply(cancel);
        }
        assert_eq!(house.phase(id.key), Phase::Completing);
        assert_eq!(wish(&house, "g2", id).unwrap().want, Want::Stop);
        house.report("g1", id, exited(0));
        house.report("g2", id, end(EndCause::Stopped, 0));
        assert_eq!(house.outcome(id.key), Some(Outcome::Completed), "{is_preempted}");
    }
}

#[test]
fn after_nodes_that_did_not_join_it_grows_later_and_after_three_not_any_more() {
    let (mut house, id) = begun(Launch::PerNode);
    let fail = |house: &mut House, node: &str| {
        grows(house, id, &[node]);
        house.report(node, id, end(EndCause::LaunchFailed, 1));
    };
    let refuses = |house: &mut House| {
        let events = grow(house, id, &["g4"]);
        assert_eq!(refusal(&events), &StartRefusal::DoesNotGrow);
    };
    fail(&mut house, "g2");
    house.wait(59);
    refuses(&mut house);
    house.wait(1);
    fail(&mut house, "g3");
    house.wait(119);
    refuses(&mut house);
    assert!(takes_more(&house, id), "in a second");
    house.wait(1);
    fail(&mut house, "g4");
    assert!(!takes_more(&house, id), "three in a row");
    // A successful join resets the count of failures.
    let (mut house, id) = begun(Launch::PerNode);
    grows(&mut house, id, &["g2"]);
    house.report("g2", id, end(EndCause::LaunchFailed, 1));
    house.wait(60);
    grows(&mut house, id, &["g3"]);
    house.report("g3", id, running());
    grows(&mut house, id, &["g4"]);
    house.report("g4", id, end(EndCause::LaunchFailed, 1));
    house.wait(60);
    assert_eq!(refusal(&grow(&mut house, id, &["g4"])), &StartRefusal::HadBefore(name("g4")));
}

#[test]
fn who_was_made_smaller_by_hand_stays_so_in_this_attempt() {
    let (mut house, id) = begun(Launch::PerNode);
    grows(&mut house, id, &["g2", "g3"]);
    house.report("g2", id, running());
    house.report("g3", id, running());
    let (actor, target) = (USER, Target { key: id.key });
    house.apply(Command::ResizeJob { actor, target, size: JobSize::Nodes(Nodes(1)) });
    house.report("g2", id, end(EndCause::Stopped, 0));
    house.report("g3", id, end(EndCause::Stopped, 0));
    assert!(!takes_more(&house, id));
    let events = grow(&mut house, id, &["g4"]);
    assert!(
        matches!(refusal(&events), StartRefusal::OtherTasks { most: Tasks(1), .. }),
        "{events:?}"
    );
    let requeue = house.requeue(id.key);
    house.apply(requeue);
    house.report("g1", id, end(EndCause::Stopped, 143));
    let id = house.start(id.key, vec![on("g1")]);
    house.report("g1", id, running());
    assert!(takes_more(&house, id), "another attempt is another matter");
}
