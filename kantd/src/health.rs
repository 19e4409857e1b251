//! The node's eye on itself: looks again and again, keeps what lasts, and shows all that is wrong
//! to whoever wants to know. What it means is the pure crate's to say (`node::Ward`). Never changes
//! anything on the machine, and never hangs with what it looks at.

mod machine;
mod orphans;
mod prober;
mod script;

pub(crate) use prober::Asked;

use crate::cgroup::Place;
use crate::config::HealthSettings;
use crate::gpu::{amd, patient};
use crate::step;
use common::gpu::Gpu;
use common::health::{Check, Finding};
use machine::MachineProbe;
use node::{Sign, Ward};
use orphans::OrphanProbe;
use prober::Prober;
use script::ScriptProbe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// All that is wrong; `None` before the first look.
pub type Findings = watch::Receiver<Option<Vec<Finding>>>;

/// A look that takes longer than this hangs. The GPU driver takes seconds to start.
const LOOK_LIMIT: Duration = Duration::from_secs(60);

/// What is looked at, and how often.
#[derive(Debug, Clone)]
pub struct Watched {
    pub settings: HealthSettings,
    pub gpus: Vec<Gpu>,
    /// The NVML library, if not the loader's.
    pub nvml_library: Option<PathBuf>,
    /// kantd's spool, on whose disk jobs' ends are written down.
    pub spool: PathBuf,
    /// Where steps' groups are.
    pub cgroup: Place,
    /// What was wrong already when kantd started, and stays so until it starts again.
    pub signs: Vec<Sign>,
    /// Rings when there is something to see before it is time to look.
    pub bell: Arc<Notify>,
}

/// Looks until nobody wants to know any more. To be spawned; the receiver shows what it found.
pub fn watch(watched: Watched) -> (impl Future<Output = ()> + Send + 'static, Findings) {
    let (shown, findings) = watch::channel(None);
    (run(watched, shown), findings)
}

async fn run(watched: Watched, shown: watch::Sender<Option<Vec<Finding>>>) {
    let Some(period) = watched.settings.period else { return std::future::pending().await };
    let mut ward = Ward::new(watched.settings.policy.clone());
    let mut probers = probers(&watched);
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while !shown.is_closed() {
        tokio::select! {
            _ = ticks.tick() => {}
            () = watched.bell.notified() => {}
        }
        let mut signs = watched.signs.clone();
        for prober in &mut probers {
            signs.extend(prober.look(LOOK_LIMIT).await);
        }
        let found = ward.look(signs);
        shown.send_if_modified(|before| {
            let news = before.as_ref() != Some(&found);
            if news {
                tell(before.as_deref().unwrap_or_default(), &found);
                *before = Some(found);
            }
            news
        });
    }
}

fn probers(watched: &Watched) -> Vec<Prober> {
    let Watched { settings, gpus, nvml_library, spool, cgroup, .. } = watched;
    let spool_hangs = Sign::new(Check::ReadOnly, format!("{} does not answer", spool.display()));
    let machine = MachineProbe::new(Path::new("/"), spool.clone(), settings.disk_free_min);
    let orphans = OrphanProbe::new(cgroup.clone(), step::steps_dir(spool));
    let look = move || [machine.look(), orphans.look()].concat();
    let mut probers = vec![Prober::start("machine", spool_hangs, move |asked| asked.always(look))];
    let (amd, nvidia): (Vec<Gpu>, Vec<Gpu>) =
        gpus.iter().cloned().partition(Gpu::has_render_device);
    if !amd.is_empty() {
        let hangs = Sign::new(Check::GpuDriver, "the driver of AMD's GPUs does not answer");
        let look = move || amd::look(Path::new("/"), &amd);
        probers.push(Prober::start("amd", hangs, move |asked| asked.always(look)));
    }
    if !nvidia.is_empty() {
        let hangs = Sign::new(Check::GpuDriver, "the GPU driver does not answer");
        let library = nvml_library.clone();
        let attend = move |asked: Asked| patient::attend(library, &nvidia, &asked);
        probers.push(Prober::start("gpus", hangs, attend));
    }
    if let Some(script) = &settings.script {
        let hangs = Sign::new(Check::Script, format!("{} hangs", script.display()));
        let script = ScriptProbe::new(script.clone(), settings.script_limit, spool);
        probers.push(Prober::start("script", hangs, move |asked| asked.always(|| script.look())));
    }
    probers
}

/// What is new, and what has passed, for the log.
fn tell(before: &[Finding], now: &[Finding]) {
    for finding in now.iter().filter(|finding| !before.contains(finding)) {
        let (check, response) = (finding.check.word(), finding.response);
        tracing::warn!(check, ?response, "not well: {}", finding.says);
    }
    for finding in before.iter().filter(|finding| !now.contains(finding)) {
        tracing::info!(check = finding.check.word(), "well again: {}", finding.says);
    }
}
