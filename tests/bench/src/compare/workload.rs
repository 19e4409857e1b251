//! The workload of both sides: the same scripts, submitted by each side's own commands. Jobs are
//! timed by what their scripts write, and no side is asked for its own measurements.

use super::slurm::{Slurm, Tuning};
use crate::figures::Figures;
use anyhow::{Context as _, bail};
use e2e::Kantctl;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

const SUBMITS: usize = 200;
const TRIVIAL_JOBS: usize = 200;
const STARTS: usize = 5;
/// Time between two checks of a file.
const LOOK: Duration = Duration::from_millis(5);
/// Time limit of each wait.
const LIMIT: Duration = Duration::from_secs(300);

pub enum Side {
    Kant(Kantctl),
    Slurm(Slurm),
}

impl Side {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Kant(_) => "kant",
            Self::Slurm(slurm) => match slurm.tuning() {
                Tuning::Stock => "Slurm",
                Tuning::Short => "tuned Slurm",
            },
        }
    }

    fn dir(&self) -> &Path {
        match self {
            Self::Kant(kantctl) => kantctl.dir(),
            Self::Slurm(slurm) => slurm.dir(),
        }
    }

    fn submit(&self, words: &[&str]) -> anyhow::Result<()> {
        let words = [&["-o", "/dev/null", "--mem=16M"], words].concat();
        match self {
            Self::Kant(kantctl) => kantctl.ok(&[&["submit"], &*words].concat()),
            Self::Slurm(slurm) => slurm.ok("sbatch", &words),
        }
        .map(drop)
    }

    /// Time of a job of one task in the foreground, from the command to its end.
    fn run(&self) -> anyhow::Result<Duration> {
        let begin = Instant::now();
        match self {
            Self::Kant(kantctl) => kantctl.ok(&["run", "--mem=16M", "true"]),
            Self::Slurm(slurm) => slurm.ok("srun", &["--mem=16M", "true"]),
        }?;
        Ok(begin.elapsed())
    }

    fn list(&self) -> anyhow::Result<String> {
        match self {
            Self::Kant(kantctl) => kantctl.ok(&["queue"]),
            Self::Slurm(slurm) => slurm.ok("squeue", &[]),
        }
    }

    /// Cancels all jobs, and waits until none is left.
    fn cancel_everything(&self) -> anyhow::Result<()> {
        match self {
            Self::Kant(kantctl) => kantctl.cancel_everything(),
            Self::Slurm(slurm) => {
                slurm.ok("scancel", &["-u", "root"])?;
                e2e::wait_for("Slurm's queue to empty", || {
                    Ok(slurm.ok("squeue", &["-h"])?.is_empty().then_some(()))
                })
            }
        }
    }
}

/// Measures everything once.
pub fn measure(side: &Side, figures: &mut Figures) -> anyhow::Result<()> {
    let name = side.name();
    for _ in 0..STARTS {
        figures.time(&format!("{name}: submit to first command, idle"), start(side)?);
    }
    for _ in 0..STARTS {
        figures.time(&format!("{name}: run true, idle"), side.run()?);
    }
    for clients in [1, 8] {
        let plural = if clients == 1 { "" } else { "s" };
        let what = format!("{name}: submissions/s, CLI, {clients} client{plural}");
        figures.add(&what, "1/s", jobs_per_second(SUBMITS, time_submits(side, clients)?));
        let begin = Instant::now();
        side.list()?;
        figures.time(&format!("{name}: list {SUBMITS} waiting jobs, CLI"), begin.elapsed());
        side.cancel_everything()?;
    }
    let took = time_trivial_array(side)?;
    figures.add(
        &format!("{name}: {TRIVIAL_JOBS} trivial jobs"),
        "1/s",
        jobs_per_second(TRIVIAL_JOBS, took),
    );
    side.cancel_everything()
}

fn jobs_per_second(count: usize, took: Duration) -> f64 {
    #[allow(clippy::cast_precision_loss)] // some hundreds
    let count = count as f64;
    count / took.as_secs_f64()
}

/// Time from before the command starts to the time that the job's first command reads.
fn start(side: &Side) -> anyhow::Result<Duration> {
    let began = side.dir().join("began");
    let _ = std::fs::remove_file(&began);
    let before = SystemTime::now();
    side.submit(&["--wrap", "date +%s%N > began.new; mv began.new began"])?;
    wait(|| Ok(began.exists()))?;
    let nanoseconds: u64 = std::fs::read_to_string(&began)?.trim().parse()?;
    let first = SystemTime::UNIX_EPOCH + Duration::from_nanos(nanoseconds);
    side.cancel_everything()?;
    Ok(first.duration_since(before)?)
}

/// Time to submit held jobs. Held jobs do not run, so only the submission is measured.
fn time_submits(side: &Side, clients: usize) -> anyhow::Result<Duration> {
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let each =
            || (0..SUBMITS / clients).try_for_each(|_| side.submit(&["--hold", "--wrap", "true"]));
        let threads: Vec<_> = (0..clients).map(|_| scope.spawn(each)).collect();
        threads.into_iter().try_for_each(|one| one.join().ok().context("a client panicked")?)
    })?;
    Ok(begin.elapsed())
}

/// Time from before the submission of one array to the last line that a task writes.
fn time_trivial_array(side: &Side) -> anyhow::Result<Duration> {
    let done = side.dir().join("done");
    std::fs::write(&done, "")?;
    let begin = Instant::now();
    side.submit(&[&format!("--array=1-{TRIVIAL_JOBS}"), "--wrap", "echo >> done"])?;
    wait(|| Ok(std::fs::metadata(&done)?.len() >= TRIVIAL_JOBS as u64))?;
    Ok(begin.elapsed())
}

fn wait(is_so: impl Fn() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let begin = Instant::now();
    while !is_so()? {
        if begin.elapsed() > LIMIT {
            bail!("jobs do not end within {LIMIT:?}");
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}
