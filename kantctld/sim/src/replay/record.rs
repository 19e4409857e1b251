//! Records what happens in a replay, for the report.

use super::entitlement::Entitlements;
use super::placement::placements_of;
use super::stage::Entry;
use super::tally::Tally;
use super::{Cluster, Plan, ReplayError};
use crate::report::{Heatmap, JobOutcome, NodeIndex, Outcome, Preemptions, RefusedJob, Series};
use common::id::QueueName;
use common::job::PreemptReason;
use common::resource::Allocation;
use common::time::Time;
use common::unit::GpuMilli;
use trace::Job;

/// The record of one replay.
pub(super) struct Record<'a> {
    cluster: &'a Cluster,
    tally: Tally,
    outcome: Outcome,
    /// Jobs that were not admitted, by ascending index in the trace.
    left_out: Vec<usize>,
    /// The queue of each job, and the outcomes of queues.
    queues: Vec<QueueName>,
    entitlements: Option<Entitlements>,
    last: Time,
}

impl<'a> Record<'a> {
    /// `queues`: the queue of each job of the trace.
    pub fn new(plan: &Plan<'_>, cluster: &'a Cluster, queues: Vec<QueueName>) -> Self {
        let outcome = Outcome {
            policy: plan.name.to_owned(),
            placement: placements_of(plan.policy),
            trace: plan.trace.to_owned(),
            seed: plan.seed,
            nodes: plan.nodes.to_vec(),
            jobs: plan.jobs.iter().map(unstarted).collect(),
            series: Series::default(),
            heatmap: Heatmap::new(plan.nodes.len()),
            ..Outcome::default()
        };
        let tally = Tally::of(plan.nodes);
        let entitlements = Entitlements::of(plan.policy, tally.sample(Time(0), 0).total);
        let (left_out, last) = (Vec::new(), Time(0));
        Self { cluster, tally, outcome, left_out, queues, entitlements, last }
    }

    /// Records that a job arrived, and whether it was admitted.
    pub fn note_arrival(&mut self, at: usize, entry: &Entry) {
        let Some(id) = self.outcome.jobs.get(at).map(|job| job.id) else { return };
        match entry {
            Entry::Waits(_) => return self.note_waiting(at),
            Entry::NeverFits => self.outcome.never_fit.push(id),
            Entry::Refused(refusal) => {
                self.outcome.refused.push(RefusedJob { id, why: refusal.text_with_hint() });
            }
        }
        self.left_out.push(at);
    }

    /// Records that it waits, since it arrived or was preempted.
    pub fn note_waiting(&mut self, at: usize) {
        self.update_entitlements(at, Entitlements::add_waiting);
    }

    fn update_entitlements(
        &mut self,
        at: usize,
        change: impl Fn(&mut Entitlements, &QueueName, GpuMilli),
    ) {
        let (Some(entitlements), Some(job)) = (&mut self.entitlements, self.outcome.jobs.get(at))
        else {
            return;
        };
        if let Some(queue) = self.queues.get(at) {
            change(entitlements, queue, job.gpus);
        }
    }

    /// Records a start.
    pub fn note_start(&mut self, at: usize, on: &Allocation, now: Time) -> Result<(), ReplayError> {
        let mut nodes = Vec::with_capacity(on.shares().len());
        for share in on.shares() {
            let node = NodeIndex(self.cluster.position_of_node(&share.node)?);
            self.tally.add_share(node, share);
            nodes.push(node);
        }
        self.outcome.starts += 1;
        self.update_entitlements(at, Entitlements::remove_waiting);
        self.update_entitlements(at, Entitlements::add_held);
        if let Some(job) = self.outcome.jobs.get_mut(at) {
            job.start.get_or_insert(now);
            job.nodes = nodes;
        }
        Ok(())
    }

    /// Records that it left its nodes.
    pub fn note_left(&mut self, at: usize, on: &Allocation, (from, to): (Time, Time)) {
        self.update_entitlements(at, Entitlements::remove_held);
        // Its nodes were found when it started.
        let nodes = self.outcome.jobs.get(at).map_or(&[][..], |job| &job.nodes);
        let tally = &mut self.tally;
        let left = nodes.iter().zip(on.shares());
        let left = left.map(|(node, share)| (*node, tally.remove_share(*node, share)));
        self.outcome.heatmap.add(left, from, to);
    }

    /// Records its final end.
    pub fn note_end(&mut self, at: usize, now: Time) {
        if let Some(job) = self.outcome.jobs.get_mut(at) {
            job.end = Some(now);
        }
    }

    /// Counts a preemption.
    pub const fn count_preemption(&mut self, why: PreemptReason) {
        let preemptions: &mut Preemptions = &mut self.outcome.preemptions;
        match why {
            PreemptReason::Priority => preemptions.priority += 1,
            PreemptReason::Reclaim => preemptions.reclaim += 1,
            PreemptReason::HeadTimeout => preemptions.backfill += 1,
            PreemptReason::Move => preemptions.moves += 1,
        }
    }

    /// Records the end of a pass.
    pub fn note_pass(&mut self, now: Time, waiting: usize) -> Result<(), ReplayError> {
        let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
        let mut sample = self.tally.sample(now, waiting);
        if let Some(entitlements) = &mut self.entitlements {
            entitlements.record_pass(now, &mut sample);
        }
        self.last = now;
        Ok(self.outcome.series.push(sample)?)
    }

    /// Adds searches of a round.
    pub const fn add_searches(&mut self, count: u64) {
        self.outcome.searches += count;
    }

    /// Adds CPU time of the scheduler.
    pub fn add_cpu_seconds(&mut self, seconds: f64) {
        self.outcome.scheduler_cpu_seconds += seconds;
    }

    /// The outcome, without jobs that were not admitted.
    pub fn finish(mut self) -> Outcome {
        self.outcome.teams = self
            .entitlements
            .map(|entitlements| entitlements.outcomes(self.last))
            .unwrap_or_default();
        let jobs = std::mem::take(&mut self.outcome.jobs);
        let is_in = |(at, _): &(usize, JobOutcome)| self.left_out.binary_search(at).is_err();
        self.outcome.jobs =
            jobs.into_iter().enumerate().filter(is_in).map(|(_, job)| job).collect();
        self.outcome
    }
}

fn unstarted(job: &Job) -> JobOutcome {
    JobOutcome {
        id: job.id,
        submit: job.submit,
        start: None,
        end: None,
        run: super::play::true_run(job),
        walltime: job.walltime,
        nodes: Vec::new(),
        gpus: job.gpu_milli_total(),
    }
}
