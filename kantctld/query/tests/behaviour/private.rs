//! What views show a user if jobs, use or nodes of others are hidden.

use crate::house::{House, OPERATOR, name, queue, running, settings, share};
use common::config::Private;
use common::id::{Attempt, AttemptId, Gid, JobId, JobKey, QueueName, Uid};
use common::job::{Ask, Owner, PreemptReason, Preempted};
use common::policy::VictimMode;
use common::reason::WaitReason;
use common::wire::api::JobQuery;
use query::view::{self, Wait, Waits};
use query::viewer::{Limits, Viewer};
use state::ledger::StartRefusal;
use state::{Command, Event, RoundPreempt, Settings, Target};
use std::collections::BTreeSet;

const ADA: Uid = Uid(1000);
const BOB: Uid = Uid(1001);

fn lab() -> QueueName {
    QueueName::new("lab").unwrap()
}

fn house() -> House {
    let mut house = House::new();
    let queues = vec![queue("main", true), queue("lab", false)];
    house.apply(Command::Configure(Settings { queues, ..settings() }));
    house
}

fn submit(house: &mut House, uid: Uid, user: &str, ask: Ask) -> JobKey {
    let mut command = house.submission(ask);
    if let Command::SubmitJob { owner, .. } = &mut command {
        *owner = Owner { uid, gid: Gid(uid.0), name: user.to_owned() };
    }
    match house.apply(command).as_slice() {
        [Event::JobSubmitted { job, .. }] => JobKey::single(*job),
        other => panic!("{other:?}"),
    }
}

fn viewer(uid: Uid, hidden: &[Private]) -> Viewer {
    let (queues, accounts) = (BTreeSet::new(), BTreeSet::new());
    let hidden = hidden.iter().copied().collect();
    Viewer::limited(Limits { uid, hidden, queues, accounts })
}

fn listed(house: &House, viewer: &Viewer, query: &JobQuery) -> Vec<JobKey> {
    let waits = Waits::new();
    let whole = view::job_list(&house.state, viewer, query, &waits).jobs;
    let lines = view::list_rows(&house.state, viewer, query, &waits).count();
    assert_eq!(whole.len(), lines);
    whole.iter().map(|job| job.key).collect()
}

#[test]
fn a_user_sees_their_own_jobs_and_those_of_a_queue_that_they_coordinate() {
    let mut house = house();
    let of_ada = submit(&mut house, ADA, "ada", Ask::default());
    let of_bob = submit(&mut house, BOB, "bob", Ask::default());
    let in_lab = submit(&mut house, ADA, "ada", Ask { queue: Some(lab()), ..Ask::default() });
    let all = JobQuery::default();
    let bob = viewer(BOB, &[Private::Jobs]);
    assert_eq!(listed(&house, &bob, &all), [of_bob]);
    assert_eq!(listed(&house, &Viewer::ALL, &all), [of_ada, of_bob, in_lab]);
    assert_eq!(listed(&house, &viewer(BOB, &[Private::Usage]), &all).len(), 3);
    let of_user = JobQuery { user: Some("ada".to_owned()), ..JobQuery::default() };
    assert_eq!(listed(&house, &bob, &of_user), []);
    let limited = JobQuery { limit: Some(1), ..JobQuery::default() };
    let list = view::job_list(&house.state, &bob, &limited, &Waits::new());
    assert_eq!(list.total, Some(1), "the number of the jobs that there are is not shown");
    let detail = |viewer: &Viewer, key| view::job_detail(&house.state, viewer, key, &Waits::new());
    assert!(detail(&bob, of_ada).is_none() && detail(&bob, of_bob).is_some());
    let coordinator = Viewer::limited(Limits {
        uid: BOB,
        hidden: [Private::Jobs].into(),
        queues: [lab()].into(),
        accounts: BTreeSet::new(),
    });
    assert_eq!(listed(&house, &coordinator, &all), [of_bob, in_lab]);
}

