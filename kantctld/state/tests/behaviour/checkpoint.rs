//! Checkpoints: which users may record them and when, what they change, and how long they count.

use crate::house::{House, OPERATOR, USER, attempt, end, exited, running, share, tasks_of};
use common::id::{AttemptId, Gid, JobKey, RequestKey, Uid};
use common::job::{Ask, EndCause, Owner, Phase};
use common::reason::Refusal;
use common::time::Time;
use common::wire::node::StepPhase;
use query::view::{job_detail, job_view};
use state::snapshot::{SnapshotKeeper, snapshot};
use state::{Actor, Command, Event, RoundStart, Target};

fn checkpoint(actor: Actor, key: JobKey) -> Command {
    Command::CheckpointJob { actor, target: Target { key } }
}

/// A job that runs on g1.
fn living(house: &mut House) -> AttemptId {
    let key = house.job();
    let id = house.start(key, vec![share("g1", 0, 2, &[0])]);
    house.report("g1", id, running());
    id
}

fn shown(house: &House, key: JobKey) -> Option<Time> {
    job_view(&house.state, &query::viewer::Viewer::ALL, key, &Default::default())
        .unwrap()
        .checkpoint_at
}

#[test]
fn a_running_job_loses_what_it_did_since_it_said_so() {
    let mut house = House::new();
    let id = living(&mut house);
    let began = house.now;
    assert_eq!(shown(&house, id.key), None);
    assert_eq!(snapshot(&house.state).running_job(id.key).unwrap().unsaved_since(), began);
    let mut keeper = SnapshotKeeper::new(&house.state);
    house.wait(600);
    let events = house.apply(checkpoint(USER, id.key));
    let at = house.now;
    assert_eq!(events, [Event::JobSaved { id, by: USER.uid, at }]);
    assert_eq!(state::event::saved_at(&events), Some(at));
    assert!(state::effect::wakes_scheduler(&events), "it may be moved now");
    assert!(state::effect::touched_nodes(&events).is_empty());
    assert_eq!((shown(&house, id.key), house.phase(id.key)), (Some(at), Phase::Running));
    let seen = snapshot(&house.state);
    let job = seen.running_job(id.key).unwrap();
    assert_eq!((job.started_at, job.saved_at, job.unsaved_since()), (began, Some(at), at));
    keeper.update(&house.state, &events);
    assert_eq!(keeper.snapshot().running_job(id.key), seen.running_job(id.key), "kept up to date");
}

#[test]
fn a_story_tells_of_the_last_time_alone() {
    let mut house = House::new();
    let id = living(&mut house);
    for _ in 0..100 {
        house.wait(60);
        house.apply(checkpoint(USER, id.key));
    }
    let detail =
        job_detail(&house.state, &query::viewer::Viewer::ALL, id.key, &Default::default()).unwrap();
    let lines: Vec<(Time, &str)> =
        detail.jobs[0].timeline.iter().map(|line| (line.at, line.text.as_str())).collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert_eq!(lines[3], (house.now, "checkpoint recorded by user 1000"));
    assert_eq!(lines[2].1, "running");
}

#[test]
fn only_a_job_that_has_begun_may_and_its_owner_and_operators() {
    let mut house = House::new();
    let waits = house.job();
    let refusal = house.refused(checkpoint(USER, waits)).text_with_hint();
    assert_eq!(
        refusal,
        "cannot checkpoint job 1: it is PENDING; call `kantctl checkpoint` in its script, after \
         each checkpoint"
    );
    let id = house.start(waits, vec![share("g1", 0, 2, &[0])]);
    // Its script may already run before that is reported.
    assert_eq!(house.phase(id.key), Phase::Starting);
    house.apply(checkpoint(USER, id.key));
    house.report("g1", id, running());

    let eve = Actor::user(Uid(1001));
    let refusal = house.refused(checkpoint(eve, id.key));
    assert!(matches!(refusal, Refusal::NotYours { .. }), "{refusal}");
    house.wait(60);
    house.apply(checkpoint(OPERATOR, id.key));
    assert_eq!(shown(&house, id.key), Some(house.now));

    house.apply(Command::SuspendJob { actor: OPERATOR, target: Target { key: id.key } });
    house.wait(60);
    house.apply(checkpoint(USER, id.key));
    assert_eq!(shown(&house, id.key), Some(house.now), "a suspended job runs, too");
    house.apply(Command::ResumeJob { actor: OPERATOR, target: Target { key: id.key } });

    let cancel = house.cancel(id.key);
    house.apply(cancel);
    let refusal = house.refused(checkpoint(USER, id.key)).text_with_hint();
    assert!(refusal.contains("it is COMPLETING; it is ending"), "{refusal}");
    house.report("g1", id, exited(0));
    let refusal = house.refused(checkpoint(USER, id.key)).to_string();
    assert_eq!(refusal, "cannot checkpoint job 1: it has ended (COMPLETED)");
    let unknown = house.refused(checkpoint(USER, "9".parse().unwrap()));
    assert!(matches!(unknown, Refusal::UnknownJob { .. }), "{unknown}");
}

