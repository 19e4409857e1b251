//! Tests of the judge on jobs that grow, one fault at a time.

use crate::Decision;
use crate::check::{check, check_decisions};
use crate::model::job::{RunningJob, WaitingJob};
use crate::model::snapshot::{Growing, PlannedStart, Snapshot};
use crate::round::round_result::Round;
use crate::testing::{
    booking, change_policy, cpu_node, gpu_node, key, name, request, run, set_leaf_groups, snapshot,
    waiting,
};
use common::gpu_parts::{GpuParts, PartSize};
use common::id::Attempt;
use common::job::PreemptReason;
use common::policy::{Limits, VictimMode};
use common::reason::WaitReason;
use common::resource::{GpuList, GpuRequest, Request, Share};
use common::time::Time;
use common::topology::{Level, Nearness};
use common::unit::{Bytes, Cpus, Gpus, Nodes, Tasks};
use std::collections::BTreeMap;
use std::sync::Arc;

const NOW: Time = Time(1_000_000);
const HOUR: u64 = 3_600_000;

fn share(node: &str, tasks: u32, cpus: &str) -> Share {
    Share {
        gpu_milli: None,
        node: name(node),
        tasks: Tasks(tasks),
        cpus: cpus.parse().unwrap(),
        memory: Bytes(u64::from(tasks) << 20),
        gpus: GpuList::new(),
    }
}

/// Nodes a, b and c of 4 CPUs; job 9 runs on a with one of up to three tasks, for an hour more.
fn growing(change: impl Fn(&mut Request)) -> Snapshot {
    let mut snapshot = snapshot(vec![cpu_node("a", 4), cpu_node("b", 4), cpu_node("c", 4)]);
    run(&mut snapshot, 9, share("a", 1, "0"), Some(Time(NOW.0 + HOUR)));
    let mut asked = Request { tasks_min: Some(Tasks(1)), grow: true, ..request(3, 1) };
    change(&mut asked);
    let asked = waiting(9, asked, 60);
    snapshot.set_growing(key(9), Growing::of(&asked).map(Arc::new));
    snapshot
}

fn changed(change: impl Fn(&mut RunningJob)) -> Snapshot {
    let mut snapshot = growing(|_| ());
    let known = snapshot.growing(key(9)).cloned();
    let mut job = RunningJob::clone(snapshot.running_job(key(9)).unwrap());
    change(&mut job);
    snapshot.set_running(job);
    snapshot.set_growing(key(9), known);
    snapshot
}

fn grow(shares: Vec<Share>) -> Decision {
    Decision::Grow { key: key(9), attempt: Attempt(1), shares }
}

fn onto_b() -> Decision {
    grow(vec![share("b", 1, "0")])
}

