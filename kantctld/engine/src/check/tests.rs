//! Tests of the judge, one fault at a time.

mod bounds;
mod fair;
mod near;
mod order;
mod yields;

use super::*;
use crate::testing::{
    change_policy, cpu_node, gpu_node, key, name, request, run, set_leaf_groups, set_zone,
    smt_node, snapshot, waiting,
};
use common::id::{Attempt, GpuIndex};
use common::resource::{Allocation, Apart, GpuList, GpuRequest, Request, Share};
use common::topology::{Level, Nearness};
use common::unit::{Bytes, Cpus, GpuMilli, Gpus, Nodes, Tasks};
use std::sync::Arc;

const NOW: Time = Time(1_000_000);

/// The share of a job with `tasks` tasks of one CPU and the queue's default memory.
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

fn start(job: u32, shares: Vec<Share>) -> Decision {
    let allocation = Allocation::new(shares).unwrap();
    Decision::Start { key: key(job), attempt: Attempt(1), allocation, group: None }
}

/// Nodes a and b of 4 CPUs, s of 2 cores of 2 threads, g with 2 GPUs; jobs 1 and 2 of 2 tasks.
fn cluster() -> Snapshot {
    let nodes = vec![cpu_node("a", 4), cpu_node("b", 4), gpu_node("g", 2), smt_node("s", 2)];
    let mut snapshot = snapshot(nodes);
    snapshot.set_waiting(waiting(1, request(2, 1), 10));
    snapshot.set_waiting(waiting(2, request(2, 1), 10));
    snapshot
}

