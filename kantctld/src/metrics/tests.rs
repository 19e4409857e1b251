//! The metrics that users see: what is in use now, and what was in the last day. Never a node's
//! daemon: a state alone, spoken to by commands.

use super::*;
use common::cpuset::CpuSet;
use common::gpu::{Gpu, GpuKind, GpuMatrix};
use common::gpu_parts::GpuParts;
use common::id::{AttemptId, Gid, GpuIndex, JobKey, QueueName, RequestKey, Uid};
use common::job::{Ask, EndCause, ExitStatus, Owner, StepEnd, Usage};
use common::node::{Inventory, Numa};
use common::queue::Queue;
use common::resource::Allocation;
use common::resource::GpuRequest;
use common::unit::{Bytes, Tasks};
use common::wire::node::{StepPhase, StepStatus};
use state::snapshot::snapshot;
use state::{Actor, Command, Event, RoundStart, Settings, Stamped, Target};

/// Nodes g1 and g2 of 8 CPUs and 4 GPUs, spoken to by commands alone.
struct House {
    state: State,
    now: Time,
    requests: u32,
}

impl House {
    fn new() -> Self {
        let mut house = Self { state: State::default(), now: Time(1_000_000), requests: 0 };
        house.apply(Command::Configure(settings()));
        for node in ["g1", "g2"] {
            house.apply(Command::RegisterNode {
                name: name(node),
                identity: node.to_owned(),
                address: node.to_owned(),
                version: "1".to_owned(),
                inventory: Box::new(inventory()),
                steps: Vec::new(),
            });
        }
        house
    }

    fn apply(&mut self, command: Command) -> Vec<Event> {
        let events = state::apply(&mut self.state, &Stamped { at: self.now, command });
        let refused = events.iter().any(|event| matches!(event, Event::CommandRefused(_)));
        assert!(!refused, "{events:?}");
        events
    }

    fn wait(&mut self, seconds: u64) {
        self.now = self.now + Span::from_seconds(seconds);
    }

    fn job_of(&mut self, ask: Ask) -> JobKey {
        self.requests += 1;
        let events = self.apply(Command::SubmitJob {
            request_key: RequestKey(self.requests.to_string()),
            owner: Owner { uid: Uid(1000), gid: Gid(1000), name: "ada".to_owned() },
            groups: Vec::new(),
            operator: false,
            via: None,
            ask: Box::new(ask),
            script: "#!/bin/sh\n".to_owned(),
            environment: String::new(),
        });
        match events.as_slice() {
            [Event::JobSubmitted { job, .. }] => JobKey::single(*job),
            other => panic!("{other:?}"),
        }
    }

    fn start(&mut self, key: JobKey, shares: Vec<Share>) -> AttemptId {
        let (_, element) = self.state.element(key).unwrap();
        let id = AttemptId { key, attempt: element.next_attempt() };
        let allocation = Allocation::new(shares).unwrap();
        let starts = vec![RoundStart { id, allocation, group: None }];
        let events = self.apply(Command::EnactRound {
            preempts: vec![],
            shrinks: Vec::new(),
            starts,
            grows: Vec::new(),
        });
        assert!(matches!(events.as_slice(), [Event::JobStarted { .. }]), "{events:?}");
        id
    }

    fn report(&mut self, node: &str, id: AttemptId, phase: StepPhase) {
        let steps = vec![StepStatus { id, phase }];
        self.apply(Command::ReportSteps { node: name(node), steps });
    }
}

fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

fn settings() -> Settings {
    let queue = Queue { default: true, ..Queue::plain(QueueName::new("main").unwrap()) };
    Settings {
        cluster: "test".to_owned(),
        queues: vec![queue],
        allow_root_jobs: false,
        kill_grace: Span::from_seconds(30),
        done_jobs_kept: Span::from_minutes(60),
        user_bounds: state::UserBounds::default(),
        qos: Vec::new(),
        accounts: Vec::new(),
        fair_sharing: false,
        yields_first: common::policy::YieldsFirst::default(),
        factors: common::policy::Factors::default(),
        moves: common::policy::Moves::default(),
        topology: common::topology::Topology::default(),
    }
}

