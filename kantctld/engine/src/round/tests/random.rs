//! Random clusters, queues and jobs before the judge.

use super::*;
use crate::snapshot::NodeSnapshot;
use crate::testing::{numa_node, run_on_all, smt_node};
use common::cpuset::CpuSet;
use common::gpu::GpuKind;
use common::id::{ArrayIndex, GpuIndex};
use common::unit::Cpus;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn build_node(index: usize, (sort, size, state): (u8, u32, u8)) -> NodeSnapshot {
    let text = format!("n{index}");
    let mut node = match sort {
        0 => cpu_node(&text, size),
        1 => smt_node(&text, size),
        2 => gpu_node(&text, u16::try_from(size).unwrap()),
        _ => numa_node(&text),
    };
    node.unusable = match state {
        0 => Some(crate::Unusable::Down),
        1 => Some(crate::Unusable::Drained),
        _ => None,
    };
    node
}

fn names(list: Option<Vec<usize>>) -> Vec<NodeName> {
    list.unwrap_or_default().into_iter().map(|i| name(&format!("n{i}"))).collect()
}

prop_compose! {
    fn any_request()(
        tasks in 1..10_u32,
        nodes in option::weighted(0.3, 1..4_u32),
        cpus in prop_oneof![4 => Just(1), 2 => 1..4_u32, 1 => 1..20_u32],
        tasks_per_node in option::weighted(0.2, 3..6_u32),
        memory in option::of((0..3_u8, 0..40_u64)),
        gpus in option::of((0..3_u8, prop_oneof![3 => 1..3_u32, 1 => 1..9_u32])),
        kind in option::weighted(0.1, prop_oneof![4 => Just("h100"), 1 => Just("v100")]),
        exclusive in proptest::bool::weighted(0.1),
        only in option::weighted(0.1, vec(0..5_usize, 1..4)),
        not in option::weighted(0.1, vec(0..5_usize, 1..4)),
    ) -> Request {
        let nodes = nodes.map(|nodes| nodes.min(tasks));
        let gpus = gpus.map(|(sort, count)| match sort {
            0 => GpuRequest::PerNode(Gpus(count)),
            1 => GpuRequest::PerTask(Gpus(count)),
            _ => GpuRequest::Total(Gpus(count * nodes.unwrap_or(1))),
        });
        let memory = memory.map(|(sort, gib)| match sort {
            0 => MemoryRequest::PerNode(Bytes(gib << 30)),
            1 => MemoryRequest::PerCpu(Bytes(gib << 28)),
            _ => MemoryRequest::PerGpu(Bytes(gib << 30)),
        });
        let no_gpus = |m: &MemoryRequest| matches!(m, MemoryRequest::PerGpu(_)) && gpus.is_none();
        Request {
            nodes: nodes.map(Nodes),
            tasks: Tasks(tasks),
            tasks_per_node: tasks_per_node.map(Tasks),
            cpus_per_task: Cpus(cpus),
            memory: memory.filter(|m| !no_gpus(m)),
            gpus,
            gpu_kind: kind.filter(|_| gpus.is_some()).map(|k| GpuKind(k.to_owned())),
            exclusive,
            only_nodes: names(only),
            not_nodes: names(not),
        }
    }
}

prop_compose! {
    /// A job whose id is that of an array (1000, 1001, ...) or to be given.
    fn any_waiting()(
        request in any_request(),
        minutes in option::weighted(0.9, 1..100_u64),
        second_queue in any::<bool>(),
        nice in -2..3_i32,
        held in proptest::bool::weighted(0.05),
        begins in option::weighted(0.1, -5..5_i64),
        backs_off in option::weighted(0.1, -5..5_i64),
        array in option::weighted(0.3, 0..3_u32),
    ) -> WaitingJob {
        let near = |offset: i64| Time(NOW.0.saturating_add_signed(offset * 1000));
        let mut job = waiting(array.map_or(0, |array| 1000 + array), request, 1);
        job.time_limit = minutes.map(Span::from_minutes);
        job.queue = QueueName::new(if second_queue { "r" } else { "q" }).unwrap();
        job.nice = nice;
        job.held = held;
        job.begin_at = begins.map(near);
        job.not_before = backs_off.map(near);
        job.array_limit = array.map(|array| array + 1);
        job
    }
}

