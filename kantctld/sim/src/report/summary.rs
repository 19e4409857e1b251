//! The metrics of one replay: SOR over the time in which jobs arrive, GAR and fragmentation until
//! the last job ends, "queued" over the time in which jobs wait after a pass of the scheduler.
//! Ratios are from 0 to 1, and times are in seconds.

use super::waits::{Waits, seconds};
use super::{JobOutcome, Outcome, Sample, SizeClass, Stretch, TeamOutcome, json};
use common::time::{Span, Time};
use engine::measure::{GpuTime, nearest_rank, scheduling_occupancy_rate};
use serde::Serialize;

/// In the bounded slowdown, shorter runs count as this long.
const SHORT_RUN_SECONDS: f64 = 10.0;

/// The number of points at which the course of the SOR is sampled for its percentiles.
const SOR_POINTS: u64 = 1000;

/// Percentiles over equal samples of time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Percentiles {
    /// The value is below this for a tenth of the time.
    pub p10: Option<f64>,
    pub p50: Option<f64>,
    /// The value is above this for a tenth of the time.
    pub p90: Option<f64>,
}

/// The metrics of one replay. `None` if there is nothing to measure. Scripts rely on the JSON keys.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Summary {
    pub trace: String,
    /// The policy's name.
    pub policy: String,
    pub placement: String,
    /// The seed of random choices.
    pub seed: u64,
    /// Jobs that the cluster could run at all.
    pub jobs: usize,
    /// Those of them that had not ended when the replay did.
    pub unfinished: usize,
    /// Further jobs that the cluster cannot hold even if idle.
    pub never_fit: usize,
    /// Jobs that the policy did not admit.
    pub refused: usize,
    /// From the first submission to the last end.
    #[serde(rename = "makespan_s")]
    pub makespan_seconds: Option<f64>,
    /// Scheduling occupancy rate: GPU time allocated, of all GPU time from the first to the last
    /// submission.
    pub sor: Option<f64>,
    /// The same up to a point of time, over all points of time after the first submission.
    pub sor_course: Percentiles,
    /// Mean GPU allocation rate from the first submission to the last end.
    pub gar_mean: Option<f64>,
    /// The same, as percentiles of time.
    #[serde(rename = "gar_course")]
    pub gar: Percentiles,
    /// Its mean over the time in which jobs wait.
    pub gar_queued_mean: Option<f64>,
    /// GPU fragmentation rate: nodes partly used, of nodes with GPUs.
    pub gfr_mean: Option<f64>,
    /// The same over the time in which jobs wait.
    pub gfr_queued_mean: Option<f64>,
    /// Free GPUs that a job of 8 on one node cannot use, of free GPUs.
    pub fr8_mean: Option<f64>,
    /// Nodes of which nothing is used.
    pub whole_free_nodes_mean: Option<f64>,
    /// Leaf groups of which nothing is used.
    pub whole_free_leaf_groups_mean: Option<f64>,
    /// The fraction of the time in which jobs wait.
    pub contended: Option<f64>,
    /// The most jobs that waited after one pass.
    pub queue_max: u32,
    /// Waits of all jobs that started.
    #[serde(rename = "wait_s", serialize_with = "json::waits")]
    pub wait: Waits,
    /// The same by size, for each class that is always shown or has jobs.
    #[serde(rename = "wait_s_by_gpus", serialize_with = "json::by_name")]
    pub wait_by_size: Vec<(SizeClass, Waits)>,
    /// Mean over ended jobs of (end - submission) / run time, with runs under 10 s counted as 10 s,
    /// and at least 1.
    pub bounded_slowdown_mean: Option<f64>,
    /// Starts, including repeated ones.
    pub starts: u64,
    /// Starts per second of the scheduler's CPU time.
    pub starts_per_cpu_second: Option<f64>,
    /// Preemptions of all kinds.
    pub preemptions: u64,
    /// How far jobs were spread beyond need.
    #[serde(rename = "jtted")]
    pub stretch: Stretch,
    /// Jain's index of the fractions of their fair shares that queues hold, over the time in which
    /// several ask for something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jain_mean: Option<f64>,
    /// GPUs that queues hold above their fair shares, of all GPUs, over the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_error_mean: Option<f64>,
    /// The outcome of each queue, if there are several.
    #[serde(rename = "queues", serialize_with = "json::queues")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub teams: Vec<TeamOutcome>,
}

