//! A small cluster for tests, driven only by commands. After each command the judge checks the
//! state, and it is serialized and read back.

use common::cpuset::CpuSet;
use common::gpu::{Gpu, GpuKind, GpuMatrix};
use common::id::{Attempt, AttemptId, GpuIndex, JobId, JobKey, NodeName, QueueName};
use common::id::{Gid, RequestKey, Uid};
use common::job::{Ask, EndCause, ExitStatus, Outcome, Owner, Phase, StepEnd, Usage};
use common::node::{Inventory, Numa};
use common::policy::queue::Queue;
use common::reason::Refusal;
use common::resource::{Allocation, Share};
use common::time::{Span, Time};
use common::unit::{Bytes, Tasks};
use common::wire::node::{StepPhase, StepStatus, Want};
use state::invariant::Judge;
use state::job::Element;
use state::{Actor, Command, Event, RoundStart, Settings, Stamped, State, Target};

pub const USER: Actor = Actor::user(Uid(1000));
pub const OTHER: Actor = Actor::user(Uid(1001));
pub const OPERATOR: Actor = Actor::operator(Uid(0));

pub struct House {
    pub state: State,
    pub now: Time,
    judge: Judge,
    requests: u32,
}

pub fn name(text: &str) -> NodeName {
    NodeName::new(text).unwrap()
}

pub fn queue(text: &str, default: bool) -> Queue {
    Queue { default, ..Queue::with_defaults(QueueName::new(text).unwrap()) }
}

