//! What sacct is about: jobs that live, from the state, and those that are over, from accounting.
//! Never shows one job as both.

use super::calendar;
use super::sacct::Args;
use crate::failure::Failure;
use crate::keys;
use crate::output::Screen;
use crate::server::{Server, encoded};
use crate::verb::filter::Filter;
use crate::verb::history;
use common::id::JobKey;
use common::job::Phase;
use common::time::Time;
use common::wire::api::{JobList, JobView};
use std::collections::{BTreeMap, BTreeSet};

/// The time that is asked about.
pub struct Window {
    /// In some state then or later.
    pub from: Option<Time>,
    /// Submitted by then.
    pub to: Option<Time>,
}

impl Window {
    /// As the options say.
    ///
    /// # Errors
    /// [`Failure`] naming the option that is no time.
    pub fn of(args: &Args, now: Time, screen: &Screen) -> Result<Self, Failure> {
        let read = |option: &str, text: &Option<String>| -> Result<Option<Time>, Failure> {
            let Some(text) = text else { return Ok(None) };
            let at = calendar::read(text, now, &screen.zone);
            at.map(Some).map_err(|error| Failure::usage(anyhow::anyhow!("{option}: {error}")))
        };
        let midnight = || calendar::read("today", now, &screen.zone).ok();
        let named = !args.jobs.is_empty() || !args.states.is_empty();
        let from = read("--starttime", &args.start)?;
        let from = from.or_else(|| if named { None } else { midnight() });
        Ok(Self { from, to: read("--endtime", &args.end)? })
    }

    /// Was it in some state within the window? Those that are not over are still.
    #[must_use]
    pub fn holds(&self, job: &JobView) -> bool {
        self.from.is_none_or(|from| job.ended_at.is_none_or(|ended| ended >= from))
            && self.to.is_none_or(|to| job.submitted_at <= to)
    }
}

/// What lives, and what is over as accounting has it. What lives is asked first: a job that ends
/// meanwhile is in both, never in none.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or a time does not read.
pub async fn found(args: &Args, server: &Server, screen: &Screen) -> Result<JobList, Failure> {
    let filter = args.filter();
    let living = filter.ask_unchecked(server, false).await?;
    let window = Window::of(args, living.as_of, screen)?;
    let keys = keys::all(&args.jobs);
    let over = history::all(server, &question(args, &filter, &keys, &window), usize::MAX).await?;
    let mut jobs: BTreeMap<(JobKey, u32), JobView> = BTreeMap::new();
    for job in living.jobs {
        // Before it starts, it is the run that it is to be.
        let run = job.attempt + u32::from(job.phase == Phase::Pending);
        jobs.insert((job.key, run), job);
    }
    let alive: BTreeSet<JobKey> = jobs.keys().map(|(key, _)| *key).collect();
    for run in over.runs.into_iter().filter(|run| filter.takes(&run.job)) {
        let (key, number) = (run.job.key, run.run);
        let ended_meanwhile = jobs.contains_key(&(key, number)) && run.allocated_at.is_some();
        // One that waits again was over, and is not: only its earlier runs are.
        if run.requeued || ended_meanwhile || !alive.contains(&key) {
            jobs.insert((key, number), run.job);
        }
    }
    let mut jobs: Vec<JobView> = jobs.into_values().collect();
    filter.check_users(&jobs)?;
    jobs.retain(|job| args.takes(job, &keys, &window));
    Ok(JobList { jobs, as_of: living.as_of })
}

/// The question about what is over; what it does not say is sorted out by [`Args::takes`].
fn question(args: &Args, filter: &Filter, keys: &[JobKey], window: &Window) -> String {
    let me = filter.me.then(|| nix::unistd::getuid().to_string());
    let users = me.unwrap_or_else(|| filter.user.join(","));
    let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
    let queues: Vec<&str> = args.partitions.iter().map(|queue| queue.as_str()).collect();
    let list = |name: &str, text: String| {
        (!text.is_empty()).then(|| format!("&{name}={}", encoded(&text)))
    };
    let time = |name: &str, at: Option<Time>| at.map(|at| format!("&{name}={}", at.0));
    let parts = [
        list("users", users),
        list("jobs", keys.join(",")),
        list("queues", queues.join(",")),
        time("since", window.from),
        time("submitted_until", window.to),
        args.duplicates.then(|| "&every_run=true".to_owned()),
    ];
    parts.into_iter().flatten().collect()
}
