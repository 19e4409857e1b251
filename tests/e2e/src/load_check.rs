//! The check of a finished load: every acknowledged job exists and ends, there are no other jobs,
//! and no attempt ran twice or in parallel with another.

use crate::controllers::Controllers;
use crate::load::{Action, Record};
use crate::wait::wait_for;
use anyhow::{Context as _, bail, ensure};
use common::id::JobId;
use common::job::Outcome;
use common::wire::api::{JobList, JobView};
use std::collections::BTreeSet;

impl Record {
    /// Checks all jobs and returns their number. The cluster must not have had other jobs.
    ///
    /// # Errors
    /// The violation.
    pub fn judge(&self, controllers: &Controllers, asked: &str) -> anyhow::Result<usize> {
        ensure!(self.failed.is_empty(), "clients failed: {:#?}", self.failed);
        let ids: BTreeSet<JobId> = self.acknowledged.iter().copied().collect();
        ensure!(ids.len() == self.acknowledged.len(), "two jobs have the same id");
        let kantctl = controllers.kantctl(asked)?;
        let mut rest = Vec::new();
        let ended = wait_for("the end of all jobs", || {
            let list: JobList = kantctl.json(&["queue"])?;
            rest = list.jobs;
            Ok(rest.is_empty().then_some(()))
        });
        ended.with_context(|| {
            let describe = |job: &JobView| format!("{} {:?} {:?}", job.key, job.state, job.reason);
            format!("left over: {:#?}", rest.iter().take(5).map(describe).collect::<Vec<_>>())
        })?;
        let list: JobList = kantctl.json(&["queue", "--all"])?;
        let known: BTreeSet<JobId> = list.jobs.iter().map(|job| job.key.job).collect();
        let lost: Vec<_> = ids.difference(&known).collect();
        ensure!(lost.is_empty(), "jobs were acknowledged and are lost: {lost:?}");
        let doubled: Vec<_> = known.difference(&ids).collect();
        ensure!(doubled.is_empty(), "jobs exist that were not acknowledged: {doubled:?}");
        for job in &list.jobs {
            let path = controllers.dir().join("ran").join(job.key.to_string());
            let ran = std::fs::read_to_string(path).unwrap_or_default();
            let fits = self.check_outcome(job, &ran);
            fits.with_context(|| format!("job {} ({:?}): {ran:?}", job.key, job.outcome))?;
        }
        Ok(ids.len())
    }

    fn check_outcome(&self, job: &JobView, ran: &str) -> anyhow::Result<()> {
        let last = check_attempts(ran)?;
        ensure!(last <= job.attempt, "attempt {last} ran, and it had {}", job.attempt);
        let was_sent = |action| self.actions.contains(&(job.key.job, action));
        match job.outcome {
            Some(Outcome::Completed) => {
                let end = format!("end {}\n", job.attempt);
                ensure!(ran.ends_with(&end), "the job completed, but its script did not end");
            }
            Some(Outcome::Cancelled) => {
                ensure!(was_sent(Action::Cancel), "cancelled without a request")
            }
            _ => bail!("the job should have completed: {:?}", job.message),
        }
        ensure!(job.attempt <= 1 || was_sent(Action::Requeue), "attempt 2 without a requeue");
        Ok(())
    }
}

/// Checks that every attempt began once, after the previous one, and that it did not end after the
/// next began. Returns the last attempt.
fn check_attempts(ran: &str) -> anyhow::Result<u32> {
    let mut last = 0;
    let mut is_open = false;
    for line in ran.lines() {
        let (word, attempt) = line.split_once(' ').context("two attempts at once")?;
        let attempt: u32 = attempt.parse()?;
        match word {
            "begin" => ensure!(attempt > last, "attempt {attempt} began again"),
            "end" => ensure!(is_open && attempt == last, "attempt {attempt} ended late"),
            _ => bail!("two attempts at once"),
        }
        (last, is_open) = (attempt, word == "begin");
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_must_begin_once_and_not_overlap() {
        let check = |text: &str| check_attempts(text).ok();
        assert_eq!(check(""), Some(0));
        assert_eq!(check("begin 1\nend 1\n"), Some(1));
        assert_eq!(check("begin 1\nbegin 3\nend 3\n"), Some(3), "the first was killed");
        assert_eq!(check("begin 1\nend 1\nbegin 1\n"), None, "twice");
        assert_eq!(check("begin 1\nbegin 2\nend 1\n"), None, "beside each other");
        assert_eq!(check("begin 1\noverlap\nbegin 2\n"), None, "beside each other");
        assert_eq!(check("end 1\n"), None);
    }
}
