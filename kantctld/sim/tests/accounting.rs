//! The jobs of a cluster, exported and replayed: with the cluster's policy, every job starts and
//! ends as it did originally.
#![allow(clippy::unwrap_used)]

use common::cpuset::CpuSet;
use common::gpu::{Gpu, GpuKind, GpuMatrix};
use common::gpu_parts::GpuParts;
use common::id::{Gid, GpuIndex, JobId, NodeName, QueueName, RequestKey, SwitchName, Uid};
use common::job::{Ask, Outcome, Owner};
use common::node::{Inventory, Numa};
use common::policy::queue::Queue;
use common::policy::{Backfill, Factors};
use common::resource::{GpuRequest, MemoryRequest, Request};
use common::time::{Span, Time};
use common::topology::{Position, Topology};
use common::unit::{Bytes, Cpus, GpuMilli, Gpus, Nodes, Tasks};
use sim::replay::{Plan, Unwatched, replay};
use sim::{Behaviour, Cluster, Machine};
use state::{Command, Event, Settings};
use trace::accounting::{self, Export};
use trace::{Estimates, read_jobs, read_nodes, write_jobs, write_nodes};

fn node(name: &str) -> NodeName {
    NodeName::new(name).unwrap()
}

fn queue() -> Queue {
    let backfill = Backfill::default();
    let name = QueueName::new("train").unwrap();
    let memory_per_cpu = Bytes::from_mib(1024);
    Queue {
        default: true,
        share_gpus: true,
        memory_per_cpu,
        backfill,
        ..Queue::with_defaults(name)
    }
}

fn settings() -> Settings {
    let position = Position { leaf: SwitchName::new("rack-a").ok(), ..Position::default() };
    Settings {
        cluster: "test".to_owned(),
        queues: vec![queue()],
        allow_root_jobs: false,
        kill_grace: Span::from_seconds(30),
        done_jobs_kept: Span::from_minutes(60 * 24),
        user_bounds: state::UserBounds::default(),
        qos: Vec::new(),
        accounts: Vec::new(),
        fair_sharing: false,
        yields_first: common::policy::YieldsFirst::default(),
        factors: Factors::default(),
        moves: common::policy::Moves::default(),
        topology: Topology([(node("g1"), position)].into()),
    }
}

/// 16 CPUs, 64 GiB and a bit, four GPUs.
fn machine(name: &str) -> Machine {
    let (cpus, memory) = (CpuSet::first_n(16), Bytes((64 << 30) + 4096));
    let gpu = |index: u16| Gpu {
        index: GpuIndex(index),
        uuid: format!("{name}-{index}"),
        model: "NVIDIA H100 80GB HBM3".to_owned(),
        kind: GpuKind("h100".to_owned()),
        memory: Bytes(80 << 30),
        minor: u32::from(index),
        pci_bus_id: format!("0000:{index:02x}:00.0"),
        numa: Some(0),
        cpus: cpus.clone(),
        mig: None,
    };
    Machine::new(
        node(name),
        Inventory {
            sockets: 1,
            threads_per_core: 1,
            cpus: cpus.clone(),
            cores: (0..16).map(|cpu| CpuSet::from_iter([cpu])).collect(),
            numa: vec![Numa { id: 0, cpus: cpus.clone(), memory }],
            memory,
            gpus: (0..4).map(gpu).collect(),
            gpu_matrix: GpuMatrix::default(),
            boot_id: "boot-0".to_owned(),
            gpu_driver: None,
            nics: Vec::new(),
            features: Vec::new(),
            limits_missing: Vec::new(),
        },
    )
}

struct TestCluster {
    cluster: Cluster,
    requests: u32,
}

impl TestCluster {
    fn new() -> Self {
        let mut cluster = Cluster::new(settings(), Span::from_minutes(5)).unwrap();
        cluster.add_machine(machine("g1")).unwrap();
        cluster.add_machine(machine("g2")).unwrap();
        Self { cluster, requests: 0 }
    }

    /// Submits a job that runs for `run` minutes with a limit of `limit` minutes.
    fn submit(&mut self, request: Request, (run, limit): (u64, u64)) -> JobId {
        self.requests += 1;
        // The id is known before it starts: ids count from 1.
        let run = Some(Span::from_minutes(run));
        let behaviour = Behaviour { run, ..Behaviour::default() };
        self.cluster.set_behaviour(JobId(self.requests), behaviour);
        let ask = Ask { request, time_limit: Some(Span::from_minutes(limit)), ..Ask::default() };
        let command = Command::SubmitJob {
            request_key: RequestKey(format!("request-{}", self.requests)),
            owner: Owner { uid: Uid(1000), gid: Gid(1000), name: "ada".to_owned() },
            groups: Vec::new(),
            operator: false,
            via: None,
            ask: Box::new(ask),
            script: "#!/bin/sh\n".to_owned(),
            environment: String::new(),
        };
        let events = self.cluster.command(command).unwrap();
        let submitted = |event: &Event| match event {
            Event::JobSubmitted { job, .. } => Some(*job),
            _ => None,
        };
        let job = events.iter().find_map(submitted).unwrap();
        assert_eq!(job, JobId(self.requests));
        job
    }

    fn at_minute(&mut self, minute: u64) {
        self.cluster.advance_to(Time(minute * 60_000)).unwrap();
    }

    fn export(&self, since: Time) -> Export {
        accounting::export_jobs(self.cluster.state(), |_| true, since, self.cluster.now())
    }
}

