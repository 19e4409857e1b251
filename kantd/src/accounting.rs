//! GPU accounting of running steps: samples their GPUs every `accounting_seconds`, adds the samples
//! to the tally in each step's directory, and finds steps that use more of a GPU's memory than
//! their share. Costs a few calls of the driver's library and one small file for each step with
//! GPUs, and nothing without such steps. Runs off the async threads, so that a hanging driver
//! delays only this.

use crate::cgroup::{self, Cgroup};
use crate::gpu::meter::{self, GpuMeter, GpuReading};
use crate::step::{GpuGrant, GpuOveruse, GpuTally, StepDir, StepSpec, Steps};
use common::id::AttemptId;
use common::unit::GpuMilli;
use common::wire::node::{StepPhase, StepStatus};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

pub type OpenMeter = Box<dyn Fn() -> Result<Box<dyn GpuMeter>, String> + Send>;

/// The accounting of running steps.
pub struct GpuAccounting {
    open: OpenMeter,
    meter: Option<Box<dyn GpuMeter>>,
    /// Steps by attempt: what to sample, and the sum so far.
    steps: BTreeMap<AttemptId, (SampledStep, GpuTally)>,
    /// The last error that was logged.
    last_error: String,
    /// A warning was logged that shares of GPU memory cannot be enforced.
    warned_unreported: bool,
}

impl GpuAccounting {
    #[must_use]
    pub const fn new(open: OpenMeter) -> Self {
        let steps = BTreeMap::new();
        Self { open, meter: None, steps, last_error: String::new(), warned_unreported: false }
    }

    /// Samples the GPUs of these steps once. Returns the steps that use too much of one.
    pub fn sample(&mut self, running: Vec<(AttemptId, StepDir)>) -> Vec<(AttemptId, GpuOveruse)> {
        let mut overuses = Vec::new();
        self.steps.retain(|id, _| running.iter().any(|(runs, _)| runs == id));
        for (id, dir) in running {
            let known = self.steps.entry(id);
            let (sampled_step, tally) =
                known.or_insert_with(|| (SampledStep::from_dir(&dir), GpuTally::read(&dir)));
            if sampled_step.gpus.is_empty() {
                continue;
            }
            if self.meter.is_none() {
                match (self.open)() {
                    Ok(meter) => self.meter = Some(meter),
                    Err(last_error) => {
                        if last_error != self.last_error {
                            tracing::warn!("GPU usage of jobs is not recorded: {last_error}");
                        }
                        self.last_error = last_error;
                        return overuses;
                    }
                }
            }
            let Some(meter) = &self.meter else { return overuses };
            for gpu in &sampled_step.gpus {
                let Some(reading) = sampled_step.read(&gpu.uuid, meter.as_ref()) else {
                    if sampled_step.shared.is_some()
                        && !std::mem::replace(&mut self.warned_unreported, true)
                    {
                        let uuid = &gpu.uuid;
                        tracing::warn!(
                            "shares of a GPU's memory are not enforced: the driver does not \
                             report the memory of each process on GPU {uuid}"
                        );
                    }
                    continue;
                };
                tally.add(&gpu.uuid, reading);
                overuses.extend(sampled_step.overuse(gpu, reading).map(|overuse| (id, overuse)));
            }
            // A step that has just ended needs no tally, and a full disk is reported by health.
            let _ = tally.write(&dir);
        }
        overuses
    }
}

/// The GPUs of a step that are sampled.
#[derive(Default)]
struct SampledStep {
    /// Empty if nothing is sampled.
    gpus: Vec<GpuGrant>,
    /// The step's cgroup and its share of each GPU, if it shares GPUs. Other steps use those too,
    /// and drivers report only memory by process.
    shared: Option<(Box<dyn Cgroup>, GpuMilli)>,
}

impl SampledStep {
    fn from_dir(dir: &StepDir) -> Self {
        let Ok(spec) = dir.read_spec() else { return Self::default() };
        let group = |spec: &StepSpec| {
            let (id, owner) = (spec.launch.id.to_string(), spec.launch.owner.uid);
            cgroup::open(&spec.cgroup, &id, owner, None).ok()
        };
        let share = spec.share.gpu_milli;
        let shared = share.and_then(|share| Some((group(&spec)?, share)));
        match share.is_some() && shared.is_none() {
            true => Self::default(),
            false => Self { gpus: spec.gpus, shared },
        }
    }

    fn overuse(&self, gpu: &GpuGrant, reading: GpuReading) -> Option<GpuOveruse> {
        let (_, share) = self.shared.as_ref()?;
        GpuOveruse::from_usage(gpu.index, gpu.memory, *share, reading.memory_used?)
    }

    fn read(&self, uuid: &str, meter: &dyn GpuMeter) -> Option<GpuReading> {
        let Some((group, _)) = &self.shared else { return meter.read(uuid) };
        let pids = group.pids().ok()?;
        let pids = pids.into_iter().filter_map(|pid| u32::try_from(pid.as_raw()).ok()).collect();
        let memory_used = Some(meter.memory_of(uuid, &pids)?);
        Some(GpuReading { memory_used, ..GpuReading::default() })
    }
}

