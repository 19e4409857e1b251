//! Steps without a controller: orders go directly to kantd's own `Steps`, with real supervisors
//! and, where this host has them, cgroups.

use super::rss_mib;
use crate::figures::Figures;
use anyhow::{Context as _, ensure};
use common::config::CgroupMode;
use common::cpuset::CpuSet;
use common::gpu::Gpu;
use common::id::{Attempt, AttemptId, Gid, JobId, JobKey, NodeName, QueueName, Uid};
use common::job::{Launch, OpenMode, Owner};
use common::policy::Sandbox;
use common::resource::{Allocation, Share};
use common::time::{Span, Time};
use common::unit::{Bytes, Tasks};
use common::wire::node::{LaunchOrder, StepPhase};
use e2e::{Binaries, Build};
use kantd::accounting::GpuAccounting;
use kantd::cgroup;
use kantd::gpu::{meter, nvml};
use kantd::idle_gpus::IdleTracker;
use kantd::step::{StartLimits, StepChanges, StepRules, Steps, StepsSettings};
use nix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

/// Number of steps launched at once to measure the rate.
const LAUNCHES: u32 = 200;
/// Number of starts whose latency is measured, per round.
const STARTS: u32 = 20;
/// Number of steps whose GPUs are sampled.
const WATCHED: u32 = 64;
/// Number of samples that are timed.
const LOOKS: u32 = 20;
/// Time limit of each wait.
const PATIENCE: Duration = Duration::from_secs(120);

/// Writes when it began, and ends.
const SCRIPT: &str = "#!/bin/sh\ndate +%s%N >began\n";

struct StepHarness {
    home: tempfile::TempDir,
    program: PathBuf,
    steps: Steps,
    changes: StepChanges,
    gpus: Vec<Gpu>,
    last: u32,
}

/// Measures launches in each of `rounds` rounds, then the samples of GPUs.
pub fn measure(rounds: usize, figures: &mut Figures) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let binaries = Binaries::build(Build::Quiet)?;
    let gpus = nvml::discover(Some(&binaries.nvml))?.context("the stand-in has no machine")?.gpus;
    runtime.block_on(async {
        let mut harness = StepHarness::open(binaries.kantd, gpus).await?;
        for _ in 0..rounds {
            harness.rate(figures).await?;
            harness.latencies(figures).await?;
        }
        harness.looks(&binaries.nvml, figures).await
    })
}

