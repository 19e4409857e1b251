//! The jobs that GET /slurmdb/{version}/jobs asks for: as a query for finished runs, and as a
//! condition for jobs that have not ended.

use crate::job_line::{Line, LinePart, Page};
use common::id::JobKey;
use common::time::Time;
use common::wire::api::{HistoryQuery, JobView};

/// The state that Slurm shows for a failed launch too, and that one's name in kant.
const FAILED: [&str; 2] = ["FAILED", "F"];
const LAUNCH_FAILED: &str = "LAUNCH_FAILED";

/// What to list; an empty list selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    pub jobs: Vec<JobKey>,
    /// Names or uids.
    pub users: Vec<String>,
    pub accounts: Vec<String>,
    pub queues: Vec<String>,
    /// Slurm's words, in upper case.
    pub states: Vec<String>,
    /// Ended at this time or later, or not at all.
    pub ended_since: Option<Time>,
    /// Submitted at this time or earlier.
    pub submitted_until: Option<Time>,
}

impl Selection {
    /// The query for finished runs.
    #[must_use]
    pub fn query(&self) -> HistoryQuery {
        let mut states = self.states.clone();
        if states.iter().any(|state| FAILED.contains(&state.as_str())) {
            states.push(LAUNCH_FAILED.to_owned());
        }
        let jobs: Vec<String> = self.jobs.iter().map(ToString::to_string).collect();
        HistoryQuery {
            jobs: jobs.join(","),
            users: self.users.join(","),
            accounts: self.accounts.join(","),
            queues: self.queues.join(","),
            states: states.join(","),
            since: self.ended_since,
            submitted_until: self.submitted_until,
            ..HistoryQuery::default()
        }
    }

    /// Whether it selects a job that has not ended, apart from its id.
    #[must_use]
    pub fn selects(&self, job: &JobView, page: &Page) -> bool {
        let among = |list: &[String], names: &[&str]| {
            list.is_empty() || list.iter().any(|word| names.contains(&word.as_str()))
        };
        let uid = job.owner.uid.to_string();
        let account = job.ask.account.as_ref().map_or("", |account| account.as_str());
        let queue = job.ask.queue.as_ref().map_or("", |queue| queue.as_str());
        let line = Line { jobs: std::slice::from_ref(job), job, part: LinePart::Whole, page };
        among(&self.users, &[&job.owner.name, &uid])
            && among(&self.accounts, &[account])
            && among(&self.queues, &[queue])
            && (self.states.is_empty() || line.is_in_state(&self.states))
            && self.submitted_until.is_none_or(|until| job.submitted_at <= until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::job::Phase;
    use common::job::state::slurm_state;
    use testkit::job_view;

    #[test]
    fn a_state_selects_the_jobs_that_are_shown_with_it() {
        let page = Page { account: true, ..Page::default() };
        let selection = Selection { states: vec!["RUNNING".to_owned()], ..Selection::default() };
        for (phase, expected) in [
            (Phase::Pending, false),
            (Phase::Starting, true),
            (Phase::Running, true),
            (Phase::Suspended, false),
            (Phase::Completing, true),
        ] {
            let (state, state_code) = slurm_state(phase, None);
            let (state, state_code) = (state.to_owned(), state_code.to_owned());
            let job = JobView { phase, state, state_code, ..job_view("42") };
            assert_eq!(selection.selects(&job, &page), expected, "{phase:?}");
        }
    }

    #[test]
    fn a_query_for_failed_jobs_includes_failed_launches() {
        let states = vec!["FAILED".to_owned(), "TIMEOUT".to_owned()];
        let jobs = ["42", "43_7"].map(|key| key.parse().unwrap()).to_vec();
        let query = Selection { states, jobs, ..Selection::default() }.query();
        assert_eq!(query.states, "FAILED,TIMEOUT,LAUNCH_FAILED");
        assert_eq!(query.jobs, "42,43_7");
    }
}