fn inventory() -> Inventory {
    let gpu = |index: u16| Gpu {
        index: GpuIndex(index),
        uuid: format!("GPU-{index}"),
        model: "NVIDIA H100 80GB HBM3".to_owned(),
        kind: GpuKind("h100".to_owned()),
        memory: Bytes::from_mib(81_559),
        minor: u32::from(index),
        pci_bus_id: format!("0000:{index:02x}:00.0"),
        numa: Some(0),
        cpus: CpuSet::first(8),
        mig: None,
    };
    let memory = Bytes::from_mib(65_536);
    Inventory {
        sockets: 1,
        threads_per_core: 1,
        cpus: CpuSet::first(8),
        cores: (0..8).map(|cpu| CpuSet::from_iter([cpu])).collect(),
        numa: vec![Numa { id: 0, cpus: CpuSet::first(8), memory }],
        memory,
        gpus: (0..4).map(gpu).collect(),
        gpu_matrix: GpuMatrix::default(),
        boot_id: "boot-1".to_owned(),
        gpu_driver: None,
        nics: Vec::new(),
        features: Vec::new(),
        limits_missing: vec![],
    }
}

fn share(node: &str, first: u32, cpus: u32, gpus: &[u16]) -> Share {
    Share {
        gpu_milli: None,
        node: name(node),
        tasks: Tasks(1),
        cpus: (first..first + cpus).collect(),
        memory: Bytes::from_mib(1024),
        gpus: gpus.iter().map(|index| GpuIndex(*index)).collect(),
    }
}

fn running() -> StepPhase {
    StepPhase::Running { since: Time(1), suspended: false }
}

fn exited(code: u8) -> StepPhase {
    StepPhase::Ended(Box::new(StepEnd {
        cause: EndCause::Exited,
        exit: ExitStatus { code, signal: None },
        started_at: Some(Time(1)),
        ended_at: Time(2),
        usage: Usage { cpu: Span(5), memory_peak: Bytes(7), ..Usage::default() },
        message: None,
        steps: Vec::new(),
    }))
}

fn shown(house: &House) -> MetricsView {
    metrics(&house.state, &snapshot(&house.state), house.now)
}

fn waits<'a>(view: &'a MetricsView, gpus: &str) -> &'a WaitBucket {
    view.waits.iter().find(|bucket| bucket.gpus == gpus).unwrap()
}

fn spans<'a>(view: &'a MetricsView, gpus: &str) -> &'a SpanBucket {
    view.spans.iter().find(|bucket| bucket.gpus == gpus).unwrap()
}

/// Asks for so many GPUs on each of so many nodes.
fn gpus(nodes: u32, gpus: u32) -> Ask {
    let (tasks, nodes) = (Tasks(nodes), Some(Nodes(nodes)));
    let gpus = Some(GpuRequest::PerNode(Gpus(gpus)));
    Ask { request: Request { tasks, nodes, gpus, ..Request::default() }, ..Ask::default() }
}

#[test]
fn a_cluster_that_nobody_used_has_only_what_there_is() {
    let view = shown(&House::new());
    assert_eq!((view.gpus, view.nodes, view.nodes_free), (Gpus(8), Nodes(2), Nodes(2)));
    assert_eq!((view.gar, view.sor, view.gfr, view.fr_8), (0.0, 0.0, 0.0, 1.0));
    assert_eq!((view.fgd, view.sor_from), (None, view.as_of));
    let sizes: Vec<&str> = view.waits.iter().map(|bucket| bucket.gpus.as_str()).collect();
    let all = ["0", "<1", "1", "2-7", "8", "9-63", "64-255", "256-1023", ">=1024"];
    assert_eq!(sizes, all);
    assert!(view.waits.iter().all(|bucket| bucket.started == 0 && bucket.p50_seconds.is_none()));
}

#[test]
fn what_was_held_since_the_first_job_is_the_occupancy() {
    let mut house = House::new();
    let (key, begin) = (house.job_of(gpus(1, 3)), house.now);
    house.job_of(gpus(2, 4));
    house.job_of(gpus(2, 4));
    house.wait(60);
    let id = house.start(key, vec![share("g1", 0, 1, &[0, 1, 2])]);
    house.report("g1", id, running());
    house.wait(540);
    let view = shown(&house);
    assert_eq!((view.gar, view.gfr, view.gfr_of_used), (0.375, 0.5, 1.0));
    assert_eq!((view.gpus_used_milli, view.kinds[0].used_milli), (GpuMilli(3000), GpuMilli(3000)));
    assert_eq!((view.sor, view.sor_from), (3.0 * 540.0 / (8.0 * 600.0), begin));
    let lost = view.fgd.unwrap();
    assert!((lost - 0.2).abs() < 1e-12, "of 5 free GPUs none can have g1's last: {lost}");
    assert_eq!((waits(&view, "8").waiting, waits(&view, "2-7").waiting), (2, 0));

    house.report("g1", id, exited(0));
    house.wait(600);
    let view = shown(&house);
    assert_eq!((view.gar, view.sor), (0.0, 3.0 * 540.0 / (8.0 * 1200.0)));
    assert_eq!(waits(&view, "2-7").p50_seconds, Some(60));
}