/// Samples until kantd ends; ends steps that use too much if `holds`. To be spawned.
pub async fn run(steps: Steps, library: Option<PathBuf>, period: Option<Duration>, holds: bool) {
    let Some(period) = period else { return std::future::pending().await };
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let fresh = || {
        let library = library.clone();
        GpuAccounting::new(Box::new(move || meter::open(library.as_deref())))
    };
    let mut accounting = fresh();
    loop {
        ticks.tick().await;
        let runs = |step: &StepStatus| matches!(step.phase, StepPhase::Running { .. });
        let running = steps.status().into_iter().filter(runs);
        let running: Vec<(AttemptId, StepDir)> =
            running.map(|step| (step.id, steps.dir_of(step.id))).collect();
        let sampled = spawn_blocking(move || {
            let overuses = accounting.sample(running);
            (accounting, overuses)
        });
        // Only a bug in `sample` gets here; the tallies are in the steps' directories.
        let (sampled, overuses) = sampled.await.unwrap_or_else(|_| (fresh(), Vec::new()));
        accounting = sampled;
        for (id, overuse) in overuses.into_iter().filter(|_| holds) {
            steps.end_for_overuse(id, overuse);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::example_spec;
    use common::unit::Bytes;
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts openings and readings.
    #[derive(Default)]
    struct Counts {
        opened: AtomicUsize,
        asked: AtomicUsize,
    }

    struct Fake(Arc<Counts>);

    impl GpuMeter for Fake {
        fn read(&self, uuid: &str) -> Option<GpuReading> {
            let asked = self.0.asked.fetch_add(1, Ordering::SeqCst) as u64;
            let energy_millijoules = Some(asked * 3000);
            let busy_percent = Some(40);
            (uuid == "GPU-1").then_some(GpuReading {
                busy_percent,
                energy_millijoules,
                ..GpuReading::default()
            })
        }

        fn memory_of(&self, uuid: &str, _pids: &BTreeSet<u32>) -> Option<Bytes> {
            (uuid == "GPU-1").then_some(Bytes(77))
        }
    }

    fn accounting() -> (GpuAccounting, Arc<Counts>) {
        let counts = Arc::new(Counts::default());
        let meters = Arc::clone(&counts);
        let open: OpenMeter = Box::new(move || {
            meters.opened.fetch_add(1, Ordering::SeqCst);
            Ok(Box::new(Fake(Arc::clone(&meters))))
        });
        (GpuAccounting::new(open), counts)
    }

    fn step(home: &tempfile::TempDir, share_of_one: bool) -> (AttemptId, StepDir) {
        let mut spec = example_spec("g1");
        spec.share.gpu_milli = share_of_one.then_some(GpuMilli(500));
        let id = spec.launch.id;
        let dir = StepDir::for_attempt(home.path(), id);
        dir.make().unwrap();
        dir.write_spec(&spec).unwrap();
        (id, dir)
    }

    #[test]
    fn each_sample_reads_each_gpu_once_and_a_new_kantd_continues_the_sum() {
        let home = tempfile::tempdir().unwrap();
        let step = step(&home, false);
        let (mut first, counts) = accounting();
        (0..3).for_each(|_| assert_eq!(first.sample(vec![step.clone()]), []));
        assert_eq!(counts.asked.load(Ordering::SeqCst), 3);
        assert_eq!(counts.opened.load(Ordering::SeqCst), 1);
        let (mut second, _) = accounting();
        second.sample(vec![step.clone()]);
        let usage = GpuTally::read(&step.1).usage().unwrap();
        assert_eq!((usage.samples, usage.busy_percent()), (4, Some(40)));
        assert_eq!(usage.energy_joules, 6, "the second meter's counter starts at zero");
    }

    #[test]
    fn a_step_that_shares_a_gpu_is_accounted_its_own_memory_only() {
        let home = tempfile::tempdir().unwrap();
        let step = step(&home, true);
        let (mut accounting, counts) = accounting();
        accounting.sample(vec![step.clone()]);
        accounting.sample(Vec::new());
        assert_eq!(counts.asked.load(Ordering::SeqCst), 0);
        let usage = GpuTally::read(&step.1).usage().unwrap();
        assert_eq!((usage.samples, usage.memory_peak), (0, Bytes(77)));
    }

    #[test]
    fn a_step_that_exceeds_its_share_of_gpu_memory_is_found_at_each_sample() {
        let home = tempfile::tempdir().unwrap();
        let (id, dir) = step(&home, true);
        let sample = |memory| {
            let mut spec = dir.read_spec().unwrap();
            spec.gpus[0].memory = memory;
            dir.write_spec(&spec).unwrap();
            accounting().0.sample(vec![(id, dir.clone())])
        };
        let gpu = dir.read_spec().unwrap().gpus[0].index;
        let overuse = GpuOveruse { gpu, used: Bytes(77), share: Bytes(76) };
        assert_eq!(sample(Bytes(153)), [(id, overuse)]);
        assert_eq!(sample(Bytes(154)), [], "half of it is 77");
        assert_eq!(sample(Bytes::ZERO), [], "the memory is unknown");
    }

    #[test]
    fn no_meter_is_opened_for_steps_without_gpus() {
        let home = tempfile::tempdir().unwrap();
        let mut spec = example_spec("g1");
        spec.gpus.clear();
        let dir = StepDir::for_attempt(home.path(), spec.launch.id);
        dir.make().unwrap();
        dir.write_spec(&spec).unwrap();
        let (mut accounting, counts) = accounting();
        accounting.sample(vec![(spec.launch.id, dir.clone())]);
        assert_eq!(counts.opened.load(Ordering::SeqCst), 0);
        assert_eq!(GpuTally::read(&dir).usage(), None);
    }
}
