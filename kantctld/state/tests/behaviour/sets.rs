//! Sets, which are accepted, started, ended and requeued as a whole.

use crate::house::{House, OPERATOR, USER, attempt, end, exited, name, running, share, tasks_of};
use common::id::{AttemptId, Gid, JobId, JobKey, RequestKey};
use common::job::{
    Ask, Attribute, EndCause, Launch, Outcome, Owner, Patch, Phase, PreemptReason, Preempted,
};
use common::policy::VictimMode;
use common::reason::Refusal;
use common::resource::Allocation;
use common::time::{Span, Time};
use common::unit::Cpus;
use common::wire::node::{StepPhase, Want};
use state::ledger::StartRefusal;
use state::{Command, Event, RoundPreempt, RoundStart, State, Target};

fn submission(asks: Vec<Ask>) -> Command {
    Command::SubmitSet {
        request_key: RequestKey("set".to_owned()),
        owner: Owner { uid: USER.uid, gid: Gid(1000), name: "ada".to_owned() },
        groups: Vec::new(),
        operator: false,
        via: None,
        asks,
        script: "#!/bin/sh\ntrue\n".to_owned(),
        environment: String::new(),
    }
}

fn key(text: &str) -> JobKey {
    text.parse().unwrap()
}

/// Submits job 1, a set with components 1 and 2.
fn waiting() -> (House, JobKey, JobKey) {
    let mut house = House::new();
    house.apply(submission(vec![Ask::default(), tasks_of(1)]));
    (house, key("1"), key("2"))
}

fn start(house: &mut House) -> Vec<Event> {
    let start = |job: &str, node: &str| RoundStart {
        id: house.attempt_of(key(job)),
        allocation: Allocation::new(vec![share(node, 0, 1, &[])]).unwrap(),
        group: Some(key("1")),
    };
    let starts = vec![start("1", "g1"), start("2", "g2")];
    house.apply(Command::EnactRound {
        preempts: vec![],
        shrinks: vec![],
        grows: Vec::new(),
        starts,
    })
}

/// The same set, running: 1 on g1 and 2 on g2.
fn living() -> (House, AttemptId, AttemptId) {
    let (mut house, ..) = waiting();
    start(&mut house);
    let id = |job: &str| AttemptId { key: key(job), attempt: common::id::Attempt(1) };
    let (one, two) = (id("1"), id("2"));
    for (node, id) in [("g1", one), ("g2", two)] {
        house.report(node, id, StepPhase::Ready);
    }
    for (node, id) in [("g1", one), ("g2", two)] {
        house.report(node, id, running());
    }
    assert_eq!((house.phase(one.key), house.phase(two.key)), (Phase::Running, Phase::Running));
    (house, one, two)
}

fn both<T>(house: &House, of: impl Fn(&House, JobKey) -> T) -> (T, T) {
    (of(house, key("1")), of(house, key("2")))
}

fn target(text: &str) -> Target {
    Target { key: key(text) }
}

