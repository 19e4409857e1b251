//! Files that say which jobs have which GPU, for exporters of GPU metrics: one file for each GPU of
//! the node, named by its number among them, with the id of a job in each line. dcgm-exporter reads
//! them from the directory in `DCGM_HPC_JOB_MAPPING_DIR`, and adds the label `hpc_job` to its
//! series.
//!
//! Source: dcgm-exporter's README, "How to include HPC jobs in metric labels". It can read a file
//! for each MIG device too; here the jobs on MIG devices are in the file of the whole GPU.

use crate::step::{GpuGrant, Steps};
use common::gpu::Gpu;
use common::gpu::mig::MigDevice;
use common::id::AttemptId;
use common::wire::node::{StepPhase, StepStatus};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;
use tokio::task::spawn_blocking;

/// The pause before a file that could not be written is written again.
const RETRY_PAUSE: Duration = Duration::from_secs(10);

/// The files of one node.
struct GpuJobFiles {
    dir: PathBuf,
    /// The ids of the node's whole GPUs. The driver counts them by PCI address.
    gpus: Vec<String>,
    /// The GPUs of the running steps.
    steps: BTreeMap<AttemptId, Vec<String>>,
    /// What each file has.
    written: BTreeMap<usize, String>,
}

fn whole_gpu(uuid: &str, mig: Option<&MigDevice>) -> String {
    mig.map_or(uuid, |mig| &mig.of).to_owned()
}

impl GpuJobFiles {
    fn new(dir: PathBuf, gpus: &[Gpu]) -> Self {
        let by_address: BTreeMap<&str, String> = gpus
            .iter()
            .map(|gpu| (&*gpu.pci_bus_id, whole_gpu(&gpu.uuid, gpu.mig.as_ref())))
            .collect();
        let gpus = by_address.into_values().collect();
        Self { dir, gpus, steps: BTreeMap::new(), written: BTreeMap::new() }
    }

    /// Writes the files that differ from what runs. `grants`: the GPUs of a step; `None`: they are
    /// not known yet.
    fn write(
        &mut self,
        running: &BTreeSet<AttemptId>,
        grants: impl Fn(AttemptId) -> Option<Vec<GpuGrant>>,
    ) -> io::Result<()> {
        self.steps.retain(|id, _| running.contains(id));
        let whole = |gpu: GpuGrant| whole_gpu(&gpu.uuid, gpu.mig.as_ref());
        for id in running {
            if !self.steps.contains_key(id)
                && let Some(grants) = grants(*id)
            {
                self.steps.insert(*id, grants.into_iter().map(whole).collect());
            }
        }
        fs::create_dir_all(&self.dir)?;
        for (number, gpu) in self.gpus.iter().enumerate() {
            let has_it = self.steps.iter().filter(|(_, gpus)| gpus.contains(gpu));
            let jobs: BTreeSet<_> = has_it.map(|(id, _)| id.key).collect();
            let text: String = jobs.iter().map(|job| format!("{job}\n")).collect();
            if self.written.get(&number) == Some(&text) {
                continue;
            }
            let file = self.dir.join(number.to_string());
            let new = file.with_extension("new");
            fs::write(&new, &text)?;
            fs::rename(&new, &file)?;
            self.written.insert(number, text);
        }
        Ok(())
    }
}

/// Keeps the files in this directory up to date until kantd ends. To be spawned.
pub async fn run(steps: Steps, dir: Option<PathBuf>, gpus: Vec<Gpu>) {
    let Some(dir) = dir else { return std::future::pending().await };
    let fresh = || GpuJobFiles::new(dir.clone(), &gpus);
    let (mut files, mut was_logged) = (fresh(), false);
    let changes = steps.change_notify();
    loop {
        let mut changed = pin!(changes.notified());
        // Registered before the look, so that no change between the two is missed.
        changed.as_mut().enable();
        let runs = |step: &StepStatus| !matches!(step.phase, StepPhase::Ended(_));
        let running = steps.status().into_iter().filter(runs).map(|step| step.id).collect();
        let dirs = steps.clone();
        let grants = move |id| Some(dirs.dir_of(id).read_spec().ok()?.gpus);
        let written = spawn_blocking(move || {
            let written = files.write(&running, grants);
            (files, written)
        });
        // Only a bug in `write` gets here.
        let (kept, written) = written.await.unwrap_or_else(|_| (fresh(), Ok(())));
        files = kept;
        match written {
            Ok(()) => {
                was_logged = false;
                changed.await;
            }
            Err(error) => {
                if !std::mem::replace(&mut was_logged, true) {
                    tracing::warn!("failed to write which jobs have which GPU: {error}");
                }
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::example_spec;
    use common::gpu::mig::DeviceNumber;

    fn gpu(uuid: &str, address: &str, of: Option<&str>) -> Gpu {
        let mut gpu = testkit::gpu(0);
        (gpu.uuid, gpu.pci_bus_id) = (uuid.to_owned(), address.to_owned());
        gpu.mig = of.map(|of| MigDevice {
            of: of.to_owned(),
            capabilities: [DeviceNumber { major: 1, minor: 1 }; 2],
        });
        gpu
    }

    #[test]
    fn each_gpu_has_a_file_with_the_jobs_on_it_and_on_its_mig_devices() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("jobs");
        let node = [
            gpu("GPU-late", "0000:9a:00.0", None),
            gpu("MIG-1", "0000:1b:00.0", Some("GPU-early")),
            gpu("MIG-2", "0000:1b:00.0", Some("GPU-early")),
        ];
        let mut files = GpuJobFiles::new(dir.clone(), &node);
        let has = |number: u32| fs::read_to_string(dir.join(number.to_string())).unwrap();
        let example = example_spec("g1");
        let (id, grant) = (example.launch.id, &example.gpus[0]);
        let on = |device: &Gpu| {
            let (uuid, mig) = (device.uuid.clone(), device.mig.clone());
            Some(vec![GpuGrant { uuid, mig, ..grant.clone() }])
        };
        files.write(&BTreeSet::from([id]), |_| None).unwrap();
        assert_eq!((has(0), has(1)), (String::new(), String::new()), "its spec is not there yet");
        files.write(&BTreeSet::from([id]), |_| on(&node[2])).unwrap();
        assert_eq!((has(0), has(1)), (format!("{}\n", id.key), String::new()));
        files.write(&BTreeSet::new(), |_| on(&node[2])).unwrap();
        assert_eq!((has(0), has(1)), (String::new(), String::new()));
        let next = AttemptId { attempt: common::id::Attempt(id.attempt.0 + 1), ..id };
        files.write(&BTreeSet::from([next]), |_| on(&node[0])).unwrap();
        assert_eq!((has(0), has(1)), (String::new(), format!("{}\n", id.key)));
    }

    #[test]
    fn files_of_an_earlier_kantd_are_replaced() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("0"), "7\n").unwrap();
        let node = [gpu("GPU-1", "0000:1b:00.0", None)];
        let mut files = GpuJobFiles::new(home.path().to_owned(), &node);
        files.write(&BTreeSet::new(), |_| None).unwrap();
        assert_eq!(fs::read_to_string(home.path().join("0")).unwrap(), "");
    }
}
