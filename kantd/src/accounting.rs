//! Looks now and then at the GPUs of the steps that run, keeps what they did beside each step's
//! journal, and finds who has more of a GPU's memory than its share. The cost is bounded: a few
//! calls of the driver's library and one small file for each step with GPUs, every
//! `accounting_seconds`; nothing at all while no step has GPUs.
//! Never on an async thread, and never in anybody's way: a driver that hangs holds up only this.

use crate::cgroup::{self, Cgroup};
use crate::gpu::meter::{self, GpuMeter, GpuReading};
use crate::step::{GpuGrant, GpuOveruse, GpuTally, StepDir, StepOrder, Steps};
use common::id::AttemptId;
use common::unit::GpuMilli;
use common::wire::node::{StepPhase, StepStatus};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

/// How a meter is opened.
pub type OpenMeter = Box<dyn Fn() -> Result<Box<dyn GpuMeter>, String> + Send>;

/// What is known of the steps that run.
pub struct Bench {
    open: OpenMeter,
    meter: Option<Box<dyn GpuMeter>>,
    /// Steps by id: what is looked at, and the sum so far.
    steps: BTreeMap<AttemptId, (Subject, GpuTally)>,
    /// What was last complained about.
    trouble: String,
    /// It was said that nobody can be held to a share.
    said_blind: bool,
}

impl Bench {
    /// Has looked at nothing yet.
    #[must_use]
    pub const fn new(open: OpenMeter) -> Self {
        let steps = BTreeMap::new();
        Self { open, meter: None, steps, trouble: String::new(), said_blind: false }
    }

    /// Looks once at the GPUs of these steps, whose directories these are. Returns who has too
    /// much of one.
    pub fn look(&mut self, running: Vec<(AttemptId, StepDir)>) -> Vec<(AttemptId, GpuOveruse)> {
        let mut too_much = Vec::new();
        self.steps.retain(|id, _| running.iter().any(|(runs, _)| runs == id));
        for (id, dir) in running {
            let known = self.steps.entry(id);
            let (subject, tally) =
                known.or_insert_with(|| (Subject::of(&dir), GpuTally::read(&dir)));
            if subject.gpus.is_empty() {
                continue;
            }
            if self.meter.is_none() {
                match (self.open)() {
                    Ok(meter) => self.meter = Some(meter),
                    Err(trouble) => {
                        if trouble != self.trouble {
                            tracing::warn!("the GPUs of jobs are not accounted for: {trouble}");
                        }
                        self.trouble = trouble;
                        return too_much;
                    }
                }
            }
            let Some(meter) = &self.meter else { return too_much };
            for gpu in &subject.gpus {
                let Some(reading) = subject.read(&gpu.uuid, meter.as_ref()) else {
                    if subject.shared.is_some() && !std::mem::replace(&mut self.said_blind, true) {
                        let uuid = &gpu.uuid;
                        tracing::warn!(
                            "jobs are not held to their share of a GPU's memory: the driver does \
                             not tell what each has of GPU {uuid}"
                        );
                    }
                    continue;
                };
                tally.add(&gpu.uuid, reading);
                too_much.extend(subject.overuse(gpu, reading).map(|overuse| (id, overuse)));
            }
            // A step that has just ended needs no tally, and a full disk is health's to tell.
            let _ = tally.write(&dir);
        }
        too_much
    }
}

/// What is looked at of a step.
#[derive(Default)]
struct Subject {
    /// Its GPUs; none: nothing is.
    gpus: Vec<GpuGrant>,
    /// Its group and its share of each, if it shares them: what others do there is not its own, and
    /// only of memory does a driver tell whose it is.
    shared: Option<(Box<dyn Cgroup>, GpuMilli)>,
}

impl Subject {
    fn of(dir: &StepDir) -> Self {
        let Ok(order) = dir.read_order() else { return Self::default() };
        let group = |order: &StepOrder| {
            let (id, owner) = (order.launch.id.to_string(), order.launch.owner.uid);
            cgroup::open(&order.cgroup, &id, owner, None).ok()
        };
        let share = order.share.gpu_milli;
        let shared = share.and_then(|share| Some((group(&order)?, share)));
        match share.is_some() && shared.is_none() {
            true => Self::default(),
            false => Self { gpus: order.gpus, shared },
        }
    }

    fn overuse(&self, gpu: &GpuGrant, reading: GpuReading) -> Option<GpuOveruse> {
        let (_, share) = self.shared.as_ref()?;
        GpuOveruse::of(gpu.index, gpu.memory, *share, reading.memory_used?)
    }

    fn read(&self, uuid: &str, meter: &dyn GpuMeter) -> Option<GpuReading> {
        let Some((group, _)) = &self.shared else { return meter.read(uuid) };
        let pids = group.pids().ok()?;
        let pids = pids.into_iter().filter_map(|pid| u32::try_from(pid.as_raw()).ok()).collect();
        let memory_used = Some(meter.memory_of(uuid, &pids)?);
        Some(GpuReading { memory_used, ..GpuReading::default() })
    }
}

