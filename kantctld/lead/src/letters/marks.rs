//! Letters that time alone brings: so much of a job's time limit is up. Never about the limit's
//! end: that is an event.
//!
//! Reads: jobs that run, and the clock. A mark that passes between two looks is told at the second
//! one; one that passed before a term's first look was the last leader's to tell, or nobody's.

use super::occasion::Occasion;
use super::{Letter, wants, write};
use common::id::{AttemptId, JobKey};
use common::job::{Ask, MailEvent, Phase};
use common::time::{Span, Time};
use state::State;
use state::job::{Record, Run};
use std::collections::BTreeSet;

const MARKS: [(MailEvent, u8); 3] =
    [(MailEvent::TimeLimit50, 50), (MailEvent::TimeLimit80, 80), (MailEvent::TimeLimit90, 90)];

#[derive(Debug, Default)]
pub struct Marks {
    looked_at: Option<Time>,
}

impl Marks {
    /// How long to wait between two looks: marks are a matter of minutes.
    pub const EVERY: Span = Span::from_seconds(5);

    /// The letters about marks that passed since the last look. Takes as long as there are jobs
    /// that hold nodes.
    pub fn look(&mut self, state: &State, now: Time) -> Vec<Letter> {
        let Some(since) = self.looked_at.replace(now) else { return Vec::new() };
        let holders = state.ledger().nodes().flat_map(|(_, held)| held.holders().map(|(id, _)| id));
        let holders: BTreeSet<AttemptId> = holders.collect();
        holders.into_iter().filter_map(|id| passed(state, id.key, since, now)).collect()
    }
}

/// The last mark that passed after `since` and not after `now`.
fn passed(state: &State, key: JobKey, since: Time, now: Time) -> Option<Letter> {
    let (record, element) = state.element(key)?;
    let run = element.run.as_ref().filter(|_| element.phase == Phase::Running)?;
    let is_due = |percent: &u8| {
        mark(run, &record.spec.ask, *percent).is_some_and(|at| since < at && at <= now)
    };
    let percent = wanted(record).filter(is_due).max()?;
    write(state, record, key, &Occasion::Part(percent))
}

fn wanted(record: &Record) -> impl Iterator<Item = u8> + '_ {
    let wanted = |(event, _): &(MailEvent, u8)| wants(record, Some(*event));
    MARKS.into_iter().filter(wanted).map(|(_, percent)| percent)
}

/// When so many percent of a job's time are up, if it does not stand still once more.
fn mark(run: &Run, ask: &Ask, percent: u8) -> Option<Time> {
    let limit = ask.time_limit?;
    let part = Span(u64::try_from(u128::from(limit.0) * u128::from(percent) / 100).ok()?);
    Some(run.running_at? + run.suspended + part)
}