#[test]
fn another_attempt_begins_without_one() {
    let mut house = House::new();
    let id = living(&mut house);
    house.apply(checkpoint(USER, id.key));
    let requeue = house.requeue(id.key);
    house.apply(requeue);
    house.report("g1", id, end(EndCause::Stopped, 143));
    assert_eq!((house.phase(id.key), shown(&house, id.key)), (Phase::Pending, None));
    house.wait(60);
    let again = house.start(id.key, vec![share("g1", 0, 2, &[0])]);
    house.report("g1", again, running());
    assert_eq!(shown(&house, id.key), None);
    assert_eq!(snapshot(&house.state).running_job(id.key).unwrap().unsaved_since(), house.now);
}

#[test]
fn of_an_array_those_that_run_are_meant_and_one_by_its_key() {
    let mut house = House::new();
    let array = Ask { array: Some("0-2".parse().unwrap()), ..Ask::default() };
    let job = house.submit(array);
    let [one, two, three] = ["1_0", "1_1", "1_2"].map(|key| key.parse::<JobKey>().unwrap());
    for (key, first) in [(one, 0), (two, 1)] {
        let id = house.start(key, vec![share("g1", first, 1, &[])]);
        house.report("g1", id, running());
    }
    house.wait(60);
    house.apply(checkpoint(USER, two));
    assert_eq!([one, two, three].map(|key| shown(&house, key)), [None, Some(house.now), None]);
    house.wait(60);
    let events = house.apply(checkpoint(USER, JobKey::single(job)));
    assert_eq!(state::event::changed_jobs(&events), Ok(vec![one, two]), "the third waits");
}

#[test]
fn of_a_set_any_component_speaks_for_all() {
    let mut house = House::new();
    house.apply(Command::SubmitSet {
        request_key: RequestKey("set".to_owned()),
        owner: Owner { uid: USER.uid, gid: Gid(1000), name: "ada".to_owned() },
        groups: Vec::new(),
        operator: false,
        via: None,
        asks: vec![Ask::default(), tasks_of(1)],
        script: "#!/bin/sh\ntrue\n".to_owned(),
        environment: String::new(),
    });
    let [one, two] = ["1", "2"].map(|key| key.parse::<JobKey>().unwrap());
    let start = |key: JobKey, node: &str| RoundStart {
        id: house.attempt_of(key),
        allocation: common::resource::Allocation::new(vec![share(node, 0, 1, &[])]).unwrap(),
        group: Some(one),
    };
    let starts = vec![start(one, "g1"), start(two, "g2")];
    let (preempts, shrinks, grows) = (vec![], vec![], vec![]);
    house.apply(Command::EnactRound { preempts, shrinks, grows, starts });
    house.report("g2", attempt(two, 1), StepPhase::Ready);
    house.report("g1", attempt(one, 1), running());
    for named in ["1", "1+0", "1+1", "2"] {
        house.wait(60);
        let events = house.apply(checkpoint(USER, named.parse().unwrap()));
        assert_eq!(state::event::changed_jobs(&events), Ok(vec![one, two]), "{named}");
        assert_eq!([one, two].map(|key| shown(&house, key)), [Some(house.now); 2], "{named}");
    }
}