#[test]
fn it_is_one_request_with_numbers_that_follow_each_other() {
    let mut house = House::new();
    let asks = vec![Ask::default(), tasks_of(2), tasks_of(1)];
    let events = house.apply(submission(asks.clone()));
    let jobs: Vec<u32> = events
        .iter()
        .map(|event| match event {
            Event::JobSubmitted { job, repeated: false, .. } => job.0,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(jobs, [1, 2, 3]);
    let again = house.apply(submission(asks));
    let repeated = Event::JobSubmitted { job: common::id::JobId(1), tasks: 1, repeated: true };
    assert_eq!(again, [repeated]);
    assert_eq!(house.state.jobs().count(), 3);
    assert_eq!(house.state.resolve_key(key("1+2")), key("3"));
    assert_eq!(house.state.resolve_key(key("2+1")), key("2+1"), "2 is no set");
    let launch = |job: &str| house.state.job(key(job).job).unwrap().spec.ask.launch;
    assert_eq!((launch("1"), launch("2"), launch("3")), (Launch::Once, Launch::Held, Launch::Held));
}

#[test]
fn what_is_of_the_set_is_the_firsts_to_say() {
    let mut house = House::new();
    let deadline = Some(house.now + Span::from_minutes(90));
    let begin_at = Some(house.now + Span::from_minutes(1));
    let dependency = Some("singleton".parse().unwrap());
    let first =
        Ask { hold: true, requeue: false, begin_at, deadline, dependency, ..Ask::default() };
    house.apply(submission(vec![first.clone(), tasks_of(2)]));
    let ask = &house.state.job(key("2").job).unwrap().spec.ask;
    assert_eq!((ask.hold, ask.requeue, ask.begin_at), (true, false, first.begin_at));
    assert_eq!((ask.deadline, &ask.dependency), (first.deadline, &None));
}

#[test]
fn what_makes_no_set_is_refused_and_nothing_of_it_stays() {
    let array = Ask { array: "0-3".parse().ok(), ..Ask::default() };
    let held = Ask { launch: Launch::Held, ..Ask::default() };
    let bad = Ask { queue: common::id::QueueName::new("nowhere").ok(), ..Ask::default() };
    for (asks, says) in [
        (vec![Ask::default()], "components, with `:` between them, got 1"),
        (vec![Ask::default(); 129], "components, with `:` between them, got 129"),
        (vec![Ask::default(), array], "an array cannot have components"),
        (vec![held, Ask::default()], "a set has a script"),
        (vec![Ask::default(), bad], "there is no queue"),
    ] {
        let mut house = House::new();
        let refusal = house.refused(submission(asks)).to_string();
        assert!(refusal.contains(says), "{refusal}");
        assert_eq!(house.state.last_job_id().0, 0);
    }
}

#[test]
fn no_component_starts_without_the_others() {
    let (mut house, one, two) = waiting();
    for key in [one, two] {
        let id = house.attempt_of(key);
        let events = house.enact(id, vec![share("g1", 0, 1, &[])]);
        let refused = Event::RoundEntryRefused { id, reason: StartRefusal::NotWhole };
        assert_eq!(events, [refused]);
    }
    assert!(matches!(
        start(&mut house).as_slice(),
        [Event::JobStarted { .. }, Event::JobStarted { .. }]
    ));
}

#[test]
fn the_script_begins_once_every_component_is_ready() {
    let (mut house, ..) = waiting();
    start(&mut house);
    let id = |job: &str| AttemptId { key: key(job), attempt: common::id::Attempt(1) };
    house.report("g1", id("1"), StepPhase::Ready);
    assert_eq!(house.want("g1", id("1")), Some(Want::Prepare));
    let events = house.report("g2", id("2"), StepPhase::Ready);
    let ready = events.iter().filter(|event| matches!(event, Event::JobReady { .. })).count();
    assert_eq!(ready, 2, "{events:?}");
    assert_eq!(house.want("g1", id("1")), Some(Want::Run));
    assert_eq!(house.want("g2", id("2")), Some(Want::Run));
    let order = state::desired::launch_order(&house.state, id("2"), &name("g2")).unwrap();
    let set = order.set.unwrap();
    let nodes: Vec<&str> =
        set.components.iter().map(|c| c.allocation.shares()[0].node.as_str()).collect();
    assert_eq!((set.offset, nodes), (1, vec!["g1", "g2"]));
}

#[test]
fn what_a_node_ran_before_it_was_ordered_to_makes_no_component_run_before_the_others_are_ready() {
    let (mut house, one, two) = waiting();
    start(&mut house);
    house.report("g1", attempt(one, 1), running());
    assert_eq!(both(&house, House::phase), (Phase::Starting, Phase::Starting));
    assert_eq!(house.want("g1", attempt(one, 1)), Some(Want::Prepare));
    house.report("g2", attempt(two, 1), StepPhase::Ready);
    assert_eq!((house.phase(one), house.phase(two)), (Phase::Running, Phase::Starting));
    house.report("g2", attempt(two, 1), running());
    assert_eq!(both(&house, House::phase), (Phase::Running, Phase::Running));
}

#[test]
fn the_end_of_its_script_is_the_end_of_all() {
    for (code, outcome) in [(0, Outcome::Completed), (3, Outcome::Failed)] {
        let (mut house, one, two) = living();
        house.report("g1", one, exited(code));
        assert_eq!(house.want("g2", two), Some(Want::Stop));
        assert_eq!(both(&house, House::phase), (Phase::Completing, Phase::Completing));
        house.report("g2", two, end(EndCause::Stopped, 0));
        assert_eq!(both(&house, House::outcome), (Some(outcome), Some(outcome)));
        let exit = |house: &House, key| {
            house.element(key).run.as_ref().unwrap().end.as_ref().unwrap().exit.unwrap().code
        };
        assert_eq!(both(&house, exit), (code, code));
    }
}

#[test]
fn a_component_that_is_over_takes_the_others_along() {
    for (cause, outcome) in
        [(EndCause::TimedOut, Outcome::TimedOut), (EndCause::OutOfMemory, Outcome::OutOfMemory)]
    {
        let (mut house, one, two) = living();
        house.report("g2", two, end(cause, 0));
        assert_eq!(house.want("g1", one), Some(Want::Stop));
        house.report("g1", one, end(EndCause::Stopped, 0));
        assert_eq!(both(&house, House::outcome), (Some(outcome), Some(outcome)));
        let end = house.element(one.key).run.as_ref().unwrap().end.clone().unwrap();
        assert!(end.message.unwrap().contains("component 1+1 ended"));
    }
}

#[test]
fn a_component_whose_node_is_lost_sends_all_back_to_the_queue_together() {
    let (mut house, one, two) = living();
    house.lose("g2");
    assert_eq!(house.want("g1", one), Some(Want::Stop));
    // Its own node has released it, but it waits for the other component.
    assert_eq!(house.phase(two.key), Phase::Completing);
    house.report("g1", one, end(EndCause::Stopped, 0));
    assert_eq!(both(&house, House::phase), (Phase::Pending, Phase::Pending));
    assert_eq!(both(&house, |house, key| house.element(key).attempt.0), (1, 1));
    house.register("g2", &[]);
    house.wait(3600);
    start(&mut house);
    assert_eq!(both(&house, House::phase), (Phase::Starting, Phase::Starting));
}

#[test]
fn it_is_held_cancelled_and_started_again_by_its_first_number() {
    let (mut house, ..) = waiting();
    house.apply(Command::HoldJob { actor: USER, target: target("1") });
    assert_eq!(both(&house, |house, key| house.element(key).held), (true, true));
    house.apply(Command::ReleaseJob { actor: USER, target: target("1") });
    for named in ["2", "1+1", "1+0"] {
        let refusal = house.refused(Command::CancelJob { actor: USER, target: target(named) });
        assert!(matches!(refusal, Refusal::PartOfSet(_)), "{named}: {refusal}");
        let refusal = house.refused(Command::HoldJob { actor: USER, target: target(named) });
        assert!(refusal.text_with_hint().contains("name 1"), "{refusal}");
    }
    house.apply(Command::CancelJob { actor: USER, target: target("1") });
    let cancelled = Some(Outcome::Cancelled);
    assert_eq!(both(&house, House::outcome), (cancelled, cancelled));
    house.apply(Command::RequeueJob { actor: USER, target: target("1") });
    assert_eq!(both(&house, House::phase), (Phase::Pending, Phase::Pending));
}

#[test]
fn a_set_that_runs_is_cancelled_and_requeued_whole() {
    let (mut house, one, two) = living();
    house.apply(Command::RequeueJob { actor: USER, target: target("1") });
    assert_eq!(both(&house, House::phase), (Phase::Completing, Phase::Completing));
    house.report("g1", one, end(EndCause::Stopped, 0));
    house.report("g2", two, end(EndCause::Stopped, 0));
    assert_eq!(both(&house, House::phase), (Phase::Pending, Phase::Pending));
    let (mut house, one, two) = living();
    house.apply(Command::CancelJob { actor: USER, target: target("1") });
    // Its script exited before the cancellation arrived.
    house.report("g1", one, exited(0));
    house.report("g2", two, end(EndCause::Stopped, 0));
    let completed = Some(Outcome::Completed);
    assert_eq!(both(&house, House::outcome), (completed, completed));
}

#[test]
fn a_preemptor_of_one_component_gets_all_of_them() {
    let (mut house, one, two) = living();
    let by = house.job();
    let preempted = Preempted { by, why: PreemptReason::Priority };
    let entry = RoundPreempt { id: two, preempted, mode: VictimMode::Requeue, to: vec![] };
    house.apply(Command::EnactRound {
        preempts: vec![entry],
        shrinks: vec![],
        grows: Vec::new(),
        starts: vec![],
    });
    assert_eq!(house.want("g1", one), Some(Want::Stop));
    house.report("g1", one, end(EndCause::Stopped, 0));
    house.report("g2", two, end(EndCause::Stopped, 0));
    assert_eq!(both(&house, House::phase), (Phase::Pending, Phase::Pending));
}

#[test]
fn it_stands_still_whole_or_not_at_all() {
    let (mut house, ..) = living();
    house.apply(Command::SuspendJob { actor: OPERATOR, target: target("1") });
    assert_eq!(both(&house, House::phase), (Phase::Suspended, Phase::Suspended));
    house.apply(Command::ResumeJob { actor: OPERATOR, target: target("1") });
    assert_eq!(both(&house, House::phase), (Phase::Running, Phase::Running));
    let (mut house, one, two) = waiting();
    start(&mut house);
    house.report("g2", attempt(two, 1), StepPhase::Ready);
    house.report("g1", attempt(one, 1), running());
    assert_eq!((house.phase(one), house.phase(two)), (Phase::Running, Phase::Starting));
    let refusal = house.refused(Command::SuspendJob { actor: OPERATOR, target: target("1") });
    assert!(matches!(refusal, Refusal::WrongPhase { .. }), "{refusal}");
}

#[test]
fn what_one_component_asks_for_is_changed_by_its_name() {
    let (mut house, ..) = waiting();
    let change = |named: &str| Command::UpdateJob {
        actor: USER,
        target: target(named),
        patch: Box::new(Patch::default().with(Attribute::Time, Span::from_minutes(7))),
    };
    let refusal = house.refused(change("1")).to_string();
    assert!(refusal.contains("1+0 to 1+1"), "{refusal}");
    house.apply(change("1+1"));
    let limit = |state: &State, job: &str| state.job(key(job).job).unwrap().spec.ask.time_limit;
    assert_eq!(limit(&house.state, "2"), Some(Span::from_minutes(7)));
    assert_eq!(limit(&house.state, "1"), None);
    house.apply(change("1+0"));
    assert_eq!(limit(&house.state, "1"), Some(Span::from_minutes(7)));
}

#[test]
fn who_never_got_ready_is_named_when_a_set_does_not_begin() {
    let (mut house, ..) = waiting();
    start(&mut house);
    let id = |job: &str| AttemptId { key: key(job), attempt: common::id::Attempt(1) };
    house.report("g1", id("1"), StepPhase::Ready);
    house.wait(24 * 3600);
    assert_eq!(state::overdue(&house.state, house.now), [id("2")]);
    house.apply(Command::StartOverdue { id: id("2") });
    assert_eq!(house.want("g1", id("1")), Some(Want::Stop));
    assert!(house.state.node(&name("g1")).is_some());
}

#[test]
fn what_holds_for_all_of_a_set_is_not_said_of_a_later_component_alone() {
    let mut house = House::new();
    let later = |change: fn(&mut Ask)| {
        let mut ask = tasks_of(1);
        change(&mut ask);
        submission(vec![Ask::default(), ask])
    };
    for (option, command) in [
        ("--dependency", later(|ask| ask.dependency = "afterok:7".parse().ok())),
        ("--begin", later(|ask| ask.begin_at = Some(Time(9)))),
        ("--deadline", later(|ask| ask.deadline = Some(Time(9)))),
        ("--hold", later(|ask| ask.hold = true)),
        ("--no-requeue", later(|ask| ask.requeue = false)),
    ] {
        let refusal = house.refused(command).to_string();
        assert!(refusal.contains(option) && refusal.contains("for the first"), "{refusal}");
    }
    let held = || Ask { hold: true, ..tasks_of(1) };
    house.apply(submission(vec![held(), held()]));
    assert!(house.state.job(JobId(2)).is_some(), "the same of each is no contradiction");
}

#[test]
fn a_set_may_be_made_to_yield_only_if_each_of_its_components_may() {
    for (second, expected) in [(true, true), (false, false)] {
        let mut house = House::new();
        let ask = |preemptible| Ask { preemptible: Some(preemptible), ..tasks_of(1) };
        house.apply(submission(vec![ask(true), ask(second)]));
        start(&mut house);
        let snapshot = state::snapshot::SnapshotKeeper::new(&house.state);
        for job in ["1", "2"] {
            let running = snapshot.snapshot().running_job(key(job)).unwrap();
            assert_eq!(running.preemptible, expected, "component {job}");
        }
    }
}

#[test]
fn components_that_never_fit_side_by_side_are_refused_before_they_are_proposed() {
    let house = House::new();
    let never = |cpus: &[u32], hold: bool| {
        let ask = |cpus: &u32| {
            let mut ask = Ask { hold, ..Ask::default() };
            ask.request.cpus_per_task = Cpus(*cpus);
            ask
        };
        let asks: Vec<Ask> = cpus.iter().map(ask).collect();
        let seen = state::snapshot::snapshot(&house.state);
        let refusal = state::snapshot::never_fit_together(&house.state, &seen, &asks);
        refusal.map(|refusal| refusal.to_string())
    };
    assert_eq!(never(&[8, 4, 4], false), None, "one node for the first, and one for the others");
    assert_eq!(never(&[8, 5, 4], true), None, "held: it may wait for nodes");
    let refusal = never(&[8, 5, 4], false).unwrap();
    assert!(refusal.contains("not all of them at once"), "{refusal}");
}

#[test]
fn when_a_set_may_begin_is_changed_of_its_first_and_holds_for_all() {
    let (mut house, ..) = waiting();
    let at = house.now + Span::from_minutes(5);
    let change = |named: &str| Command::UpdateJob {
        actor: USER,
        target: target(named),
        patch: Box::new(Patch::default().with(Attribute::Begin, at)),
    };
    let refusal = house.refused(change("1+1")).to_string();
    assert!(refusal.contains("--begin") && refusal.contains("1+0"), "{refusal}");
    house.apply(change("1+0"));
    let begin = |job: &str| house.state.job(key(job).job).unwrap().spec.ask.begin_at;
    assert_eq!((begin("1"), begin("2")), (Some(at), Some(at)));
}

#[test]
fn who_waits_for_a_later_component_is_not_waited_for_by_the_set() {
    let (mut house, ..) = waiting();
    let after = |job: u32| format!("afterok:{job}").parse().ok();
    let waits = house.submit(Ask { dependency: after(2), ..Ask::default() });
    let dependency = after(waits.0).unwrap();
    let circle = house.refused(Command::UpdateJob {
        actor: USER,
        target: target("1+0"),
        patch: Box::new(Patch::default().with(Attribute::Dependency, dependency)),
    });
    assert!(circle.to_string().contains("would wait for itself"), "{circle}");
}

#[test]
fn its_components_are_forgotten_together_when_a_user_has_too_many_finished_jobs() {
    let (mut house, ..) = waiting();
    let mut settings = crate::house::settings();
    settings.user_bounds.done_tasks = 2;
    house.apply(Command::Configure(settings));
    let cancel = house.cancel(key("1"));
    house.apply(cancel);
    // With the second job, the user has one too many; with the third, as many as the set has.
    for is_kept in [true, true, false] {
        house.now = house.now + Span(1);
        let submission = house.submission(Ask::default());
        house.apply(submission);
        let single = house.state.last_job_id();
        let (one, two) = both(&house, |house, key| house.state.job(key.job).is_some());
        assert_eq!((one, two), (is_kept, is_kept));
        let cancel = house.cancel(JobKey::single(single));
        house.apply(cancel);
    }
}
