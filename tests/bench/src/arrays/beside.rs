//! The waits of another client's writes during an action on a whole array, with a real controller
//! on loopback that makes everything durable.

use crate::figures::Figures;
use e2e::{Controllers, Kantctl, Probe, wait_for};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const SCRIPT: &str = "#!/bin/sh\nexit 0\n";

/// Another client, and the figures measured with it.
struct Beside<'a> {
    probe: Probe,
    tasks: u32,
    figures: &'a mut Figures,
}

/// Measures each action once, on an array of `tasks` tasks.
pub fn measure(tasks: u32, figures: &mut Figures) -> anyhow::Result<()> {
    let controllers = Controllers::of(&["a"], |config| {
        config.log = "info".to_owned();
        // All tasks must be kept, because they are requeued after their end.
        config.user_done_tasks = 1_000_000;
    })?;
    let kantctl = controllers.kantctl("a")?;
    let probe = Probe::new("beside", &controllers.sockets(), controllers.dir(), SCRIPT)?;
    let mut probe = probe.asking(|ask| ask.hold = true);
    let first = probe.submit()?.to_string();
    let mut beside = Beside { probe, tasks, figures };
    let (array, after) =
        (format!("--array=0-{}", tasks - 1), format!("--dependency=afterok:{first}"));
    let submit = ["submit", "--parsable", "--hold", "--kill-on-invalid-dep=yes", &after, &array];
    let submit = [&submit[..], &["--wrap", "true"]].concat();
    let id = beside.act("submit", || kantctl.ok(&submit))?.trim().to_owned();
    for verb in ["release", "hold", "update", "cancel", "requeue"] {
        let words = match verb {
            "update" => vec![verb, &id, "--time=5"],
            _ => vec![verb, &id],
        };
        beside.act(verb, || kantctl.ok(&words))?;
    }
    beside.act("kill on invalid dependency:", || {
        kantctl.ok(&["cancel", &first])?;
        wait_for("the end of the array", || Ok((count_pending(&kantctl)? <= 1).then(String::new)))
    })?;
    Ok(())
}

/// Number of pending jobs and tasks; the other client may have one of them.
fn count_pending(kantctl: &Kantctl) -> anyhow::Result<u64> {
    let status: serde_json::Value = kantctl.json(&["status"])?;
    Ok(status["jobs_pending"].as_u64().unwrap_or(u64::MAX))
}

impl Beside<'_> {
    /// Does something, and measures how long that takes and how long each write of another client
    /// takes meanwhile. There are at least two writes. Returns the output of `act`.
    fn act(
        &mut self,
        verb: &str,
        act: impl FnOnce() -> anyhow::Result<String> + Send,
    ) -> anyhow::Result<String> {
        let (is_over, mut waits) = (AtomicBool::new(false), Vec::new());
        let (said, took) = std::thread::scope(|scope| {
            let acting = scope.spawn(|| {
                let began = Instant::now();
                let done = act();
                is_over.store(true, Ordering::SeqCst);
                done.map(|said| (said, began.elapsed()))
            });
            while !is_over.load(Ordering::SeqCst) || waits.is_empty() {
                let began = Instant::now();
                let job = self.probe.submit()?;
                waits.push(began.elapsed());
                let began = Instant::now();
                self.probe.cancel(job)?;
                waits.push(began.elapsed());
            }
            acting.join().expect("the action does not panic")
        })?;
        self.note(verb, took, waits);
        Ok(said)
    }

    fn note(&mut self, verb: &str, took: Duration, mut waits: Vec<Duration>) {
        waits.sort_unstable();
        let of = |what: &str| format!("{what}: {verb} an array of {}", self.tasks);
        self.figures.time(&of("the whole"), took);
        let at = |place: usize| waits.get(place).copied().unwrap_or_default();
        self.figures.time(&of("longest write meanwhile"), at(waits.len() - 1));
        self.figures.time(&of("99 % of writes meanwhile"), at(waits.len() * 99 / 100));
    }
}