fn gpus(nodes: u32, each: u32) -> Request {
    Request {
        nodes: Some(Nodes(nodes)),
        tasks: Tasks(nodes),
        cpus_per_task: Cpus(2 * each),
        gpus: Some(GpuRequest::PerNode(Gpus(each))),
        ..Request::default()
    }
}

/// A day on a small cluster: jobs that start at once, one that waits, one that passes it.
fn a_day() -> TestCluster {
    let mut test = TestCluster::new();
    test.at_minute(10);
    test.submit(gpus(1, 3), (60, 90));
    test.at_minute(11);
    test.submit(gpus(2, 4), (30, 40));
    test.at_minute(12);
    let part = GpuRequest::Parts(GpuParts::of_one(GpuMilli(500)));
    let memory = Some(MemoryRequest::PerNode(Bytes(3_000_000_001)));
    test.submit(Request { gpus: Some(part), memory, ..Request::default() }, (20, 25));
    test.at_minute(13);
    let kind = Some(GpuKind("h100".to_owned()));
    test.submit(Request { gpu_kind: kind, exclusive: true, ..gpus(1, 1) }, (5, 10));
    test.at_minute(200);
    test
}

#[test]
fn what_ran_is_exported_with_what_it_held_and_whose_it_was() {
    let test = a_day();
    let export = test.export(Time(0));
    assert_eq!((export.jobs.len(), export.left_out), (4, 0));
    let text = write_jobs(&export.jobs);
    let lines: Vec<&str> = text.lines().skip(1).collect();
    // A gang's nodes are freed two seconds after the first has ended. Preparation does not count.
    let gang = "2,60,1802,2400,2,8,4,1000,,8,8192,ada,train,,,completed,job=2";
    assert_eq!(lines[1], gang);
    let share = "3,120,1200,1500,1,1,1,500,,1,2861,ada,train,,,completed,job=3";
    assert_eq!(lines[2], share);
    // Memory of the whole node, rounded down like the node's own.
    let whole = "4,180,300,600,1,4,4,1000,h100,16,65536,ada,train,,,completed,job=4";
    assert_eq!(lines[3], whole);
    let nodes = write_nodes(&accounting::nodes(test.cluster.state()));
    let lines: Vec<&str> = nodes.lines().skip(1).collect();
    assert_eq!(lines, ["g1,4,h100,16,65536,rack-a,,", "g2,4,h100,16,65536,,,"]);
}

#[test]
fn what_is_exported_replays_as_it_ran() {
    let test = a_day();
    let jobs = write_jobs(&test.export(Time(0)).jobs);
    let nodes = write_nodes(&accounting::nodes(test.cluster.state()));
    let jobs = read_jobs("jobs.csv", jobs.as_bytes()).unwrap();
    let nodes = read_nodes("nodes.csv", nodes.as_bytes()).unwrap();
    let policy = common::policy::Policy { queues: vec![queue()], ..Default::default() };
    let estimates = Estimates::Request;
    let plan = Plan {
        trace: "day",
        jobs: &jobs,
        nodes: &nodes,
        name: "same",
        policy: &policy,
        estimates,
        seed: 0,
    };
    let outcome = replay(&plan, &mut Unwatched).unwrap();
    let names = |places: &[sim::report::NodeIndex]| -> Vec<String> {
        places.iter().map(|place| nodes[place.0 as usize].name.clone()).collect()
    };
    let state = test.cluster.state();
    let mut waited = 0;
    for (number, replayed) in (1..).zip(&outcome.jobs) {
        let element = &state.job(JobId(number)).unwrap().elements[&None];
        assert_eq!(element.outcome, Some(Outcome::Completed));
        let run = element.run.as_ref().unwrap();
        // The trace begins with the first submission, ten minutes in. The machines' preparation
        // does not count.
        let in_life = run.allocated_at.0 - 600_000;
        let replayed_at = replayed.start.unwrap().0;
        assert!(in_life.abs_diff(replayed_at) <= 5_000, "{number}: {in_life}, {replayed_at}");
        waited += u64::from(replayed_at > replayed.submit.0);
        let on: Vec<String> =
            run.allocation.shares().iter().map(|share| share.node.to_string()).collect();
        assert_eq!(names(&replayed.nodes), on, "{number}");
    }
    assert_eq!((outcome.jobs.len(), waited), (4, 1), "one waits, and others pass it");
}

#[test]
fn what_runs_counts_with_its_time_so_far_and_what_waits_or_never_ran_is_left_out() {
    let mut test = TestCluster::new();
    test.at_minute(5);
    test.submit(gpus(2, 4), (600, 700));
    test.at_minute(6);
    let cancelled = test.submit(gpus(1, 4), (10, 20));
    test.submit(gpus(1, 4), (10, 20));
    let actor = state::Actor::user(Uid(1000));
    let target = state::Target { key: common::id::JobKey::single(cancelled) };
    test.cluster.command(Command::CancelJob { actor, target }).unwrap();
    test.at_minute(65);
    let export = test.export(Time(0));
    assert_eq!((export.jobs.len(), export.left_out), (1, 2));
    let job = &export.jobs[0];
    assert_eq!((job.submit, job.runtime), (Time(0), Span(3_599_000)));
    assert_eq!(job.status, "running");
    let later = test.export(Time(5 * 60_000 + 1));
    assert_eq!((later.jobs, later.left_out), (Vec::new(), 2));
}
