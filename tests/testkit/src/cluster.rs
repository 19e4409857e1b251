//! A small cluster for tests, driven by commands.

use crate::{ada, inventory, name};
use common::id::{AttemptId, JobKey, QueueName, RequestKey, Uid};
use common::job::Ask;
use common::node::Inventory;
use common::policy::queue::Queue;
use common::policy::{Factors, Moves, YieldsFirst};
use common::resource::{Allocation, Share};
use common::time::{Span, Time};
use common::topology::Topology;
use common::unit::Bytes;
use common::wire::node::{StepPhase, StepStatus};
use state::{Actor, Command, Event, RoundStart, Settings, Stamped, State, UserBounds};

/// The owner of all jobs.
pub const USER: Actor = Actor::user(Uid(1000));
pub const OPERATOR: Actor = Actor::operator(Uid(0));

/// One queue, which has no limits.
///
/// # Panics
/// Never.
#[must_use]
pub fn settings() -> Settings {
    let queue = Queue {
        default: true,
        memory_per_cpu: Bytes::from_mib(1),
        ..Queue::with_defaults(QueueName::new("main").unwrap())
    };
    Settings {
        cluster: "test".to_owned(),
        queues: vec![queue],
        allow_root_jobs: false,
        kill_grace: Span::from_seconds(30),
        done_jobs_kept: Span::from_minutes(60),
        user_bounds: UserBounds::default(),
        qos: Vec::new(),
        accounts: Vec::new(),
        fair_sharing: false,
        yields_first: YieldsFirst::default(),
        factors: Factors::default(),
        moves: Moves::default(),
        topology: Topology::default(),
    }
}

pub struct TestCluster {
    pub state: State,
    pub now: Time,
    /// Events that no rounds have read yet.
    pub pending_events: Vec<Event>,
    requests: u32,
}

impl Default for TestCluster {
    fn default() -> Self {
        Self::new()
    }
}

/// Every method panics if a command is refused.
#[allow(clippy::missing_panics_doc)]
impl TestCluster {
    /// The queue of [`settings`], and no node.
    #[must_use]
    pub fn new() -> Self {
        let (state, now) = (State::default(), Time(1_000_000));
        let mut cluster = Self { state, now, pending_events: Vec::new(), requests: 0 };
        cluster.apply(Command::Configure(settings()));
        cluster
    }

    /// The same with these nodes, each with 64 CPUs and 64 GiB.
    #[must_use]
    pub fn of(nodes: &[&str]) -> Self {
        Self::of_nodes(nodes, &inventory(64, 64, 0))
    }

    /// The same with these nodes, each with this inventory.
    #[must_use]
    pub fn of_nodes(nodes: &[&str], inventory: &Inventory) -> Self {
        let mut cluster = Self::new();
        for node in nodes {
            cluster.register(node, inventory.clone());
        }
        cluster
    }

    pub fn register(&mut self, node: &str, inventory: Inventory) {
        self.apply(Command::RegisterNode {
            name: name(node),
            identity: format!("identity of {node}"),
            address: format!("{node}.example"),
            version: "1".to_owned(),
            inventory: Box::new(inventory),
            steps: Vec::new(),
        });
    }

    pub fn wait(&mut self, seconds: u64) {
        self.now = self.now + Span::from_seconds(seconds);
    }

    pub fn apply(&mut self, command: Command) -> Vec<Event> {
        let events = state::apply(&mut self.state, &Stamped { at: self.now, command });
        let refused = events.iter().any(|event| matches!(event, Event::CommandRefused(_)));
        assert!(!refused, "{events:?}");
        self.pending_events.extend(events.iter().cloned());
        events
    }

    /// Submits a job with this script.
    pub fn submit(&mut self, ask: Ask, script: String) -> JobKey {
        self.requests += 1;
        let events = self.apply(Command::SubmitJob {
            request_key: RequestKey(format!("request-{}", self.requests)),
            owner: ada(),
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

    pub fn job_of(&mut self, ask: Ask) -> JobKey {
        self.submit(ask, "#!/bin/sh\n".to_owned())
    }

    /// Submits a job of one CPU.
    pub fn job(&mut self) -> JobKey {
        self.job_of(Ask::default())
    }

    #[must_use]
    pub fn attempt(&self, key: JobKey) -> AttemptId {
        AttemptId { key, attempt: self.state.element(key).unwrap().1.attempt }
    }

    /// Starts the next attempt of a job.
    pub fn start(&mut self, key: JobKey, shares: Vec<Share>) -> AttemptId {
        let attempt = self.state.element(key).unwrap().1.next_attempt();
        let id = AttemptId { key, attempt };
        let allocation = Allocation::new(shares).unwrap();
        let starts = vec![RoundStart { id, allocation, group: None }];
        let (preempts, shrinks, grows) = (Vec::new(), Vec::new(), Vec::new());
        let events = self.apply(Command::EnactRound { preempts, shrinks, starts, grows });
        assert!(matches!(events.as_slice(), [Event::JobStarted { .. }]), "{events:?}");
        id
    }

    pub fn report(&mut self, node: &str, id: AttemptId, phase: StepPhase) {
        let steps = vec![StepStatus { id, phase }];
        self.apply(Command::ReportSteps { node: name(node), steps });
    }
}