impl Summary {
    #[must_use]
    pub fn of(outcome: &Outcome) -> Self {
        let window = Window::of(outcome);
        let series = &outcome.series;
        let mean = |read: fn(&Sample) -> Option<f64>| series.mean(window.first, window.end, read);
        let queued = |read: fn(&Sample) -> Option<f64>| {
            let while_queued = |s: &Sample| if s.queue_length > 0 { read(s) } else { None };
            series.mean(window.first, window.end, while_queued)
        };
        let samples = series.samples().iter();
        let ended = outcome.jobs.iter().filter(|job| job.end.is_some()).count();
        Self {
            trace: outcome.trace.clone(),
            policy: outcome.policy.clone(),
            placement: outcome.placement.clone(),
            seed: outcome.seed,
            jobs: outcome.jobs.len(),
            unfinished: outcome.jobs.len() - ended,
            never_fit: outcome.never_fit.len(),
            refused: outcome.refused.len(),
            makespan_seconds: (ended > 0).then(|| seconds(window.end.since(window.first).0)),
            sor: occupancy(outcome, window.first, window.last_submit),
            sor_course: sor_course(outcome, window),
            gar_mean: mean(Sample::gpu_allocation_rate),
            gar: gar_percentiles(outcome, window),
            gar_queued_mean: queued(Sample::gpu_allocation_rate),
            gfr_mean: mean(Sample::gpu_fragmentation_rate),
            gfr_queued_mean: queued(Sample::gpu_fragmentation_rate),
            fr8_mean: mean(Sample::fraction_unusable_by_8),
            whole_free_nodes_mean: mean(|s| Some(f64::from(s.nodes_whole_free.0))),
            whole_free_leaf_groups_mean: mean(|s| Some(f64::from(s.leaf_groups_whole_free))),
            contended: mean(|s| Some(if s.queue_length > 0 { 1.0 } else { 0.0 })),
            queue_max: samples.map(|sample| sample.queue_length).max().unwrap_or(0),
            wait: Waits::of(outcome.jobs.iter().filter_map(JobOutcome::wait).collect()),
            wait_by_size: wait_by_size(outcome),
            bounded_slowdown_mean: bounded_slowdown(outcome),
            starts: outcome.starts,
            starts_per_cpu_second: starts_per_cpu_second(outcome),
            preemptions: outcome.preemptions.total(),
            stretch: Stretch::of(outcome),
            jain_mean: mean(Sample::jain),
            share_error_mean: mean(Sample::share_error),
            teams: outcome.teams.clone(),
        }
    }
}

/// The times over which means are taken.
#[derive(Clone, Copy)]
pub(super) struct Window {
    pub first: Time,
    pub last_submit: Time,
    /// The last end; the last sample if no job ended.
    pub end: Time,
}

impl Window {
    pub fn of(outcome: &Outcome) -> Self {
        let submits = || outcome.jobs.iter().map(|job| job.submit);
        let last_sample = outcome.series.samples().last().map_or(Time(0), |sample| sample.at);
        Self {
            first: submits().min().unwrap_or_default(),
            last_submit: submits().max().unwrap_or_default(),
            end: outcome.jobs.iter().filter_map(|job| job.end).max().unwrap_or(last_sample),
        }
    }
}

/// GPU time allocated, of all GPU time.
fn occupancy(outcome: &Outcome, from: Time, to: Time) -> Option<f64> {
    let (used, all) = Parts::new(outcome).gpu_time_between(from, to);
    scheduling_occupancy_rate(used, all)
}

/// The SOR from the first submission to each of equally many later points of time.
fn sor_course(outcome: &Outcome, window: Window) -> Percentiles {
    let length = window.last_submit.since(window.first).0;
    let (mut used, mut all) = (GpuTime::default(), GpuTime::default());
    let mut course = Vec::new();
    let point = |at: u64| Time(window.first.0 + length.saturating_mul(at) / SOR_POINTS);
    let mut parts = Parts::new(outcome);
    for at in 0..SOR_POINTS {
        let (part_used, part_all) = parts.gpu_time_between(point(at), point(at + 1));
        used += part_used;
        all += part_all;
        course.extend(scheduling_occupancy_rate(used, all));
    }
    course.sort_unstable_by(f64::total_cmp);
    Percentiles {
        p10: nearest_rank(&course, 10),
        p50: nearest_rank(&course, 50),
        p90: nearest_rank(&course, 90),
    }
}

/// Walks over the samples once, interval by interval.
struct Parts<'a> {
    samples: &'a [Sample],
}

impl<'a> Parts<'a> {
    fn new(outcome: &'a Outcome) -> Self {
        Self { samples: outcome.series.samples() }
    }

    /// GPU time allocated, and all GPU time, between two times. Both times only grow from call to
    /// call.
    fn gpu_time_between(&mut self, from: Time, to: Time) -> (GpuTime, GpuTime) {
        let (mut used, mut all) = (GpuTime::default(), GpuTime::default());
        while let Some((sample, rest)) = self.samples.split_first() {
            let end = rest.first().map_or(Time(u64::MAX), |next| next.at);
            let length: Span = end.min(to).since(sample.at.max(from));
            used += GpuTime::of(sample.allocated, length);
            all += GpuTime::of(sample.total, length);
            if end > to {
                break;
            }
            self.samples = rest;
        }
        (used, all)
    }
}