fn faults(snapshot: &Snapshot, decisions: &[Decision]) -> String {
    let faults = check_decisions(snapshot, NOW, decisions);
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Changes job 1.
fn spoil(snapshot: &mut Snapshot, change: impl Fn(&mut WaitingJob)) {
    let mut job = WaitingJob::clone(snapshot.waiting_job(key(1)).unwrap());
    change(&mut job);
    snapshot.set_waiting(job);
}

/// Changes the request of job 1.
fn change(snapshot: &mut Snapshot, change: impl Fn(&mut Request)) {
    spoil(snapshot, |job| change(Arc::make_mut(&mut job.request)));
}

#[test]
fn a_right_round_passes() {
    let round = [start(1, vec![share("a", 2, "0-1")]), start(2, vec![share("a", 2, "2-3")])];
    assert_eq!(faults(&cluster(), &round), "");
    let split = [start(1, vec![share("a", 1, "3"), share("b", 1, "0")])];
    assert_eq!(faults(&cluster(), &split), "");
    assert_eq!(faults(&cluster(), &[start(1, vec![share("s", 2, "0,2")])]), "");
}

#[test]
fn nothing_is_given_twice() {
    let round = [start(1, vec![share("a", 2, "0-1")]), start(2, vec![share("a", 2, "1-2")])];
    assert_eq!(faults(&cluster(), &round), "job 2 on a: CPU 1 is not free");
    let twice = [start(1, vec![share("a", 2, "0-1")]), start(1, vec![share("b", 2, "0-1")])];
    assert_eq!(faults(&cluster(), &twice), "job 1 starts twice");
    let unknown = [start(7, vec![share("a", 2, "0-1")])];
    assert_eq!(faults(&cluster(), &unknown), "job 7 starts but does not wait");
    let mut busy = cluster();
    run(&mut busy, 9, share("a", 1, "1"), None);
    assert_eq!(faults(&busy, &round[..1]), "job 1 on a: CPU 1 is not free");
}

#[test]
fn a_job_that_may_not_start_does_not() {
    let round = [start(1, vec![share("a", 2, "0-1")])];
    let wrong = |change: &dyn Fn(&mut WaitingJob)| {
        let mut snapshot = cluster();
        spoil(&mut snapshot, change);
        faults(&snapshot, &round)
    };
    let later = Some(Time(NOW.0 + 1));
    assert_eq!(wrong(&|job| job.held = true), "job 1 starts though held");
    assert_eq!(wrong(&|job| job.begin_at = later), "job 1 starts before its begin time");
    assert_eq!(wrong(&|job| job.not_before = later), "job 1 starts during its back-off");
    let beyond = "job 1 starts beyond the limit of its array";
    assert_eq!(wrong(&|job| job.array_limit = Some(0)), beyond);
    assert_eq!(wrong(&|job| job.attempt = Attempt(2)), "job 1 starts as another attempt");
    let late = "job 1 starts though it would not be over by its deadline";
    assert_eq!(wrong(&|job| job.deadline = Some(Time(NOW.0 + 599_999))), late);
    assert_eq!(wrong(&|job| job.deadline = Some(Time(NOW.0 + 600_000))), "");
}

#[test]
fn a_job_gets_all_of_what_it_asked_for_and_no_more() {
    let wrong = |tasks, cpus| faults(&cluster(), &[start(1, vec![share("a", tasks, cpus)])]);
    assert_eq!(wrong(1, "0"), "job 1 does not get all of its tasks placed");
    assert_eq!(wrong(2, "0"), "job 1 on a: fewer CPUs than its tasks need");
    assert_eq!(wrong(2, "0-2"), "job 1 on a: a core more than it needs");
    let split = [start(1, vec![share("s", 2, "0-1")])];
    assert_eq!(faults(&cluster(), &split), "job 1 on s: a core is split");
    let greedy = Share { memory: Bytes(1 << 30), ..share("a", 2, "0-1") };
    let greedy = [start(1, vec![greedy])];
    assert_eq!(faults(&cluster(), &greedy), "job 1 on a: not the memory it asked for");
    let mut snapshot = cluster();
    change(&mut snapshot, |request| request.nodes = Some(Nodes(2)));
    let one = [start(1, vec![share("a", 2, "0-1")])];
    assert_eq!(faults(&snapshot, &one), "job 1 does not get the nodes it asked for");
}

#[test]
fn an_elastic_job_gets_its_least_tasks_or_more() {
    let mut snapshot = cluster();
    change(&mut snapshot, |request| {
        (request.tasks, request.tasks_min) = (Tasks(3), Some(Tasks(2)))
    });
    let with = |tasks, cpus| faults(&snapshot, &[start(1, vec![share("a", tasks, cpus)])]);
    assert_eq!(with(2, "0-1"), "");
    assert_eq!(with(3, "0-2"), "");
    assert_eq!(with(1, "0"), "job 1 does not get all of its tasks placed");
    assert_eq!(with(4, "0-3"), "job 1 does not get all of its tasks placed");
}

#[test]
fn tasks_are_laid_out_as_asked() {
    let mut snapshot = cluster();
    change(&mut snapshot, |request| request.tasks_per_node = Some(Tasks(1)));
    let wrong = faults(&snapshot, &[start(1, vec![share("a", 2, "0-1")])]);
    assert_eq!(wrong, "job 1 on a: more tasks than it allows on a node");
    let idle = [start(1, vec![share("a", 2, "0-1"), share("b", 0, "0")])];
    assert!(faults(&cluster(), &idle).contains("job 1 on b: no task runs there"));
    let mut snapshot = cluster();
    change(&mut snapshot, |request| {
        (request.tasks, request.nodes) = (Tasks(4), Some(Nodes(2)));
    });
    let uneven = [start(1, vec![share("a", 3, "0-2"), share("b", 1, "0")])];
    assert_eq!(faults(&snapshot, &uneven), "job 1 has its tasks uneven");
}

#[test]
fn memory_and_gpus_in_all_are_counted() {
    let mut snapshot = cluster();
    let most = Share { memory: Bytes((64 << 30) - (3 << 20)), ..share("b", 1, "0") };
    run(&mut snapshot, 9, Share { node: name("a"), ..most }, None);
    let round = [start(1, vec![share("a", 2, "1-2")]), start(2, vec![share("a", 2, "3")])];
    assert!(faults(&snapshot, &round).contains("job 2 on a: 2M memory is more than is free"));

    let mut snapshot = cluster();
    change(&mut snapshot, |request| request.gpus = Some(GpuRequest::Total(Gpus(2))));
    let one = Share { gpus: [GpuIndex(1)].into(), ..share("g", 2, "0-1") };
    let wrong = faults(&snapshot, &[start(1, vec![one])]);
    assert_eq!(wrong, "job 1 does not get the GPUs it asked for in all");
}

#[test]
fn gpus_are_as_many_as_asked_of_the_kind_asked_and_free() {
    let mut snapshot = cluster();
    change(&mut snapshot, |request| request.gpus = Some(GpuRequest::PerTask(Gpus(1))));
    let with = |gpus: &[u16]| {
        let gpus = gpus.iter().map(|i| GpuIndex(*i)).collect();
        [start(1, vec![Share { gpus, ..share("g", 2, "0-1") }])]
    };
    assert_eq!(faults(&snapshot, &with(&[0, 1])), "");
    assert_eq!(faults(&snapshot, &with(&[0])), "job 1 on g: not the GPUs it asked for");
    let kind = |text: &str| common::gpu::GpuKind(text.to_owned());
    change(&mut snapshot, |request| request.gpu_kind = Some(kind("v100")));
    assert!(faults(&snapshot, &with(&[0, 1])).contains("job 1 on g: a GPU of another kind"));
    change(&mut snapshot, |request| request.gpu_kinds_or = vec![kind("h100")]);
    assert_eq!(faults(&snapshot, &with(&[0, 1])), "");
    crate::testing::use_gpus(&mut snapshot, "g", 1);
    assert!(faults(&snapshot, &with(&[0, 1])).contains("job 1 on g: GPU 0 is not free"));
}

#[test]
fn shares_of_a_gpu_add_up_to_one() {
    let mut snapshot = cluster();
    crate::testing::use_share(&mut snapshot, "g", 600);
    change(&mut snapshot, |request| {
        *request = crate::testing::share_request(400);
    });
    let with = |milli| {
        let gpus = [GpuIndex(0)].into();
        let share = Share { gpus, gpu_milli: Some(GpuMilli(milli)), ..share("g", 1, "1") };
        faults(&snapshot, &[start(1, vec![share])])
    };
    assert_eq!(with(400), "");
    assert_eq!(with(300), "job 1 on g: not the part of a GPU it asked for");
    let wrong = with(500);
    assert!(wrong.contains("GPU 0 is not free"), "{wrong}");
}

#[test]
fn whole_nodes_are_idle_before_and_closed_after() {
    let mut snapshot = cluster();
    change(&mut snapshot, |request| {
        (request.exclusive, request.cpus_per_task) = (true, Cpus(1));
    });
    let whole = || Share { memory: Bytes(64 << 30), ..share("a", 2, "0-3") };
    assert_eq!(faults(&snapshot, &[start(1, vec![whole()])]), "");
    let shared = [start(2, vec![share("a", 2, "0-1")]), start(1, vec![whole()])];
    let shared = faults(&snapshot, &shared);
    assert!(shared.contains("it wants the whole node, which is in use"), "{shared}");
    let less = Share { cpus: "0-1".parse().unwrap(), ..whole() };
    let less = faults(&snapshot, &[start(1, vec![less])]);
    assert_eq!(less, "job 1 on a: it wants the whole node and gets less");
    let after = [start(1, vec![whole()]), start(2, vec![share("a", 2, "0-1")])];
    let after = faults(&snapshot, &after);
    assert!(after.contains("another job has the whole node"), "{after}");
}

#[test]
fn nodes_are_up_in_the_queue_wanted_and_of_its_zone() {
    let round = [start(1, vec![share("a", 2, "0-1")])];
    let wrong = |change: &dyn Fn(&mut Snapshot)| {
        let mut snapshot = cluster();
        change(&mut snapshot);
        faults(&snapshot, &round)
    };
    let drained = wrong(&|snapshot| {
        let unusable = Some(crate::Unusable::Drained);
        snapshot.set_node(&NodeSnapshot { unusable, ..cpu_node("a", 4) });
    });
    assert_eq!(drained, "job 1 on a: the node is down or drained");
    let other = wrong(&|s| change_policy(s, |policy| policy.queues[0].nodes = vec![name("b")]));
    assert_eq!(other, "job 1 on a: the node is not in its queue");
    let only = wrong(&|s| change(s, |request| request.only_nodes = vec![name("b")]));
    assert_eq!(only, "job 1 on a: not a node it named");
    let not = wrong(&|s| change(s, |request| request.not_nodes = vec![name("a")]));
    assert_eq!(not, "job 1 on a: a node it excluded");
    let featureless = wrong(&|s| change(s, |request| request.constraint = "ib".parse().ok()));
    assert_eq!(featureless, "job 1 on a: a node without the features it asks for");
    let zone = wrong(&|s| set_zone(s, "serve", &["a"]));
    assert_eq!(zone, "job 1 on a: the node is kept for services of another zone");
    let nowhere = [start(1, vec![share("z", 2, "0-1")])];
    assert_eq!(faults(&cluster(), &nowhere), "job 1 gets node z, which there is not");
}

#[test]
fn nodes_are_as_near_as_insisted_on_and_groups_are_spread() {
    let mut snapshot = cluster();
    set_leaf_groups(&mut snapshot, &[("l", "a"), ("m", "b g")]);
    let near = |required| Some(Nearness { level: Level::Leaf, required });
    change(&mut snapshot, |request| request.near = near(true));
    let on = |snapshot: &Snapshot, a: &str, b: &str| {
        faults(snapshot, &[start(1, vec![share(a, 1, "0"), share(b, 1, "0")])])
    };
    assert_eq!(on(&snapshot, "b", "g"), "");
    assert_eq!(on(&snapshot, "a", "b"), "job 1 gets nodes further apart than it allows");
    change(&mut snapshot, |request| request.segment = Some(Nodes(1)));
    assert_eq!(on(&snapshot, "a", "b"), "", "each block is near to itself");
    change(&mut snapshot, |request| {
        let group = "web".to_owned();
        request.apart = Some(Apart { group, per_node_max: Some(0), spread: None });
    });
    assert!(on(&snapshot, "a", "b").contains("job 1 on a: more than 0 jobs of group web"));
}

#[test]
fn components_start_together() {
    let mut snapshot = cluster();
    for job in [1, 2] {
        let one = WaitingJob { together: Some(key(1)), ..waiting(job, request(2, 1), 10) };
        snapshot.set_waiting(one);
    }
    let part = |job, cpus| match start(job, vec![share("a", 2, cpus)]) {
        Decision::Start { key: own, attempt, allocation, .. } => {
            Decision::Start { key: own, attempt, allocation, group: Some(key(1)) }
        }
        other => other,
    };
    assert_eq!(faults(&snapshot, &[part(1, "0-1"), part(2, "2-3")]), "");
    let left = "job 2 is left behind by the other components of its job";
    assert_eq!(faults(&snapshot, &[part(1, "0-1")]), left);
}
