//! The course of a replay: ends, arrivals and rounds, in the order of time. A [`Stage`] schedules.

use super::ask::Asks;
use super::record::Record;
use super::stage::{Entry, Stage, needs_another_round};
use super::{Cluster, Plan, Progress, ReplayError, Watcher};
use crate::report::Outcome;
use common::id::{Attempt, JobId, JobKey};
use common::job::EndCause;
use common::policy::VictimMode;
use common::resource::Allocation;
use common::time::{Span, Time};
use engine::{Decision, WaitingJob};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use trace::Job;

/// If nothing runs or arrives, this many rounds that start no job end a replay: what still waits
/// would wait for ever.
const IDLE_LOOKS_MAX: u32 = 10_000;

/// How long a job runs: its recorded run time, at most its walltime, and at least a millisecond.
pub(super) fn true_run(job: &Job) -> Span {
    let run = job.walltime.map_or(job.runtime, |walltime| job.runtime.min(walltime));
    run.max(Span(1))
}

/// One job of the trace in progress.
struct Tracked {
    /// The job as it waits. Its key is the stage's once it has one; its attempt is incremented when
    /// it is preempted.
    waiting: WaitingJob,
    run: Span,
    /// Where and since when it runs.
    running: Option<(Arc<Allocation>, Time)>,
}

