//! What the judge objects to, one fault at a time.

use super::*;
use crate::testing::{cpu_node, gpu_node, key, name, request, smt_node, snapshot, waiting};
use common::id::Attempt;
use common::unit::{Bytes, Cpus, Gpus, Nodes, Tasks};

const NOW: Time = Time(1_000_000);

/// A share as a job of `tasks` tasks of one CPU and the queue's default memory gets it.
fn share(node: &str, tasks: u32, cpus: &str) -> Share {
    Share {
        gpu_milli: None,
        node: name(node),
        tasks: Tasks(tasks),
        cpus: cpus.parse().unwrap(),
        memory: Bytes(u64::from(tasks) << 20),
        gpus: Vec::new(),
    }
}

fn start(job: u32, shares: Vec<Share>) -> Decision {
    let allocation = Allocation::new(shares).unwrap();
    Decision::Start { key: key(job), attempt: Attempt(1), allocation }
}

/// Nodes a and b of 4 CPUs, s of 2 cores of 2 threads, g with 2 GPUs; jobs 1 and 2 of 2 tasks.
fn cluster() -> Snapshot {
    let nodes = vec![cpu_node("a", 4), cpu_node("b", 4), gpu_node("g", 2), smt_node("s", 2)];
    let mut snapshot = snapshot(nodes);
    snapshot.waiting = vec![waiting(1, request(2, 1), 10), waiting(2, request(2, 1), 10)];
    snapshot
}