prop_compose! {
    /// A cluster in use: some jobs were started on it when it was idle, and run.
    fn any_snapshot()(
        nodes in vec((0..4_u8, 1..9_u32, 0..10_u8), 0..6),
        queue_nodes in option::of(vec(0..6_usize, 1..5)),
        earlier in vec(any_waiting(), 0..12),
        jobs in vec(any_waiting(), 0..25),
        ends in vec(option::weighted(0.8, 0..120_u64), 12),
        priority in -1..2_i32,
    ) -> Snapshot {
        let nodes = nodes.into_iter().enumerate().map(|(i, node)| build_node(i, node)).collect();
        let mut snapshot = snapshot(nodes);
        let mut second = queue("r");
        second.priority = priority;
        second.nodes = names(queue_nodes);
        second.memory_per_cpu = Bytes(3 << 30);
        snapshot.queues.push(second);
        let earlier = (1..).zip(earlier);
        snapshot.waiting =
            earlier.map(|(i, job)| WaitingJob { key: key(i), array_limit: None, ..job }).collect();
        start_all(&mut snapshot, &ends);
        let keyed = |(i, mut job): (u32, WaitingJob)| {
            match job.array_limit {
                Some(_) => job.key.index = Some(ArrayIndex(i)),
                None => job.key = key(i),
            }
            job
        };
        snapshot.waiting = (100..).zip(jobs).map(keyed).collect();
        snapshot.array_running.insert(key(1000).job, 1);
        snapshot
    }
}

/// Lets the jobs that a round starts run, until these minutes have passed.
fn start_all(snapshot: &mut Snapshot, ends: &[Option<u64>]) {
    let round = schedule(snapshot, NOW);
    for (decision, minutes) in round.decisions.into_iter().zip(ends) {
        let Decision::Start { key, allocation, .. } = decision;
        let job = snapshot.waiting.iter().find(|job| job.key == key).unwrap();
        let exclusive = job.request.exclusive;
        for share in allocation.shares() {
            let node = snapshot.nodes.iter_mut().find(|node| node.name == share.node).unwrap();
            node.exclusive |= exclusive;
        }
        run_on_all(snapshot, key.job.0, allocation, minutes.map(in_minutes));
    }
}

