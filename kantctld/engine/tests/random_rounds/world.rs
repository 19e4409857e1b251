//! A short history: rounds are judged and enacted, time passes, jobs arrive and end, nodes and
//! bookings appear and disappear. Whether the engine is right is decided by the judge and the
//! tests.

use super::draw::Draw;
use super::{cluster, jobs, policies};
use common::cpuset::CpuSet;
use common::gpu::GpuKind;
use common::id::{Attempt, GpuIndex, JobKey, NodeName};
use common::job::{Moving, PreemptReason};
use common::policy::{MOVE_KEPT, Policy, VictimMode};
use common::reservation::Reservation;
use common::resource::{Allocation, Share};
use common::time::{Span, Time};
use common::unit::{Bytes, Nodes, Tasks};
use engine::check::{Violation, check, check_decisions};
use engine::{
    Decision, Growing, NodeSnapshot, Round, RunningJob, Snapshot, WaitingJob, nodes_min, schedule,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub const START: Time = Time(1_700_000_000_000);

/// A running job, and when it will end.
#[derive(Debug, Clone)]
pub struct Real {
    pub job: WaitingJob,
    pub ends_at: Time,
}

pub struct World {
    pub draw: Draw,
    pub now: Time,
    pub snapshot: Snapshot,
    pub policy: Policy,
    /// Set under fair sharing: the number from which the queues' weights follow.
    pub fair: Option<u32>,
    pub nodes: Vec<NodeSnapshot>,
    pub bookings: Vec<Reservation>,
    pub real: BTreeMap<JobKey, Real>,
    pub next_job: u32,
    pub ran: BTreeSet<JobKey>,
    pub rounds: u32,
    pub starts: u32,
    /// By reason: priority, reclaim, head timeout.
    pub preempts: [u32; 3],
    /// How many of them were for components of a job.
    pub for_sets: u32,
    /// The number of jobs that gave up nodes, and those that are giving them up, until when.
    pub shrunk: u32,
    pub shrinking: BTreeMap<JobKey, Time>,
    /// Whether some jobs grow while they run, how many did, and the nodes that jobs gave up.
    pub grows: bool,
    pub grown: u32,
    pub had: BTreeMap<JobKey, BTreeSet<NodeName>>,
    /// Draws for checkpoints of running jobs, apart from the other draws so that those do not
    /// change; and how many were saved.
    pub saver: Option<Draw>,
    pub saves: u32,
    pub saved_moves: u32,
    /// Whether GPUs are cut (MIG). Then half of the jobs that would name a kind name that of MIG
    /// devices.
    pub is_cut: bool,
    /// Whether there is a rare kind of GPU, which jobs name in place of the other.
    pub has_third: bool,
    /// The number of moves, and the times of recent ones.
    pub moves: u32,
    pub moved_at: Vec<Time>,
}

impl World {
    pub fn new(seed: u64) -> Self {
        let mut draw = Draw::new(seed);
        let nodes = cluster::nodes(&mut draw);
        let count = u32::try_from(nodes.len()).unwrap();
        let topology = cluster::topology(&mut draw, count);
        let policy = policies::policy(&mut draw, topology, count);
        let mut snapshot = Snapshot::default();
        snapshot.set_policy(Arc::new(policy.clone()));
        nodes.iter().for_each(|node| snapshot.set_node(node));
        // Some search their line in small steps.
        if draw.once_in(4) {
            snapshot.set_trials_max(draw.within(1, 5));
        }
        Self {
            draw,
            now: START,
            snapshot,
            policy,
            fair: None,
            nodes,
            bookings: Vec::new(),
            real: BTreeMap::new(),
            next_job: 0,
            ran: BTreeSet::new(),
            rounds: 0,
            starts: 0,
            preempts: [0; 3],
            for_sets: 0,
            shrunk: 0,
            shrinking: BTreeMap::new(),
            grows: false,
            grown: 0,
            had: BTreeMap::new(),
            saver: None,
            saves: 0,
            saved_moves: 0,
            is_cut: false,
            has_third: false,
            moves: 0,
            moved_at: Vec::new(),
        }
    }

    /// The same with GPUs of a rare kind.
    pub fn with_third(mut self) -> Self {
        self.has_third = true;
        self.nodes = self.nodes.into_iter().map(cluster::third).collect();
        self.nodes.iter().for_each(|node| self.snapshot.set_node(node));
        self
    }

    /// The same with GPUs that are cut into MIG devices.
    pub fn cut(mut self) -> Self {
        self.is_cut = true;
        self.nodes = self.nodes.into_iter().map(cluster::cut).collect();
        self.nodes.iter().for_each(|node| self.snapshot.set_node(node));
        self
    }

    /// The same with jobs that save checkpoints.
    pub fn saving(mut self, seed: u64) -> Self {
        self.saver = Some(Draw::new(seed + 1_000_000));
        self
    }

    pub fn arrive(&mut self, count: u32) {
        let queues = u32::try_from(self.policy.queues.len()).unwrap();
        for _ in 0..count {
            let came = jobs::arrive(&mut self.draw, &mut self.next_job, queues, self.now);
            let booking = self.bookings.first().filter(|_| self.draw.once_in(3)).cloned();
            for mut job in came {
                let asked = &job.request;
                let has_range = asked.tasks_min.is_some_and(|least| least < asked.tasks);
                let grows = self.grows && has_range && asked.nodes.is_none();
                if grows && asked.segment.is_none() {
                    Arc::make_mut(&mut job.request).grow = true;
                }
                let names_one = job.request.gpu_kind.as_ref().is_some_and(|kind| kind.0 == "a100");
                let has_choice = !job.request.gpu_kinds_or.is_empty();
                if self.is_cut && has_choice && !names_one {
                    // Whole GPUs or MIG devices.
                    Arc::make_mut(&mut job.request).gpu_kinds_or =
                        vec![GpuKind(cluster::MIG.to_owned())];
                }
                if self.has_third && names_one {
                    Arc::make_mut(&mut job.request).gpu_kind =
                        Some(GpuKind(cluster::THIRD.to_owned()));
                }
                if self.is_cut && names_one {
                    Arc::make_mut(&mut job.request).gpu_kind =
                        Some(GpuKind(cluster::MIG.to_owned()));
                }
                job.reservation = booking.as_ref().map(|booking| booking.name.clone());
                self.snapshot.set_waiting(job);
            }
        }
    }

    /// Runs a round, judges it and enacts it.
    ///
    /// # Errors
    /// The faults that the judge found.
    pub fn round(&mut self) -> Result<Round, String> {
        self.rounds += 1;
        self.snapshot.prepare_for_round(self.now);
        let round = schedule(&self.snapshot, self.now);
        let mut wrong = check(&self.snapshot, self.now, &round);
        wrong.extend(check_decisions(&self.snapshot, self.now, &round.decisions));
        if !wrong.is_empty() {
            let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
            self.show(&round);
            return Err(wrong.join("; "));
        }
        if self.draw.once_in(40) {
            self.is_the_same_when_read_again(&round)?;
        }
        if self.draw.once_in(20) {
            self.a_spoilt_round_is_noticed(&round)?;
        }
        for decision in &round.decisions {
            self.enact(decision);
        }
        self.snapshot.set_planned_starts(round.planned_starts.clone());
        self.snapshot.set_resume_cursor(round.resume_cursor.clone());
        Ok(round)
    }

    /// Prints a faulty round in full when a single history is replayed.
    pub fn show(&self, round: &Round) {
        if std::env::var_os("KANT_SEED").is_some() {
            println!("{}", serde_json::to_string(&self.snapshot).unwrap_or_default());
            println!("{}", serde_json::to_string(&round).unwrap_or_default());
        }
    }

    /// Checks that the judge notices a start that is made wrong.
    fn a_spoilt_round_is_noticed(&mut self, round: &Round) -> Result<(), String> {
        let mut spoilt = round.clone();
        let Some(Decision::Start { key, allocation, .. }) = spoilt.decisions.last_mut() else {
            return Ok(());
        };
        let key = *key;
        let mut shares: Vec<Share> = allocation.clone().into();
        // An elastic job may have one more; it has not if another queue is entitled to it.
        let all = self.snapshot.waiting_job(key).map_or(Tasks(1), |job| job.request.tasks);
        match self.draw.below(5) {
            0 => shares[0].tasks += all,
            1 => shares[0].memory += Bytes(1 << 40),
            2 => shares[0].cpus = CpuSet::new(),
            3 => {
                let gpus = shares[0].gpus.iter().copied();
                shares[0].gpus = gpus.chain([GpuIndex(99)]).collect();
            }
            _ => shares[0].node = cluster::name(99),
        }
        *allocation = Allocation::new(shares).map_err(|error| error.to_string())?;
        let wrong = check(&self.snapshot, self.now, &spoilt);
        let quick = check_decisions(&self.snapshot, self.now, &spoilt.decisions);
        let is_in = |wrong: &[Violation]| wrong.iter().any(|violation| violation.key == key);
        let found = is_in(&wrong) && is_in(&quick);
        if found { Ok(()) } else { Err(format!("the judge overlooks {spoilt:?}")) }
    }

    /// Checks that a snapshot kept up to date decides like one made from scratch.
    fn is_the_same_when_read_again(&self, round: &Round) -> Result<(), String> {
        let text = serde_json::to_string(&self.snapshot).map_err(|error| error.to_string())?;
        let read: Snapshot = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        if read != self.snapshot {
            return Err("a snapshot changes when it is written and read".to_owned());
        }
        let again = schedule(&read, self.now);
        if (&again.decisions, &again.planned_starts) != (&round.decisions, &round.planned_starts)
            || again.next_look != round.next_look
        {
            return Err(format!("kept up to date: {round:?}; rebuilt: {again:?}"));
        }
        let mut settled = read;
        settled.prepare_for_round(self.now);
        for job in self.snapshot.all_waiting() {
            let (kept, rebuilt) = (
                round.waits.reason_of(&self.snapshot, job.key),
                again.waits.reason_of(&settled, job.key),
            );
            if kept != rebuilt {
                return Err(format!("job {} waits for {kept:?}, rebuilt {rebuilt:?}", job.key));
            }
        }
        Ok(())
    }

    fn enact(&mut self, decision: &Decision) {
        match decision {
            Decision::Start { key, attempt, allocation, .. } => {
                self.starts += 1;
                self.start(*key, *attempt, allocation);
            }
            Decision::Preempt { key, by, reason, to, .. } => {
                let reason = match reason {
                    PreemptReason::Priority => Some(0),
                    PreemptReason::Reclaim => Some(1),
                    PreemptReason::HeadTimeout => Some(2),
                    PreemptReason::Move => None,
                };
                let is_set = |job: &Arc<WaitingJob>| job.together.is_some();
                self.for_sets += u32::from(self.snapshot.waiting_job(*by).is_some_and(is_set));
                match reason {
                    Some(reason) => self.preempts[reason] += 1,
                    None => self.moves += 1,
                }
                let running = self.snapshot.running_job(*key).map(|job| RunningJob::clone(job));
                let Some(mut running) = running else { return };
                let has_saved = reason.is_none() && running.saved_at.is_some();
                self.saved_moves += u32::from(has_saved);
                running.ending = true;
                running.yields_to = Some(*by);
                let over = self.now + Span::from_seconds(self.draw.within(1, 90).into());
                if let Some(real) = self.real.get_mut(key) {
                    real.ends_at = real.ends_at.min(over);
                }
                let again = WaitingJob {
                    attempt: Attempt(running.attempt.0 + 1),
                    ..self.real[key].job.clone()
                };
                self.snapshot.set_running(running);
                if reason.is_none() {
                    self.snapshot.set_movable(*key, Some(Arc::new(again)));
                    let until = self.now + MOVE_KEPT;
                    self.snapshot.set_moving(*key, Some(Moving { to: to.clone(), until }));
                    self.moved_at.push(self.now);
                    self.snapshot.set_move_times(self.moved_at.clone());
                }
            }
            Decision::Shrink { key, keeps, by, .. } => {
                self.shrunk += 1;
                let running = self.snapshot.running_job(*key).map(|job| RunningJob::clone(job));
                let Some(mut running) = running else { return };
                let all = u32::try_from(running.allocation.shares().len()).unwrap();
                running.leaving = all - keeps.0;
                running.yields_to = Some(*by);
                self.set_again(running);
                let over = self.now + Span::from_seconds(self.draw.within(1, 90).into());
                self.shrinking.insert(*key, over);
            }
            Decision::Grow { key, shares, .. } => {
                self.grown += 1;
                self.snapshot.grow(*key, shares);
            }
            _ => {}
        }
    }

    /// Registers how a running job would wait again if it were moved.
    pub fn set_again(&mut self, running: RunningJob) {
        let (key, attempt) = (running.key, Attempt(running.attempt.0 + 1));
        let again = WaitingJob { attempt, ..self.real[&key].job.clone() };
        self.snapshot.set_running(running);
        self.snapshot.set_movable(key, Some(Arc::new(again)));
    }

    fn start(&mut self, key: JobKey, attempt: Attempt, allocation: &Allocation) {
        let Some(job) = self.snapshot.waiting_job(key).map(|job| WaitingJob::clone(job)) else {
            return;
        };
        self.ran.insert(key);
        let queue = self.policy.queues.iter().find(|queue| queue.name == job.queue);
        let preemption = queue.map(|queue| queue.preemption).unwrap_or_default();
        let limit = job.time_limit.unwrap_or(Span::from_minutes(120));
        let percent = self.draw.one(&[20_u64, 50, 80, 100, 100, 101]);
        let ends_at = self.now + Span((limit.0 * percent / 100).max(1000));
        self.snapshot.set_running(RunningJob {
            key,
            attempt,
            allocation: Arc::new(allocation.clone()),
            ends_by: job.time_limit.map(|limit| self.now + limit),
            owner: job.owner,
            queue: job.queue.clone(),
            account: job.account.clone(),
            qos: job.qos.clone(),
            nice: job.nice,
            submitted_at: job.submitted_at,
            started_at: self.now,
            saved_at: None,
            whole_nodes: job.request.exclusive,
            group: job.request.group(),
            preemptible: job.preemptible.unwrap_or(preemption.preemptible),
            victim_mode: preemption.victims,
            ending: false,
            yields_to: None,
            nodes_min: nodes_min(&job.request, allocation.shares()),
            leaving: 0,
        });
        let again = WaitingJob { attempt: Attempt(attempt.0 + 1), ..job.clone() };
        self.snapshot.set_movable(key, Some(Arc::new(again)));
        let growing = Growing::of(&job).filter(|growing| growing.has_room(allocation.tasks()));
        self.snapshot.set_growing(key, growing.map(Arc::new));
        self.had.remove(&key);
        self.real.insert(key, Real { job, ends_at });
    }

    /// Advances the time. Jobs that have reached their end are done, or wait again.
    pub fn pass(&mut self, until: Time) {
        self.now = until.max(self.now);
        let over: Vec<JobKey> = self
            .real
            .iter()
            .filter(|(_, real)| real.ends_at <= until)
            .map(|(key, _)| *key)
            .collect();
        for key in over {
            self.end(key);
        }
        let given_up: Vec<JobKey> =
            self.shrinking.iter().filter(|(_, at)| **at <= until).map(|(key, _)| *key).collect();
        for key in given_up {
            self.shrinking.remove(&key);
            let running = self.snapshot.running_job(key).filter(|job| job.leaving > 0);
            if let Some(job) = running.cloned() {
                let stays = u32::try_from(job.staying_shares().len()).unwrap();
                self.snapshot.shrink(key, Nodes(stays));
                let had = self.had.entry(key).or_default();
                had.extend(job.given_up_shares().iter().map(|share| share.node.clone()));
                let had = had.clone();
                let growing = Growing::of(&self.real[&key].job);
                let growing = growing.map(|growing| Arc::new(Growing { had, ..growing }));
                self.snapshot.set_growing(key, growing);
            }
        }
    }

    fn end(&mut self, key: JobKey) {
        let Some(real) = self.real.remove(&key) else { return };
        let Some(running) = self.snapshot.running_job(key).cloned() else { return };
        let yielded = running.yields_to.is_some() && running.victim_mode == VictimMode::Requeue;
        if yielded {
            let attempt = Attempt(running.attempt.0 + 1);
            self.snapshot.set_waiting(WaitingJob { attempt, ..real.job });
        } else {
            self.snapshot.remove_job(key);
        }
    }

    /// The time of the next known event.
    pub fn next_event(&self) -> Option<Time> {
        let ends = self.real.values().map(|real| real.ends_at);
        let gates = self.snapshot.all_waiting().filter(|job| !job.held);
        let gates = gates.filter_map(|job| job.begin_at.max(job.not_before));
        let bookings = self.bookings.iter().flat_map(|booking| [booking.from, booking.to]);
        let shrinking = self.shrinking.values().copied();
        ends.chain(shrinking).chain(gates).chain(bookings).filter(|time| *time > self.now).min()
    }

    pub fn is_idle(&self) -> bool {
        self.real.is_empty()
    }
}
