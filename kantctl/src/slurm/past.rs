//! What sacct is about: jobs that live, from the state, and those that are over, from accounting.
//! Never shows one job as both.

use super::sacct::Args;
use super::{calendar, living};
use crate::failure::Failure;
use crate::keys::{self, JobKeySet};
use crate::output::Screen;
use crate::server::{Server, encoded};
use crate::verb::filter::{Filter, end_word};
use crate::verb::usage_query;
use common::id::JobKey;
use common::job::state::slurm_state;
use common::job::{Phase, StepRecord};
use common::time::Time;
use common::wire::api::JobView;
use std::collections::{BTreeMap, BTreeSet};

/// The time that is asked about.
pub struct Window {
    /// In some state then or later.
    pub from: Option<Time>,
    pub to: Option<Time>,
}

impl Window {
    /// As the options say. Who names states asks about one moment, the start or now, unless an end
    /// is given; who names jobs alone about all times (man sacct, default time window).
    ///
    /// # Errors
    /// [`Failure`] naming the option that is no time.
    pub fn of(args: &Args, now: Time, screen: &Screen) -> Result<Self, Failure> {
        let read = |option: &str, text: &Option<String>| -> Result<Option<Time>, Failure> {
            let Some(text) = text else { return Ok(None) };
            let at = calendar::read(text, now, &screen.zone);
            at.map(Some).map_err(|error| Failure::usage(anyhow::anyhow!("{option}: {error}")))
        };
        let (start, end) = (read("--starttime", &args.start)?, read("--endtime", &args.end)?);
        let usual = match (args.jobs.is_empty(), args.states.is_empty()) {
            (false, _) => None,
            (true, false) => Some(now),
            (true, true) => calendar::read("today", now, &screen.zone).ok(),
        };
        let from = start.or(usual);
        let to = end.or(if args.states.is_empty() { None } else { from });
        Ok(Self { from, to })
    }

    /// Was it in some state within the window? Those that are not over are still.
    #[must_use]
    pub fn holds(&self, job: &JobView) -> bool {
        self.from.is_none_or(|from| job.ended_at.is_none_or(|ended| ended >= from))
            && self.to.is_none_or(|to| job.submitted_at <= to)
    }

    /// Was it in one of these states within the window? It `is` in one now, or in the end. An end
    /// counts if it was within; who is over ran, and waited, before that.
    #[must_use]
    pub fn was_in(&self, states: &[String], job: &JobView, is: bool) -> bool {
        if self.from.is_none() && self.to.is_none() {
            return is;
        }
        let by_then = |at: Time| self.to.is_none_or(|to| at <= to);
        let not_before = |at: Time| self.from.is_none_or(|from| at >= from);
        let named = |phase| {
            let (word, code) = slurm_state(phase, None);
            states.iter().any(|s| s.eq_ignore_ascii_case(word) || s.eq_ignore_ascii_case(code))
        };
        let waited =
            || named(Phase::Pending) && job.started_at.or(job.ended_at).is_some_and(not_before);
        match (job.ended_at, job.started_at) {
            (None, started) if is => started.is_none_or(by_then),
            (Some(ended), _) if is && by_then(ended) && not_before(ended) => true,
            (Some(ended), Some(started)) if named(Phase::Running) => {
                (by_then(started) && not_before(ended)) || waited()
            }
            _ => waited(),
        }
    }

    /// Nothing that is over can be within.
    fn is_now(&self, now: Time) -> bool {
        self.from.is_some_and(|from| from >= now)
    }

    /// The run as if it had begun and ended within.
    fn cut(&self, job: &mut JobView) {
        job.started_at = job.started_at.map(|at| self.from.map_or(at, |from| at.max(from)));
        job.ended_at = job.ended_at.map(|at| self.to.map_or(at, |to| at.min(to)));
    }
}

/// What sacct is about.
pub struct Found {
    pub jobs: Vec<JobView>,
    /// Steps of each run of them, where they were asked for.
    steps: BTreeMap<(JobKey, u32), Vec<StepRecord>>,
    /// The controller's time when it looked.
    pub as_of: Time,
}

