//! A small cluster for this crate's tests, driven by commands.

use common::cpuset::CpuSet;
use common::gpu::GpuMatrix;
use common::id::{AttemptId, Gid, JobKey, NodeName, QueueName, RequestKey, Uid};
use common::job::{Ask, Owner};
use common::node::{Inventory, Numa};
use common::policy::queue::Queue;
use common::time::{Span, Time};
use common::unit::Bytes;
use common::wire::node::{Hello, NODE_PROTOCOL, StepPhase, StepStatus};
use state::{Command, Event, Settings, Stamped, State};

pub fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

/// The Hello of a node of 64 CPUs and 64 GiB that holds these steps.
pub fn hello(node: &str, steps: Vec<StepStatus>) -> Hello {
    let (cpus, memory) = (CpuSet::first(64), Bytes::from_mib(64 << 10));
    Hello {
        protocol: NODE_PROTOCOL,
        version: "1".to_owned(),
        name: name(node),
        address: format!("{node}.example"),
        identity: format!("identity of {node}"),
        inventory: Inventory {
            sockets: 1,
            threads_per_core: 1,
            cpus: cpus.clone(),
            cores: (0..64).map(|cpu| CpuSet::from_iter([cpu])).collect(),
            numa: vec![Numa { id: 0, cpus, memory }],
            memory,
            gpus: Vec::new(),
            gpu_matrix: GpuMatrix::default(),
            boot_id: "boot".to_owned(),
            gpu_driver: None,
            nics: Vec::new(),
            features: Vec::new(),
            limits_missing: Vec::new(),
        },
        steps,
        starts_tasks: false,
    }
}

pub fn status(id: AttemptId, phase: StepPhase) -> StepStatus {
    StepStatus { id, phase }
}

pub struct TestCluster {
    pub state: State,
    pub now: Time,
    /// Events that no rounds have read yet.
    pub pending_events: Vec<Event>,
    requests: u32,
}

impl TestCluster {
    /// One queue and no node.
    pub fn new() -> Self {
        let queue = Queue {
            default: true,
            memory_per_cpu: Bytes::from_mib(1),
            ..Queue::plain(QueueName::new("main").unwrap())
        };
        let mut cluster = Self {
            state: State::default(),
            now: Time(1_000_000),
            pending_events: Vec::new(),
            requests: 0,
        };
        cluster.apply(Command::Configure(Settings {
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
        }));
        cluster
    }

    /// The same with these nodes.
    pub fn of(nodes: &[&str]) -> Self {
        let mut cluster = Self::new();
        for node in nodes {
            cluster.apply(crate::register(&hello(node, Vec::new())));
        }
        cluster
    }

    pub fn wait(&mut self, seconds: u64) {
        self.now = self.now + Span::from_seconds(seconds);
    }

    pub fn apply(&mut self, command: Command) -> Vec<Event> {
        let events = state::apply(&mut self.state, &Stamped { at: self.now, command });
        for event in &events {
            assert!(!matches!(event, Event::CommandRefused(_)), "{event:?}");
        }
        self.pending_events.extend(events.iter().cloned());
        events
    }

    /// Submits a job of one CPU with this script.
    pub fn submit(&mut self, ask: Ask, script: String) -> JobKey {
        self.requests += 1;
        let events = self.apply(Command::SubmitJob {
            request_key: RequestKey(format!("request-{}", self.requests)),
            owner: Owner { uid: Uid(1000), gid: Gid(1000), name: "ada".to_owned() },
            groups: Vec::new(),
            operator: false,
            via: None,
            ask: Box::new(ask),
            script,
            environment: "PATH=/bin\0".to_owned(),
        });
        match events.as_slice() {
            [Event::JobSubmitted { job, .. }] => JobKey::single(*job),
            other => panic!("{other:?}"),
        }
    }

    pub fn job(&mut self) -> JobKey {
        self.submit(Ask::default(), "#!/bin/sh\n".to_owned())
    }

    pub fn attempt(&self, key: JobKey) -> AttemptId {
        AttemptId { key, attempt: self.state.element(key).unwrap().1.attempt }
    }
}
