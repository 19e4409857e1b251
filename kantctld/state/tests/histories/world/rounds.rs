//! Rounds: the engine's own, nonsense, and plausible starts and preemptions that are not the
//! engine's.

use super::World;
use super::things::step_phase;
use super::things::{node, pick};
use common::cpuset::CpuSet;
use common::id::{Attempt, AttemptId, GpuIndex, JobKey, NodeName};
use common::job::{Phase, PreemptReason, Preempted};
use common::policy::VictimMode;
use common::resource::{Allocation, GpuList, GpuRequest, Share};
use common::unit::{Bytes, GpuMilli, Nodes, Tasks};
use common::wire::node::{StepPhase, StepStatus};
use engine::{Round, Snapshot};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use state::snapshot::{enact_command, snapshot};
use state::{Command, RoundGrow, RoundPreempt, RoundShrink, RoundStart};
use std::collections::BTreeMap;

impl World {
    pub(super) fn decide(&mut self) -> Result<(), TestCaseError> {
        self.keep()?;
        let mut seen = self.keeper.snapshot().clone();
        seen.prepare_for_round(self.now);
        let round = engine::schedule(&seen, self.now);
        let wrong = engine::check::check(&seen, self.now, &round);
        prop_assert!(wrong.is_empty(), "the engine's judge: {wrong:?}");
        self.same_round_from_nothing(&seen, &round)?;
        self.decided = enact_command(&round.decisions);
        Ok(())
    }

    /// Checks that the updated snapshot and a new one lead to the same decisions and the same
    /// reasons.
    fn same_round_from_nothing(&self, kept: &Snapshot, round: &Round) -> Result<(), TestCaseError> {
        let mut fresh = snapshot(&self.state);
        fresh.prepare_for_round(self.now);
        let other = engine::schedule(&fresh, self.now);
        prop_assert_eq!(&round.decisions, &other.decisions);
        prop_assert_eq!(&round.planned_starts, &other.planned_starts);
        prop_assert_eq!(round.next_look, other.next_look);
        for job in fresh.all_waiting() {
            let (here, there) =
                (round.waits.reason_of(kept, job.key), other.waits.reason_of(&fresh, job.key));
            prop_assert_eq!(here, there, "of job {}", job.key);
        }
        prop_assert_eq!(
            engine::waiting_jobs_in_order(kept, self.now),
            engine::waiting_jobs_in_order(&fresh, self.now)
        );
        Ok(())
    }

    /// Applies the decisions and keeps them, so that they may be applied again.
    pub(super) fn enact(&mut self) -> Result<(), TestCaseError> {
        match self.decided.clone() {
            Some(command) => self.apply(command),
            None => Ok(()),
        }
    }

