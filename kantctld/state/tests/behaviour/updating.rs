//! Updates of waiting jobs: by which users, when, and by the rules of a submission.

use crate::house::{House, OPERATOR, OTHER, USER, share};
use common::id::QueueName;
use common::id::{ArrayIndex, JobId, JobKey};
use common::job::attributes::{Hosts, NodeCount};
use common::job::{Ask, Attribute, Patch};
use common::reason::Refusal;
use common::time::{Span, Time};
use state::{Actor, Command, Event, Target};

fn update(actor: Actor, key: JobKey, patch: Patch) -> Command {
    Command::UpdateJob { actor, target: Target { key }, patch: Box::new(patch) }
}

fn minutes(minutes: u64) -> Patch {
    Patch::default().with(Attribute::Time, Span::from_minutes(minutes))
}

fn at_once(tasks: u32) -> Patch {
    Patch::default().with(Attribute::ArrayLimit, tasks)
}

fn ask(house: &House, key: JobKey) -> &Ask {
    &house.state.job(key.job).unwrap().spec.ask
}

#[test]
fn its_owner_and_operators_change_a_job_that_waits() {
    let mut house = House::new();
    let key = house.job();
    let events = house.apply(update(USER, key, minutes(5)));
    assert_eq!(
        events,
        [Event::JobUpdated { key, by: USER.uid, what: minutes(5).summary(), nodes: Vec::new() }]
    );
    assert_eq!(ask(&house, key).time_limit, Some(Span::from_minutes(5)));
    house.apply(update(OPERATOR, key, minutes(6)));
    assert_eq!(ask(&house, key).time_limit, Some(Span::from_minutes(6)));
    let refusal = house.refused(update(OTHER, key, minutes(7)));
    assert!(matches!(refusal, Refusal::NotYours { .. }), "{refusal:?}");
    let gone = JobKey::single(JobId(99));
    assert_eq!(house.refused(update(USER, gone, minutes(7))), Refusal::UnknownJob { key: gone });
}

#[test]
fn of_a_job_that_runs_its_user_gives_time_back_and_operators_add_to_it() {
    let mut house = House::new();
    let limit = Some(Span::from_minutes(60));
    let key = JobKey::single(house.submit(Ask { time_limit: limit, ..Ask::default() }));
    house.start(key, vec![share("g1", 0, 2, &[])]);
    let refusal = house.refused(update(USER, key, minutes(61))).to_string();
    assert!(refusal.contains("operators raise it"), "{refusal}");
    let more = minutes(5).with(Attribute::Nodes, NodeCount { most: 2, least: None });
    let refusal = house.refused(update(OPERATOR, key, more)).to_string();
    assert!(refusal.contains("only its time limit"), "{refusal}");
    let refusal = house.refused(update(OTHER, key, minutes(5)));
    assert!(matches!(refusal, Refusal::NotYours { .. }), "{refusal:?}");

    let events = house.apply(update(USER, key, minutes(30)));
    assert!(matches!(&events[..], [Event::JobUpdated { nodes, .. }] if nodes.len() == 1));
    assert_eq!(state::effect::touched_nodes(&events).len(), 1, "it is notified");
    let time_limit = |house: &House| {
        let node = common::id::NodeName::new("g1").unwrap();
        state::desired::desired_for(&house.state, &node)[0].time_limit
    };
    assert_eq!(time_limit(&house), Some(Span::from_minutes(30)));
    let ends = |house: &House| {
        let (record, element) = house.state.element(key).unwrap();
        element.run.as_ref().unwrap().ends_by(&record.spec.ask).unwrap()
    };
    let before = ends(&house);
    house.apply(update(OPERATOR, key, minutes(90)));
    assert_eq!(ends(&house), before + Span::from_minutes(60));
    assert_eq!(time_limit(&house), Some(Span::from_minutes(90)));
}

#[test]
fn who_is_to_run_alone_of_a_name_is_looked_at_again_when_it_becomes_anothers() {
    let mut house = House::new();
    let named = |name: &str, dependency: Option<&str>| Ask {
        name: name.to_owned(),
        dependency: dependency.map(|text| text.parse().unwrap()),
        ..Ask::default()
    };
    let first = JobKey::single(house.submit(named("a", None)));
    let alone = JobKey::single(house.submit(named("b", Some("singleton"))));
    house.start(first, vec![share("g1", 0, 2, &[])]);
    let rename = |name: &str| Patch::default().with(Attribute::JobName, name.to_owned());
    let waits = |house: &House| {
        let record = house.state.job(alone.job).unwrap();
        state::verdict(&house.state, record, None) == state::Verdict::Waits
    };
    assert!(!waits(&house));
    let events = house.apply(update(USER, first, rename("b")));
    assert!(events.contains(&Event::DependencyMoved { key: alone }), "{events:?}");
    assert!(waits(&house), "for the one before it that has its name now");
    house.apply(update(USER, first, rename("c").with(Attribute::Comment, "why".to_owned())));
    assert!(!waits(&house));
    assert_eq!(ask(&house, first).comment.as_deref(), Some("why"));
}

