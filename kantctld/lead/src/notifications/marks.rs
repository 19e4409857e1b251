//! Mail that time causes: a part of a job's time limit is used. The end of the limit is an event.
//!
//! Reads running jobs and the clock. A mark that passes between two checks is reported at the
//! second one; one that passed before a term's first check was the previous leader's to report.

use super::occasion::Occasion;
use super::{Notification, is_requested, write};
use common::id::{AttemptId, JobKey};
use common::job::{Ask, MailEvent, Phase};
use common::time::{Span, Time};
use state::State;
use state::job::{Record, Run};
use std::collections::BTreeSet;

const MARKS: [(MailEvent, u8); 3] =
    [(MailEvent::TimeLimit50, 50), (MailEvent::TimeLimit80, 80), (MailEvent::TimeLimit90, 90)];

#[derive(Debug, Default)]
pub struct TimeLimitMarks {
    looked_at: Option<Time>,
}

impl TimeLimitMarks {
    /// The time between two checks.
    pub const EVERY: Span = Span::from_seconds(5);

    /// The messages about marks that passed since the last check. Takes time linear in the number
    /// of jobs that hold nodes.
    pub fn check(&mut self, state: &State, now: Time) -> Vec<Notification> {
        let Some(since) = self.looked_at.replace(now) else { return Vec::new() };
        let holders = state.ledger().nodes().flat_map(|(_, held)| held.holders().map(|(id, _)| id));
        let holders: BTreeSet<AttemptId> = holders.collect();
        holders.into_iter().filter_map(|id| last_passed_mark(state, id.key, since, now)).collect()
    }
}

/// The last mark that passed after `since` and not after `now`.
fn last_passed_mark(state: &State, key: JobKey, since: Time, now: Time) -> Option<Notification> {
    let (record, element) = state.element(key)?;
    let run = element.run.as_ref().filter(|_| element.phase == Phase::Running)?;
    let is_due = |percent: &u8| {
        time_of_percentage(run, &record.spec.ask, *percent)
            .is_some_and(|at| since < at && at <= now)
    };
    let percent = requested_percents(record).filter(is_due).max()?;
    write(state, record, key, &Occasion::Part(percent))
}

fn requested_percents(record: &Record) -> impl Iterator<Item = u8> + '_ {
    let wanted = |(event, _): &(MailEvent, u8)| is_requested(record, Some(*event));
    MARKS.into_iter().filter(wanted).map(|(_, percent)| percent)
}

/// When this percentage of the time limit is used, unless the job is suspended again.
fn time_of_percentage(run: &Run, ask: &Ask, percent: u8) -> Option<Time> {
    let limit = ask.time_limit?;
    let part = Span(u64::try_from(u128::from(limit.0) * u128::from(percent) / 100).ok()?);
    Some(run.running_at? + run.suspended + part)
}
