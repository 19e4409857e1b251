//! Suspended jobs: their processes stand still where they are, with their memory, their GPUs and
//! their open files; their time limit stands still too. The supervisor remembers it, so that a
//! restart of kantd neither wakes a job nor counts its stillness as its time.
//! Never decides who is suspended, nor when a job ends.

use super::{Supervisor, log};
use crate::step::control::Line;
use common::time::Span;
use common::wire::node::StepPhase;
use std::time::{Duration, Instant};

/// Whether a job stands still, and for how long it has.
#[derive(Debug, Default)]
pub struct Stillness {
    /// The last word of kantd.
    pub is_wanted: bool,
    /// Since when it does.
    since: Option<Instant>,
    /// How long it did before.
    before: Duration,
}

impl Stillness {
    /// How long it stood still; `None` while it does.
    pub fn past(&self) -> Option<Duration> {
        self.since.is_none().then_some(self.before)
    }

    /// The same, up to this moment while it does.
    fn so_far(&self) -> Duration {
        self.before + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

impl Supervisor {
    /// When the time limit is reached; never while the job stands still. A deadline comes all the
    /// same, and the controller ends a job that it finds standing still then.
    pub(super) fn time_is_up_at(&self) -> Option<Instant> {
        self.time_is_up_after(self.stillness.past()?)
    }

    /// If it stands still for no longer than this.
    fn time_is_up_after(&self, past: Duration) -> Option<Instant> {
        let (_, started) = self.started?;
        let after = |span: Span| started.checked_add(Duration::from_millis(span.0));
        let limit =
            self.order.launch.time_limit.and_then(after).and_then(|at| at.checked_add(past));
        limit.into_iter().chain(self.order.launch.until_deadline.and_then(after)).min()
    }

    /// Its time limit is another from now on. One that was warned of its end is warned anew if that
    /// is later now.
    pub(super) fn limit(&mut self, limit: Span) {
        if self.order.launch.time_limit.replace(limit) == Some(limit) {
            return;
        }
        log(&format!("its time limit is {limit} now"));
        if self.warned {
            // As if it went on at this moment: one that stands still has no end.
            let end = self.time_is_up_after(self.stillness.so_far());
            let due = end.and_then(|end| self.warning_before(end));
            self.warned = due.is_some_and(|at| at <= Instant::now());
        }
    }

    /// Does what is wanted, of a job that runs.
    pub(super) fn follow_stillness(&mut self) {
        match (self.stillness.is_wanted, self.stillness.since) {
            (true, None) => self.stand_still(),
            (false, Some(_)) => {
                self.wake();
                self.tell_stillness();
            }
            _ => {}
        }
    }

    fn stand_still(&mut self) {
        if let Err(error) = self.group.suspend() {
            log(&format!("failed to suspend the job: {error}"));
            // kantd sees that it runs, and says it again.
            self.stillness.is_wanted = false;
            return;
        }
        self.stillness.since = Some(Instant::now());
        self.tell_stillness();
    }

    /// Lets it go on, if it stands still.
    pub(super) fn wake(&mut self) {
        let Some(since) = self.stillness.since.take() else { return };
        self.stillness.before += since.elapsed();
        if let Err(error) = self.group.resume() {
            log(&format!("failed to resume the job: {error}"));
        }
    }

    /// Not for the journal: a supervisor that is gone has left nothing to wake.
    fn tell_stillness(&mut self) {
        let StepPhase::Running { since, .. } = self.phase else { return };
        self.phase = StepPhase::Running { since, suspended: self.stillness.since.is_some() };
        self.control.push(&Line::Phase(self.phase.clone()));
    }
}