impl Found {
    /// The steps of this run of a job.
    #[must_use]
    pub fn steps_of(&self, job: &JobView) -> &[StepRecord] {
        self.steps.get(&(job.key, job.attempt)).map_or(&[], Vec::as_slice)
    }
}

/// What lives, and what is over as accounting has it. What lives is asked first: a job that ends
/// meanwhile is in both, never in none.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or a time does not read.
pub async fn found(
    args: &Args,
    server: &Server,
    screen: &Screen,
) -> Result<(Found, Window), Failure> {
    let filter = args.filter();
    let living = filter.fetch_unchecked(server, false).await?;
    let window = Window::of(args, living.as_of, screen)?;
    let keys = keys::flatten(&args.jobs);
    let over = if window.is_now(living.as_of) {
        Vec::new()
    } else {
        let question = question(args, &filter, &window);
        usage_query::fetch_all(server, &keys, &question, usize::MAX).await?.runs
    };
    let mut jobs: BTreeMap<(JobKey, u32), JobView> = BTreeMap::new();
    for job in living.jobs {
        // Before it starts, it is the run that it is to be.
        let run = job.attempt + u32::from(job.phase == Phase::Pending);
        jobs.insert((job.key, run), job);
    }
    let alive: BTreeSet<JobKey> = jobs.keys().map(|(key, _)| *key).collect();
    let mut steps: BTreeMap<(JobKey, u32), Vec<StepRecord>> = BTreeMap::new();
    for mut run in over.into_iter().filter(|run| filter.selects(&run.job)) {
        let (key, number) = (run.job.key, run.run);
        let ended_meanwhile = jobs.contains_key(&(key, number)) && run.allocated_at.is_some();
        // One that waits again was over, and is not: only its earlier runs are.
        if run.requeued || ended_meanwhile || !alive.contains(&key) {
            steps.insert((key, number), std::mem::take(&mut run.steps));
            jobs.insert((key, number), run.job);
        }
    }
    let mut jobs: Vec<JobView> = jobs.into_values().collect();
    filter.check_users(&jobs)?;
    let named = JobKeySet::new(&keys);
    jobs.retain(|job| (keys.is_empty() || named.contains_job(job)) && args.takes(job, &window));
    if args.truncate {
        jobs.iter_mut().for_each(|job| window.cut(job));
    }
    if !args.allocations {
        for (key, known) in living::steps(&jobs, server).await {
            let runs = jobs.iter().filter(|job| job.key == key && job.phase != Phase::Done);
            runs.for_each(|job| drop(steps.insert((key, job.attempt), known.clone())));
        }
    }
    Ok((Found { jobs, steps, as_of: living.as_of }, window))
}

/// The question about what is over; what it does not say is sorted out by [`Args::takes`].
fn question(args: &Args, filter: &Filter, window: &Window) -> String {
    let me = filter.me.then(|| nix::unistd::getuid().to_string());
    let users = me.unwrap_or_else(|| filter.user.join(","));
    let accounts: Vec<&str> = args.accounts.iter().map(|account| account.as_str()).collect();
    // Who names one on the way asks for those that were in it, however they ended.
    let ends: Option<Vec<&str>> = args.states.iter().map(|state| end_word(state)).collect();
    let queues: Vec<&str> = args.partitions.iter().map(|queue| queue.as_str()).collect();
    let list = |name: &str, text: String| {
        (!text.is_empty()).then(|| format!("&{name}={}", encoded(&text)))
    };
    let time = |name: &str, at: Option<Time>| at.map(|at| format!("&{name}={}", at.0));
    let parts = [
        list("users", users),
        list("accounts", accounts.join(",")),
        list("queues", queues.join(",")),
        list("states", ends.unwrap_or_default().join(",")),
        time("since", window.from),
        time("submitted_until", window.to),
        args.duplicates.then(|| "&every_run=true".to_owned()),
        (!args.allocations).then(|| "&steps=true".to_owned()),
    ];
    parts.into_iter().flatten().collect()
}