#[test]
fn why_a_job_waits_is_shown_without_jobs_of_others() {
    let mut house = house();
    let of_ada = submit(&mut house, ADA, "ada", Ask::default());
    let of_bob = submit(&mut house, BOB, "bob", Ask::default());
    let bob = viewer(BOB, &[Private::Jobs]);
    let (snapshot, now) = (state::snapshot::snapshot(&house.state), house.state.now());
    for reason in [
        WaitReason::Priority { ahead: 3, next: of_ada },
        WaitReason::BehindHead { head: of_ada },
        WaitReason::Preempting { victims: 2, example: of_ada },
    ] {
        let waits = Waits::from([(of_bob, Wait { reason: reason.clone(), position: 2 })]);
        let job = &view::job_detail(&house.state, &bob, of_bob, &waits).unwrap().jobs[0];
        let shown = job.reason.as_ref().unwrap();
        assert_eq!((shown.code.as_str(), &shown.detail), ("Priority", &WaitReason::PrivateJobs));
        let explained = view::explain(&house.state, &bob, of_bob, &waits, &snapshot, now).unwrap();
        assert_eq!(explained.lines, ["jobs of other users go first, or are making room for it"]);
        let text = serde_json::to_string(&explained).unwrap();
        assert!(!text.contains("ada") && !text.contains("\"1\""), "{text}");
        let whole = view::job_view(&house.state, &Viewer::ALL, of_bob, &waits).unwrap();
        assert_eq!(whole.reason.unwrap().detail, reason);
    }
    let own = WaitReason::Priority { ahead: 1, next: of_bob };
    let waits = Waits::from([(of_bob, Wait { reason: own.clone(), position: 2 })]);
    let job = &view::job_detail(&house.state, &bob, of_bob, &waits).unwrap().jobs[0];
    assert_eq!(job.reason.as_ref().unwrap().detail, own);
    assert!(view::explain(&house.state, &bob, of_ada, &waits, &snapshot, now).is_none());
}

#[test]
fn the_state_of_a_dependency_on_a_hidden_job_is_hidden() {
    let mut house = house();
    let of_ada = submit(&mut house, ADA, "ada", Ask::default());
    let dependency = format!("afterok:{of_ada}").parse().ok();
    let of_bob = submit(&mut house, BOB, "bob", Ask { dependency, ..Ask::default() });
    let sentence = |viewer: &Viewer| {
        let list = view::job_detail(&house.state, viewer, of_bob, &Waits::new()).unwrap();
        list.jobs[0].reason.clone().unwrap().sentence
    };
    assert!(sentence(&Viewer::ALL).contains("PENDING"), "{}", sentence(&Viewer::ALL));
    let shown = sentence(&viewer(BOB, &[Private::Jobs]));
    assert!(shown.contains("job 1 must succeed") && !shown.contains("PENDING"), "{shown}");
    house.apply(Command::CancelJob { actor: OPERATOR, target: Target { key: of_ada } });
    let bracket = |viewer: &Viewer| {
        view::job_view(&house.state, viewer, of_bob, &Waits::new()).unwrap().dependency.unwrap()
    };
    assert_eq!(bracket(&Viewer::ALL), "afterok:1(failed)");
    assert_eq!(bracket(&viewer(BOB, &[Private::Jobs])), "afterok:1");
}

#[test]
fn a_job_cancelled_for_its_dependency_does_not_tell_what_became_of_a_hidden_job() {
    let mut house = house();
    let of_ada = submit(&mut house, ADA, "ada", Ask::default());
    let dependency = format!("afterok:{of_ada}").parse().ok();
    let kill_on_invalid_dependency = true;
    let of_bob = submit(
        &mut house,
        BOB,
        "bob",
        Ask { dependency, kill_on_invalid_dependency, ..Ask::default() },
    );
    house.apply(Command::CancelJob { actor: OPERATOR, target: Target { key: of_ada } });
    let shown = |viewer: &Viewer| {
        let list = view::job_detail(&house.state, viewer, of_bob, &Waits::new()).unwrap();
        serde_json::to_string(&(&list.jobs[0].message, &list.jobs[0].timeline)).unwrap()
    };
    assert!(shown(&Viewer::ALL).contains("job 1 had to succeed"), "{}", shown(&Viewer::ALL));
    let shown = shown(&viewer(BOB, &[Private::Jobs]));
    assert!(shown.contains("can no longer be satisfied") && !shown.contains("job 1"), "{shown}");
}