/// Nothing runs, all nodes are up.
fn idle(snapshot: &Snapshot) -> Snapshot {
    let nodes = snapshot.nodes.iter();
    Snapshot {
        nodes: nodes.map(|n| NodeSnapshot::idle(n.name.clone(), n.inventory.clone())).collect(),
        running: Vec::new(),
        array_running: BTreeMap::new(),
        ..snapshot.clone()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn the_judge_is_content_and_every_job_starts_or_hears_why_not(snapshot in any_snapshot()) {
        let round = schedule(&snapshot, NOW);
        prop_assert_eq!(check(&snapshot, NOW, &round.decisions), []);
        let started = round.decisions.iter().map(|Decision::Start { key, .. }| *key);
        let waits = round.reasons.iter().map(|(key, _)| *key);
        let mut told: Vec<JobKey> = started.chain(waits).collect();
        let mut ordered = round.order.clone();
        let mut all: Vec<JobKey> = snapshot.waiting.iter().map(|job| job.key).collect();
        for keys in [&mut told, &mut ordered, &mut all] {
            keys.sort_unstable();
        }
        prop_assert_eq!(&told, &all);
        prop_assert_eq!(&ordered, &all);
        let unseen = |(_, reason): &(JobKey, WaitReason)| *reason == WaitReason::NotConsidered;
        prop_assert!(!round.reasons.iter().any(unseen));
    }

    #[test]
    fn the_same_snapshot_gives_the_same_round_however_it_is_stored(snapshot in any_snapshot()) {
        let round = schedule(&snapshot, NOW);
        let text = serde_json::to_string(&snapshot).unwrap();
        let mut read: Snapshot = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&read, &snapshot);
        read.waiting.reverse();
        read.running.reverse();
        prop_assert_eq!(schedule(&read, NOW), round);
    }

    #[test]
    fn on_an_idle_cluster_the_first_job_starts_if_it_ever_can(
        snapshot in any_snapshot(), request in any_request(),
    ) {
        let mut snapshot = idle(&snapshot);
        snapshot.waiting = vec![waiting(1, request.clone(), 10)];
        let round = schedule(&snapshot, NOW);
        prop_assert_eq!(check(&snapshot, NOW, &round.decisions), []);
        let nodes = snapshot.nodes.iter().map(|node| (&node.name, &*node.inventory));
        match could_ever_fit(nodes, &snapshot.queues[0], &request) {
            Ok(()) if snapshot.nodes.is_empty() => prop_assert_eq!(round.decisions.len(), 0),
            Ok(()) => prop_assert_eq!(round.decisions.len(), 1),
            Err(reason) => prop_assert_eq!(round.reasons, [(key(1), reason)]),
        }
    }

    /// What was promised to the first job without room still holds when the round is enacted.
    #[test]
    fn passing_never_delays_what_the_first_job_was_promised(mut snapshot in any_snapshot()) {
        // The tasks of a real array ask for the same, so that none of them passes another.
        snapshot.waiting.iter_mut().for_each(|job| job.array_limit = None);
        let round = schedule(&snapshot, NOW);
        let waits_for_room = |(_, reason): &&(JobKey, WaitReason)| {
            matches!(reason, WaitReason::Resources { .. } | WaitReason::Priority { .. })
        };
        let first = round.reasons.iter().find(waits_for_room).cloned();
        let Some((first, WaitReason::Resources { expected_at: Some(promised), .. })) = first else {
            return Ok(());
        };
        let mut next = snapshot.clone();
        let mut limits = Vec::new();
        for Decision::Start { key, .. } in &round.decisions {
            let job = snapshot.waiting.iter().find(|job| job.key == *key).unwrap();
            limits.push(job.time_limit.map(|limit| limit.seconds() / 60));
        }
        start_all(&mut next, &limits);
        next.waiting.retain(|job| round.reasons.iter().any(|(key, _)| *key == job.key));
        let again = schedule(&next, NOW).reasons.into_iter().find(|(key, _)| *key == first);
        match again {
            None => {}
            Some((_, WaitReason::Resources { expected_at: Some(at), .. })) => {
                prop_assert!(at <= promised, "promised {}, now {}", promised, at);
            }
            Some((_, other)) => prop_assert!(false, "promised {}, now {}", promised, other),
        }
    }

    /// Counted in another way, for requests simple enough: single CPUs and GPUs just add up.
    #[test]
    fn a_job_of_small_tasks_starts_exactly_if_there_is_room_in_all(
        snapshot in any_snapshot(), tasks in 1..40_u32, with_gpu in any::<bool>(),
    ) {
        let mut snapshot = snapshot;
        let mut small = request(tasks, 1);
        small.memory = Some(MemoryRequest::PerCpu(Bytes(1)));
        small.gpus = with_gpu.then_some(GpuRequest::PerTask(Gpus(1)));
        snapshot.waiting = vec![waiting(1, small, 10)];
        let room = |node: &NodeSnapshot| {
            let is_free = |core: &&CpuSet| core.is_subset(&node.free_cpus);
            let cpus: u32 = node.inventory.cores.iter().filter(is_free).map(CpuSet::len).sum();
            let gpus = u32::try_from(node.free_gpus.len()).unwrap();
            let memory = u32::try_from(node.free_memory.0).unwrap_or(u32::MAX);
            let open = node.unusable.is_none() && !node.exclusive;
            if open { cpus.min(memory).min(if with_gpu { gpus } else { cpus }) } else { 0 }
        };
        let room: u32 = snapshot.nodes.iter().map(room).sum();
        let round = schedule(&snapshot, NOW);
        prop_assert_eq!(round.decisions.len(), usize::from(room >= tasks));
    }

    /// The judge finds what is wrong: a round is spoilt, and it says so.
    #[test]
    fn the_judge_notices_a_spoilt_round(snapshot in any_snapshot(), spoil in 0..5_u8) {
        let mut round = schedule(&snapshot, NOW);
        let Some(last) = round.decisions.pop() else { return Ok(()) };
        let Decision::Start { key, attempt, allocation } = last;
        let mut shares: Vec<Share> = allocation.into();
        match spoil {
            0 => shares[0].tasks += Tasks(1),
            1 => shares[0].memory += Bytes(1 << 40),
            2 => shares[0].cpus = CpuSet::new(),
            3 => shares[0].gpus.push(GpuIndex(99)),
            _ => shares[0].node = name("nowhere"),
        }
        let allocation = Allocation::new(shares).unwrap();
        round.decisions.push(Decision::Start { key, attempt, allocation });
        let violations = check(&snapshot, NOW, &round.decisions);
        prop_assert!(violations.iter().any(|violation| violation.key == key));
    }
}