/// Looks until kantd ends, and ends who has too much where `holds`. To be spawned.
pub async fn keep(steps: Steps, library: Option<PathBuf>, period: Option<Duration>, holds: bool) {
    let Some(period) = period else { return std::future::pending().await };
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let fresh = || {
        let library = library.clone();
        Bench::new(Box::new(move || meter::open(library.as_deref())))
    };
    let mut bench = fresh();
    loop {
        ticks.tick().await;
        let runs = |step: &StepStatus| matches!(step.phase, StepPhase::Running { .. });
        let running = steps.status().into_iter().filter(runs);
        let running: Vec<(AttemptId, StepDir)> =
            running.map(|step| (step.id, steps.dir_of(step.id))).collect();
        let looked = spawn_blocking(move || {
            let too_much = bench.look(running);
            (bench, too_much)
        });
        // Only a bug in a look gets here; what was kept is in the steps' directories.
        let (looked, too_much) = looked.await.unwrap_or_else(|_| (fresh(), Vec::new()));
        bench = looked;
        for (id, overuse) in too_much.into_iter().filter(|_| holds) {
            steps.end_for(id, overuse);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::example_order;
    use common::unit::Bytes;
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts how often it was opened and asked.
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

    fn bench() -> (Bench, Arc<Counts>) {
        let counts = Arc::new(Counts::default());
        let meters = Arc::clone(&counts);
        let open: OpenMeter = Box::new(move || {
            meters.opened.fetch_add(1, Ordering::SeqCst);
            Ok(Box::new(Fake(Arc::clone(&meters))))
        });
        (Bench::new(open), counts)
    }

    fn step(home: &tempfile::TempDir, share_of_one: bool) -> (AttemptId, StepDir) {
        let mut order = example_order("g1");
        order.share.gpu_milli = share_of_one.then_some(GpuMilli(500));
        let id = order.launch.id;
        let dir = StepDir::of(home.path(), id);
        dir.make().unwrap();
        dir.write_order(&order).unwrap();
        (id, dir)
    }

    #[test]
    fn each_look_asks_each_gpu_once_and_a_new_kantd_goes_on_with_the_sum() {
        let home = tempfile::tempdir().unwrap();
        let step = step(&home, false);
        let (mut first, counts) = bench();
        (0..3).for_each(|_| assert_eq!(first.look(vec![step.clone()]), []));
        assert_eq!(counts.asked.load(Ordering::SeqCst), 3);
        assert_eq!(counts.opened.load(Ordering::SeqCst), 1);
        let (mut second, _) = bench();
        second.look(vec![step.clone()]);
        let usage = GpuTally::read(&step.1).usage().unwrap();
        assert_eq!((usage.samples, usage.busy_percent()), (4, Some(40)));
        assert_eq!(usage.energy_joules, 6, "the second meter's counter began anew, at zero");
    }

    #[test]
    fn of_a_step_that_shares_a_gpu_only_its_own_memory_is_noted() {
        let home = tempfile::tempdir().unwrap();
        let step = step(&home, true);
        let (mut bench, counts) = bench();
        bench.look(vec![step.clone()]);
        bench.look(Vec::new());
        assert_eq!(counts.asked.load(Ordering::SeqCst), 0);
        let usage = GpuTally::read(&step.1).usage().unwrap();
        assert_eq!((usage.samples, usage.memory_peak), (0, Bytes(77)));
    }

    #[test]
    fn who_shares_a_gpu_and_has_more_of_its_memory_than_its_share_is_found_at_each_look() {
        let home = tempfile::tempdir().unwrap();
        let (id, dir) = step(&home, true);
        let look = |memory| {
            let mut order = dir.read_order().unwrap();
            order.gpus[0].memory = memory;
            dir.write_order(&order).unwrap();
            bench().0.look(vec![(id, dir.clone())])
        };
        let gpu = dir.read_order().unwrap().gpus[0].index;
        let overuse = GpuOveruse { gpu, used: Bytes(77), share: Bytes(76) };
        assert_eq!(look(Bytes(153)), [(id, overuse)]);
        assert_eq!(look(Bytes(154)), [], "half of it is 77");
        assert_eq!(look(Bytes::ZERO), [], "written by an earlier release");
    }

    #[test]
    fn no_driver_is_asked_for_steps_without_gpus() {
        let home = tempfile::tempdir().unwrap();
        let mut order = example_order("g1");
        order.gpus.clear();
        let dir = StepDir::of(home.path(), order.launch.id);
        dir.make().unwrap();
        dir.write_order(&order).unwrap();
        let (mut bench, counts) = bench();
        bench.look(vec![(order.launch.id, dir.clone())]);
        assert_eq!(counts.opened.load(Ordering::SeqCst), 0);
        assert_eq!(GpuTally::read(&dir).usage(), None);
    }
}
