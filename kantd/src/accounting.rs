//! GPU accounting of running steps: samples their GPUs every `accounting_seconds`, adds the samples
//! to the tally in each step's directory, and finds steps that use more of a GPU's memory than
//! their share. Costs a few calls of the driver's library and one small file for each step with
//! GPUs, and nothing without such steps. Runs off the async threads, so that a hanging driver
//! delays only this.

use crate::cgroup::{self, Cgroup};
use crate::config::SamplingSettings;
use crate::gpu::meter::{self, GpuMeter, GpuReading};
use crate::idle_gpus::{IdleGpusByStep, IdleTracker};
use crate::step::{GpuGrant, GpuOveruse, GpuTally, StepDir, StepSpec, Steps};
use common::id::AttemptId;
use common::unit::GpuMilli;
use common::wire::node::{StepPhase, StepStatus};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

pub type OpenMeter = Box<dyn Fn() -> Result<Box<dyn GpuMeter>, String> + Send>;

/// Opens the driver's library: the one at `library`, or the loader's default.
#[must_use]
pub fn opener(library: Option<PathBuf>) -> OpenMeter {
    Box::new(move || meter::open(library.as_deref()))
}

/// The accounting of running steps.
pub struct GpuAccounting {
    open: OpenMeter,
    meter: Option<Box<dyn GpuMeter>>,
    /// Steps by attempt: what to sample, and the sum so far.
    steps: BTreeMap<AttemptId, (SampledStep, GpuTally)>,
    idle: IdleTracker,
    /// The last error that was logged.
    last_error: String,
    /// A warning was logged that shares of GPU memory cannot be enforced.
    warned_unreported: bool,
}

impl GpuAccounting {
    #[must_use]
    pub fn new(open: OpenMeter, idle: IdleTracker) -> Self {
        let (steps, last_error) = (BTreeMap::new(), String::new());
        Self { open, meter: None, steps, idle, last_error, warned_unreported: false }
    }

    /// The GPUs that were idle in the last samples.
    #[must_use]
    pub fn idle_gpus(&self) -> IdleGpusByStep {
        self.idle.idle()
    }

    /// Forgets that GPUs of these steps were idle: a suspended job cannot use its GPUs.
    fn forget_idle(&mut self, suspended: &BTreeSet<AttemptId>) {
        self.idle.retain(|id| !suspended.contains(&id));
    }

    /// Samples the GPUs of these steps once. Returns the steps that use too much of one.
    pub fn sample(&mut self, running: Vec<(AttemptId, StepDir)>) -> Vec<(AttemptId, GpuOveruse)> {
        let mut overuses = Vec::new();
        let runs = |id: AttemptId| running.iter().any(|(runs, _)| *runs == id);
        self.steps.retain(|id, _| runs(*id));
        self.idle.retain(runs);
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
                let reading = sampled_step.read(&gpu.uuid, meter.as_ref());
                let busy_percent = reading.and_then(|reading| reading.busy_percent);
                self.idle.note(id, &gpu.uuid, busy_percent, Instant::now());
                let Some(reading) = reading else {
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

/// Samples until kantd ends. To be spawned.
pub async fn run(steps: Steps, settings: SamplingSettings, idle: watch::Sender<IdleGpusByStep>) {
    let Some(period) = settings.period else { return std::future::pending().await };
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let fresh = || {
        let open = opener(settings.library.clone());
        GpuAccounting::new(open, IdleTracker::new(settings.idle_percent))
    };
    let mut accounting = fresh();
    loop {
        ticks.tick().await;
        let runs = |step: &StepStatus| matches!(step.phase, StepPhase::Running { .. });
        let running: Vec<StepStatus> = steps.status().into_iter().filter(runs).collect();
        let is_suspended =
            |step: &&StepStatus| matches!(step.phase, StepPhase::Running { suspended: true, .. });
        let suspended = running.iter().filter(is_suspended).map(|step| step.id).collect();
        let running: Vec<(AttemptId, StepDir)> =
            running.iter().map(|step| (step.id, steps.dir_of(step.id))).collect();
        let sampled = spawn_blocking(move || {
            let overuses = accounting.sample(running);
            accounting.forget_idle(&suspended);
            (accounting, overuses)
        });
        // Only a bug in `sample` gets here; the tallies are in the steps' directories.
        let (sampled, overuses) = sampled.await.unwrap_or_else(|_| (fresh(), Vec::new()));
        accounting = sampled;
        let now_idle = accounting.idle_gpus();
        idle.send_if_modified(|before| {
            let is_news = *before != now_idle;
            *before = now_idle;
            is_news
        });
        for (id, overuse) in overuses.into_iter().filter(|_| settings.hold_gpu_memory) {
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
        (GpuAccounting::new(open, IdleTracker::new(50)), counts)
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
        assert_eq!(second.idle_gpus().len(), 0, "a new kantd begins to count again");
        (0..5).for_each(|_| assert_eq!(second.sample(vec![step.clone()]), []));
        assert_eq!(second.idle_gpus().keys().collect::<Vec<_>>(), [&step.0]);
        second.forget_idle(&BTreeSet::from([step.0]));
        assert_eq!(second.idle_gpus().len(), 0, "the step is suspended");
        (0..6).for_each(|_| assert_eq!(second.sample(vec![step.clone()]), []));
        second.sample(Vec::new());
        assert_eq!(second.idle_gpus().len(), 0, "the step has ended");
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
