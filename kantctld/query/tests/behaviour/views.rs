//! The state as users, nodes and the engine see it.

use crate::house::{House, end, exited, name, running, share, tasks_of};
use common::id::{JobKey, QueueName};
use common::job::{Ask, EndCause, Phase};
use common::reason::{Refusal, WaitReason};
use common::resource::{Request, Share};
use common::unit::{Cpus, Gpus, Tasks};
use common::wire::api::{JobQuery, JobView, ReasonView};
use query::view;
use query::view::{Wait, Waits};
use state::{Command, Event, desired, effect, snapshot};

#[test]
fn a_launch_order_holds_all_a_node_needs() {
    let mut house = House::new();
    let array = Some("2-8:3".parse().unwrap());
    let job = house.submit(Ask { array, args: vec!["a".into()], ..tasks_of(2) });
    let key = JobKey { job, index: Some(common::id::ArrayIndex(5)) };
    let id = house.start(key, vec![share("g2", 0, 2, &[]), share("g1", 0, 2, &[])]);
    let order = desired::launch_order(&house.state, id, &name("g1")).unwrap();
    assert_eq!(order.script, "#!/bin/sh\ntrue\n");
    assert_eq!(order.environment["HOME"], "/home/ada");
    assert_eq!(order.addresses, ["g2.example", "g1.example"], "in the order of ranks");
    assert_eq!(order.stdout, "kant-%A_%a.out");
    let array = order.array.unwrap();
    assert_eq!((array.count, array.min.0, array.max.0, array.step), (3, 2, 8, 3));
    let older = crate::house::attempt(key, 9);
    assert_eq!(desired::launch_order(&house.state, older, &name("g1")), None);
}

#[test]
fn lists_show_running_jobs_then_waiting_ones_in_order_then_the_latest_finished() {
    let mut house = House::new();
    let keys: Vec<JobKey> = (0..5).map(|_| house.job()).collect();
    for key in [keys[0], keys[1]] {
        let id = house.start(key, vec![share("g1", 0, 2, &[])]);
        house.wait(1);
        house.report("g1", id, exited(0));
    }
    house.start(keys[4], vec![share("g1", 0, 2, &[])]);
    let waits: Waits = [(keys[2], 2), (keys[3], 1)]
        .map(|(key, position)| (key, Wait { reason: WaitReason::NotConsidered, position }))
        .into();
    let list = |query: &JobQuery| -> Vec<JobKey> {
        view::job_list(&house.state, &query::viewer::Viewer::ALL, query, &waits)
            .jobs
            .iter()
            .map(|job| job.key)
            .collect()
    };
    let all = JobQuery { all: true, ..JobQuery::default() };
    assert_eq!(list(&all), [keys[4], keys[3], keys[2], keys[1], keys[0]]);
    assert_eq!(list(&JobQuery::default()), [keys[4], keys[3], keys[2]]);
    let on = |node| JobQuery { node: Some(name(node)), ..all.clone() };
    assert_eq!((list(&on("g1")).len(), list(&on("g2")).len()), (3, 0));
    let of = |user: &str| JobQuery { user: Some(user.to_owned()), ..all.clone() };
    assert_eq!(
        (list(&of("ada")).len(), list(&of("1000")).len(), list(&of("bob")).len()),
        (5, 5, 0)
    );
    let short = JobQuery { queue: QueueName::new("short").ok(), ..all.clone() };
    assert_eq!(list(&short).len(), 0);
}

