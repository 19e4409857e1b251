//! Expected starts of waiting jobs, one request per job, for at most a terminal full of jobs.

use crate::failure::Failure;
use crate::output::jobs::group_rows;
use crate::output::screen::note;
use crate::server::Server;
use common::id::JobKey;
use common::job::Phase;
use common::time::Time;
use common::wire::api::{Explanation, JobView};
use std::collections::BTreeMap;

/// The limit on requests: each one costs the controller a forecast.
const STARTS_MAX: usize = 20;

/// Expected starts of the waiting jobs in a list; of similar array tasks only the first has one.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn fetch_expected_starts(
    jobs: &[JobView],
    server: &Server,
) -> Result<BTreeMap<JobKey, Time>, Failure> {
    let mut starts = BTreeMap::new();
    let waiting = group_rows(jobs).filter_map(<[JobView]>::first);
    let waiting: Vec<&JobView> = waiting.filter(|job| job.phase == Phase::Pending).collect();
    for job in waiting.iter().take(STARTS_MAX) {
        let explained: Explanation = server.get(&format!("/v1/jobs/{}/explain", job.key)).await?;
        starts.extend(explained.expected_at.map(|at| (job.key, at)));
    }
    if waiting.len() > STARTS_MAX {
        note(&format!(
            "only the first {STARTS_MAX} lines have expected starts; use -j to select others"
        ));
    }
    Ok(starts)
}
