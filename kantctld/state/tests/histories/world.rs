//! Turns abstract moves into commands that fit the state they meet, so that any list of moves is a
//! history, and a shrunk one is too. Judges every answer.

use common::cpuset::CpuSet;
use common::gpu::{Gpu, GpuKind, GpuMatrix};
use common::id::{Attempt, AttemptId, Gid, GpuIndex, JobId, JobKey, NodeName, QueueName};
use common::id::{RequestKey, Uid};
use common::job::{Ask, EndCause, ExitStatus, Launch, Owner, StepEnd, Usage};
use common::node::{Inventory, Numa};
use common::queue::Queue;
use common::resource::{Allocation, GpuRequest, Share};
use common::time::{Span, Time};
use common::unit::{Bytes, Cpus, Gpus, Nodes, Tasks};
use common::wire::node::{StepPhase, StepStatus};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use state::invariant::Judge;
use state::job::SharePhase;
use state::persist::{from_bytes, to_bytes};
use state::snapshot::{round_starts, snapshot};
use state::{Actor, Command, Event, RoundStart, Settings, Stamped, State, Target};
use std::collections::{BTreeMap, BTreeSet};

/// One move. The numbers choose among what there is.
#[derive(Debug, Clone)]
pub enum Move {
    Submit(u8, u8),
    SubmitAgain(u8),
    Cancel(u8, u8),
    Hold(u8, u8),
    Release(u8, u8),
    Requeue(u8, u8),
    /// The engine decides, and it is enacted at once.
    Round,
    /// The engine decides; something may come between.
    Decide,
    EnactDecided,
    /// A start nobody in their right mind would decide.
    Nonsense(u8, u8, u8, u8),
    /// A share that lives goes on as it should.
    Progress(u8, u8),
    /// Any report at all.
    Report(u8, u8, u8),
    Register(u8, u8),
    Silent(u8),
    Lost(u8),
    /// The leader looks for attempts that never got off the ground.
    Overdue,
    Drain(u8),
    Resume(u8),
    Forget,
    Configure(u8),
    Wait(u32),
    /// The controller crashes, and reads its snapshot.
    Crash,
}

pub struct World {
    pub state: State,
    pub log: Vec<Stamped<Command>>,
    /// Every event, as text, if asked for.
    pub seen: Option<BTreeSet<String>>,
    now: Time,
    judge: Judge,
    decided: Vec<RoundStart>,
    /// Acknowledged submissions by request, until forgotten.
    acknowledged: BTreeMap<(Uid, RequestKey), JobId>,
    submissions: Vec<Command>,
    /// Every attempt that ever started.
    attempts: Vec<AttemptId>,
}

const NODES: [&str; 4] = ["n1", "n2", "n3", "n4"];
const PHASES: usize = 8;

fn node(which: u8) -> NodeName {
    NodeName::new(NODES[usize::from(which) % NODES.len()]).unwrap()
}

fn settings(more_queues: bool) -> Settings {
    let queue = |name: &str, default| Queue {
        default,
        time_limit_default: Some(Span::from_minutes(10)),
        memory_per_cpu: Bytes::from_mib(512),
        ..Queue::plain(QueueName::new(name).unwrap())
    };
    let mut queues = vec![queue("main", true)];
    queues.extend(more_queues.then(|| queue("more", false)));
    Settings {
        cluster: "test".to_owned(),
        queues,
        allow_root_jobs: false,
        kill_grace: Span::from_seconds(30),
        done_jobs_kept: Span::from_minutes(30),
        qos: Vec::new(),
        accounts: Vec::new(),
        factors: common::policy::Factors::default(),
        topology: common::topology::Topology::default(),
    }
}

fn inventory(cpus: u32, gpus: u16, boot: u8) -> Inventory {
    let memory = Bytes::from_mib(u64::from(cpus) * 1024);
    let gpu = |index| Gpu {
        index: GpuIndex(index),
        uuid: format!("GPU-{index}"),
        model: "NVIDIA A40".to_owned(),
        kind: GpuKind("a40".to_owned()),
        memory: Bytes::from_mib(46_068),
        minor: u32::from(index),
        pci_bus_id: format!("0000:{index:02x}:00.0"),
        numa: None,
        cpus: CpuSet::new(),
    };
    Inventory {
        sockets: 1,
        threads_per_core: 1,
        cpus: CpuSet::first(cpus),
        cores: (0..cpus).map(|cpu| CpuSet::from_iter([cpu])).collect(),
        numa: vec![Numa { id: 0, cpus: CpuSet::first(cpus), memory }],
        memory,
        gpus: (0..gpus).map(gpu).collect(),
        gpu_matrix: GpuMatrix::default(),
        boot_id: format!("boot-{boot}"),
        gpu_driver: None,
        limits_missing: vec![],
    }
}