    pub(super) fn nonsense(
        &mut self,
        job: u8,
        at: u8,
        cpus: u8,
        more: u8,
    ) -> Result<(), TestCaseError> {
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
            gpu_milli: (at > 128).then_some(GpuMilli(u32::from(cpus) * 8)),
        };
        let shares =
            if more > 200 { vec![share(at), share(at.wrapping_add(1))] } else { vec![share(at)] };
        let Ok(allocation) = Allocation::new(shares) else { return Ok(()) };
        let id = AttemptId { key, attempt };
        let start = RoundStart { id, allocation, group: None };
        self.apply(Command::EnactRound {
            preempts: vec![],
            shrinks: Vec::new(),
            starts: vec![start],
            grows: Vec::new(),
        })
    }

    /// Places several jobs side by side by first fit, regardless of order and policy.
    pub(super) fn place(&mut self, job: u8, at: u8, how: u8) -> Result<(), TestCaseError> {
        let waiting: Vec<JobKey> = self.in_phase(|phase| phase == Phase::Pending);
        let count = usize::from(how % 3) + 1;
        let mut starts = Vec::new();
        let mut taken = BTreeMap::new();
        for place in 0..count {
            let step = u8::try_from(place).unwrap() * if how > 240 { 0 } else { 1 };
            let Some(key) = pick(&waiting, job.wrapping_add(step)) else { return Ok(()) };
            starts.extend(self.first_fit(key, at, how, &mut taken));
        }
        if how.is_multiple_of(2) {
            let group = starts.first().map(|start: &RoundStart| start.id.key);
            starts.iter_mut().for_each(|start| start.group = group);
        }
        self.apply(Command::EnactRound {
            preempts: vec![],
            shrinks: Vec::new(),
            starts,
            grows: Vec::new(),
        })
    }

    /// Places all components of a waiting set side by side.
    pub(super) fn place_set(&mut self, at: u8, how: u8) -> Result<(), TestCaseError> {
        let waiting = self.in_phase(|phase| phase == Phase::Pending);
        let sets = waiting.iter().filter_map(|key| self.state.job(key.job)?.set);
        let Some(set) = pick(&sets.collect::<Vec<_>>(), at) else { return Ok(()) };
        let mut taken = BTreeMap::new();
        let mut starts: Vec<RoundStart> = Vec::new();
        for (place, key) in (0..).zip(set.keys()) {
            let at = at.wrapping_add(place);
            let start = self.first_fit(key, at, 0, &mut taken);
            starts.extend(start.filter(|_| how > 16 || place == 0));
        }
        let group = Some(set.first_key()).filter(|_| how < 240);
        starts.iter_mut().for_each(|start| start.group = group);
        self.apply(Command::EnactRound {
            preempts: vec![],
            shrinks: Vec::new(),
            grows: Vec::new(),
            starts,
        })
    }

    /// A start on the first nodes from `at` on; sometimes with a mistake.
    fn first_fit(
        &self,
        key: JobKey,
        at: u8,
        how: u8,
        taken: &mut BTreeMap<NodeName, CpuSet>,
    ) -> Option<RoundStart> {
        let (record, element) = self.state.element(key)?;
        let request = &record.spec.ask.request;
        // An elastic job has its tasks on separate nodes.
        let many = request.tasks_min.map_or(1, |least| least.0 + 1);
        let nodes = request.nodes.map_or(many, |nodes| nodes.0);
        let tasks = if how % 8 < 6 { request.tasks } else { request.tasks_min.unwrap_or(Tasks(1)) };
        let share = |place: u32| {
            let name = node(at.wrapping_add(u8::try_from(place).unwrap_or(0)));
            let there = &self.state.node(&name)?.inventory;
            let held = self.state.ledger().holdings_on(&name);
            let beside = taken.get(&name).cloned().unwrap_or_default();
            let busy = held.map_or(CpuSet::new(), |held| held.cpus().clone()).union(&beside);
            let tasks = Tasks(tasks.0 / nodes);
            let wanted = request.cpus_per_task.times(tasks.0).0;
            let cpus = there.cpus.difference(&busy).iter().take(wanted as usize).collect();
            let used = |gpu: GpuIndex| held.map_or(GpuMilli::ZERO, |held| held.gpu_milli(gpu));
            let room = |part: GpuMilli| {
                let fits = |gpu: &GpuIndex| used(*gpu) + part <= GpuMilli::WHOLE;
                there.gpus.iter().map(|gpu| gpu.index).filter(fits).collect::<Vec<_>>()
            };
            let (gpus, gpu_milli) = match request.gpus {
                Some(GpuRequest::Parts(parts)) => {
                    let part = request.gpu_part_on(&there.gpus)?;
                    let devices = parts.devices.0 as usize;
                    (room(part).into_iter().take(devices).collect(), (how < 250).then_some(part))
                }
                Some(GpuRequest::PerNode(gpus)) => {
                    (room(GpuMilli::WHOLE).into_iter().take(gpus.0 as usize).collect(), None)
                }
                _ => (GpuList::new(), None),
            };
            Some(Share { node: name, tasks, cpus, memory: Bytes::from_mib(16), gpus, gpu_milli })
        };
        let allocation = Allocation::new((0..nodes).filter_map(share).collect()).ok()?;
        for share in allocation.shares() {
            let beside = taken.entry(share.node.clone()).or_default();
            *beside = beside.union(&share.cpus);
        }
        let id = AttemptId { key, attempt: element.next_attempt() };
        Some(RoundStart { id, allocation, group: None })
    }

    /// Preempts a running job for a waiting one, or any job for any other.
    pub(super) fn preempt(&mut self, victim: u8, by: u8, how: u8) -> Result<(), TestCaseError> {
        let any: Vec<JobKey> = self.state.live().collect();
        let (holding, waiting) = match how % 8 {
            0 => (any.clone(), any),
            _ => (
                self.in_phase(Phase::holds_resources),
                self.in_phase(|phase| phase == Phase::Pending),
            ),
        };
        let Some((key, by)) = pick(&holding, victim).zip(pick(&waiting, by)) else { return Ok(()) };
        let attempt = self.state.element(key).map_or(Attempt(0), |(_, element)| element.attempt);
        let id = AttemptId { key, attempt: Attempt(attempt.0 + u32::from(how % 16 == 1)) };
        let why = [
            PreemptReason::Priority,
            PreemptReason::Reclaim,
            PreemptReason::HeadTimeout,
            PreemptReason::Move,
        ];
        let preempted = Preempted { by, why: why[usize::from(how % 4)] };
        let mode = if how < 180 { VictimMode::Requeue } else { VictimMode::Cancel };
        let moves = preempted.why == PreemptReason::Move;
        let to = self.state.nodes().take(usize::from(moves)).map(|(name, _)| name.clone());
        // The whole job, or its last nodes.
        let keeps = Nodes(u32::from(how / 5 % 3));
        let shrinks = vec![RoundShrink { id, preempted, keeps }];
        let preempts = vec![RoundPreempt { id, preempted, mode, to: to.collect() }];
        let (preempts, shrinks) = match how % 5 {
            0 | 1 => (Vec::new(), shrinks),
            2 => (preempts, shrinks),
            _ => (preempts, Vec::new()),
        };
        self.apply(Command::EnactRound { preempts, shrinks, starts: vec![], grows: vec![] })
    }

    /// Starts an elastic gang if there is room, and shrinks it.
    pub(super) fn press(&mut self, at: u8, by: u8, how: u8) -> Result<(), TestCaseError> {
        // This shape asks for 2 to 4 tasks.
        let asks = self.submission(12, how);
        self.submissions.push(asks.clone());
        self.apply(asks)?;
        let key = JobKey::single(self.state.last_job_id());
        let Some(start) = self.first_fit(key, at, 0, &mut BTreeMap::new()) else { return Ok(()) };
        let (id, nodes) = (start.id, start.allocation.clone());
        let (preempts, shrinks) = (Vec::new(), Vec::new());
        self.apply(Command::EnactRound { preempts, shrinks, starts: vec![start], grows: vec![] })?;
        for phase in [StepPhase::Ready, step_phase(2)] {
            for share in nodes.shares().iter().filter(|_| how < 240) {
                let (node, phase) = (share.node.clone(), phase.clone());
                let steps = vec![StepStatus { id, phase }];
                self.apply(Command::ReportSteps { node, steps })?;
            }
        }
        let waiting = self.in_phase(|phase| phase == Phase::Pending);
        let Some(by) = pick(&waiting, by) else { return Ok(()) };
        let preempted = Preempted { by, why: PreemptReason::Reclaim };
        let shrinks = vec![RoundShrink { id, preempted, keeps: Nodes(u32::from(how % 4)) }];
        self.apply(Command::EnactRound {
            preempts: Vec::new(),
            shrinks,
            starts: Vec::new(),
            grows: vec![],
        })
    }

    /// Starts a growing job on one node and gives it more nodes, correctly or with a mistake.
    pub(super) fn swell(&mut self, at: u8, how: u8, more: u8) -> Result<(), TestCaseError> {
        let growers = self.in_phase(|phase| phase == Phase::Running);
        let grows = |key: &JobKey| {
            let asked = self.state.element(*key).map(|(record, _)| &record.spec.ask.request);
            asked.is_some_and(|asked| asked.grow)
        };
        let growers: Vec<JobKey> = growers.into_iter().filter(grows).collect();
        let known = pick(&growers, more).filter(|_| !how.is_multiple_of(3));
        let key = match known {
            Some(key) => key,
            None => {
                // Shape 12 asks for two to four tasks; this variant grows.
                let asks = self.submission(28 + 32 * (how % 2), how);
                self.submissions.push(asks.clone());
                self.apply(asks)?;
                let key = JobKey::single(self.state.last_job_id());
                if self.state.element(key).is_none() {
                    return Ok(());
                }
                let id = AttemptId { key, attempt: Attempt(1) };
                let first = self.free_share(at, Tasks(2), 0);
                let Some(first) = first else { return Ok(()) };
                let node = first.node.clone();
                let Ok(allocation) = Allocation::new(vec![first]) else { return Ok(()) };
                let starts = vec![RoundStart { id, allocation, group: None }];
                let (preempts, shrinks) = (Vec::new(), Vec::new());
                self.apply(Command::EnactRound { preempts, shrinks, starts, grows: Vec::new() })?;
                let steps = vec![StepStatus { id, phase: step_phase(2) }];
                self.apply(Command::ReportSteps { node, steps })?;
                key
            }
        };
        let attempt = self.state.element(key).map_or(Attempt(0), |(_, element)| element.attempt);
        let id = AttemptId { key, attempt: Attempt(attempt.0 + u32::from(how > 250)) };
        let count = 1 + more % 2;
        let shares = (1..=count).filter_map(|next| {
            let tasks = Tasks(1 + u32::from(how % 32 == 31));
            self.free_share(at.wrapping_add(next), tasks, how)
        });
        let grows = vec![RoundGrow { id, shares: shares.collect() }];
        let (preempts, shrinks, starts) = (Vec::new(), Vec::new(), Vec::new());
        self.apply(Command::EnactRound { preempts, shrinks, starts, grows })?;
        // Sometimes the joining nodes run it at once.
        for next in 1..=count {
            if how % 4 < 2 {
                let steps = vec![StepStatus { id, phase: step_phase(1 + how % 2) }];
                let node = node(at.wrapping_add(next));
                self.apply(Command::ReportSteps { node, steps })?;
            }
        }
        Ok(())
    }

    /// A share of this number of tasks on this node with one free CPU each, or with CPUs that are
    /// not free.
    fn free_share(&self, at: u8, tasks: Tasks, how: u8) -> Option<Share> {
        let name = node(at);
        let there = &self.state.node(&name)?.inventory;
        let busy = self.state.ledger().holdings_on(&name).map(|held| held.cpus().clone());
        let busy = busy.filter(|_| how < 245).unwrap_or_default();
        let free = there.cpus.difference(&busy);
        let cpus = free.iter().take(tasks.0 as usize).collect();
        let (memory, gpus) = (Bytes::from_mib(16), GpuList::new());
        Some(Share { node: name, tasks, cpus, memory, gpus, gpu_milli: None })
    }

    fn in_phase(&self, wanted: impl Fn(Phase) -> bool) -> Vec<JobKey> {
        let is = |key: &JobKey| self.state.element(*key).is_some_and(|(_, e)| wanted(e.phase));
        self.state.live().filter(is).collect()
    }
}
