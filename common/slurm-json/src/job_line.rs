//! A job, several array tasks or a step as Slurm sees it: the values that the fields of Slurm's
//! listings and of its JSON are computed from.

mod line_part;

use crate::size::{Unit, format_size};
use common::hostlist::compress;
use common::id::{ArrayIndex, Gid, JobKey};
use common::job::array::index_ranges;
use common::job::{ExitStatus, Outcome, Phase};
use common::time::{Span, Time};
use common::wire::api::JobView;
pub use line_part::LinePart;
use line_part::state_of;
use std::collections::BTreeMap;

/// A line of a listing: a job, several array tasks that wait for the same reason, or a step.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// One job, or several tasks of one array.
    pub jobs: &'a [JobView],
    /// The first of `jobs`.
    pub job: &'a JobView,
    pub part: LinePart<'a>,
    pub page: &'a Page,
}

/// What all lines of a listing share.
#[derive(Debug, Clone, Default)]
pub struct Page {
    pub cluster: String,
    /// The controller's time of the answer.
    pub as_of: Time,
    /// Priorities, where requested.
    pub priorities: BTreeMap<JobKey, i64>,
    /// Expected start times, where requested.
    pub starts: BTreeMap<JobKey, Time>,
    /// The listing is sacct's, which shows completing jobs as running.
    pub account: bool,
    /// The unit of sizes: sacct's --units, or --noconvert.
    pub unit: Unit,
    /// The names of groups, where known.
    pub groups: BTreeMap<Gid, String>,
}