fn actor(user: u8) -> Actor {
    match user % 4 {
        0 => Actor { uid: Uid(0), operator: true },
        1 => Actor { uid: Uid(1001), operator: false },
        _ => Actor { uid: Uid(1000), operator: false },
    }
}

/// Shapes of jobs: plain, several nodes, GPUs, arrays, whole nodes, held, no requeue, too large.
fn ask(shape: u8) -> Ask {
    let mut ask = Ask::default();
    let request = &mut ask.request;
    match shape % 10 {
        0 => request.cpus_per_task = Cpus(2),
        1 | 2 => {
            (request.nodes, request.tasks) = (Some(Nodes(2)), Tasks(2));
            ask.launch = if shape % 20 < 10 { Launch::PerNode } else { Launch::Once };
        }
        3 => request.gpus = Some(GpuRequest::PerNode(Gpus(1 + u32::from(shape % 2)))),
        4 | 5 => ask.array = "0-3%2".parse().ok(),
        6 | 7 => request.exclusive = true,
        8 => ask.hold = true,
        _ => request.cpus_per_task = Cpus(1000),
    }
    ask.requeue = !shape.is_multiple_of(3);
    if shape > 200 {
        ask.queue = QueueName::new("more").ok();
    }
    ask
}

/// Any phase a node could name.
fn step_phase(which: u8) -> StepPhase {
    let (cause, code) = match usize::from(which) % PHASES {
        0 => return StepPhase::Preparing,
        1 => return StepPhase::Ready,
        2 => return StepPhase::Running { since: Time(7) },
        3 => (EndCause::Exited, which % 3),
        4 => (EndCause::Stopped, 0),
        5 => (EndCause::LaunchFailed, 0),
        6 => (if which < 128 { EndCause::TimedOut } else { EndCause::OutOfMemory }, 0),
        _ => (if which < 128 { EndCause::Lost } else { EndCause::NodeFault }, 0),
    };
    StepPhase::Ended(Box::new(StepEnd {
        cause,
        exit: ExitStatus { code, signal: None },
        started_at: which.is_multiple_of(2).then_some(Time(u64::from(which))),
        ended_at: Time(9),
        usage: Usage { cpu: Span(u64::from(which)), memory_peak: Bytes(3) },
        message: None,
    }))
}

/// One of them, if there are any.
fn pick<T: Clone>(from: &[T], which: u8) -> Option<T> {
    (!from.is_empty()).then(|| from[usize::from(which) % from.len()].clone())
}

impl World {
    /// Three nodes, one queue.
    pub fn new() -> Self {
        let state = State::default();
        let mut world = Self {
            judge: Judge::new(&state),
            state,
            log: Vec::new(),
            seen: None,
            now: Time(1_000_000),
            decided: Vec::new(),
            acknowledged: BTreeMap::new(),
            submissions: Vec::new(),
            attempts: Vec::new(),
        };
        world.apply(Command::Configure(settings(true))).unwrap();
        for node in 0..3 {
            world.play(&Move::Register(node, 0)).unwrap();
        }
        world
    }

    pub fn play(&mut self, step: &Move) -> Result<(), TestCaseError> {
        match step {
            Move::Submit(shape, user) => {
                let command = self.submission(*shape, *user);
                self.submissions.push(command.clone());
                self.apply(command)
            }
            Move::SubmitAgain(which) => match pick(&self.submissions, *which) {
                Some(command) => self.apply(command),
                None => Ok(()),
            },
            Move::Cancel(job, user) => {
                self.target(*job, |target| Command::CancelJob { actor: actor(*user), target })
            }
            Move::Hold(job, user) => {
                self.target(*job, |target| Command::HoldJob { actor: actor(*user), target })
            }
            Move::Release(job, user) => {
                self.target(*job, |target| Command::ReleaseJob { actor: actor(*user), target })
            }
            Move::Requeue(job, user) => {
                self.target(*job, |target| Command::RequeueJob { actor: actor(*user), target })
            }
            Move::Round => {
                self.decide()?;
                self.enact()
            }
            Move::Decide => self.decide(),
            Move::EnactDecided => self.enact(),
            Move::Nonsense(a, b, c, d) => self.nonsense(*a, *b, *c, *d),
            Move::Progress(share, how) => self.progress(*share, *how),
            Move::Report(node_number, id, phase) => {
                let Some(id) = pick(&self.attempts, *id) else { return Ok(()) };
                let steps = vec![StepStatus { id, phase: step_phase(*phase) }];
                self.apply(Command::ReportSteps { node: node(*node_number), steps })
            }
            Move::Register(node, how) => self.register(*node, *how),
            Move::Silent(which) => self.apply(Command::NodeSilent { name: node(*which) }),
            Move::Lost(which) => self.apply(Command::NodeLost { name: node(*which) }),
            Move::Overdue => {
                let overdue = state::overdue(&self.state, self.now);
                overdue.into_iter().try_for_each(|id| self.apply(Command::StartOverdue { id }))
            }
            Move::Drain(which) => {
                let (actor, name) = (actor(*which / 64), node(*which));
                self.apply(Command::DrainNode { actor, name, reason: "dust".to_owned() })
            }
            Move::Resume(which) => {
                let (actor, name) = (actor(*which / 64), node(*which));
                self.apply(Command::ResumeNode { actor, name })
            }
            Move::Forget => self.apply(Command::ForgetDone),
            Move::Configure(which) => self.apply(Command::Configure(settings(which % 2 == 0))),
            Move::Wait(seconds) => {
                self.now = self.now + Span::from_seconds(u64::from(*seconds));
                Ok(())
            }
            Move::Crash => self.crash(),
        }
    }