#[test]
fn the_window_is_the_last_day() {
    let mut house = House::new();
    let key = house.job_of(gpus(1, 4));
    let id = house.start(key, vec![share("g1", 0, 1, &[0, 1, 2, 3])]);
    house.report("g1", id, running());
    house.wait(12 * 3600);
    house.report("g1", id, exited(0));
    let day = 24 * 3_600_000;
    house.now = Time(day + 6 * 3_600_000 + 5);
    let view = shown(&house);
    assert_eq!(view.sor_from, Time(6 * 3_600_000));
    // From hour 6 to 12 h after 1000 s, 4 GPUs of 8, of the 24 h and 5 ms since hour 6.
    let held = 4.0 * (6.0 * 3_600_000.0 + 1_000_000.0);
    assert!((view.sor - held / (8.0 * (24.0 * 3_600_000.0 + 5.0))).abs() < 1e-9, "{}", view.sor);
    assert_eq!(waits(&view, "2-7").started, 0, "it started before");
}

#[test]
fn a_wait_is_from_when_it_might_start_to_when_it_first_did() {
    let mut house = House::new();
    let begin_at = Some(house.now + Span::from_seconds(3600));
    let key = house.job_of(Ask { begin_at, ..gpus(1, 1) });
    house.wait(3605);
    let id = house.start(key, vec![share("g1", 0, 1, &[0])]);
    house.report("g1", id, running());
    house.wait(1000);
    let actor = Actor { uid: Uid(1000), operator: false };
    house.apply(Command::RequeueJob { actor, target: Target { key } });
    house.report("g1", id, exited(1));
    let view = shown(&house);
    let bucket = waits(&view, "1");
    assert_eq!((bucket.started, bucket.waiting), (1, 1));
    assert_eq!((bucket.mean_seconds, bucket.p99_seconds), (Some(5), Some(5)));
    house.start(key, vec![share("g2", 0, 1, &[0])]);
    assert_eq!(waits(&shown(&house), "1").p50_seconds, Some(5), "the second start is no news");
}

#[test]
fn a_part_of_a_gpu_has_a_size_of_its_own() {
    let mut house = House::new();
    let mut settings = settings();
    settings.queues[0].share_gpus = true;
    house.apply(Command::Configure(settings));
    let mut ask = gpus(1, 1);
    ask.request.gpus = Some(GpuRequest::Parts(GpuParts::of_one(GpuMilli(250))));
    let key = house.job_of(ask.clone());
    house.job_of(ask);
    house.job_of(Ask::default());
    let part = Share { gpu_milli: Some(GpuMilli(250)), ..share("g1", 0, 1, &[0]) };
    house.start(key, vec![part]);
    let view = shown(&house);
    let bucket = waits(&view, "<1");
    assert_eq!((bucket.started, bucket.waiting, waits(&view, "0").waiting), (1, 1, 1));
    assert_eq!(view.gpus_used_milli, GpuMilli(250));
    assert_eq!(spans(&view, "<1").nodes_ratio, None, "it has no choice");
}

#[test]
fn jobs_far_apart_show_in_their_size() {
    let mut house = House::new();
    let mut topology = common::topology::Topology::default();
    for (node, leaf) in [("g1", "l1"), ("g2", "l2")] {
        let position = topology.0.entry(name(node)).or_default();
        position.leaf = SwitchName::new(leaf).ok();
    }
    house.apply(Command::Configure(Settings { topology, ..settings() }));
    let (near, far) = (house.job_of(gpus(1, 2)), house.job_of(gpus(2, 1)));
    house.start(near, vec![share("g1", 0, 1, &[0, 1])]);
    house.start(far, vec![share("g1", 2, 1, &[2]), share("g2", 2, 1, &[2])]);
    let view = shown(&house);
    assert_eq!((view.leaf_groups, view.leaf_groups_free), (2, 0));
    let bucket = spans(&view, "2-7");
    assert_eq!((bucket.jobs, bucket.nodes_ratio, bucket.groups_ratio), (2, Some(1.5), Some(1.5)));
    assert!((bucket.time_ratio.unwrap() - 1.075).abs() < 1e-12);
}
