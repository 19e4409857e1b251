//! The jobs that sacct shows: current jobs from the controller's state, ended ones from accounting.
//! A job that is in both is shown once.

use super::Args;
use crate::running_steps;
use cli::failure::Failure;
use cli::keys::{self, JobKeySet};
use cli::output::Screen;
use cli::server::{Server, encoded};
use cli::slurm_time;
use cli::verb::filter::{Filter, outcome_word};
use cli::verb::usage_query;
use common::id::JobKey;
use common::job::state::slurm_state;
use common::job::{Phase, StepRecord};
use common::time::Time;
use common::wire::api::JobView;
use std::collections::{BTreeMap, BTreeSet};

/// The time range that is asked about.
pub struct Window {
    pub from: Option<Time>,
    pub to: Option<Time>,
}

impl Window {
    /// Without an end, states are looked up at one moment: the start, or now. Named jobs without
    /// states are looked up in all times (man sacct, default time window).
    ///
    /// # Errors
    /// [`Failure`] naming the option whose value is not a time.
    pub fn from_args(args: &Args, now: Time, screen: &Screen) -> Result<Self, Failure> {
        let read = |option: &str, text: &Option<String>| -> Result<Option<Time>, Failure> {
            let Some(text) = text else { return Ok(None) };
            let at = slurm_time::parse_time(text, now, &screen.zone);
            at.map(Some).map_err(|error| Failure::usage(anyhow::anyhow!("{option}: {error}")))
        };
        let (start, end) = (read("--starttime", &args.start)?, read("--endtime", &args.end)?);
        let usual = match (args.jobs.is_empty(), args.states.is_empty()) {
            (false, _) => None,
            (true, false) => Some(now),
            (true, true) => slurm_time::parse_time("today", now, &screen.zone).ok(),
        };
        let from = start.or(usual);
        let to = end.or(if args.states.is_empty() { None } else { from });
        Ok(Self { from, to })
    }

    /// Whether the job existed within the window. A job that has not ended still exists.
    #[must_use]
    pub fn contains(&self, job: &JobView) -> bool {
        self.from.is_none_or(|from| job.ended_at.is_none_or(|ended| ended >= from))
            && self.to.is_none_or(|to| job.submitted_at <= to)
    }

    /// Whether the job was in one of these states within the window. `is`: the job's current or
    /// final state is one of them. A final state counts if the job ended within the window; a job
    /// that has ended was waiting and running before that.
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

    /// Whether the window starts now or later, so that no ended job is within it.
    fn starts_now_or_later(&self, now: Time) -> bool {
        self.from.is_some_and(|from| from >= now)
    }

    /// Moves the start and the end of the run into the window.
    fn truncate(&self, job: &mut JobView) {
        job.started_at = job.started_at.map(|at| self.from.map_or(at, |from| at.max(from)));
        job.ended_at = job.ended_at.map(|at| self.to.map_or(at, |to| at.min(to)));
    }
}

/// The jobs that sacct shows.
pub struct JobRecords {
    pub jobs: Vec<JobView>,
    /// The steps of each run, where requested.
    steps: BTreeMap<(JobKey, u32), Vec<StepRecord>>,
    /// The controller's time of the answer.
    pub as_of: Time,
}

impl JobRecords {
    #[must_use]
    pub fn steps_of(&self, job: &JobView) -> &[StepRecord] {
        self.steps.get(&(job.key, job.attempt)).map_or(&[], Vec::as_slice)
    }
}

/// Fetches current jobs, then ended jobs from accounting. In this order a job that ends in between
/// is in both answers rather than in neither.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or a time is invalid.
pub async fn fetch(
    args: &Args,
    server: &Server,
    screen: &Screen,
) -> Result<(JobRecords, Window), Failure> {
    let filter = args.filter();
    let current = filter.fetch_unchecked(server, false).await?;
    let window = Window::from_args(args, current.as_of, screen)?;
    let keys = keys::flatten(&args.jobs);
    let over = if window.starts_now_or_later(current.as_of) {
        Vec::new()
    } else {
        let query = history_query(args, &filter, &window);
        usage_query::fetch_all(server, &keys, &query, usize::MAX).await?.runs
    };
    let mut jobs: BTreeMap<(JobKey, u32), JobView> = BTreeMap::new();
    for job in current.jobs {
        // A waiting job counts as its next run.
        let run = job.attempt + u32::from(job.phase == Phase::Pending);
        jobs.insert((job.key, run), job);
    }
    let alive: BTreeSet<JobKey> = jobs.keys().map(|(key, _)| *key).collect();
    let mut steps: BTreeMap<(JobKey, u32), Vec<StepRecord>> = BTreeMap::new();
    for mut run in over.into_iter().filter(|run| filter.selects(&run.job)) {
        let (key, number) = (run.job.key, run.run);
        let ended_meanwhile = jobs.contains_key(&(key, number)) && run.allocated_at.is_some();
        // The last run of a requeued job has not ended the job: only its earlier runs are shown.
        if run.requeued || ended_meanwhile || !alive.contains(&key) {
            steps.insert((key, number), std::mem::take(&mut run.steps));
            jobs.insert((key, number), run.job);
        }
    }
    let mut jobs: Vec<JobView> = jobs.into_values().collect();
    filter.check_users(&jobs)?;
    let named = JobKeySet::new(&keys);
    jobs.retain(|job| {
        (keys.is_empty() || named.contains_job(job)) && args.matches_job(job, &window)
    });
    if args.truncate {
        jobs.iter_mut().for_each(|job| window.truncate(job));
    }
    if !args.allocations {
        for (key, known) in running_steps::fetch(&jobs, server).await {
            let runs = jobs.iter().filter(|job| job.key == key && job.phase != Phase::Done);
            runs.for_each(|job| drop(steps.insert((key, job.attempt), known.clone())));
        }
    }
    Ok((JobRecords { jobs, steps, as_of: current.as_of }, window))
}

/// The query for ended jobs; [`Args::matches_job`] applies the filters that the query does not
/// have.
fn history_query(args: &Args, filter: &Filter, window: &Window) -> String {
    let me = filter.me.then(|| nix::unistd::getuid().to_string());
    let users = me.unwrap_or_else(|| filter.user.join(","));
    let accounts: Vec<&str> = args.accounts.iter().map(|account| account.as_str()).collect();
    // A state such as RUNNING selects jobs that were in it, whatever their final state.
    let ends: Option<Vec<&str>> = args.states.iter().map(|state| outcome_word(state)).collect();
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
