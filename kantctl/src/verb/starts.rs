//! When waiting jobs are expected to start, as each one's explanation says. Never more questions
//! than a terminal shows lines.

use crate::failure::Failure;
use crate::output::screen::note;
use crate::server::Server;
use crate::slurm::job_line::group_lines;
use common::id::JobKey;
use common::job::Phase;
use common::time::Time;
use common::wire::api::{Explanation, JobView};
use std::collections::BTreeMap;

/// Each expected start costs the controller a forecast.
const STARTS_MAX: usize = 20;

/// Of the waiting ones among these, and of tasks that wait alike for the first.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn starts(jobs: &[JobView], server: &Server) -> Result<BTreeMap<JobKey, Time>, Failure> {
    let mut starts = BTreeMap::new();
    let gathered = group_lines(jobs, false);
    let waiting = gathered.iter().filter_map(|alike| alike.first());
    let waiting: Vec<&JobView> = waiting.filter(|job| job.phase == Phase::Pending).collect();
    for job in waiting.iter().take(STARTS_MAX) {
        let told: Explanation = server.get(&format!("/v1/jobs/{}/explain", job.key)).await?;
        starts.extend(told.expected_at.map(|at| (job.key, at)));
    }
    if waiting.len() > STARTS_MAX {
        note(&format!("expected starts of the first {STARTS_MAX} lines only; name others with -j"));
    }
    Ok(starts)
}