    fn submission(&self, shape: u8, user: u8) -> Command {
        let uid = Uid(1000 + u32::from(user % 2));
        let number = self.submissions.len();
        Command::SubmitJob {
            request_key: RequestKey(format!("request-{number}")),
            owner: Owner { uid, gid: Gid(uid.0), name: format!("user{uid}") },
            operator: false,
            ask: Box::new(ask(shape)),
            script: format!("#!/bin/sh\nexit {}\n", shape % 4),
            environment: format!("USER={uid}\0"),
        }
    }

    fn target(
        &mut self,
        which: u8,
        command: impl Fn(Target) -> Command,
    ) -> Result<(), TestCaseError> {
        // Now and then a whole array, or a job that is not there.
        let mut keys: Vec<JobKey> = self.state.jobs().map(|r| JobKey::single(r.id)).collect();
        for record in self.state.jobs() {
            keys.extend(record.elements.keys().map(|index| record.key(*index)));
        }
        keys.push(JobKey::single(JobId(self.state.last_job().0 + 1)));
        match pick(&keys, which) {
            Some(key) => self.apply(command(Target { key })),
            None => Ok(()),
        }
    }

    fn decide(&mut self) -> Result<(), TestCaseError> {
        let seen = snapshot(&self.state);
        let round = engine::schedule(&seen, self.now);
        let wrong = engine::check::check(&seen, self.now, &round.decisions);
        prop_assert!(wrong.is_empty(), "the engine's judge: {wrong:?}");
        self.decided = round_starts(&round.decisions);
        Ok(())
    }

    /// Enacts what was decided, and keeps it: it may come again.
    fn enact(&mut self) -> Result<(), TestCaseError> {
        self.apply(Command::EnactRound { starts: self.decided.clone() })
    }

    fn nonsense(&mut self, job: u8, at: u8, cpus: u8, more: u8) -> Result<(), TestCaseError> {
        let keys: Vec<JobKey> = self.state.live().collect();
        let Some(key) = pick(&keys, job) else { return Ok(()) };
        let last = self.state.element(key).map_or(0, |(_, element)| element.attempt.0);
        let attempt = Attempt(if more.is_multiple_of(5) { u32::from(more) } else { last + 1 });
        let share = |which: u8| Share {
            node: node(which),
            tasks: Tasks(1),
            cpus: (u32::from(cpus % 10)..u32::from(cpus % 10 + cpus / 64)).collect(),
            memory: Bytes::from_mib(u64::from(more) * 16),
            gpus: (0..u16::from(more % 3)).map(GpuIndex).collect(),
            gpu_milli: None,
        };
        let shares =
            if more > 200 { vec![share(at), share(at.wrapping_add(1))] } else { vec![share(at)] };
        let Ok(allocation) = Allocation::new(shares) else { return Ok(()) };
        let id = AttemptId { key, attempt };
        self.apply(Command::EnactRound { starts: vec![RoundStart { id, allocation }] })
    }

    /// A share that lives takes its next step.
    fn progress(&mut self, which: u8, how: u8) -> Result<(), TestCaseError> {
        let ledger = self.state.ledger();
        let shares: Vec<(NodeName, AttemptId)> = ledger
            .nodes()
            .flat_map(|(node, held)| held.holders().map(|(id, _)| (node.clone(), id)))
            .collect();
        let Some((node, id)) = pick(&shares, which) else { return Ok(()) };
        let run = self.state.element(id.key).and_then(|(_, element)| element.run.as_ref());
        let share = run.and_then(|run| Some(run.shares[run.rank(&node)?]));
        let phase = match share {
            Some(SharePhase::Unreported) => StepPhase::Ready,
            Some(SharePhase::Preparing | SharePhase::Ready) if how < 200 => step_phase(2),
            _ if how < 128 => step_phase(3 + 24 * (how % 3)),
            _ => step_phase(how),
        };
        let steps = vec![StepStatus { id, phase }];
        self.apply(Command::ReportSteps { node, steps })
    }