impl StepHarness {
    async fn open(program: PathBuf, gpus: Vec<Gpu>) -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        let root = format!("kant-bench-{}", std::process::id());
        let settings = StepsSettings {
            spool: home.path().join("spool"),
            node: NodeName::new("n1")?,
            cgroup: cgroup::detect(CgroupMode::Auto, &root)?.parent,
            allow_root: true,
            rules: StepRules::default(),
            program: program.clone(),
            starts: StartLimits::default(),
            ports: 31_000..=31_999,
        };
        let (steps, changes) = Steps::open(settings).await?;
        Ok(Self { home, program, steps, changes, gpus, last: 0 })
    }

    /// An order for a job of this user: one task, on the GPU with this index if there is one.
    fn order(&mut self, script: &str, gpu: Option<u32>) -> anyhow::Result<LaunchOrder> {
        self.last += 1;
        let gpus = gpu.map(|place| self.gpus[place as usize % self.gpus.len()].index);
        let share = Share {
            gpu_milli: None,
            node: NodeName::new("n1")?,
            tasks: Tasks(1),
            cpus: CpuSet::first_n(1),
            memory: Bytes::from_mib(64),
            gpus: gpus.into_iter().collect(),
        };
        let (uid, gid) = (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw());
        Ok(LaunchOrder {
            id: AttemptId { key: JobKey::single(JobId(self.last)), attempt: Attempt(1) },
            cluster: "bench".into(),
            job_name: "bench".into(),
            owner: Owner { uid: Uid(uid), gid: Gid(gid), name: "bench".into() },
            queue: QueueName::new("main")?,
            account: None,
            script: script.into(),
            args: Vec::new(),
            environment: BTreeMap::new(),
            work_dir: self.home.path().display().to_string(),
            stdin: None,
            stdout: "/dev/null".into(),
            stderr: None,
            open_mode: OpenMode::Append,
            umask: 0o022,
            rlimits: Vec::new(),
            launch: Launch::Once,
            requeue: true,
            time_limit: None,
            container: None,
            sandbox: Sandbox::default(),
            until_deadline: None,
            warning: None,
            kill_grace: Span(0),
            allocation: Allocation::new(vec![share])?,
            addresses: vec!["127.0.0.1".into()],
            resized: 0,
            cpus_per_task: 1,
            submitted_at: Time(0),
            submit_host: "bench".into(),
            array: None,
            set: None,
            replica: None,
        })
    }

    /// Launches a step and lets its processes start.
    fn start(&mut self, script: &str, gpu: Option<u32>) -> anyhow::Result<AttemptId> {
        let order = self.order(script, gpu)?;
        let id = order.id;
        self.steps.launch(order, &self.gpus);
        self.steps.start_ready_step(id);
        Ok(id)
    }

    /// Waits until `count` steps have reached a phase. Forgets steps that ended successfully.
    async fn until(&mut self, count: u32, wanted: fn(&StepPhase) -> bool) -> anyhow::Result<()> {
        let mut seen = 0;
        while seen < count {
            let change = tokio::time::timeout(PATIENCE, self.changes.recv()).await?;
            let change = change.context("the steps are gone")?;
            seen += u32::from(wanted(&change.phase));
            if let StepPhase::Ended(end) = change.phase {
                let message = end.message.unwrap_or_default();
                ensure!(end.exit.code == 0, "{} ended with {}: {message}", change.id, end.exit);
                self.steps.forget(change.id);
            }
        }
        Ok(())
    }

    async fn rate(&mut self, figures: &mut Figures) -> anyhow::Result<()> {
        let begin = Instant::now();
        for _ in 0..LAUNCHES {
            self.start("#!/bin/sh\ntrue\n", None)?;
        }
        self.until(LAUNCHES, is_over).await?;
        let rate = f64::from(LAUNCHES) / begin.elapsed().as_secs_f64();
        figures.add("1-task steps launched and ended, 200 at once", "1/s", rate);
        Ok(())
    }

    /// Time from an order to the time that its first command reads, and the same without kant.
    async fn latencies(&mut self, figures: &mut Figures) -> anyhow::Result<()> {
        let plain = self.home.path().join("plain.sh");
        std::fs::write(&plain, SCRIPT)?;
        for _ in 0..STARTS {
            let before = SystemTime::now();
            self.start(SCRIPT, None)?;
            self.until(1, is_over).await?;
            let span = self.began_after(before)?;
            figures.time("1-task step: order to first command", span);
            let before = SystemTime::now();
            let mut sh = Command::new("/bin/sh");
            sh.arg(&plain).current_dir(self.home.path()).status()?;
            let span = self.began_after(before)?;
            figures.time("fork and exec of the same script", span);
        }
        Ok(())
    }

    fn began_after(&self, before: SystemTime) -> anyhow::Result<Duration> {
        let text = std::fs::read_to_string(self.home.path().join("began"))?;
        let first = SystemTime::UNIX_EPOCH + Duration::from_nanos(text.trim().parse()?);
        Ok(first.duration_since(before)?)
    }

    /// CPU time of this thread for one sample of the GPUs of many steps.
    async fn looks(&mut self, library: &Path, figures: &mut Figures) -> anyhow::Result<()> {
        for place in 0..WATCHED {
            self.start("#!/bin/sh\nuntil [ -e enough ]; do sleep 1; done\n", Some(place))?;
        }
        self.until(WATCHED, |phase| matches!(phase, StepPhase::Running { .. })).await?;
        for pid in supervisors_of(&self.program)?.into_iter().take(8) {
            figures.add("supervisor of a step, RSS", "MiB", rss_mib(pid)?);
        }
        let library = library.to_owned();
        let open = Box::new(move || meter::open(Some(&library)));
        let mut accounting = GpuAccounting::new(open, IdleTracker::new(5));
        let status = self.steps.status();
        for look in 0..=LOOKS {
            let running = status.iter().map(|step| (step.id, self.steps.dir_of(step.id)));
            let running = running.collect();
            let before = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?;
            accounting.sample(running);
            let used = Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)? - before);
            // The first sample also reads the orders and starts the library.
            if look > 0 {
                figures.time("one look at the GPUs of 64 steps, CPU", used);
            }
        }
        std::fs::write(self.home.path().join("enough"), "")?;
        self.until(WATCHED, is_over).await
    }
}

const fn is_over(phase: &StepPhase) -> bool {
    matches!(phase, StepPhase::Ended(_))
}

/// The supervisors that this program started, which are processes of `kantd step`.
fn supervisors_of(program: &Path) -> anyhow::Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let is_step = line.split(|byte| *byte == 0).nth(1) == Some(b"step".as_slice());
        let exe = std::fs::read_link(entry.path().join("exe")).unwrap_or_default();
        if is_step && exe == *program {
            found.push(pid);
        }
    }
    Ok(found)
}