fn faults(snapshot: &Snapshot, decisions: &[Decision]) -> String {
    let faults = check(snapshot, NOW, decisions);
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn change(snapshot: &mut Snapshot, change: impl Fn(&mut common::resource::Request)) {
    let mut request = (*snapshot.waiting[0].request).clone();
    change(&mut request);
    snapshot.waiting[0].request = std::sync::Arc::new(request);
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
    assert_eq!(
        faults(&cluster(), &[start(7, vec![share("a", 2, "0-1")])]),
        "job 7 starts but does not wait"
    );
}

#[test]
fn a_job_that_may_not_start_does_not() {
    let round = [start(1, vec![share("a", 2, "0-1")])];
    let wrong = |spoil: &dyn Fn(&mut WaitingJob)| {
        let mut snapshot = cluster();
        spoil(&mut snapshot.waiting[0]);
        faults(&snapshot, &round)
    };
    assert_eq!(wrong(&|job| job.held = true), "job 1 starts though held");
    assert_eq!(
        wrong(&|job| job.begin_at = Some(Time(NOW.0 + 1))),
        "job 1 starts before its begin time"
    );
    assert_eq!(
        wrong(&|job| job.not_before = Some(Time(NOW.0 + 1))),
        "job 1 starts during its back-off"
    );
    assert_eq!(
        wrong(&|job| job.array_limit = Some(0)),
        "job 1 starts beyond the limit of its array"
    );
    assert_eq!(wrong(&|job| job.attempt = Attempt(2)), "job 1 starts as another attempt");
}

#[test]
fn a_job_gets_all_of_what_it_asked_for_and_no_more() {
    let wrong = |tasks, cpus| faults(&cluster(), &[start(1, vec![share("a", tasks, cpus)])]);
    assert_eq!(wrong(1, "0"), "job 1 does not get all of its tasks placed");
    assert_eq!(wrong(2, "0"), "job 1 on a: fewer CPUs than its tasks need");
    assert_eq!(wrong(2, "0-2"), "job 1 on a: a core more than it needs");
    assert_eq!(
        faults(&cluster(), &[start(1, vec![share("s", 2, "0-1")])]),
        "job 1 on s: a core is split"
    );
    let mut greedy = share("a", 2, "0-1");
    greedy.memory = Bytes(1 << 30);
    assert_eq!(
        faults(&cluster(), &[start(1, vec![greedy])]),
        "job 1 on a: not the memory it asked for"
    );
    let mut snapshot = cluster();
    change(&mut snapshot, |request| request.nodes = Some(Nodes(2)));
    assert_eq!(
        faults(&snapshot, &[start(1, vec![share("a", 2, "0-1")])]),
        "job 1 does not get the nodes it asked for"
    );
}

#[test]
fn tasks_are_laid_out_as_asked() {
    let mut snapshot = cluster();
    change(&mut snapshot, |request| request.tasks_per_node = Some(Tasks(1)));
    let wrong = faults(&snapshot, &[start(1, vec![share("a", 2, "0-1")])]);
    assert_eq!(wrong, "job 1 on a: more tasks than it allows on a node");
    let idle = [start(1, vec![share("a", 2, "0-1"), share("b", 0, "")])];
    assert_eq!(faults(&cluster(), &idle), "job 1 on b: no task runs there");
    let mut snapshot = cluster();
    change(&mut snapshot, |request| {
        request.tasks = Tasks(4);
        request.nodes = Some(Nodes(2));
    });
    let uneven = [start(1, vec![share("a", 3, "0-2"), share("b", 1, "0")])];
    assert_eq!(faults(&snapshot, &uneven), "job 1 has its tasks spread unevenly");
}

#[test]
fn memory_and_gpus_in_all_are_counted() {
    let mut snapshot = cluster();
    snapshot.nodes[0].free_memory = Bytes(3 << 20);
    let round = [start(1, vec![share("a", 2, "0-1")]), start(2, vec![share("a", 2, "2-3")])];
    assert_eq!(faults(&snapshot, &round), "job 2 on a: 2M memory is more than is free");

    let mut snapshot = cluster();
    change(&mut snapshot, |request| request.gpus = Some(GpuRequest::Total(Gpus(2))));
    let one = Share { gpus: vec![GpuIndex(1)], ..share("g", 2, "0-1") };
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
    snapshot.nodes[2].free_gpus.remove(0);
    assert_eq!(faults(&snapshot, &with(&[0, 1])), "job 1 on g: GPU 0 is not free");
    snapshot.nodes[2].free_gpus.insert(0, GpuIndex(0));
    change(&mut snapshot, |request| {
        request.gpu_kind = Some(common::gpu::GpuKind("v100".to_owned()));
    });
    assert_eq!(faults(&snapshot, &with(&[0, 1])), "job 1 on g: a GPU of another kind");
}

#[test]
fn whole_nodes_are_idle_before_and_closed_after() {
    let mut snapshot = cluster();
    change(&mut snapshot, |request| {
        request.exclusive = true;
        request.cpus_per_task = Cpus(1);
    });
    let whole = || Share { memory: Bytes(64 << 30), ..share("a", 2, "0-3") };
    assert_eq!(faults(&snapshot, &[start(1, vec![whole()])]), "");
    let shared =
        faults(&snapshot, &[start(2, vec![share("a", 2, "0-1")]), start(1, vec![whole()])]);
    assert!(shared.contains("it wants the whole node, which is in use"), "{shared}");
    let less = Share { cpus: "0-1".parse().unwrap(), ..whole() };
    let less = faults(&snapshot, &[start(1, vec![less])]);
    assert_eq!(less, "job 1 on a: it wants the whole node and gets less");
    let after = faults(&snapshot, &[start(1, vec![whole()]), start(2, vec![share("a", 2, "0-1")])]);
    assert!(after.contains("another job has the whole node"), "{after}");
}

#[test]
fn nodes_are_up_in_the_queue_and_wanted() {
    let round = [start(1, vec![share("a", 2, "0-1")])];
    let mut snapshot = cluster();
    snapshot.nodes[0].unusable = Some(crate::Unusable::Drained);
    assert_eq!(faults(&snapshot, &round), "job 1 on a: the node is down or drained");
    let mut snapshot = cluster();
    snapshot.queues[0].nodes = vec![name("b")];
    assert_eq!(faults(&snapshot, &round), "job 1 on a: the node is not in its queue");
    let mut snapshot = cluster();
    change(&mut snapshot, |request| request.only_nodes = vec![name("b")]);
    assert_eq!(faults(&snapshot, &round), "job 1 on a: not a node it named");
    change(&mut snapshot, |request| {
        request.only_nodes.clear();
        request.not_nodes = vec![name("a")];
    });
    assert_eq!(faults(&snapshot, &round), "job 1 on a: a node it excluded");
    let nowhere = [start(1, vec![share("z", 2, "0-1")])];
    assert_eq!(faults(&cluster(), &nowhere), "job 1 gets node z, which there is not");
}