#[test]
fn a_change_is_held_to_the_rules_of_a_submission() {
    let mut house = House::new();
    let key = house.job();
    let queue = |queue: &str| queue.parse::<QueueName>().unwrap();
    let to = |name: &str| Patch::default().with(Attribute::Queue, queue(name));
    let refusal = house.refused(update(USER, key, to("nowhere")));
    assert!(matches!(refusal, Refusal::UnknownQueue { .. }), "{refusal:?}");
    let long = minutes(61).with(Attribute::Queue, queue("short"));
    let refusal = house.refused(update(USER, key, long));
    assert!(matches!(refusal, Refusal::TimeLimitTooLong { .. }), "{refusal:?}");
    house.apply(update(USER, key, to("short").with(Attribute::Time, Span::from_minutes(60))));
    assert_eq!(ask(&house, key).queue.as_ref().unwrap().as_str(), "short");
    let past = Patch::default().with(Attribute::Deadline, Time(1));
    let refusal = house.refused(update(USER, key, past));
    assert!(matches!(refusal, Refusal::DeadlinePassed { .. }), "{refusal:?}");
    let nice = |nice| Patch::default().with(Attribute::Nice, nice);
    assert_eq!(house.refused(update(USER, key, nice(-1))), Refusal::NiceNegative);
    house.apply(update(USER, key, nice(7)));
    assert_eq!(ask(&house, key).nice, 7);
    let refusal = house.refused(update(USER, key, at_once(2))).to_string();
    assert!(refusal.contains("is no array"), "{refusal}");
}

#[test]
fn a_new_deadline_ends_it_and_the_old_one_does_not() {
    let mut house = House::new();
    let old = house.now + Span::from_minutes(20);
    let (deadline, limit) = (Some(old), Some(Span::from_minutes(10)));
    let job = house.submit(Ask { deadline, time_limit: limit, ..Ask::default() });
    let key = JobKey::single(job);
    let new = house.now + Span::from_minutes(40);
    let later = Patch::default().with(Attribute::Deadline, new);
    house.apply(update(USER, key, later));
    assert_eq!(state::jobs_past_deadline(&house.state, old), []);
    assert_eq!(state::jobs_past_deadline(&house.state, new), [key]);
}

#[test]
fn the_tasks_of_an_array_are_changed_together_and_before_the_first_starts() {
    let mut house = House::new();
    let job = house.submit(Ask { array: "0-2%1".parse().ok(), ..Ask::default() });
    let (all, task) = (JobKey::single(job), |i| JobKey { job, index: Some(ArrayIndex(i)) });
    let refusal = house.refused(update(USER, task(1), minutes(5))).to_string();
    assert!(refusal.contains("cannot change one task"), "{refusal}");
    assert_eq!(
        house.apply(update(USER, all, minutes(5))).len(),
        1,
        "one event for the whole array"
    );
    assert_eq!(ask(&house, task(2)).time_limit, Some(Span::from_minutes(5)));
    house.start(task(0), vec![share("g1", 0, 2, &[])]);
    let refusal = house.refused(update(USER, all, minutes(6))).to_string();
    assert!(refusal.contains("operators raise it"), "{refusal}");
    let more = Patch::default().with(Attribute::CpusPerTask, 2_u32);
    let refusal = house.refused(update(USER, all, more)).to_string();
    assert!(refusal.contains("some have started"), "{refusal}");
    assert_eq!(house.apply(update(USER, all, minutes(4))).len(), 1);
    assert_eq!(ask(&house, task(0)).time_limit, Some(Span::from_minutes(4)));
    house.apply(update(USER, all, at_once(2)));
    assert_eq!(ask(&house, all).array.as_ref().unwrap().limit(), Some(2));
}

#[test]
fn what_a_change_of_an_array_leaves_in_its_tasks_is_short_whatever_was_changed() {
    let mut house = House::new();
    let key = JobKey::single(house.submit(Ask { array: "0-9".parse().ok(), ..Ask::default() }));
    let names =
        (0..10_000).map(|number| common::id::NodeName::new(format!("rack{}-{number}", number % 7)));
    let not_nodes = names.collect::<Result<Vec<_>, _>>().unwrap();
    let patch = Patch::default().with(Attribute::Exclude, Hosts(not_nodes.clone()));
    let events = house.apply(update(USER, key, patch.clone()));
    assert_eq!(ask(&house, key).request.not_nodes, not_nodes);
    assert_eq!(events.len(), 1);
    for event in &events {
        let line = query::timeline::line(&event.timeline_event().expect("a change is recorded"));
        assert!(line.contains("--exclude=rack0-") && line.len() < 250, "{line}");
    }
}
