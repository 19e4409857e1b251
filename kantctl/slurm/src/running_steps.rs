//! The steps of running jobs, fetched from each job's first node. The time for it is bounded: an
//! unresponsive node must not delay a listing, which then reports that steps are missing.

use cli::output::screen::note;
use cli::server::Server;
use common::id::JobKey;
use common::job::{Phase, StepRecord};
use common::wire::api::{JobView, StepList};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// For all jobs together.
const TIMEOUT: Duration = Duration::from_secs(3);

/// The steps of the running jobs among `jobs`: those that run, and the most recent that ended.
pub async fn fetch(jobs: &[JobView], server: &Server) -> BTreeMap<JobKey, Vec<StepRecord>> {
    let runs =
        |job: &&JobView| matches!(job.phase, Phase::Running | Phase::Suspended | Phase::Completing);
    let (mut found, mut silent) = (BTreeMap::new(), 0);
    let until = Instant::now() + TIMEOUT;
    for job in jobs.iter().filter(runs) {
        let path = format!("/v1/jobs/{}/steps", job.key);
        let asked = server.get_retrying::<StepList>(&path, Duration::ZERO);
        match timeout_at(until, asked).await {
            Ok(Ok(list)) => {
                found.insert(job.key, list.steps.iter().map(StepRecord::from).collect());
            }
            // The job has ended in the meantime.
            Ok(Err(failure)) if !failure.is_silent_node() => {}
            Ok(Err(_)) | Err(_) => silent += 1,
        }
    }
    if silent > 0 {
        note(&format!("no steps are shown for {silent} running jobs: their nodes do not answer"));
    }
    found
}
