//! A little history: rounds are judged and enacted, time passes, jobs come and end, nodes and
//! bookings come and go. Never asks the engine whether it did right; the judge and the tests do.

use super::draw::Draw;
use super::{cluster, jobs, policies};
use common::id::{Attempt, JobKey, NodeName, ReservationName, Uid};
use common::policy::{Access, Policy, VictimMode};
use common::reservation::Reservation;
use common::resource::Allocation;
use common::time::{Span, Time};
use engine::check::check;
use engine::{Decision, NodeSnapshot, Round, RunningJob, Snapshot, Unusable, WaitingJob, schedule};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub const START: Time = Time(1_700_000_000_000);

/// A running job, and how it will go on.
#[derive(Debug, Clone)]
struct Real {
    job: WaitingJob,
    ends_at: Time,
}

/// All there is.
pub struct World {
    pub draw: Draw,
    pub now: Time,
    pub snapshot: Snapshot,
    pub policy: Policy,
    pub nodes: Vec<NodeSnapshot>,
    bookings: Vec<Reservation>,
    real: BTreeMap<JobKey, Real>,
    next_job: u32,
    pub ran: BTreeSet<JobKey>,
    pub rounds: u32,
    pub starts: u32,
    pub preempts: u32,
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
        Self {
            draw,
            now: START,
            snapshot,
            policy,
            nodes,
            bookings: Vec::new(),
            real: BTreeMap::new(),
            next_job: 0,
            ran: BTreeSet::new(),
            rounds: 0,
            starts: 0,
            preempts: 0,
        }
    }

    /// Jobs come.
    pub fn arrive(&mut self, count: u32) {
        let queues = u32::try_from(self.policy.queues.len()).unwrap();
        for _ in 0..count {
            let came = jobs::arrive(&mut self.draw, &mut self.next_job, queues, self.now);
            let booking = self.bookings.first().filter(|_| self.draw.once_in(3)).cloned();
            for mut job in came {
                job.reservation = booking.as_ref().map(|booking| booking.name.clone());
                self.snapshot.set_waiting(job);
            }
        }
    }

    /// A round, judged and enacted. Says how many decisions it took.
    ///
    /// # Errors
    /// What the judge says.
    pub fn round(&mut self) -> Result<Round, String> {
        self.rounds += 1;
        self.snapshot.settle(self.now);
        let round = schedule(&self.snapshot, self.now);
        let wrong = check(&self.snapshot, self.now, &round);
        if !wrong.is_empty() {
            let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
            self.show(&round);
            return Err(wrong.join("; "));
        }
        if self.draw.once_in(40) {
            self.is_the_same_when_read_again(&round)?;
        }
        for decision in &round.decisions {
            self.enact(decision);
        }
        self.snapshot.set_promises(round.promises.clone());
        Ok(round)
    }

    /// When one history is replayed, what went wrong is shown in full.
    pub fn show(&self, round: &Round) {
        if std::env::var_os("KANT_SEED").is_some() {
            println!("{}", serde_json::to_string(&self.snapshot).unwrap_or_default());
            println!("{}", serde_json::to_string(&round).unwrap_or_default());
        }
    }

    /// A snapshot kept up to date decides as one made anew.
    fn is_the_same_when_read_again(&self, round: &Round) -> Result<(), String> {
        let text = serde_json::to_string(&self.snapshot).map_err(|error| error.to_string())?;
        let read: Snapshot = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        if read != self.snapshot {
            return Err("a snapshot changes when it is written and read".to_owned());
        }
        let again = schedule(&read, self.now);
        if (&again.decisions, &again.promises) != (&round.decisions, &round.promises)
            || again.next_look != round.next_look
        {
            return Err(format!("kept up to date: {round:?}; made anew: {again:?}"));
        }
        let mut settled = read;
        settled.settle(self.now);
        for job in self.snapshot.all_waiting() {
            let (kept, anew) =
                (round.waits.of(&self.snapshot, job.key), again.waits.of(&settled, job.key));
            if kept != anew {
                return Err(format!("job {} waits for {kept:?}, made anew {anew:?}", job.key));
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
            Decision::Preempt { key, by, .. } => {
                self.preempts += 1;
                let running = self.snapshot.running(*key).map(|job| RunningJob::clone(job));
                let Some(mut running) = running else { return };
                running.ending = true;
                running.yields_to = Some(*by);
                let over = self.now + Span::from_seconds(self.draw.within(1, 90).into());
                if let Some(real) = self.real.get_mut(key) {
                    real.ends_at = real.ends_at.min(over);
                }
                self.snapshot.set_running(running);
            }
            _ => {}
        }
    }

    fn start(&mut self, key: JobKey, attempt: Attempt, allocation: &Allocation) {
        let Some(job) = self.snapshot.waiting(key).map(|job| WaitingJob::clone(job)) else {
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
            whole_nodes: job.request.exclusive,
            group: job.request.per_node_max.as_ref().map(|most| most.group.as_str().into()),
            preemptible: job.preemptible.unwrap_or(preemption.preemptible),
            victim_mode: preemption.victims,
            ending: false,
            yields_to: None,
        });
        self.real.insert(key, Real { job, ends_at });
    }

    /// Time passes; jobs whose time is up are over, or wait again.
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
    }

    fn end(&mut self, key: JobKey) {
        let Some(real) = self.real.remove(&key) else { return };
        let Some(running) = self.snapshot.running(key).cloned() else { return };
        let yielded = running.yields_to.is_some() && running.victim_mode == VictimMode::Requeue;
        if yielded {
            let attempt = Attempt(running.attempt.0 + 1);
            self.snapshot.set_waiting(WaitingJob { attempt, ..real.job });
        } else {
            self.snapshot.remove_job(key);
        }
    }

    /// When something is next known to happen.
    pub fn next_event(&self) -> Option<Time> {
        let ends = self.real.values().map(|real| real.ends_at);
        let gates = self.snapshot.all_waiting().filter(|job| !job.held);
        let gates = gates.filter_map(|job| job.begin_at.max(job.not_before));
        let bookings = self.bookings.iter().flat_map(|booking| [booking.from, booking.to]);
        ends.chain(gates).chain(bookings).filter(|time| *time > self.now).min()
    }

    pub fn is_idle(&self) -> bool {
        self.real.is_empty()
    }

    /// Something happens that nobody planned.
    pub fn surprise(&mut self) {
        match self.draw.below(12) {
            0 | 1 => {
                let at = self.draw.below(u32::try_from(self.nodes.len()).unwrap()) as usize;
                let state =
                    self.draw.one(&[None, None, Some(Unusable::Drained), Some(Unusable::Down)]);
                self.nodes[at].unusable = state;
                self.snapshot.set_node(&self.nodes[at]);
                if state == Some(Unusable::Down) {
                    self.lose(&self.nodes[at].name.clone());
                }
            }
            2 => self.free_held(),
            3 => {
                let keys: Vec<JobKey> = self.snapshot.all_waiting().map(|job| job.key).collect();
                if !keys.is_empty() {
                    let key = self.draw.one(&keys);
                    self.snapshot.remove_job(key);
                }
            }
            4 | 5 if self.bookings.len() < 2 => self.book(),
            6 => {
                let (topology, nodes) = (self.policy.topology.clone(), self.nodes.len());
                let nodes = u32::try_from(nodes).unwrap();
                let new = policies::policy(&mut self.draw, topology, nodes);
                if new.queues.len() >= self.policy.queues.len() {
                    self.set_policy(new);
                }
            }
            7 => {
                // A job that does not get off the ground.
                let keys: Vec<JobKey> = self.real.keys().copied().collect();
                if !keys.is_empty() {
                    self.fail_to_launch(keys);
                }
            }
            8 if self.nodes.len() < 8 => {
                let number = u32::try_from(self.nodes.len()).unwrap();
                let node = cluster::node(&mut self.draw, number);
                self.snapshot.set_node(&node);
                self.nodes.push(node);
            }
            _ => {}
        }
    }

    fn fail_to_launch(&mut self, keys: Vec<JobKey>) {
        let key = self.draw.one(&keys);
        let Some(real) = self.real.remove(&key) else { return };
        let attempt = self.snapshot.running(key).map_or(Attempt(1), |job| job.attempt);
        let not_before = Some(self.now + Span::from_seconds(30));
        self.snapshot.set_waiting(WaitingJob {
            attempt: Attempt(attempt.0 + 1),
            not_before,
            ..real.job
        });
    }

    /// The jobs of a lost node wait again.
    fn lose(&mut self, node: &NodeName) {
        let there = |key: &&JobKey| {
            self.snapshot.running(**key).is_some_and(|job| job.allocation.on(node).is_some())
        };
        let lost: Vec<JobKey> = self.real.keys().filter(there).copied().collect();
        for key in lost {
            if let Some(real) = self.real.remove(&key) {
                let attempt = self.snapshot.running(key).map_or(Attempt(1), |job| job.attempt);
                let attempt = Attempt(attempt.0 + 1);
                self.snapshot.set_waiting(WaitingJob { attempt, ..real.job });
            }
        }
    }

    pub fn free_held(&mut self) {
        let held: Vec<WaitingJob> = self
            .snapshot
            .all_waiting()
            .filter(|job| job.held)
            .map(|job| WaitingJob { held: false, ..WaitingJob::clone(job) })
            .collect();
        held.into_iter().for_each(|job| self.snapshot.set_waiting(job));
    }

    pub fn set_policy(&mut self, policy: Policy) {
        self.snapshot.set_policy(Arc::new(policy.clone()));
        self.policy = policy;
    }

    fn book(&mut self) {
        let from = self.now + Span::from_minutes(self.draw.one(&[0, 10, 40]));
        let nodes = self.nodes.iter().filter(|_| self.draw.once_in(2));
        let nodes = nodes.map(|node| node.name.clone()).collect();
        self.next_job += 1;
        self.bookings.push(Reservation {
            name: ReservationName::new(format!("r{}", self.next_job)).unwrap(),
            nodes,
            from,
            to: from + Span::from_minutes(self.draw.one(&[20, 60])),
            access: Access::default(),
            maintenance: false,
            by: Uid(0),
            comment: String::new(),
        });
        self.snapshot.set_reservations(self.bookings.clone());
    }

    /// Bookings that are over are forgotten.
    pub fn tidy(&mut self) {
        let before = self.bookings.len();
        self.bookings.retain(|booking| booking.to > self.now);
        if self.bookings.len() < before {
            self.snapshot.set_reservations(self.bookings.clone());
        }
    }

    /// All nodes are up.
    pub fn mend(&mut self) {
        for node in &mut self.nodes {
            if node.unusable.take().is_some() {
                self.snapshot.set_node(node);
            }
        }
    }
}