#[test]
fn a_job_shows_why_it_waits_what_it_asks_for_and_its_story() {
    let mut house = House::new();
    let mut ask = Ask::default();
    ask.request.tasks = Tasks(3);
    ask.request.gpus = Some(common::resource::GpuRequest::PerTask(Gpus(2)));
    let key = JobKey::single(house.submit(ask));
    let reason = WaitReason::Priority { ahead: 2, next: key };
    let waits = Waits::from([(key, Wait { reason: reason.clone(), position: 3 })]);
    let job = view::job_view(&house.state, &query::viewer::Viewer::ALL, key, &waits).unwrap();
    assert_eq!((job.cpus, job.gpus, job.position), (Cpus(3), Gpus(6), Some(3)));
    assert_eq!(job.memory.to_string(), "3G");
    assert_eq!(job.reason.unwrap().detail, reason);
    let (snapshot, now) = (state::snapshot::snapshot(&house.state), house.state.now());
    let explained =
        view::explain(&house.state, &query::viewer::Viewer::ALL, key, &waits, &snapshot, now)
            .unwrap();
    assert_eq!(explained.lines[0], reason.to_string());
    assert!(explained.lines[1].contains("the only job"), "{:?}", explained.lines);

    let id = house.start(key, vec![Share { tasks: Tasks(3), ..share("g1", 0, 3, &[0]) }]);
    house.report("g1", id, running());
    house.report("g1", id, exited(1));
    let jobs =
        view::job_detail(&house.state, &query::viewer::Viewer::ALL, key, &waits).unwrap().jobs;
    let timeline: Vec<&str> = jobs[0].timeline.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(
        timeline,
        [
            "submitted by ada",
            "attempt 1 started on g1",
            "running",
            "ended as FAILED (exit 1:0)",
            "done: FAILED"
        ]
    );
    assert_eq!(
        (jobs[0].phase, jobs[0].gpus, jobs[0].reason.is_none()),
        (Phase::Done, Gpus(1), true)
    );
}

#[test]
fn a_job_that_failed_to_launch_is_explained_with_what_to_mend_and_where_to_look() {
    let mut house = House::new();
    let key = house.job();
    let id = house.start(key, vec![share("g1", 0, 2, &[])]);
    house.report("g1", id, end(EndCause::LaunchFailed, 1));
    let (snapshot, now) = (snapshot::snapshot(&house.state), house.state.now());
    let explained = view::explain(
        &house.state,
        &query::viewer::Viewer::ALL,
        key,
        &Waits::new(),
        &snapshot,
        now,
    )
    .unwrap();
    assert!(explained.lines[0].ends_with(": LAUNCH_FAILED"), "{:?}", explained.lines);
    let advice = explained.advice.unwrap();
    assert!(advice.contains("kantctl requeue 1") && advice.contains("log of kantd"), "{advice}");
}

#[test]
fn a_list_leaves_out_what_is_bulky_and_a_record_does_not() {
    let mut house = House::new();
    let mut ask = Ask { args: vec!["a".into()], ..Ask::default() };
    ask.array = "0-1".parse().ok();
    ask.rlimits = [common::job::Rlimit { name: "core".to_owned(), soft: Some(0) }].into();
    ask.request.only_nodes = vec![name("g1")];
    ask.request.not_nodes = vec![name("g2")];
    ask.comment = Some("mine".to_owned());
    let job = house.submit(ask);
    let kept = house.state.job(job).unwrap().spec.ask.clone();
    let listed = view::job_list(
        &house.state,
        &query::viewer::Viewer::ALL,
        &JobQuery::default(),
        &Waits::new(),
    )
    .jobs;
    let mut light = kept.clone();
    (light.args, light.rlimits, light.array) = (vec![], [].into(), None);
    (light.request.only_nodes, light.request.not_nodes) = (vec![], vec![]);
    assert_eq!((listed.len(), &listed[0].ask, &listed[1].ask), (2, &light, &light));
    let whole = view::job_detail(
        &house.state,
        &query::viewer::Viewer::ALL,
        JobKey::single(job),
        &Waits::new(),
    )
    .unwrap()
    .jobs;
    assert_eq!((whole.len(), &whole[1].ask), (2, &kept));
}

/// The job as brief lists show it, without what they leave out.
fn briefly(job: &JobView) -> JobView {
    let asked = &job.ask;
    let ask = Ask {
        name: asked.name.clone(),
        queue: asked.queue.clone(),
        account: asked.account.clone(),
        qos: asked.qos.clone(),
        reservation: asked.reservation.clone(),
        time_limit: asked.time_limit,
        launch: asked.launch,
        request: Request {
            nodes: asked.request.nodes,
            tasks: asked.request.tasks,
            cpus_per_task: asked.request.cpus_per_task,
            gpus: asked.request.gpus,
            ..Request::default()
        },
        ..Ask::default()
    };
    let detail = WaitReason::default();
    let reason = job.reason.clone().map(|reason| ReasonView { detail, ..reason });
    JobView { ask, reason, usage: None, dependency: None, ..job.clone() }
}

