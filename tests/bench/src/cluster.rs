//! A synthetic cluster as its leader sees it: state, scheduler, and nodes that carry out orders at
//! once. The same numbers always give the same cluster.

use crate::machine::{self, GPUS};
use crate::policy::{QUEUES, Rules, account_name, queue_name, urgent};
use anyhow::{bail, ensure};
use common::id::{
    AttemptId, Gid, GpuIndex, JobId, JobKey, NodeName, RequestKey, ReservationName, Uid,
};
use common::job::{Ask, EndCause, ExitStatus, Owner, StepEnd, Usage};
use common::policy::Access;
use common::reservation::Reservation;
use common::resource::{Allocation, GpuRequest, Request, Share};
use common::time::{Span, Time};
use common::unit::{Bytes, Cpus, Gpus, Nodes, Tasks};
use common::wire::node::{StepPhase, StepStatus};
use fastrand::Rng;
use lead::Rounds;
use state::{Actor, Command, Event, RoundStart, Stamped, State};
use std::collections::BTreeMap;

/// The time when the measured rounds begin.
const NOW: Time = Time(1_800_000_000_000);
/// How long running jobs have run at that time.
const RUN_SO_FAR: Span = Span::from_minutes(120);
/// The longest wait of a job at that time.
const WAITED_MAX: Span = Span::from_minutes(10_000);
const USERS: u32 = 200;
/// Number of nodes in the one reservation: one leaf group.
const BOOKED: u32 = 32;

pub struct Cluster {
    pub state: State,
    pub rounds: Rounds,
    pub now: Time,
    rules: Rules,
    /// Events that the scheduler has not received yet.
    pending_events: Vec<Event>,
    rng: Rng,
    running: Vec<JobKey>,
}

impl Cluster {
    /// A cluster with these numbers of nodes and waiting jobs, where `full` of 1000 GPUs are in
    /// use.
    pub fn new(rules: Rules, nodes: u32, waiting: u32, full: u32) -> anyhow::Result<Self> {
        let mut cluster = Self {
            state: State::default(),
            rounds: Rounds::default(),
            now: Time(NOW.0 - RUN_SO_FAR.0 - WAITED_MAX.0),
            rules,
            pending_events: Vec::new(),
            rng: Rng::with_seed(7),
            running: Vec::new(),
        };
        let mut settings = rules.settings(nodes * u32::from(GPUS));
        settings.topology = machine::topology(nodes);
        cluster.apply(Command::Configure(settings))?;
        for number in 0..nodes {
            let name = machine::name(number);
            cluster.apply(Command::RegisterNode {
                identity: name.to_string(),
                address: name.to_string(),
                name,
                version: "1".to_owned(),
                inventory: Box::new(machine::inventory()),
                steps: Vec::new(),
            })?;
        }
        for number in 0..waiting {
            cluster.submit()?;
            let passed = WAITED_MAX.0 * u64::from(number + 1) / u64::from(waiting);
            cluster.now = Time(NOW.0 - RUN_SO_FAR.0 - WAITED_MAX.0 + passed);
        }
        cluster.fill(nodes, full)?;
        cluster.now = NOW;
        if rules == Rules::Teams {
            cluster.book(nodes)?;
        }
        // A term begins with the whole state, so earlier events are not needed.
        cluster.pending_events.clear();
        Ok(cluster)
    }

    fn apply(&mut self, command: Command) -> anyhow::Result<()> {
        let events = state::apply(&mut self.state, &Stamped { at: self.now, command });
        for event in &events {
            if let Event::CommandRefused(_) | Event::RoundEntryRefused { .. } = event {
                bail!("failed to make up a cluster: {}", query::event::line(event));
            }
        }
        self.pending_events.extend(events);
        Ok(())
    }

    fn actor() -> Actor {
        Actor::operator(Uid(0))
    }

