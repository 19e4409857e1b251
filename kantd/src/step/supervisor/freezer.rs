//! Suspension of a job: its processes are frozen with their memory, GPUs and open files, and its
//! time limit stops. The supervisor keeps the state, so that a restart of kantd neither resumes a
//! job nor counts the suspended time.

use super::{Supervisor, log};
use crate::step::control::Update;
use common::time::Span;
use common::wire::node::StepPhase;
use std::time::{Duration, Instant};

/// Whether a job is suspended, and for how long it was.
#[derive(Debug, Default)]
pub struct Freezer {
    /// Whether kantd wants the job suspended.
    pub is_wanted: bool,
    /// The start of the current suspension.
    since: Option<Instant>,
    /// The total time of earlier suspensions.
    before: Duration,
}

impl Freezer {
    /// The total suspended time; `None` during a suspension.
    pub fn suspended_time(&self) -> Option<Duration> {
        self.since.is_none().then_some(self.before)
    }

    /// The total suspended time, including the current suspension.
    fn total(&self) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

impl Supervisor {
    /// When the time limit is reached; `None` while the job is suspended. The controller ends a
    /// suspended job at its deadline.
    pub(super) fn time_limit_at(&self) -> Option<Instant> {
        self.time_limit_after(self.freezer.suspended_time()?)
    }

    /// When the time limit is reached after this suspended time.
    fn time_limit_after(&self, past: Duration) -> Option<Instant> {
        let (_, started) = self.started?;
        let after = |span: Span| started.checked_add(Duration::from_millis(span.0));
        let limit = self.spec.launch.time_limit.and_then(after).and_then(|at| at.checked_add(past));
        limit.into_iter().chain(self.spec.launch.until_deadline.and_then(after)).min()
    }

    /// Changes the time limit. A job that was warned of its end is warned again if the end is later
    /// now.
    pub(super) fn set_time_limit(&mut self, limit: Span) {
        if self.spec.launch.time_limit.replace(limit) == Some(limit) {
            return;
        }
        log(&format!("its time limit is {limit} now"));
        if self.warned {
            // As if it were resumed now: a suspended job has no end.
            let end = self.time_limit_after(self.freezer.total());
            let due = end.and_then(|end| self.warning_before(end));
            self.warned = due.is_some_and(|at| at <= Instant::now());
        }
    }

    /// Suspends or resumes a running job as requested.
    pub(super) fn apply_suspension(&mut self) {
        match (self.freezer.is_wanted, self.freezer.since) {
            (true, None) => self.suspend(),
            (false, Some(_)) => {
                self.resume_processes();
                self.publish_suspension();
            }
            _ => {}
        }
    }

    fn suspend(&mut self) {
        if let Err(error) = self.group.suspend() {
            log(&format!("failed to suspend the job: {error}"));
            // kantd sees that the job runs, and repeats the request.
            self.freezer.is_wanted = false;
            return;
        }
        self.freezer.since = Some(Instant::now());
        self.publish_suspension();
    }

    pub(super) fn resume_processes(&mut self) {
        let Some(since) = self.freezer.since.take() else { return };
        self.freezer.before += since.elapsed();
        if let Err(error) = self.group.resume() {
            log(&format!("failed to resume the job: {error}"));
        }
    }

    /// Publishes the phase. Not recorded: without a supervisor there is no job to resume.
    fn publish_suspension(&mut self) {
        let StepPhase::Running { since, .. } = self.phase else { return };
        self.phase = StepPhase::Running { since, suspended: self.freezer.since.is_some() };
        self.control.push(&Update::Phase(self.phase.clone()));
    }
}
