//! Checks that growth leaves a promised job what limits and quotas allow it when its time comes.
//! All growth of a round counts together. Cases that cannot be summed with certainty pass: several
//! promises, jobs that are leaving, anything but whole GPUs.

use super::Judge;
use super::bounds::Bounds;
use crate::model::decision::Decision;
use crate::model::job::WaitingJob;
use crate::model::judge_ledger::sums::{Column, Held};
use crate::model::node_snapshot::NodeSnapshot;
use crate::round::round_result::Round;
use common::resource::GpuRequest;
use common::time::Time;

impl Judge<'_> {
    /// If exactly one job is promised a start, it is within all bounds then, provided that it would
    /// be without growth.
    pub(super) fn check_growth_keeps_promise(&mut self, round: &Round) {
        let all = || round.decisions.iter();
        let grows = |decision: &Decision| matches!(decision, Decision::Grow { .. });
        let goes = |decision: &Decision| {
            matches!(decision, Decision::Preempt { .. } | Decision::Shrink { .. })
        };
        if !all().any(grows) || all().any(goes) || round.planned_starts.len() != 1 {
            return;
        }
        let Some((key, planned_start)) = round.planned_starts.first_key_value() else { return };
        let job = self.snapshot.waiting_job(*key).filter(|_| !self.started.contains(key));
        let Some((job, held)) = job.and_then(|job| Some((job, certain_demand(job)?))) else {
            return;
        };
        let is_going = self.snapshot.all_running().any(|job| !job.may_be_preempted());
        if is_going || planned_start.yielded || planned_start.at <= self.now {
            return;
        }
        let is_within = |grown: bool| {
            let mut bounds = self.bounds_at(planned_start.at, &round.decisions, grown);
            bounds.add_planned_start(job, &held).is_empty()
        };
        if is_within(false) && !is_within(true) {
            self.key = *key;
            self.fault(format!("could not start by {}, for what others grow by", planned_start.at));
        }
    }

    /// What is held at that time.
    fn bounds_at(&self, at: Time, decisions: &[Decision], grown: bool) -> Bounds<'_> {
        let mut bounds = Bounds::new(self.snapshot.policy(), at);
        let nodes: Vec<&NodeSnapshot> = self.left.values().map(|left| &left.node).collect();
        bounds.add_capacity(&nodes);
        let lasts = |ends: Option<Time>| ends.is_none_or(|ends| ends > at);
        let runs = self.snapshot.all_running().filter(|job| lasts(job.ends_by));
        runs.for_each(|job| bounds.add_running(job, &self.left));
        for decision in decisions {
            match decision {
                Decision::Start { key, allocation, .. } => {
                    let job = self.snapshot.waiting_job(*key);
                    let ends = |job: &WaitingJob| job.time_limit.map(|limit| self.now + limit);
                    if let Some(job) = job.filter(|job| lasts(ends(job))) {
                        bounds.add_start(job, allocation, &self.left);
                    }
                }
                Decision::Grow { key, shares, .. } if grown => {
                    let job = self.snapshot.running_job(*key).filter(|job| lasts(job.ends_by));
                    if let Some((_, growing)) = job.zip(self.snapshot.growing(*key)) {
                        bounds.add_growth(&growing.asked, shares, &self.left);
                    }
                }
                Decision::Grow { .. } | Decision::Preempt { .. } | Decision::Shrink { .. } => {}
            }
        }
        bounds
    }
}

/// What a job will certainly hold: a fixed number of whole GPUs. `None`: not known.
fn certain_demand(job: &WaitingJob) -> Option<Held> {
    let request = &job.request;
    let gpus = match request.gpus.filter(|_| request.tasks_min.is_none())? {
        GpuRequest::PerNode(count) => u64::from(count.0) * u64::from(request.nodes?.0),
        GpuRequest::PerTask(count) => u64::from(count.0) * u64::from(request.tasks.0),
        GpuRequest::Total(count) => u64::from(count.0),
        GpuRequest::Parts(_) => return None,
    };
    let amounts = [(Column::Gpus, gpus * 1000)].into();
    let time = job.time_limit.map_or(0, |limit| limit.0);
    Some(Held { jobs: 1, amounts, gpu_time: u128::from(gpus * 1000) * u128::from(time) })
}