fn faults(snapshot: &Snapshot, decisions: &[Decision]) -> String {
    let faults = check_decisions(snapshot, NOW, decisions);
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[test]
fn a_job_that_asked_for_it_grows_onto_what_is_free() {
    let plain = growing(|_| ());
    assert_eq!(faults(&plain, &[onto_b()]), "");
    assert_eq!(faults(&plain, &[grow(vec![share("b", 1, "0"), share("c", 1, "3")])]), "");
    for (decision, says) in [
        (grow(vec![]), "job 9 grows by nothing"),
        (grow(vec![share("a", 1, "1")]), "job 9 grows onto a node twice"),
        (grow(vec![share("b", 3, "0-2")]), "job 9 grows to more than it asked for"),
        (grow(vec![share("b", 1, "0-1")]), "job 9 on b: a core more than it needs"),
        (grow(vec![share("x", 1, "0")]), "job 9 grows onto node x, which there is not"),
        (
            Decision::Grow { key: key(9), attempt: Attempt(2), shares: vec![share("b", 1, "0")] },
            "job 9 grows in another attempt",
        ),
    ] {
        assert_eq!(faults(&plain, &[decision]), says);
    }
    assert_eq!(faults(&plain, &[onto_b(), grow(vec![share("c", 1, "0")])]), "job 9 grows twice");
    let mut busy = growing(|_| ());
    run(&mut busy, 8, share("b", 1, "0"), None);
    assert_eq!(faults(&busy, &[onto_b()]), "job 9 on b: CPU 0 is not free");
    let mut unasked = growing(|_| ());
    unasked.set_growing(key(9), None);
    let says = "job 9 grows but does not run, or did not ask for that";
    assert_eq!(faults(&unasked, &[onto_b()]), says);
}

#[test]
fn a_job_that_is_soon_over_or_gives_something_up_does_not_grow() {
    let with = |change: &dyn Fn(&mut RunningJob)| faults(&changed(change), &[onto_b()]);
    let ends = |left: u64| move |job: &mut RunningJob| job.ends_by = Some(Time(NOW.0 + left));
    assert_eq!(with(&ends(300_000)), "");
    assert_eq!(with(&ends(299_999)), "job 9 grows though it is over soon");
    assert_eq!(with(&|job| job.ends_by = None), "");
    let goes = "job 9 grows though it, or some of it, is on its way out";
    assert_eq!(with(&|job| job.ending = true), goes);
    assert_eq!(with(&|job| job.yields_to = Some(key(1))), goes);
    let mut snapshot = changed(|job| job.preemptible = true);
    snapshot.set_waiting(waiting(1, request(1, 1), 10));
    let (mode, reason) = (VictimMode::Requeue, PreemptReason::Priority);
    let attempt = Attempt(1);
    let yields = Decision::Preempt { key: key(9), attempt, by: key(1), reason, mode, to: vec![] };
    assert!(faults(&snapshot, &[yields, onto_b()]).contains(goes));
}

#[test]
fn a_job_gets_no_node_that_it_may_not_have() {
    let not = |asked: &mut Request| asked.not_nodes = vec![name("b")];
    assert_eq!(faults(&growing(not), &[onto_b()]), "job 9 on b: a node it excluded");
    let mut had = growing(|_| ());
    let known = Growing::clone(had.growing(key(9)).unwrap());
    let known = Growing { had: [name("b")].into(), ..known };
    had.set_growing(key(9), Some(Arc::new(known)));
    assert_eq!(faults(&had, &[onto_b()]), "job 9 gets a node again that it gave up");
    let mut early = growing(|_| ());
    let known = Growing::clone(early.growing(key(9)).unwrap());
    let until = |time| Some(Arc::new(Growing { not_before: Some(time), ..known.clone() }));
    early.set_growing(key(9), until(NOW));
    assert_eq!(faults(&early, &[onto_b()]), "");
    early.set_growing(key(9), until(Time(NOW.0 + 1)));
    let says = "job 9 grows though nodes failed to join it a moment ago";
    assert_eq!(faults(&early, &[onto_b()]), says);
    let near = Nearness { level: Level::Leaf, required: true };
    let mut apart = growing(|asked| asked.near = Some(near));
    set_leaf_groups(&mut apart, &[("l", "a c"), ("m", "b")]);
    assert_eq!(faults(&apart, &[onto_b()]), "job 9 gets nodes further apart than it allows");
    assert_eq!(faults(&apart, &[grow(vec![share("c", 1, "0")])]), "");
    let mut booked = growing(|_| ());
    booked.set_reservations([booking(
        "exam",
        &["b"],
        Time(NOW.0 + HOUR - 1),
        Time(NOW.0 + 2 * HOUR),
    )]);
    assert_eq!(faults(&booked, &[onto_b()]), "job 9 on b: kept for reservation exam");
    booked.set_reservations([booking("exam", &["b"], Time(NOW.0 + HOUR), Time(NOW.0 + 2 * HOUR))]);
    assert_eq!(faults(&booked, &[onto_b()]), "");
}

#[test]
fn what_a_job_grows_by_counts_for_limits_but_as_no_job() {
    let limited = |limits: Limits| {
        let mut snapshot = growing(|_| ());
        change_policy(&mut snapshot, |policy| policy.queues[0].limits = limits);
        snapshot.prepare_for_round(NOW);
        faults(&snapshot, &[onto_b()])
    };
    assert_eq!(limited(Limits { jobs: Some(1), ..Limits::default() }), "");
    assert_eq!(limited(Limits { cpus: Some(Cpus(2)), ..Limits::default() }), "");
    let says = limited(Limits { cpus: Some(Cpus(1)), ..Limits::default() });
    assert!(says.contains("is more than the limits"), "{says}");
}

/// The judge's report on a round in which job 9 grows onto b and job 1 waits for this reason.
fn beside(
    change: impl Fn(&mut WaitingJob),
    reason: WaitReason,
    planned_start: Option<PlannedStart>,
) -> String {
    let mut snapshot = growing(|_| ());
    let mut job = waiting(1, Request { nodes: Some(Nodes(2)), ..request(2, 1) }, 10);
    job.owner = common::id::Uid(4242);
    change(&mut job);
    snapshot.set_waiting(job);
    snapshot.prepare_for_round(NOW);
    said(&snapshot, reason, planned_start)
}

fn said(snapshot: &Snapshot, reason: WaitReason, planned_start: Option<PlannedStart>) -> String {
    let mut round = Round { decisions: vec![onto_b()], ..Round::default() };
    round.waits.set_reason(key(1), reason);
    round.planned_starts = planned_start
        .map(|planned_start| (key(1), planned_start))
        .into_iter()
        .collect::<BTreeMap<_, _>>();
    let faults = check(snapshot, NOW, &round);
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn no_room() -> WaitReason {
    WaitReason::NotConsidered
}

#[test]
fn no_job_grows_onto_what_a_waiting_job_could_use() {
    assert_eq!(beside(|_| (), no_room(), None), "job 9 grows onto b, which job 1 could use");
    assert_eq!(beside(|job| job.held = true, no_room(), None), "");
    let elsewhere = |job: &mut WaitingJob| {
        Arc::make_mut(&mut job.request).only_nodes = vec![name("a"), name("c")];
    };
    assert_eq!(beside(elsewhere, no_room(), None), "");
    let larger = |job: &mut WaitingJob| Arc::make_mut(&mut job.request).cpus_per_task = Cpus(5);
    assert_eq!(beside(larger, no_room(), None), "", "b is too small for it");
    let never = WaitReason::ArrayLimit { limit: 1 };
    assert_eq!(beside(|_| (), never, None), "", "no node would help it");
}

#[test]
fn a_node_whose_gpus_are_too_small_for_a_part_is_of_no_use() {
    let with_part = |gib: u64| {
        let mut snapshot = growing(|_| ());
        snapshot.set_node(&gpu_node("b", 2));
        let parts = GpuParts { devices: Gpus(2), each: PartSize::Memory(Bytes(gib << 30)) };
        let asked = Request { gpus: Some(GpuRequest::Parts(parts)), ..request(1, 1) };
        let owner = common::id::Uid(4242);
        snapshot.set_waiting(WaitingJob { owner, ..waiting(1, asked, 10) });
        snapshot.prepare_for_round(NOW);
        said(&snapshot, no_room(), None)
    };
    assert_eq!(with_part(80), "job 9 grows onto b, which job 1 could use");
    assert_eq!(with_part(81), "", "a GPU there has 80G");
}

#[test]
fn certain_nodes_that_are_kept_are_kept() {
    let kept =
        |at: u64, node: &str| Some(PlannedStart::without_preemption(Time(at), vec![name(node)]));
    let says = "job 9 grows onto b, kept for job 1";
    assert_eq!(beside(|_| (), no_room(), kept(NOW.0 + HOUR - 1, "b")), says);
    assert_eq!(beside(|_| (), no_room(), kept(NOW.0 + HOUR, "b")), "", "it is over by then");
    assert_eq!(beside(|_| (), no_room(), kept(NOW.0 + 1, "c")), "");
    let any = Some(PlannedStart::without_preemption(Time(NOW.0 + 1), Vec::new()));
    assert!(beside(|_| (), no_room(), any).contains("could use"));
}

#[test]
fn who_waits_for_a_bound_is_waited_for_by_those_who_count_for_it() {
    let bound = || WaitReason::LimitReached {
        bound: common::reason::Bound::Queue(crate::testing::queue("q").name),
        counted: common::reason::Counted {
            what: common::reason::What::Jobs,
            gpu_kind: None,
            limit: 1,
            used: 1,
            asked: 1,
        },
    };
    let says = beside(|_| (), bound(), None);
    assert!(says.contains("job 9 grows by what job 1 waits for"), "{says}");
}

#[test]
fn where_queues_share_only_preemptible_jobs_grow_and_while_no_job_waits() {
    let fair = |preemptible, waits: bool| {
        let mut snapshot = changed(|job| job.preemptible = preemptible);
        change_policy(&mut snapshot, |policy| policy.fair_sharing = true);
        if waits {
            let far = Request { only_nodes: vec![name("c")], ..request(1, 1) };
            snapshot.set_waiting(waiting(1, far, 10));
        }
        snapshot.prepare_for_round(NOW);
        match waits {
            true => said(&snapshot, no_room(), None),
            false => faults(&snapshot, &[onto_b()]),
        }
    };
    assert_eq!(fair(true, false), "");
    let firm = "job 9 grows where queues share, and is not preemptible";
    assert_eq!(fair(false, false), firm);
    assert_eq!(fair(true, true), "job 9 grows while job 1 waits");
}
