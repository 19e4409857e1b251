//! What a field of squeue or sacct shows of a job. Never asks for jobs.

use super::calendar::{long_span, moment, short_span};
pub use super::job_part::Part;
use super::job_part::state_of;
pub use super::size::{Unit, measured, size};
use crate::output::{self, jobs::ranges};
use common::hostlist::fold;
use common::id::{ArrayIndex, JobKey};
use common::job::{ExitStatus, Outcome, Phase};
use common::time::{Span, Time};
use common::wire::api::JobView;
use jiff::tz::TimeZone;
use std::collections::BTreeMap;

/// A line of a listing: a job, several tasks of an array that wait alike, or the step of a job.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// The jobs it stands for: one, or tasks of one array.
    pub alike: &'a [JobView],
    /// The first of them.
    pub job: &'a JobView,
    /// What of the job: all of it, or a line of its own below.
    pub part: Part<'a>,
    /// What all lines share.
    pub page: &'a Page,
}

/// What all lines share.
#[derive(Debug, Clone, Default)]
pub struct Page {
    pub cluster: String,
    /// When the controller looked.
    pub as_of: Time,
    /// Priorities, where they were asked for.
    pub priorities: BTreeMap<JobKey, i64>,
    /// Expected starts, where they were asked for.
    pub starts: BTreeMap<JobKey, Time>,
    /// It is sacct's, which knows no states on the way to running and from it.
    pub account: bool,
    /// The unit that sizes are shown in: sacct's --units, or --noconvert.
    pub unit: Unit,
}

/// What a field shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Words(String),
    /// Nothing is set: `(null)` in squeue.
    Unset,
    /// Not known, or it has no meaning here: `N/A` in squeue.
    Unknown,
    Span(Span),
    Unlimited,
    At(Time),
}

impl Value {
    /// Words, or nothing set.
    pub fn set(words: Option<impl ToString>) -> Self {
        words.map_or(Self::Unset, |words| Self::Words(words.to_string()))
    }

    pub fn of(words: impl ToString) -> Self {
        Self::Words(words.to_string())
    }

    /// A time, or not known.
    #[must_use]
    pub fn at(at: Option<Time>) -> Self {
        at.map_or(Self::Unknown, Self::At)
    }

    /// As squeue writes it.
    #[must_use]
    pub fn in_queue(self, zone: &TimeZone) -> String {
        match self {
            Self::Words(words) => words,
            Self::Unset => "(null)".to_owned(),
            Self::Unknown => "N/A".to_owned(),
            Self::Span(span) => short_span(span),
            Self::Unlimited => "UNLIMITED".to_owned(),
            Self::At(at) => moment(at, zone),
        }
    }

    /// As sacct writes it; `time` says whether the field is one.
    #[must_use]
    pub fn in_account(self, time: bool, zone: &TimeZone) -> String {
        match self {
            Self::Words(words) => words,
            Self::Unset => String::new(),
            Self::Unknown if time => "Unknown".to_owned(),
            Self::Unknown => String::new(),
            Self::Span(span) => long_span(span),
            Self::Unlimited => "UNLIMITED".to_owned(),
            Self::At(at) => moment(at, zone),
        }
    }
}

