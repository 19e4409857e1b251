//! The course of a replay: ends, arrivals, rounds, in the order of time. Never schedules; a
//! [`Stage`] does.

use super::ask::Asks;
use super::record::Record;
use super::stage::{Stage, asks_for_another};
use super::{Cluster, Plan, Progress, ReplayError, Watcher};
use crate::report::Outcome;
use crate::trace::Job;
use common::id::{Attempt, JobId, JobKey};
use common::policy::VictimMode;
use common::resource::Allocation;
use common::time::{Span, Time};
use engine::{Decision, RunningJob, WaitingJob};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Without anything running or arriving, so many looks that start nobody end a replay: what still
/// waits would wait for ever.
const IDLE_LOOKS_MAX: u32 = 10_000;

/// What a job's life is like: as long as it ran, at most its walltime, at least a moment.
pub(super) fn true_run(job: &Job) -> Span {
    let run = job.walltime.map_or(job.runtime, |walltime| job.runtime.min(walltime));
    run.max(Span(1))
}

/// One job of the trace on its way.
struct Tracked {
    /// As it waits; the attempt rises when it is made to yield.
    waiting: WaitingJob,
    preemptible: bool,
    run: Span,
    /// Where and since when it runs.
    running: Option<(Arc<Allocation>, Time)>,
}

/// A replay under way.
pub(super) struct Play<'a, S: Stage> {
    plan: &'a Plan<'a>,
    stage: &'a mut S,
    record: Record<'a>,
    jobs: Vec<Tracked>,
    victims: Vec<VictimMode>,
    /// The next job of the trace to arrive.
    next: usize,
    /// When running jobs end.
    ends: BTreeSet<(Time, JobKey)>,
    /// When the engine wants to look again.
    look: Option<Time>,
    never_fit: Vec<usize>,
    over: usize,
}

impl<'a, S: Stage> Play<'a, S> {
    pub fn new(
        plan: &'a Plan<'a>,
        cluster: &'a Cluster,
        stage: &'a mut S,
    ) -> Result<Self, ReplayError> {
        if u32::try_from(plan.jobs.len()).is_err() {
            return Err(ReplayError::TooManyJobs { jobs: plan.jobs.len(), most: u32::MAX });
        }
        let mut asks = Asks::new(plan.policy, cluster.scale());
        let jobs = (1..).zip(plan.jobs).map(|(number, job)| {
            let party = asks.party(job);
            let waiting = WaitingJob {
                key: JobKey::single(JobId(number)),
                attempt: Attempt(1),
                owner: party.owner,
                queue: party.queue,
                account: party.account,
                qos: party.qos,
                request: asks.request(job),
                time_limit: Some(job.estimate(plan.estimates).max(Span(1))),
                nice: 0,
                submitted_at: job.submit,
                begin_at: None,
                not_before: None,
                deadline: None,
                held: false,
                array_limit: None,
                preemptible: None,
                reservation: None,
                service: job.kind == "inference",
                together: None,
            };
            let (preemptible, run) = (party.preemptible, true_run(job));
            Tracked { waiting, preemptible, run, running: None }
        });
        let jobs: Vec<Tracked> = jobs.collect();
        let mode = |job: &Tracked| {
            let mut queues = plan.policy.queues.iter();
            let queue = queues.find(|queue| queue.name == job.waiting.queue);
            queue.map_or(VictimMode::Requeue, |queue| queue.preemption.victims)
        };
        let victims = jobs.iter().map(mode).collect();
        let record = Record::new(plan, cluster);
        let (next, ends, look, never_fit, over) = (0, BTreeSet::new(), None, Vec::new(), 0);
        Ok(Self { plan, stage, record, jobs, victims, next, ends, look, never_fit, over })
    }

    /// Plays until nothing is left to happen.
    pub fn play_out(mut self, watcher: &mut dyn Watcher) -> Result<Outcome, ReplayError> {
        let mut idle_looks = 0;
        while let Some(now) = self.next_event() {
            self.terminate(now)?;
            self.arrive(now)?;
            let decided = self.schedule(now, watcher)?;
            self.record.pass(now, self.stage.waiting())?;
            let (over, jobs) = (self.over, self.jobs.len());
            watcher.progress(Progress { over, jobs, now });
            let is_idle = !decided && self.ends.is_empty() && self.next == self.jobs.len();
            idle_looks = if is_idle { idle_looks + 1 } else { 0 };
            if idle_looks > IDLE_LOOKS_MAX {
                break;
            }
        }
        Ok(self.record.finish(&self.never_fit))
    }