    /// A Hello: truthful, forgetful, lying, after a reboot, changed, or from another machine.
    fn register(&mut self, which: u8, how: u8) -> Result<(), TestCaseError> {
        let name = node(which);
        let holders: Vec<AttemptId> = self.state.ledger().holders(&name).collect();
        let known = holders.into_iter().filter(|_| how % 3 != 1);
        let lies = pick(&self.attempts, how).into_iter().filter(|_| how % 3 == 2);
        let phase = step_phase(how / 4);
        let steps = known.chain(lies).map(|id| StepStatus { id, phase: phase.clone() }).collect();
        let (cpus, gpus) = if how % 16 == 15 { (4, 1) } else { (8, 2) };
        let machine = if how % 16 == 14 { "other" } else { "first" };
        self.apply(Command::RegisterNode {
            identity: format!("{name}-{machine}"),
            address: name.to_string(),
            version: "1".to_owned(),
            inventory: Box::new(inventory(cpus, gpus, how / 128)),
            steps,
            name,
        })
    }

    fn crash(&mut self) -> Result<(), TestCaseError> {
        let bytes = to_bytes(&self.state).unwrap();
        let restored = from_bytes(&bytes).unwrap();
        prop_assert_eq!(&restored, &self.state);
        prop_assert_eq!(to_bytes(&restored).unwrap(), bytes);
        self.state = restored;
        Ok(())
    }

    /// Applies a command and judges the answer.
    fn apply(&mut self, command: Command) -> Result<(), TestCaseError> {
        // Every seventh stamp is of a leader whose clock is behind.
        let behind = Span::from_seconds(if self.log.len() % 7 == 6 { 100 } else { 0 });
        let stamped = Stamped { at: self.now - behind, command };
        let events = state::apply(&mut self.state, &stamped);
        let wrong = self.judge.look(&self.state, &events);
        prop_assert!(wrong.is_empty(), "{wrong:#?}\nafter {stamped:?}\ngave {events:?}");
        self.remember(&stamped.command, &events)?;
        self.log.push(stamped);
        self.check_submissions()?;
        self.check_single_attempts()
    }

    fn remember(&mut self, command: &Command, events: &[Event]) -> Result<(), TestCaseError> {
        for event in events {
            if let Some(seen) = &mut self.seen {
                seen.insert(format!("{event:?}"));
            }
            match (event, command) {
                (
                    Event::JobSubmitted { job, repeated, .. },
                    Command::SubmitJob { request_key, owner, .. },
                ) => {
                    let request = (owner.uid, request_key.clone());
                    let before = self.acknowledged.insert(request, *job);
                    prop_assert_eq!(before, repeated.then_some(*job), "another answer");
                }
                (Event::JobForgotten { job }, _) => {
                    self.acknowledged.retain(|_, known| known != job);
                }
                (Event::JobStarted { id, .. }, _) => self.attempts.push(*id),
                _ => {}
            }
        }
        // A request may be forgotten before its job; then its answer is given anew.
        let state = &self.state;
        let remembered = |(uid, key): &(Uid, RequestKey)| state.request(*uid, key).is_some();
        let forgets = matches!(command, Command::ForgetDone);
        self.acknowledged.retain(|request, _| !forgets || remembered(request));
        Ok(())
    }

    /// Whatever was acknowledged is there, and is known by its request.
    fn check_submissions(&self) -> Result<(), TestCaseError> {
        for ((uid, key), job) in &self.acknowledged {
            prop_assert!(self.state.job(*job).is_some(), "job {job} is gone");
            prop_assert_eq!(self.state.request(*uid, key).map(|r| r.job), Some(*job));
        }
        Ok(())
    }

    /// No job is wanted in two attempts, by any two nodes.
    fn check_single_attempts(&self) -> Result<(), TestCaseError> {
        let mut wanted: BTreeMap<JobKey, Attempt> = BTreeMap::new();
        for (name, _) in self.state.nodes() {
            for step in state::desired::desired_for(&self.state, name) {
                let first = *wanted.entry(step.id.key).or_insert(step.id.attempt);
                prop_assert_eq!(first, step.id.attempt, "two attempts of {} live", step.id.key);
            }
        }
        Ok(())
    }
}