#[test]
fn a_brief_list_reads_as_the_whole_one_without_what_no_table_shows() {
    let mut house = House::new();
    let of = |array: Option<&str>| Ask {
        name: "brief".to_owned(),
        array: array.and_then(|text| text.parse().ok()),
        time_limit: Some(common::time::Span::from_minutes(5)),
        comment: Some("in no table".to_owned()),
        ..tasks_of(2)
    };
    let keys = [of(None), of(None), Ask { hold: true, ..of(None) }, of(Some("0-2%1"))]
        .map(|ask| JobKey::single(house.submit(ask)));
    let id = house.start(keys[0], vec![Share { tasks: Tasks(2), ..share("g1", 0, 2, &[0]) }]);
    house.report("g1", id, running());
    let id = house.start(keys[1], vec![Share { tasks: Tasks(2), ..share("g2", 0, 2, &[]) }]);
    house.report("g2", id, running());
    house.report("g2", id, exited(3));
    let waits = Waits::from([(keys[2], Wait { reason: WaitReason::Held, position: 1 })]);
    let query = JobQuery { all: true, ..JobQuery::default() };
    let whole = view::job_list(&house.state, &query::viewer::Viewer::ALL, &query, &waits);
    let brief: Vec<_> =
        view::list_rows(&house.state, &query::viewer::Viewer::ALL, &query, &waits).collect();
    assert_eq!(brief.len(), 6);
    for (brief, whole) in brief.iter().zip(&whole.jobs) {
        let text = rmp_serde::to_vec_named(brief).unwrap();
        assert_eq!(rmp_serde::from_slice::<JobView>(&text).unwrap(), briefly(whole));
    }
}

#[test]
fn a_hold_shows_before_the_next_round() {
    let mut house = House::new();
    let key = JobKey::single(house.submit(Ask { hold: true, ..Ask::default() }));
    let job =
        view::job_view(&house.state, &query::viewer::Viewer::ALL, key, &Waits::new()).unwrap();
    assert_eq!(job.reason.unwrap().code, "JobHeldUser");
    let target = state::Target { key };
    house.apply(state::Command::ReleaseJob { actor: crate::house::USER, target });
    let stale = Waits::from([(key, Wait { reason: WaitReason::Held, position: 1 })]);
    let job = view::job_view(&house.state, &query::viewer::Viewer::ALL, key, &stale).unwrap();
    assert_eq!(job.reason.unwrap().detail, WaitReason::NotConsidered);
}

#[test]
fn the_engine_sees_what_waits_and_only_what_is_still_held() {
    let mut house = House::new();
    let array = Some("0-2%2".parse().unwrap());
    let job = house.submit(Ask { array, ..tasks_of(2) });
    let key = JobKey { job, index: Some(common::id::ArrayIndex(0)) };
    let id = house.start(key, vec![share("g1", 0, 3, &[1]), share("g2", 0, 3, &[])]);
    let seen = snapshot::snapshot(&house.state);
    assert_eq!(seen.running_job(key).unwrap().allocation.shares().len(), 2);
    let waiting: Vec<_> = seen.all_waiting().collect();
    assert_eq!((waiting.len(), waiting[0].array_limit), (2, Some(2)));
    assert!(std::sync::Arc::ptr_eq(&waiting[0].request, &waiting[1].request), "tasks share it");
    house.report("g1", id, exited(0));
    let seen = snapshot::snapshot(&house.state);
    let left = seen.running_job(key).unwrap().allocation.shares().to_vec();
    assert_eq!(left.len(), 1, "g2 still has its share");
    assert_eq!(left[0].node, name("g2"));
}

fn never_fits(house: &House, ask: &Ask) -> Option<Refusal> {
    snapshot::never_fits(&house.state, &snapshot::snapshot(&house.state), ask)
}

#[test]
fn what_can_never_run_is_said_before_it_is_proposed() {
    let house = House::new();
    let mut ask = Ask::default();
    ask.request.cpus_per_task = Cpus(9);
    let refusal = never_fits(&house, &ask);
    assert!(matches!(refusal, Some(Refusal::NeverFits { .. })), "{refusal:?}");
    ask.hold = true;
    assert_eq!(never_fits(&house, &ask), None);
    let unknown = House::empty();
    ask.hold = false;
    assert_eq!(never_fits(&unknown, &ask), None, "no nodes, no judgement");
}