    fn next_event(&self) -> Option<Time> {
        let arrival = self.plan.jobs.get(self.next).map(|job| job.submit);
        let end = self.ends.first().map(|(at, _)| *at);
        let look = self.look.filter(|_| self.stage.waiting() > 0);
        arrival.into_iter().chain(end).chain(look).min()
    }

    fn terminate(&mut self, now: Time) -> Result<(), ReplayError> {
        while let Some((at, key)) = self.ends.first().copied().filter(|(at, _)| *at <= now) {
            self.ends.remove(&(at, key));
            let which = place(key);
            self.leave(which, now)?;
            self.record.end(which, now);
            self.over += 1;
        }
        Ok(())
    }

    /// A running job lets go of its nodes.
    fn leave(&mut self, which: usize, now: Time) -> Result<(), ReplayError> {
        let job = &mut self.jobs[which];
        let Some((allocation, since)) = job.running.take() else {
            let job = self.plan.jobs[which].id;
            return Err(ReplayError::WrongState { job, expected: "running" });
        };
        self.stage.over(job.waiting.key)?;
        self.record.leave(&allocation, (since, now))
    }

    fn arrive(&mut self, now: Time) -> Result<(), ReplayError> {
        while self.plan.jobs.get(self.next).is_some_and(|job| job.submit <= now) {
            let waiting = &self.jobs[self.next].waiting;
            if self.stage.could_hold(waiting) {
                self.stage.wait(waiting.clone())?;
            } else {
                self.never_fit.push(self.next);
                self.over += 1;
            }
            self.next += 1;
        }
        Ok(())
    }

    /// Rounds until nothing more is decided now. Says whether anything was.
    fn schedule(&mut self, now: Time, watcher: &mut dyn Watcher) -> Result<bool, ReplayError> {
        let mut decided = false;
        loop {
            let before = watcher.cpu_seconds();
            let round = self.stage.round(now);
            self.record.cpu(watcher.cpu_seconds() - before);
            let again = asks_for_another(&round, now);
            // Nothing changes by itself at the same time.
            self.look = round.next_look.filter(|look| *look > now);
            decided |= !round.decisions.is_empty();
            for decision in round.decisions {
                self.carry_out(decision, now)?;
            }
            if !again {
                return Ok(decided);
            }
        }
    }

    fn carry_out(&mut self, decision: Decision, now: Time) -> Result<(), ReplayError> {
        match decision {
            Decision::Start { key, allocation, .. } => self.start(key, allocation, now),
            Decision::Preempt { key, reason, mode, .. } => {
                let which = self.known(key)?;
                let ends = self.jobs[which]
                    .running
                    .as_ref()
                    .map(|(_, since)| (*since + self.jobs[which].run, key));
                if let Some(ends) = ends {
                    self.ends.remove(&ends);
                }
                self.leave(which, now)?;
                self.record.preempted(reason);
                match mode {
                    VictimMode::Requeue => {
                        let job = &mut self.jobs[which].waiting;
                        job.attempt.0 += 1;
                        self.stage.wait(job.clone())?;
                    }
                    VictimMode::Cancel => {
                        self.record.end(which, now);
                        self.over += 1;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn start(&mut self, key: JobKey, on: Allocation, now: Time) -> Result<(), ReplayError> {
        let which = self.known(key)?;
        let job = &mut self.jobs[which];
        if job.running.is_some() {
            let job = self.plan.jobs[which].id;
            return Err(ReplayError::WrongState { job, expected: "waiting" });
        }
        self.record.start(which, &on, now)?;
        let allocation = Arc::new(on);
        job.running = Some((allocation.clone(), now));
        self.ends.insert((now + job.run, key));
        let waiting = &job.waiting;
        let group = waiting.request.per_node_max.as_ref().map(|most| most.group.as_str().into());
        self.stage.run(RunningJob {
            key,
            attempt: waiting.attempt,
            allocation,
            ends_by: waiting.time_limit.map(|limit| now + limit),
            owner: waiting.owner,
            queue: waiting.queue.clone(),
            account: waiting.account.clone(),
            qos: waiting.qos.clone(),
            nice: waiting.nice,
            submitted_at: waiting.submitted_at,
            started_at: now,
            whole_nodes: waiting.request.exclusive,
            group,
            preemptible: job.preemptible,
            victim_mode: self.victims[which],
            ending: false,
            yields_to: None,
        })
    }

    fn known(&self, key: JobKey) -> Result<usize, ReplayError> {
        let which = place(key);
        match self.jobs.get(which) {
            Some(_) => Ok(which),
            None => {
                let job = u64::from(key.job.0);
                Err(ReplayError::WrongState { job, expected: "a job of the trace" })
            }
        }
    }
}

/// The place in the trace of a job's number.
const fn place(key: JobKey) -> usize {
    (key.job.0 as usize).wrapping_sub(1)
}