    /// Reserves one leaf group from six hours from now.
    fn book(&mut self, nodes: u32) -> anyhow::Result<()> {
        let reservation = Reservation {
            name: ReservationName::new("course")?,
            nodes: (0..nodes.min(BOOKED)).map(machine::name).collect(),
            from: self.now + Span::from_minutes(6 * 60),
            to: self.now + Span::from_minutes(18 * 60),
            access: Access { users: [Uid(1000)].into(), ..Access::default() },
            maintenance: false,
            by: Uid(0),
            comment: String::new(),
        };
        let (actor, reservation) = (Self::actor(), Box::new(reservation));
        self.apply(Command::CreateReservation { actor, reservation })
    }

    /// Submits a job of a random user to the queue with this number.
    fn ask(&mut self, queue: u32, request: Request, limit: Span) -> anyhow::Result<JobKey> {
        let user = self.rng.u32(..USERS);
        let teams = self.rules == Rules::Teams;
        let ask = Ask {
            queue: Some(queue_name(queue)),
            account: teams.then(|| account_name(user % QUEUES)),
            qos: (teams && self.rng.u32(..20) == 0).then(urgent),
            request,
            time_limit: Some(limit),
            requeue: true,
            ..Ask::default()
        };
        let number = self.state.last_job_id().0 + 1;
        self.apply(Command::SubmitJob {
            request_key: RequestKey(format!("job-{number}")),
            owner: Owner { uid: Uid(1000 + user), gid: Gid(100), name: format!("u{user}") },
            groups: Vec::new(),
            operator: false,
            via: None,
            ask: Box::new(ask),
            script: "#!/bin/sh\n".to_owned(),
            environment: String::new(),
        })?;
        Ok(JobKey::single(JobId(number)))
    }

    /// Submits one more job, which waits.
    pub fn submit(&mut self) -> anyhow::Result<()> {
        let sizes = [(1, 1), (1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 8), (8, 8), (16, 8)];
        let (nodes, gpus) = sizes[self.rng.usize(..sizes.len())];
        let cpus = [4, 8, 12][self.rng.usize(..3)] * gpus;
        let request = gang_request(nodes, gpus, cpus);
        let (queue, minutes) = (self.rng.u32(..QUEUES), self.rng.u64(10..4000));
        self.ask(queue, request, Span::from_minutes(minutes)).map(|_| ())
    }

    fn fill(&mut self, nodes: u32, full: u32) -> anyhow::Result<()> {
        for number in 0..nodes {
            let (mut free, mut starts) = (0, Vec::new());
            while free < GPUS {
                let sizes = [1, 1, 2, 2, 4, 8].into_iter().filter(|size| *size <= GPUS - free);
                let sizes: Vec<u16> = sizes.collect();
                let size = sizes[self.rng.usize(..sizes.len())];
                let gpus: Vec<GpuIndex> = (free..free + size).map(GpuIndex).collect();
                free += size;
                if self.rng.u32(..1000) < full {
                    starts.push(self.hold(number, gpus)?);
                }
            }
            let keys: Vec<JobKey> = starts.iter().map(|start| start.id.key).collect();
            self.apply(Command::EnactRound {
                preempts: Vec::new(),
                shrinks: Vec::new(),
                starts,
                grows: Vec::new(),
            })?;
            self.run(&keys)?;
        }
        Ok(())
    }

    /// A start of a new job on these GPUs. The first queues receive more than their share.
    fn hold(&mut self, node: u32, gpus: Vec<GpuIndex>) -> anyhow::Result<RoundStart> {
        let limit = RUN_SO_FAR + Span::from_minutes(self.rng.u64(1..4000));
        let count = u32::try_from(gpus.len())?;
        let queue = self.rng.u32(..QUEUES).min(self.rng.u32(..QUEUES));
        let key = self.ask(queue, gang_request(1, count, 8 * count), limit)?;
        let Some((_, element)) = self.state.element(key) else { bail!("job {key} is gone") };
        let cpus = gpus.iter().flat_map(|gpu| (0..8).map(move |n| u32::from(gpu.0) * 8 + n));
        let share = Share {
            node: machine::name(node),
            tasks: Tasks(1),
            cpus: cpus.collect(),
            memory: Bytes(8 << 30).times(count),
            gpus: gpus.into(),
            gpu_milli: None,
        };
        let id = AttemptId { key, attempt: element.next_attempt() };
        Ok(RoundStart { id, allocation: Allocation::new(vec![share])?, group: None })
    }