#[test]
fn events_wake_the_scheduler_when_a_round_could_decide_otherwise() {
    let mut house = House::new();
    let submission = house.submission(Ask::default());
    assert!(effect::wakes_scheduler(&house.apply(submission.clone())));
    assert!(!effect::wakes_scheduler(&house.apply(submission)), "a repetition");
    let key = JobKey::single(common::id::JobId(1));
    let id = house.start(key, vec![share("g1", 0, 2, &[])]);
    assert!(!effect::wakes_scheduler(&house.report("g1", id, running())));
    let over = house.report("g1", id, exited(0));
    assert!(effect::wakes_scheduler(&over));
    assert!(effect::touched_nodes(&over).contains(&name("g1")), "it may forget the step");
}

#[test]
fn a_queue_shows_what_its_jobs_and_those_below_it_have() {
    let mut house = House::new();
    let mut settings = crate::house::settings();
    settings.queues[1].parent = Some(settings.queues[0].name.clone());
    house.apply(state::Command::Configure(settings));
    let asks = |queue: &str| Ask { queue: queue.parse().ok(), ..Ask::default() };
    let (above, below) = (house.submit(asks("main")), house.submit(asks("short")));
    house.submit(asks("short"));
    house.start(JobKey::single(above), vec![share("g1", 0, 2, &[0])]);
    house.start(JobKey::single(below), vec![share("g2", 0, 3, &[1, 2])]);
    let held = view::queue_list(&house.state).held;
    let of = |queue: &str| {
        let held = &held[&QueueName::new(queue).unwrap()];
        let gpus: u32 = held.gpus_milli.values().map(|milli| milli.0).sum();
        (held.running, held.waiting, held.cpus.0, gpus)
    };
    assert_eq!(of("short"), (1, 1, 3, 2000));
    assert_eq!(of("main"), (2, 1, 5, 3000));
}

#[test]
fn a_story_says_which_node_vouched_for_who_submitted() {
    let mut house = House::new();
    let begins = |house: &House, job| {
        let list = view::job_detail(
            &house.state,
            &query::viewer::Viewer::ALL,
            JobKey::single(job),
            &Waits::default(),
        )
        .unwrap();
        list.jobs[0].timeline[0].text.clone()
    };
    let mut command = house.submission(Ask::default());
    let Command::SubmitJob { via, .. } = &mut command else { unreachable!() };
    *via = Some(name("g-012"));
    let [Event::JobSubmitted { job, .. }] = house.apply(command)[..] else { panic!() };
    assert_eq!(begins(&house, job), "submitted by ada via g-012");
    let at_a_controller = house.submit(Ask::default());
    assert_eq!(begins(&house, at_a_controller), "submitted by ada");
}

#[test]
fn the_map_shows_the_jobs_of_each_gpu_and_why_a_node_takes_none() {
    let mut house = House::new();
    let key = house.job();
    let id = house.start(key, vec![share("g1", 0, 2, &[1])]);
    let actor = crate::house::OPERATOR;
    house.apply(Command::DrainNode { actor, name: name("g2"), reason: "fans".to_owned() });
    let map = view::cluster_map(&house.state, &query::viewer::Viewer::ALL);
    assert_eq!(map.jobs.iter().map(|job| job.key).collect::<Vec<_>>(), [key]);
    let group = &map.groups[0];
    assert_eq!((map.groups.len(), &group.leaf), (1, &None), "no topology is configured");
    let node = |wanted: &str| group.nodes.iter().find(|node| node.name == name(wanted)).unwrap();
    assert_eq!(node("g1").gpus[..2], [vec![], vec![0]]);
    assert_eq!(node("g1").problem, None);
    assert_eq!(node("g2").problem.as_deref(), Some("fans"));
    house.report("g1", id, exited(0));
    assert!(view::cluster_map(&house.state, &query::viewer::Viewer::ALL).jobs.is_empty());
}

#[test]
fn a_part_of_a_list_comes_with_the_number_of_all() {
    let mut house = House::new();
    let keys: Vec<JobKey> = (0..5).map(|_| house.job()).collect();
    let waits = Waits::new();
    let list = |limit, offset| {
        let query = JobQuery { limit, offset, ..JobQuery::default() };
        let list = view::job_list(&house.state, &query::viewer::Viewer::ALL, &query, &waits);
        (list.jobs.iter().map(|job| job.key).collect::<Vec<_>>(), list.total)
    };
    assert_eq!(list(None, 0), (keys.clone(), None));
    assert_eq!(list(Some(2), 2), (keys[2..4].to_vec(), Some(5)));
    assert_eq!(list(Some(2), 9), (vec![], Some(5)));
}
