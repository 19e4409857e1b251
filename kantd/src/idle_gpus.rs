//! Which GPUs of running jobs are idle, and since when: for `kantctl queue --idle`. A restart of
//! kantd begins the time again.

use common::id::AttemptId;
use common::time::Span;
use common::wire::node::IdleGpus;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// For each step with idle GPUs, since when each of them has been idle.
pub type IdleGpusByStep = BTreeMap<AttemptId, Vec<Instant>>;

/// A GPU is idle after this many such samples in a row: most programs pause at times.
const SAMPLES_MIN: u32 = 6;

/// The idle GPUs of the steps that are sampled.
#[derive(Debug)]
pub struct IdleTracker {
    idle_percent: u32,
    steps: BTreeMap<AttemptId, BTreeMap<String, Pause>>,
}

/// Idle samples of one GPU in a row.
#[derive(Debug)]
struct Pause {
    since: Instant,
    samples: u32,
}

impl IdleTracker {
    #[must_use]
    pub const fn new(idle_percent: u32) -> Self {
        Self { idle_percent, steps: BTreeMap::new() }
    }

    /// Takes a sample. `None`: the driver does not say how busy the GPU is.
    pub fn note(&mut self, id: AttemptId, uuid: &str, busy_percent: Option<u32>, now: Instant) {
        let gpus = self.steps.entry(id).or_default();
        if busy_percent.is_none_or(|busy| busy >= self.idle_percent) {
            gpus.remove(uuid);
            return;
        }
        match gpus.get_mut(uuid) {
            Some(pause) => pause.samples = pause.samples.saturating_add(1),
            None => {
                gpus.insert(uuid.to_owned(), Pause { since: now, samples: 1 });
            }
        }
    }

    /// Forgets the steps that do not run.
    pub fn retain(&mut self, runs: impl Fn(AttemptId) -> bool) {
        self.steps.retain(|id, _| runs(*id));
    }

    /// The idle GPUs of all steps.
    #[must_use]
    pub fn idle(&self) -> IdleGpusByStep {
        let of_step = |(id, gpus): (&AttemptId, &BTreeMap<String, Pause>)| {
            let long = gpus.values().filter(|pause| pause.samples >= SAMPLES_MIN);
            let since: Vec<Instant> = long.map(|pause| pause.since).collect();
            (!since.is_empty()).then_some((*id, since))
        };
        self.steps.iter().filter_map(of_step).collect()
    }
}

/// What a controller that knows `reported` has to know.
#[must_use]
pub fn changes(reported: &IdleGpusByStep, idle: &IdleGpusByStep, now: Instant) -> Vec<IdleGpus> {
    let ids: BTreeSet<AttemptId> = reported.keys().chain(idle.keys()).copied().collect();
    let changed = ids.into_iter().filter(|id| reported.get(id) != idle.get(id));
    let report = |id: AttemptId| {
        let since = idle.get(&id).into_iter().flatten();
        let idle = since.map(|since| span(now.saturating_duration_since(*since))).collect();
        IdleGpus { id, idle }
    };
    changed.map(report).collect()
}

fn span(duration: Duration) -> Span {
    Span(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::example_spec;

    fn tracker_after(samples: &[(&str, Option<u32>)], begin: Instant) -> (AttemptId, IdleTracker) {
        let (id, mut tracker) = (example_spec("g1").launch.id, IdleTracker::new(5));
        for (seconds, (uuid, busy)) in (0..).zip(samples) {
            tracker.note(id, uuid, *busy, begin + Duration::from_secs(seconds));
        }
        (id, tracker)
    }

    #[test]
    fn a_gpu_is_idle_after_six_samples_below_the_threshold_and_until_it_works() {
        let begin = Instant::now();
        let five = [("a", Some(4)); 5];
        let (_, tracker) = tracker_after(&five, begin);
        assert_eq!(tracker.idle(), IdleGpusByStep::new());
        let (id, mut tracker) = tracker_after(&[("a", Some(4)); 6], begin);
        assert_eq!(tracker.idle(), IdleGpusByStep::from([(id, vec![begin])]));
        tracker.note(id, "a", Some(5), begin);
        assert_eq!(tracker.idle(), IdleGpusByStep::new());
    }

    #[test]
    fn a_gpu_that_the_driver_does_not_measure_is_not_idle() {
        let (_, tracker) = tracker_after(&[("a", None); 9], Instant::now());
        assert_eq!(tracker.idle(), IdleGpusByStep::new());
    }

    #[test]
    fn a_report_has_new_steps_and_those_without_idle_gpus_since() {
        let now = Instant::now();
        let [one, other, same] = [1, 2, 3].map(|attempt| AttemptId {
            attempt: common::id::Attempt(attempt),
            ..example_spec("g1").launch.id
        });
        let reported = IdleGpusByStep::from([(one, vec![now]), (same, vec![now])]);
        let idle = IdleGpusByStep::from([(other, vec![now]), (same, vec![now])]);
        let later = now + Duration::from_secs(60);
        assert_eq!(
            changes(&reported, &idle, later),
            [
                IdleGpus { id: one, idle: vec![] },
                IdleGpus { id: other, idle: vec![Span::from_seconds(60)] }
            ]
        );
    }
}