/// The GAR below which the cluster was for each fraction of the time.
fn gar_percentiles(outcome: &Outcome, window: Window) -> Percentiles {
    let of_sample =
        |(sample, length): (&Sample, u64)| Some((sample.gpu_allocation_rate()?, length));
    let mut parts: Vec<(f64, u64)> =
        outcome.series.weighted_samples(window.first, window.end).filter_map(of_sample).collect();
    parts.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let all: u64 = parts.iter().map(|(_, length)| length).sum();
    let at = |percent: u64| {
        let mut passed = 0;
        let reached = parts.iter().find(|(_, length)| {
            passed += length;
            u128::from(passed) * 100 >= u128::from(all) * u128::from(percent)
        });
        reached.map(|(value, _)| *value)
    };
    Percentiles { p10: at(10), p50: at(50), p90: at(90) }
}

fn wait_by_size(outcome: &Outcome) -> Vec<(SizeClass, Waits)> {
    let of_class = |class: SizeClass| {
        let jobs = outcome.jobs.iter().filter(|job| job.size() == class);
        (class, Waits::of(jobs.filter_map(JobOutcome::wait).collect()))
    };
    let shown = |(class, waits): &(SizeClass, Waits)| class.is_always_shown() || waits.jobs > 0;
    SizeClass::ALL.into_iter().map(of_class).filter(shown).collect()
}

fn bounded_slowdown(outcome: &Outcome) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0u32);
    for job in &outcome.jobs {
        if let Some(end) = job.end {
            let run = seconds(job.run.0).max(SHORT_RUN_SECONDS);
            sum += (seconds(end.since(job.submit).0) / run).max(1.0);
            count += 1;
        }
    }
    (count > 0).then(|| sum / f64::from(count))
}

fn starts_per_cpu_second(outcome: &Outcome) -> Option<f64> {
    #[allow(clippy::cast_precision_loss)]
    let starts = outcome.starts as f64;
    (outcome.scheduler_cpu_seconds > 0.0).then(|| starts / outcome.scheduler_cpu_seconds)
}

#[cfg(test)]
mod tests {
    use super::super::stretch::tests::{job, two_nodes};
    use super::*;

    fn near(found: Option<f64>, expected: f64) {
        assert!(found.is_some_and(|found| (found - expected).abs() < 1e-9), "{found:?} {expected}");
    }

    #[test]
    fn the_worked_example_gives_the_numbers_of_its_definitions() {
        // GPUs used: 12 of 16 until 50 s, 8 until 100 s, 16 until 150 s. Job 3 waits from 10 s to
        // 100 s. Node b is broken until 50 s, and a job of 8 could not use its 4 free GPUs.
        let summary = Summary::of(&two_nodes());
        assert_eq!((summary.jobs, summary.unfinished, summary.queue_max), (3, 0, 1));
        near(summary.makespan_seconds, 150.0);
        near(summary.sor, 12.0 / 16.0);
        near(summary.gar_mean, (50.0 * 12.0 + 50.0 * 8.0 + 50.0 * 16.0) / (150.0 * 16.0));
        near(summary.gar_queued_mean, (40.0 * 12.0 + 50.0 * 8.0) / (90.0 * 16.0));
        near(summary.gfr_mean, 0.5 * 50.0 / 150.0);
        near(summary.gfr_queued_mean, 0.5 * 40.0 / 90.0);
        near(summary.fr8_mean, 50.0 / 150.0);
        near(summary.whole_free_nodes_mean, 50.0 / 150.0);
        near(summary.contended, 90.0 / 150.0);
        near(summary.wait.mean, 30.0);
        near(summary.wait.p99, 90.0);
        near(summary.bounded_slowdown_mean, (1.0 + 1.0 + 140.0 / 50.0) / 3.0);
        near(summary.starts_per_cpu_second, 6.0);
    }

    #[test]
    fn percentiles_of_gar_weigh_time_not_passes() {
        let gar = Summary::of(&two_nodes()).gar;
        assert_eq!((gar.p10, gar.p50, gar.p90), (Some(0.5), Some(0.75), Some(1.0)));
        near(Summary::of(&two_nodes()).sor_course.p50, 0.75);
    }

    #[test]
    fn waits_are_reported_by_size_and_empty_classes_stay() {
        let by_size = Summary::of(&two_nodes()).wait_by_size;
        let jobs: Vec<_> =
            by_size.iter().map(|(class, waits)| (class.name(), waits.jobs)).collect();
        assert_eq!(jobs, [("1", 0), ("2-7", 1), ("8", 1), ("9-32", 1), (">32", 0)]);
        assert_eq!(by_size[3].1.p50, Some(90.0));
    }

    #[test]
    fn a_short_run_counts_as_ten_seconds() {
        let mut outcome = two_nodes();
        outcome.jobs = vec![job(1, [0, 30, 31], &[0], 1)];
        near(Summary::of(&outcome).bounded_slowdown_mean, 3.1);
    }

    #[test]
    fn a_replay_of_nothing_has_no_numbers_and_no_fault() {
        let summary = Summary::of(&Outcome::default());
        assert_eq!((summary.jobs, summary.sor, summary.gar_mean), (0, None, None));
        assert_eq!((summary.makespan_seconds, summary.wait.p50), (None, None));
    }
}