impl Line<'_> {
    /// Its id as squeue shows it: `42`, `42_7`, `42_[0-3,7]`, `42+1`; `42.batch`.
    #[must_use]
    pub fn id(&self) -> String {
        let indices: Vec<ArrayIndex> = self.alike.iter().filter_map(|job| job.key.index).collect();
        let step = self.part.suffix();
        let key = match indices.as_slice() {
            [_, _, ..] => {
                let limit = self.job.array_limit.map(|limit| format!("%{limit}"));
                let limit = limit.unwrap_or_default();
                format!("{}_[{}{limit}]", self.job.key.job, ranges(&indices))
            }
            _ => self.job.name().to_string(),
        };
        format!("{key}{step}")
    }

    /// Its plain number: of several tasks of an array that of the array; `43.batch`.
    #[must_use]
    pub fn number(&self) -> String {
        let step = self.part.suffix();
        match (self.alike, self.job.number) {
            ([_, _, ..], _) => self.job.key.job.to_string(),
            (_, Some(number)) => format!("{number}{step}"),
            (_, None) => format!("{}{step}", self.job.key),
        }
    }

    /// Where it runs, folded; empty before it starts.
    #[must_use]
    pub fn nodes(&self) -> String {
        if let Part::Step(step) = self.part {
            return step.nodes.clone();
        }
        let shares = self.job.allocation.iter().flat_map(|given| given.shares());
        let shares = shares.take(if self.is_batch() { 1 } else { usize::MAX });
        fold(shares.map(|share| &share.node))
    }

    /// How many nodes it has, or asks for.
    #[must_use]
    pub fn node_count(&self) -> usize {
        let asked = self.job.ask.request.nodes.map_or(1, |nodes| nodes.0 as usize);
        let given = self.job.allocation.as_ref().map(|given| given.shares().len());
        match self.part {
            Part::Whole => given.unwrap_or(asked),
            Part::Batch => 1,
            Part::Step(step) => step.node_count as usize,
        }
    }

    /// Slurm's word for its state, and its code. Clients take a word that they do not know for an
    /// end, so there are none but those that Slurm's own command shows.
    #[must_use]
    pub fn state(&self) -> (&str, &str) {
        if let Part::Step(step) = self.part {
            return state_of(step);
        }
        match (self.job.phase, self.job.outcome) {
            // Slurm's users wait for PD and R: between them there is nothing worth a word.
            (Phase::Starting, _) => ("RUNNING", "R"),
            (Phase::Completing, _) if self.page.account => ("RUNNING", "R"),
            (Phase::Done, Some(Outcome::LaunchFailed)) => ("FAILED", "F"),
            _ => (&self.job.state, &self.job.state_code),
        }
    }

    /// Slurm's word for why it waits, `None` while it does not.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        let reason = self.job.reason.as_ref().map(|reason| reason.code.as_str());
        if self.job.phase == Phase::Pending { Some(reason.unwrap_or("None")) } else { None }
    }

    /// The same, and of a job that is over Slurm's word for how that came.
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

    /// How its script exited; of one that could not be started as if it had failed, of a job (not
    /// of its script) that was ended by somebody or something as Slurm has it.
    #[must_use]
    pub fn exit(&self) -> ExitStatus {
        if let Part::Step(step) = self.part {
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

    /// Its place in its array, or several: `7`, `1-9`.
    #[must_use]
    pub fn indices(&self) -> Option<String> {
        let indices: Vec<ArrayIndex> = self.alike.iter().filter_map(|job| job.key.index).collect();
        (!indices.is_empty()).then(|| ranges(&indices))
    }

    /// How long it has run, without what it stood still.
    #[must_use]
    pub fn elapsed(&self) -> Span {
        if let Part::Step(step) = self.part {
            return step.elapsed(self.page.as_of);
        }
        let job = self.job;
        let until = job.ended_at.or(job.suspended_at).unwrap_or(self.page.as_of);
        let whole = job.started_at.map_or(Span(0), |start| until.since(start));
        Span(whole.0.saturating_sub(job.suspended.0))
    }

    /// When it ends by its time limit, or ended.
    #[must_use]
    pub fn end(&self) -> Option<Time> {
        if let Part::Step(step) = self.part {
            return step.ended_at;
        }
        // While it stands still nobody knows.
        let goes_on = self.job.suspended_at.is_none();
        let due = || {
            let limit = self.job.ask.time_limit.filter(|_| goes_on)?;
            Some(self.start()? + limit + self.job.suspended)
        };
        // To sacct an end is one that has been.
        self.job.ended_at.or_else(|| if self.page.account { None } else { due() })
    }

    /// When it started, or is expected to.
    #[must_use]
    pub fn start(&self) -> Option<Time> {
        if let Part::Step(step) = self.part {
            return Some(step.started_at);
        }
        self.job.started_at.or_else(|| self.page.starts.get(&self.job.key).copied())
    }

    /// CPUs of the job, of its script's node, or of the step.
    #[must_use]
    pub fn cpus(&self) -> u32 {
        if let Part::Step(step) = self.part {
            return step.cpus;
        }
        let first = self.job.allocation.as_ref().and_then(|given| given.shares().first());
        first.filter(|_| self.is_batch()).map_or(self.job.cpus.0, |share| share.cpus.len())
    }

    /// Is it in one of these states, as words or codes?
    #[must_use]
    pub fn is_in(&self, states: &[String]) -> bool {
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
            Part::Step(step) => step.gpus.unwrap_or(job.gpus.0) as usize,
            _ => first.map_or(job.gpus.0 as usize, |share| share.gpus.len()),
        };
        let gpus = if gpus == 0 { String::new() } else { format!(",gres/gpu={gpus}") };
        let memory = size(first.map_or(job.memory, |share| share.memory), self.page.unit);
        let (cpus, nodes) = (self.cpus(), self.node_count());
        let billing = if self.is_whole() { format!("billing={cpus},") } else { String::new() };
        format!("{billing}cpu={cpus}{gpus},mem={memory},node={nodes}")
    }
}

/// Jobs as lines: tasks of an array that wait alike share one, unless each is to have its own.
#[must_use]
pub fn gather(jobs: &[JobView], apart: bool) -> Vec<&[JobView]> {
    if apart { jobs.chunks(1).collect() } else { output::jobs::gather(jobs).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_said_in_each_commands_words() {
        let zone = TimeZone::UTC;
        assert_eq!(Value::Unset.in_queue(&zone), "(null)");
        assert_eq!(Value::Unknown.in_queue(&zone), "N/A");
        assert_eq!(Value::Unknown.in_account(true, &zone), "Unknown");
        assert_eq!(Value::Unset.in_account(false, &zone), "");
    }
}