/// A replay in progress.
pub(super) struct Play<'a, S: Stage> {
    plan: &'a Plan<'a>,
    stage: &'a mut S,
    record: Record<'a>,
    jobs: Vec<Tracked>,
    /// The next job of the trace to arrive.
    next: usize,
    /// The admitted jobs, from the stage's key to the index in the trace.
    places: BTreeMap<JobKey, usize>,
    /// When running jobs end.
    ends: BTreeSet<(Time, JobKey)>,
    /// When the engine wants another round.
    look: Option<Time>,
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
        let jobs = plan.jobs.iter().map(|job| {
            let party = asks.party(job);
            let waiting = WaitingJob {
                key: JobKey::single(JobId(0)),
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
                near_all: None,
                expected: None,
                awaits: false,
            };
            Tracked { waiting, run: true_run(job), running: None }
        });
        let jobs: Vec<Tracked> = jobs.collect();
        let queues = jobs.iter().map(|job| job.waiting.queue.clone()).collect();
        let record = Record::new(plan, cluster, queues);
        let (next, places, ends, look, over) = (0, BTreeMap::new(), BTreeSet::new(), None, 0);
        Ok(Self { plan, stage, record, jobs, next, places, ends, look, over })
    }

    /// Plays until nothing is left to happen.
    pub fn play_out(mut self, watcher: &mut dyn Watcher) -> Result<Outcome, ReplayError> {
        let mut idle_looks = 0;
        while let Some(now) = self.next_event() {
            self.end_due_jobs(now)?;
            self.arrive(now)?;
            let decided = self.schedule(now, watcher)?;
            self.record.note_pass(now, self.stage.waiting_count())?;
            let (over, jobs) = (self.over, self.jobs.len());
            watcher.progress(Progress { over, jobs, now });
            let is_idle = !decided && self.ends.is_empty() && self.next == self.jobs.len();
            idle_looks = if is_idle { idle_looks + 1 } else { 0 };
            if idle_looks > IDLE_LOOKS_MAX {
                break;
            }
        }
        Ok(self.record.finish())
    }

    fn next_event(&self) -> Option<Time> {
        let arrival = self.plan.jobs.get(self.next).map(|job| job.submit);
        let end = self.ends.first().map(|(at, _)| *at);
        let look = self.look.filter(|_| self.stage.waiting_count() > 0);
        arrival.into_iter().chain(end).chain(look).min()
    }

    fn end_due_jobs(&mut self, now: Time) -> Result<(), ReplayError> {
        while let Some((at, key)) = self.ends.first().copied().filter(|(at, _)| *at <= now) {
            self.ends.remove(&(at, key));
            let which = self.index_of_job(key)?;
            self.leave(which, now)?;
            let job = &self.plan.jobs[which];
            let in_time = job.walltime.is_none_or(|walltime| job.runtime <= walltime);
            let cause = if in_time { EndCause::Exited } else { EndCause::TimedOut };
            self.stage.end_job(key, cause, now)?;
            self.record.note_end(which, now);
            self.over += 1;
        }
        Ok(())
    }

    /// A running job leaves its nodes.
    fn leave(&mut self, which: usize, now: Time) -> Result<(), ReplayError> {
        let Some((allocation, since)) = self.jobs[which].running.take() else {
            let job = self.plan.jobs[which].id;
            return Err(ReplayError::WrongState { job, expected: "running" });
        };
        self.record.note_left(which, &allocation, (since, now));
        Ok(())
    }

    fn arrive(&mut self, now: Time) -> Result<(), ReplayError> {
        while self.plan.jobs.get(self.next).is_some_and(|job| job.submit <= now) {
            let waiting = &mut self.jobs[self.next].waiting;
            let entry = self.stage.submit(waiting, now)?;
            if let Entry::Waits(key) = entry {
                waiting.key = key;
                self.places.insert(key, self.next);
            } else {
                self.over += 1;
            }
            self.record.note_arrival(self.next, &entry);
            self.next += 1;
        }
        Ok(())
    }

    /// Runs rounds until nothing more is decided now. Returns whether anything was decided.
    fn schedule(&mut self, now: Time, watcher: &mut dyn Watcher) -> Result<bool, ReplayError> {
        let mut decided = false;
        loop {
            let before = watcher.cpu_seconds();
            let round = self.stage.decide(now);
            self.record.add_cpu_seconds(watcher.cpu_seconds() - before);
            self.record.add_searches(round.searches.0);
            let again = needs_another_round(&round, now);
            // Nothing changes by itself at the same time.
            self.look = round.next_look.filter(|look| *look > now);
            decided |= !round.decisions.is_empty();
            self.stage.enact(&round, now)?;
            for decision in round.decisions {
                self.carry_out(decision, now)?;
            }
            if !again {
                return Ok(decided);
            }
        }
    }

    /// Records what a round decided, and removes victims from their nodes at once.
    fn carry_out(&mut self, decision: Decision, now: Time) -> Result<(), ReplayError> {
        match decision {
            Decision::Start { key, allocation, .. } => self.start(key, allocation, now),
            Decision::Preempt { key, reason, mode, .. } => {
                let which = self.index_of_job(key)?;
                if let Some((_, since)) = self.jobs[which].running {
                    self.ends.remove(&(since + self.jobs[which].run, key));
                }
                self.leave(which, now)?;
                self.record.count_preemption(reason);
                let job = &mut self.jobs[which].waiting;
                match mode {
                    VictimMode::Requeue => {
                        self.record.note_waiting(which);
                        job.attempt.0 += 1;
                        self.stage.end_preempted(key, Some(&*job), now)?;
                    }
                    VictimMode::Cancel => {
                        self.stage.end_preempted(key, None, now)?;
                        self.record.note_end(which, now);
                        self.over += 1;
                    }
                }
                Ok(())
            }
            // No trace records how long a job takes with fewer nodes.
            Decision::Shrink { key, .. } => {
                let job = u64::from(key.job.0);
                Err(ReplayError::WrongState { job, expected: "of one size" })
            }
            _ => Ok(()),
        }
    }

    fn start(&mut self, key: JobKey, on: Allocation, now: Time) -> Result<(), ReplayError> {
        let which = self.index_of_job(key)?;
        let job = &mut self.jobs[which];
        if job.running.is_some() {
            let job = self.plan.jobs[which].id;
            return Err(ReplayError::WrongState { job, expected: "waiting" });
        }
        self.record.note_start(which, &on, now)?;
        job.running = Some((Arc::new(on), now));
        self.ends.insert((now + job.run, key));
        Ok(())
    }

    /// The index in the trace of an admitted job.
    fn index_of_job(&self, key: JobKey) -> Result<usize, ReplayError> {
        let unknown = || {
            let job = u64::from(key.job.0);
            ReplayError::WrongState { job, expected: "a job of the trace" }
        };
        self.places.get(&key).copied().ok_or_else(unknown)
    }
}