impl Line<'_> {
    /// The id as squeue shows it: `42`, `42_7`, `42_[0-3,7]`, `42+1`; `42.batch`.
    #[must_use]
    pub fn id(&self) -> String {
        let indices: Vec<ArrayIndex> = self.jobs.iter().filter_map(|job| job.key.index).collect();
        let step = self.part.suffix();
        let key = match indices.as_slice() {
            [_, _, ..] => {
                let limit = self.job.array_limit.map(|limit| format!("%{limit}"));
                let limit = limit.unwrap_or_default();
                format!("{}_[{}{limit}]", self.job.key.job, index_ranges(&indices))
            }
            _ => self.job.name().to_string(),
        };
        format!("{key}{step}")
    }

    /// The plain job id, which for several array tasks is the array's; `43.batch`.
    #[must_use]
    pub fn job_id(&self) -> String {
        let step = self.part.suffix();
        match (self.jobs, self.job.number) {
            ([_, _, ..], _) => self.job.key.job.to_string(),
            (_, Some(number)) => format!("{number}{step}"),
            (_, None) => format!("{}{step}", self.job.key),
        }
    }

    /// The nodes as a host list; empty before the start.
    #[must_use]
    pub fn nodes(&self) -> String {
        if let LinePart::Step(step) = self.part {
            return step.nodes.clone();
        }
        let shares = self.job.allocation.iter().flat_map(|given| given.shares());
        let shares = shares.take(if self.is_batch() { 1 } else { usize::MAX });
        compress(shares.map(|share| &share.node))
    }

    /// The number of nodes allocated, or requested.
    #[must_use]
    pub fn node_count(&self) -> usize {
        let asked = self.job.ask.request.nodes.map_or(1, |nodes| nodes.0 as usize);
        let given = self.job.allocation.as_ref().map(|given| given.shares().len());
        match self.part {
            LinePart::Whole => given.unwrap_or(asked),
            LinePart::Batch => 1,
            LinePart::Step(step) => step.node_count as usize,
        }
    }

    /// Slurm's name and code of the state. Clients take an unknown state for a final one, so only
    /// states that Slurm's own command shows are used.
    #[must_use]
    pub fn state(&self) -> (&str, &str) {
        if let LinePart::Step(step) = self.part {
            return state_of(step);
        }
        match (self.job.phase, self.job.outcome) {
            // Slurm has no state between pending and running.
            (Phase::Starting, _) => ("RUNNING", "R"),
            (Phase::Completing, _) if self.page.account => ("RUNNING", "R"),
            (Phase::Done, Some(Outcome::LaunchFailed)) => ("FAILED", "F"),
            _ => (&self.job.state, &self.job.state_code),
        }
    }

    /// Slurm's name of the reason for waiting; `None`: the job is not waiting.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        let reason = self.job.reason.as_ref().map(|reason| reason.code.as_str());
        if self.job.phase == Phase::Pending { Some(reason.unwrap_or("None")) } else { None }
    }

    /// Slurm's name of the reason for waiting, or of the reason for which the job ended.
    #[must_use]
    pub fn reason_or_end(&self) -> &str {
        let over = self.job.outcome.map(|outcome| match outcome {
            Outcome::Completed | Outcome::Cancelled | Outcome::Preempted => "None",
            Outcome::Failed => "NonZeroExitCode",
            Outcome::TimedOut => "TimeLimit",
            Outcome::OutOfMemory => "OutOfMemory",
            Outcome::NodeLost => "NodeDown",
            Outcome::DeadlineMissed => "DeadLine",
            Outcome::LaunchFailed => "JobLaunchFailure",
        });
        self.reason().or(over).unwrap_or("None")
    }

    /// The exit status of the script. A failed launch counts as exit code 1; a job (not its script)
    /// that was cancelled or timed out has exit code 0, as in Slurm.
    #[must_use]
    pub fn exit(&self) -> ExitStatus {
        if let LinePart::Step(step) = self.part {
            return step.exit.unwrap_or_default();
        }
        match self.job.outcome {
            Some(Outcome::LaunchFailed) => ExitStatus { code: 1, signal: None },
            Some(Outcome::OutOfMemory) => ExitStatus { code: 0, signal: Some(125) },
            Some(Outcome::TimedOut | Outcome::Cancelled) if self.is_whole() => {
                ExitStatus::default()
            }
            _ => self.job.exit.unwrap_or_default(),
        }
    }

    /// The array indices: `7`, `1-9`.
    #[must_use]
    pub fn indices(&self) -> Option<String> {
        let indices: Vec<ArrayIndex> = self.jobs.iter().filter_map(|job| job.key.index).collect();
        (!indices.is_empty()).then(|| index_ranges(&indices))
    }

    /// The run time, without suspended time.
    #[must_use]
    pub fn elapsed(&self) -> Span {
        if let LinePart::Step(step) = self.part {
            return step.elapsed(self.page.as_of);
        }
        let job = self.job;
        let until = job.ended_at.or(job.suspended_at).unwrap_or(self.page.as_of);
        let whole = job.started_at.map_or(Span(0), |start| until.since(start));
        Span(whole.0.saturating_sub(job.suspended.0))
    }

    /// The end time; in squeue also the expected one, by the time limit.
    #[must_use]
    pub fn end(&self) -> Option<Time> {
        if let LinePart::Step(step) = self.part {
            return step.ended_at;
        }
        // While a job is suspended, its end is unknown.
        let goes_on = self.job.suspended_at.is_none();
        let due = || {
            let limit = self.job.ask.time_limit.filter(|_| goes_on)?;
            Some(self.start()? + limit + self.job.suspended)
        };
        // sacct shows only past ends.
        self.job.ended_at.or_else(|| if self.page.account { None } else { due() })
    }

    /// The start time, or the expected one.
    #[must_use]
    pub fn start(&self) -> Option<Time> {
        if let LinePart::Step(step) = self.part {
            return Some(step.started_at);
        }
        self.job.started_at.or_else(|| self.page.starts.get(&self.job.key).copied())
    }

    /// The earliest time at which the job could start.
    #[must_use]
    pub fn eligible_at(&self) -> Time {
        let submitted = self.job.submitted_at;
        self.job.ask.begin_at.map_or(submitted, |at| at.max(submitted))
    }

    /// The CPUs of the job, of the script's node, or of the step.
    #[must_use]
    pub fn cpus(&self) -> u32 {
        if let LinePart::Step(step) = self.part {
            return step.cpus;
        }
        let first = self.job.allocation.as_ref().and_then(|given| given.shares().first());
        first.filter(|_| self.is_batch()).map_or(self.job.cpus.0, |share| share.cpus.len())
    }

    /// Whether its state is one of these names or codes.
    #[must_use]
    pub fn is_in_state(&self, states: &[String]) -> bool {
        let (word, code) = self.state();
        let own = [word, code, &self.job.state, &self.job.state_code];
        states.iter().any(|state| own.iter().any(|own| own.eq_ignore_ascii_case(state)))
    }

    /// `cpu=4,mem=8G,node=1,billing=4,gres/gpu=2`.
    #[must_use]
    pub fn tres(&self) -> String {
        let job = self.job;
        let first = job.allocation.as_ref().and_then(|given| given.shares().first());
        let first = first.filter(|_| self.is_batch());
        let gpus = match self.part {
            LinePart::Step(step) => step.gpus.unwrap_or(job.gpus.0) as usize,
            _ => first.map_or(job.gpus.0 as usize, |share| share.gpus.len()),
        };
        let gpus = if gpus == 0 { String::new() } else { format!(",gres/gpu={gpus}") };
        let memory = format_size(first.map_or(job.memory, |share| share.memory), self.page.unit);
        let (cpus, nodes) = (self.cpus(), self.node_count());
        let billing = if self.is_whole() { format!("billing={cpus},") } else { String::new() };
        format!("{billing}cpu={cpus}{gpus},mem={memory},node={nodes}")
    }
}
