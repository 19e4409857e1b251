//! Steps of jobs that live, asked of their first nodes. Never waits long: a node that is silent
//! must not hold up a list, which says then that something is missing.

use crate::output::screen::note;
use crate::server::Server;
use common::id::JobKey;
use common::job::{Phase, StepRecord};
use common::wire::api::{JobView, StepList};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// All of them are asked within this.
const PATIENCE: Duration = Duration::from_secs(3);

/// The steps of those of the jobs that run: what runs, and of what ended the last.
pub async fn steps(jobs: &[JobView], server: &Server) -> BTreeMap<JobKey, Vec<StepRecord>> {
    let runs =
        |job: &&JobView| matches!(job.phase, Phase::Running | Phase::Suspended | Phase::Completing);
    let (mut found, mut silent) = (BTreeMap::new(), 0);
    let until = Instant::now() + PATIENCE;
    for job in jobs.iter().filter(runs) {
        let path = format!("/v1/jobs/{}/steps", job.key);
        let asked = server.get_for::<StepList>(&path, Duration::ZERO);
        match timeout_at(until, asked).await {
            Ok(Ok(list)) => {
                found.insert(job.key, list.steps.iter().map(StepRecord::from).collect());
            }
            // It ended meanwhile.
            Ok(Err(failure)) if !failure.is_silent_node() => {}
            Ok(Err(_)) | Err(_) => silent += 1,
        }
    }
    if silent > 0 {
        note(&format!("the steps of {silent} jobs that run are not known: their nodes are silent"));
    }
    found
}
