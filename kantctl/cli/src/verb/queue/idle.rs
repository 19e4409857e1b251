//! `kantctl queue --idle`: the running jobs that hold GPUs and do not use them.

use crate::failure::{Failure, OK};
use crate::fetch::{self, Answer};
use crate::output::{Screen, idle_gpus};
use crate::server::Server;
use crate::verb::filter::Filter;
use common::time::Span;
use common::wire::api::IdleGpuList;
use serde_json::Value;

/// Lists jobs with GPUs that have been idle for this long.
///
/// # Errors
/// [`Failure`] when the controller does not answer.
pub async fn run(
    idle: Span,
    filter: &Filter,
    server: &Server,
    screen: &Screen,
) -> Result<u8, Failure> {
    let seconds = idle.seconds();
    let path = format!("/v1/idle-gpus?seconds={seconds}");
    let mut answer: Answer<IdleGpuList> = fetch::get(server, &path).await?;
    let jobs = &mut answer.typed.jobs;
    filter.check_owners(|user| jobs.iter().any(|one| one.job.owner.name == user))?;
    let keep: Vec<bool> = jobs.iter().map(|one| filter.selects(&one.job)).collect();
    let mut kept = keep.iter();
    if screen.json {
        if let Some(jobs) = answer.raw.get_mut("jobs").and_then(Value::as_array_mut) {
            jobs.retain(|_| kept.next() == Some(&true));
        }
        screen.print_answer_json(&answer.raw)?;
    } else {
        jobs.retain(|_| kept.next() == Some(&true));
        screen.print_table(&idle_gpus::table(&answer.typed))?;
    }
    Ok(OK)
}