#[test]
fn where_jobs_are_hidden_their_use_is_too() {
    for (hidden, usage) in [(Private::Jobs, true), (Private::Usage, true), (Private::Nodes, false)]
    {
        assert_eq!(viewer(BOB, &[hidden]).usage_limits().is_some(), usage, "{hidden:?}");
    }
}

#[test]
fn an_event_that_names_another_job_has_a_line_without_it() {
    let key = |job: u32| JobKey::single(JobId(job));
    let id = AttemptId { key: key(170), attempt: Attempt(1) };
    for reason in [StartRefusal::NoJobWaits(key(17)), StartRefusal::GroupBroken(key(17))] {
        let event = Event::RoundEntryRefused { id, reason };
        assert_eq!(query::event::other_job(&event), Some(key(17)));
        let shown = query::event::line_without_job(&event);
        assert!(shown.starts_with("job 170: refused") && shown.contains("another job"), "{shown}");
        assert!(!shown.contains("job 17,"), "{shown}");
    }
}

#[test]
fn a_preempted_job_does_not_tell_by_which_hidden_one() {
    let mut house = house();
    let of_bob = submit(&mut house, BOB, "bob", Ask::default());
    let of_ada = submit(&mut house, ADA, "ada", Ask::default());
    let id: AttemptId = house.start(of_bob, vec![share("g1", 0, 2, &[])]);
    house.report("g1", id, running());
    house.apply(Command::EnactRound {
        preempts: vec![RoundPreempt {
            id,
            preempted: Preempted { by: of_ada, why: PreemptReason::Priority },
            mode: VictimMode::Requeue,
            to: Vec::new(),
        }],
        shrinks: Vec::new(),
        starts: Vec::new(),
        grows: Vec::new(),
    });
    let text = |viewer: &Viewer| {
        let list = view::job_detail(&house.state, viewer, of_bob, &Waits::new()).unwrap();
        list.jobs[0].timeline.iter().map(|line| line.text.clone()).collect::<Vec<_>>().join("\n")
    };
    assert!(text(&Viewer::ALL).contains("preempted by job 2"), "{}", text(&Viewer::ALL));
    let text = text(&viewer(BOB, &[Private::Jobs]));
    assert!(text.contains("preempted by another job") && !text.contains("job 2"), "{text}");
}

#[test]
fn nodes_show_no_hidden_jobs_or_are_hidden_themselves() {
    let mut house = house();
    let of_ada = submit(&mut house, ADA, "ada", Ask::default());
    let of_bob = submit(&mut house, BOB, "bob", Ask::default());
    house.start(of_ada, vec![share("g1", 0, 2, &[0])]);
    house.start(of_bob, vec![share("g1", 2, 2, &[1])]);
    let bob = viewer(BOB, &[Private::Jobs]);
    let node = view::node_view(&house.state, &bob, &name("g1")).unwrap();
    assert_eq!((node.jobs, node.gpus_used.0), (vec![of_bob], 2), "what is used is shown");
    let map = view::cluster_map(&house.state, &bob);
    let keys: Vec<JobKey> = map.jobs.iter().map(|job| job.key).collect();
    assert_eq!(keys, [of_bob, JobKey::single(JobId(0))], "one for all that are hidden");
    assert!(!serde_json::to_string(&map).unwrap().contains("ada"));
    assert_eq!(map.groups[0].nodes[0].gpus[..2], [vec![1], vec![0]]);
    let blind = viewer(BOB, &[Private::Nodes]);
    assert!(view::node_view(&house.state, &blind, &name("g1")).is_some(), "an own job is there");
    assert_eq!(listed(&house, &blind, &JobQuery::default()).len(), 2, "jobs are not");
    let carl = viewer(Uid(1002), &[Private::Nodes]);
    assert!(view::node_view(&house.state, &carl, &name("g1")).is_none());
    assert!(view::node_list(&house.state, &carl).nodes.is_empty());
    let map = view::cluster_map(&house.state, &carl);
    assert!(map.groups.is_empty() && map.jobs.is_empty());
}