    /// Reports this phase for all steps of these jobs, in one message per node.
    fn report(&mut self, keys: &[JobKey], phase: &StepPhase) -> anyhow::Result<()> {
        let mut by_node: BTreeMap<NodeName, Vec<StepStatus>> = BTreeMap::new();
        for key in keys {
            let Some((_, element)) = self.state.element(*key) else { continue };
            let Some(run) = &element.run else { continue };
            let id = element.attempt_id(*key);
            for share in run.allocation.shares() {
                let steps = by_node.entry(share.node.clone()).or_default();
                steps.push(StepStatus { id, phase: phase.clone() });
            }
        }
        for (node, steps) in by_node {
            self.apply(Command::ReportSteps { node, steps })?;
        }
        Ok(())
    }

    fn run(&mut self, keys: &[JobKey]) -> anyhow::Result<()> {
        self.report(keys, &StepPhase::Running { since: self.now, suspended: false })?;
        self.running.extend(keys);
        Ok(())
    }

    fn end(&mut self, keys: &[JobKey], cause: EndCause) -> anyhow::Result<()> {
        let end = StepEnd {
            cause,
            exit: ExitStatus::default(),
            started_at: Some(self.now),
            ended_at: self.now,
            held: None,
            ran: None,
            usage: Usage::default(),
            message: None,
            steps: Vec::new(),
        };
        self.report(keys, &StepPhase::Ended(Box::new(end)))
    }

    /// Ends one running job.
    pub fn end_one(&mut self) -> anyhow::Result<()> {
        ensure!(!self.running.is_empty(), "nothing runs that could end");
        let key = self.running.swap_remove(self.rng.usize(..self.running.len()));
        self.end(&[key], EndCause::Exited)
    }

    /// Passes new events to the scheduler.
    pub fn catch_up(&mut self) {
        let events = std::mem::take(&mut self.pending_events);
        self.rounds.catch_up(&self.state, Some(&events), self.now);
    }

    /// Runs a round with the judge, as the leader does. Returns its command, if it decided
    /// anything.
    pub fn round(&mut self) -> anyhow::Result<Option<Command>> {
        let outcome = self.rounds.round(self.now);
        ensure!(outcome.violations.is_empty(), "the judge: {:?}", outcome.violations);
        Ok(outcome.command)
    }

    /// Applies a round's command, and reports at once that the nodes carried it out.
    pub fn enact(&mut self, command: Command) -> anyhow::Result<()> {
        let Command::EnactRound { preempts, shrinks, starts, grows } = &command else {
            bail!("{command:?}")
        };
        ensure!(
            shrinks.is_empty() && grows.is_empty(),
            "no job of a benchmark is content with less"
        );
        let starts: Vec<JobKey> = starts.iter().map(|start| start.id.key).collect();
        let victims: Vec<JobKey> = preempts.iter().map(|preempt| preempt.id.key).collect();
        self.apply(command)?;
        self.end(&victims, EndCause::Stopped)?;
        self.running.retain(|key| !victims.contains(key));
        self.run(&starts)
    }
}

fn gang_request(nodes: u32, gpus: u32, cpus: u32) -> Request {
    Request {
        nodes: Some(Nodes(nodes)),
        tasks: Tasks(nodes),
        cpus_per_task: Cpus(cpus),
        gpus: Some(GpuRequest::PerNode(Gpus(gpus))),
        ..Request::default()
    }
}
