//! Health checks of the node: probes run periodically, and the findings are published. Probes run
//! on their own threads, so that a hanging one delays nothing else. `node::HealthMonitor` assesses
//! the symptoms.

mod machine_probe;
mod orphans;
mod script;

use crate::cgroup::CgroupParent;
use crate::config::HealthSettings;
use crate::gpu::{amd, nvidia_health};
use crate::probe_thread::{ProbeRequests, ProbeThread};
use crate::step;
use common::gpu::Gpu;
use common::health::{Check, Finding};
use machine_probe::MachineProbe;
use node::{HealthMonitor, Symptom};
use orphans::OrphanProbe;
use script::ScriptProbe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// The current findings; `None` before the first probe.
pub type Findings = watch::Receiver<Option<Vec<Finding>>>;

/// The longest time of a probe. The GPU driver takes seconds to start.
const PROBE_LIMIT: Duration = Duration::from_secs(60);

/// What is checked, and how often.
#[derive(Debug, Clone)]
pub struct Watched {
    pub settings: HealthSettings,
    pub gpus: Vec<Gpu>,
    /// The NVML library, if not the loader's default.
    pub nvml_library: Option<PathBuf>,
    /// kantd's spool; ends of jobs are recorded on its disk.
    pub spool: PathBuf,
    /// The parent cgroup of steps.
    pub cgroup: CgroupParent,
    /// Symptoms found when kantd started, which last until it restarts.
    pub symptoms: Vec<Symptom>,
    /// Notified when a probe should run before its time.
    pub probe_now: Arc<Notify>,
}

/// Runs the probes until the receiver of the findings is dropped. To be spawned.
pub fn watch(watched: Watched) -> (impl Future<Output = ()> + Send + 'static, Findings) {
    let (published, findings) = watch::channel(None);
    (run(watched, published), findings)
}

async fn run(watched: Watched, published: watch::Sender<Option<Vec<Finding>>>) {
    let Some(period) = watched.settings.period else { return std::future::pending().await };
    let mut monitor = HealthMonitor::new(watched.settings.policy.clone());
    let mut probe_threads = probe_threads(&watched);
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while !published.is_closed() {
        tokio::select! {
            _ = ticks.tick() => {}
            () = watched.probe_now.notified() => {}
        }
        let mut symptoms = watched.symptoms.clone();
        for probe_thread in &mut probe_threads {
            symptoms.extend(probe_thread.probe(PROBE_LIMIT).await);
        }
        let found = monitor.assess(symptoms);
        published.send_if_modified(|before| {
            let news = before.as_ref() != Some(&found);
            if news {
                log_changes(before.as_deref().unwrap_or_default(), &found);
                *before = Some(found);
            }
            news
        });
    }
}

fn probe_threads(watched: &Watched) -> Vec<ProbeThread> {
    let Watched { settings, gpus, nvml_library, spool, cgroup, .. } = watched;
    let spool_hangs = Symptom::new(Check::ReadOnly, format!("{} does not answer", spool.display()));
    let machine = MachineProbe::new(Path::new("/"), spool.clone(), settings.disk_free_min);
    let orphans = OrphanProbe::new(cgroup.clone(), step::steps_dir(spool));
    let probe = move || [machine.symptoms(), orphans.symptoms()].concat();
    let mut probe_threads = vec![ProbeThread::start("machine", spool_hangs, move |requests| {
        requests.answer_all_with(probe)
    })];
    let (amd, nvidia): (Vec<Gpu>, Vec<Gpu>) =
        gpus.iter().cloned().partition(Gpu::has_render_device);
    if !amd.is_empty() {
        let hangs = Symptom::new(Check::GpuDriver, "the driver of AMD's GPUs does not answer");
        let probe = move || amd::symptoms(Path::new("/"), &amd);
        probe_threads.push(ProbeThread::start("amd", hangs, move |requests| {
            requests.answer_all_with(probe)
        }));
    }
    if !nvidia.is_empty() {
        let hangs = Symptom::new(Check::GpuDriver, "the GPU driver does not answer");
        let library = nvml_library.clone();
        let serve =
            move |requests: ProbeRequests| nvidia_health::serve(library, &nvidia, &requests);
        probe_threads.push(ProbeThread::start("gpus", hangs, serve));
    }
    if let Some(script) = &settings.script {
        let hangs = Symptom::new(Check::Script, format!("{} hangs", script.display()));
        let script = ScriptProbe::new(script.clone(), settings.script_limit, spool);
        probe_threads.push(ProbeThread::start("script", hangs, move |requests| {
            requests.answer_all_with(|| script.symptoms())
        }));
    }
    probe_threads
}

/// Logs new findings and those that are gone.
fn log_changes(before: &[Finding], now: &[Finding]) {
    for finding in now.iter().filter(|finding| !before.contains(finding)) {
        let (check, response) = (finding.check.word(), finding.response);
        tracing::warn!(check, ?response, "unhealthy: {}", finding.says);
    }
    for finding in before.iter().filter(|finding| !now.contains(finding)) {
        tracing::info!(check = finding.check.word(), "healthy again: {}", finding.says);
    }
}