pub fn settings() -> Settings {
    let short = Queue {
        time_limit_default: Some(Span::from_minutes(10)),
        time_limit_max: Some(Span::from_minutes(60)),
        ..queue("short", false)
    };
    Settings {
        cluster: "test".to_owned(),
        queues: vec![queue("main", true), short],
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

/// A node with this number of CPUs (each a core), GiB of memory, and GPUs.
pub fn inventory(cpus: u32, gib: u64, gpus: u16) -> Inventory {
    let gpu = |index: u16| Gpu {
        index: GpuIndex(index),
        uuid: format!("GPU-{index}"),
        model: "NVIDIA H100 80GB HBM3".to_owned(),
        kind: GpuKind("h100".to_owned()),
        memory: Bytes::from_mib(81_559),
        minor: u32::from(index),
        pci_bus_id: format!("0000:{index:02x}:00.0"),
        numa: Some(0),
        cpus: CpuSet::first_n(cpus),
        mig: None,
    };
    let memory = Bytes::from_mib(gib * 1024);
    Inventory {
        sockets: 1,
        threads_per_core: 1,
        cpus: CpuSet::first_n(cpus),
        cores: (0..cpus).map(|cpu| CpuSet::from_iter([cpu])).collect(),
        numa: vec![Numa { id: 0, cpus: CpuSet::first_n(cpus), memory }],
        memory,
        gpus: (0..gpus).map(gpu).collect(),
        gpu_matrix: GpuMatrix::default(),
        boot_id: "boot-1".to_owned(),
        gpu_driver: None,
        nics: Vec::new(),
        features: Vec::new(),
        limits_missing: vec![],
    }
}

/// A share with these CPUs from `first` on, 1 GiB of memory, and these GPUs.
pub fn share(node: &str, first: u32, cpus: u32, gpus: &[u16]) -> Share {
    Share {
        gpu_milli: None,
        node: name(node),
        tasks: Tasks(1),
        cpus: (first..first + cpus).collect(),
        memory: Bytes::from_mib(1024),
        gpus: gpus.iter().map(|g| GpuIndex(*g)).collect(),
    }
}

/// A request for this number of tasks.
pub fn tasks_of(tasks: u32) -> Ask {
    let request = common::resource::Request { tasks: Tasks(tasks), ..Default::default() };
    Ask { request, ..Ask::default() }
}

pub fn end(cause: EndCause, code: u8) -> StepPhase {
    StepPhase::Ended(Box::new(StepEnd {
        cause,
        exit: ExitStatus { code, signal: None },
        started_at: Some(Time(1)),
        ended_at: Time(2),
        held: None,
        ran: None,
        usage: Usage { cpu: Span(5), memory_peak: Bytes(7), ..Usage::default() },
        message: None,
        steps: Vec::new(),
    }))
}

pub fn exited(code: u8) -> StepPhase {
    end(EndCause::Exited, code)
}

pub fn running() -> StepPhase {
    StepPhase::Running { since: Time(1), suspended: false }
}

pub fn attempt(key: JobKey, attempt: u32) -> AttemptId {
    AttemptId { key, attempt: Attempt(attempt) }
}

#[allow(clippy::new_without_default, reason = "a test says what it begins with")]
impl House {
    /// A cluster with two queues and no node.
    pub fn empty() -> Self {
        let state = State::default();
        let judge = Judge::new(&state);
        let now = Time(1_000_000);
        let mut house = Self { state, now, judge, requests: 0 };
        house.apply(Command::Configure(settings()));
        house
    }

    /// A cluster with nodes g1 and g2, each with 8 CPUs, 64 GiB and 4 GPUs.
    pub fn new() -> Self {
        let mut house = Self::empty();
        house.register("g1", &[]);
        house.register("g2", &[]);
        house
    }

    pub fn apply(&mut self, command: Command) -> Vec<Event> {
        let events = state::apply(&mut self.state, &Stamped { at: self.now, command });
        assert_eq!(self.judge.check_step(&self.state, &events), Vec::<String>::new(), "{events:?}");
        let bytes = state::persist::to_bytes(&self.state).unwrap();
        assert_eq!(state::persist::from_bytes(&bytes).unwrap(), self.state);
        events
    }

    pub fn refused(&mut self, command: Command) -> Refusal {
        let before = self.state.clone();
        let refusal = state::event::changed_jobs(&self.apply(command)).unwrap_err();
        assert_eq!(before, self.state, "a refused command changed something");
        refusal
    }

    pub fn wait(&mut self, seconds: u64) {
        self.now = self.now + Span::from_seconds(seconds);
    }

    pub fn hello(&mut self, node: &str, inventory: Inventory, steps: &[StepStatus]) -> Command {
        Command::RegisterNode {
            name: name(node),
            identity: format!("{node}-identity"),
            address: format!("{node}.example"),
            version: "1".to_owned(),
            inventory: Box::new(inventory),
            steps: steps.to_vec(),
        }
    }

    pub fn register(&mut self, node: &str, steps: &[StepStatus]) -> Vec<Event> {
        let hello = self.hello(node, inventory(8, 64, 4), steps);
        self.apply(hello)
    }

    pub fn submission(&mut self, ask: Ask) -> Command {
        self.requests += 1;
        Command::SubmitJob {
            request_key: RequestKey(format!("request-{}", self.requests)),
            owner: Owner { uid: USER.uid, gid: Gid(1000), name: "ada".to_owned() },
            groups: Vec::new(),
            operator: false,
            via: None,
            ask: Box::new(ask),
            script: "#!/bin/sh\ntrue\n".to_owned(),
            environment: "PATH=/bin\0HOME=/home/ada\0".to_owned(),
        }
    }

    pub fn submit(&mut self, ask: Ask) -> JobId {
        let command = self.submission(ask);
        match self.apply(command).as_slice() {
            [Event::JobSubmitted { job, repeated: false, .. }] => *job,
            other => panic!("{other:?}"),
        }
    }

    /// Submits without judging or serializing, for large numbers of jobs.
    pub fn quietly_submit(&mut self, ask: Ask) -> JobId {
        let command = self.submission(ask);
        let events = state::apply(&mut self.state, &Stamped { at: self.now, command });
        self.judge = Judge::new(&self.state);
        match events.as_slice() {
            [Event::JobSubmitted { job, repeated: false, .. }] => *job,
            other => panic!("{other:?}"),
        }
    }

    /// The next attempt of a job.
    pub fn attempt_of(&self, key: JobKey) -> AttemptId {
        AttemptId { key, attempt: self.element(key).next_attempt() }
    }

    /// Submits a single job.
    pub fn job(&mut self) -> JobKey {
        JobKey::single(self.submit(Ask::default()))
    }

    /// Submits a job with this number of tasks.
    pub fn gang(&mut self, tasks: u32) -> JobKey {
        JobKey::single(self.submit(tasks_of(tasks)))
    }

    pub fn enact(&mut self, id: AttemptId, shares: Vec<Share>) -> Vec<Event> {
        let allocation = Allocation::new(shares).unwrap();
        let starts = vec![RoundStart { id, allocation, group: None }];
        self.apply(Command::EnactRound {
            preempts: vec![],
            shrinks: Vec::new(),
            starts,
            grows: Vec::new(),
        })
    }

    /// Starts the next attempt of a job, which must succeed.
    pub fn start(&mut self, key: JobKey, shares: Vec<Share>) -> AttemptId {
        let id = AttemptId { key, attempt: self.element(key).next_attempt() };
        let events = self.enact(id, shares);
        assert!(matches!(events.as_slice(), [Event::JobStarted { .. }]), "{events:?}");
        id
    }

    pub fn report(&mut self, node: &str, id: AttemptId, phase: StepPhase) -> Vec<Event> {
        let steps = vec![StepStatus { id, phase }];
        self.apply(Command::ReportSteps { node: name(node), steps })
    }

    pub fn cancel(&mut self, key: JobKey) -> Command {
        Command::CancelJob { actor: USER, target: Target { key } }
    }

    pub fn requeue(&mut self, key: JobKey) -> Command {
        Command::RequeueJob { actor: USER, target: Target { key } }
    }

    pub fn element(&self, key: JobKey) -> &Element {
        self.state.element(key).unwrap().1
    }

    pub fn phase(&self, key: JobKey) -> Phase {
        self.element(key).phase
    }

    pub fn outcome(&self, key: JobKey) -> Option<Outcome> {
        self.element(key).outcome
    }

    /// What a node should do with an attempt; `None` if it should not have it.
    pub fn want(&self, node: &str, id: AttemptId) -> Option<Want> {
        let steps = state::desired::desired_for(&self.state, &name(node));
        steps.into_iter().find(|step| step.id == id).map(|step| step.want)
    }

    pub fn silence(&mut self, node: &str) -> Vec<Event> {
        self.apply(Command::NodeSilent { name: name(node) })
    }

    pub fn lose(&mut self, node: &str) -> Vec<Event> {
        self.silence(node);
        self.apply(Command::NodeLost { name: name(node) })
    }
}
