//! `--test-only`: when and where a job would start, without submitting it.
//! Source: man sbatch, man srun (--test-only).

use crate::failure::{Failure, OK};
use crate::fetch::Answer;
use crate::output::screen::{note, warn};
use crate::output::zone::Zone;
use crate::output::{Screen, start_outlook};
use crate::server::{Retry, Server};
use crate::slurm_time::format_time;
use common::hostlist::compress;
use common::text::escape_hidden;
use common::wire::api::{SubmitRequest, TrialView};
use jiff::tz::TimeZone;
use serde_json::Value;

/// Prints when the job would start: on the screen, or for Slurm's commands on stderr, as sbatch and
/// srun do.
///
/// # Errors
/// [`Failure`] when the job would be refused, or could never start.
pub async fn report(
    request: &SubmitRequest,
    is_slurm: bool,
    server: &Server,
    screen: Option<&Screen>,
) -> Result<u8, Failure> {
    let raw: Value = server.post("/v1/jobs/trial", request, Retry::IfUnanswered).await?;
    let Answer { raw, typed }: Answer<TrialView> = raw.try_into()?;
    let zone = screen.map_or_else(Zone::system, |screen| screen.zone.clone());
    match screen {
        Some(screen) if screen.json => screen.print_answer_json(&raw)?,
        _ if start_outlook::can_never_start(&typed.outlook) => {}
        Some(screen) if !is_slurm => screen.print_line(&in_kant_format(&typed, &zone))?,
        _ if is_slurm => in_slurm_format(&typed, &zone).iter().for_each(|line| note(line)),
        _ => note(&in_kant_format(&typed, &zone)),
    }
    if let Some(warning) = &typed.warning {
        warn(warning);
    }
    match start_outlook::can_never_start(&typed.outlook) {
        true => Err(Failure::from_message(format!(
            "it {}",
            start_outlook::outlook(&typed.outlook, &zone)
        ))),
        false => Ok(OK),
    }
}

/// The refusal for a step, which runs on the nodes of its job.
#[must_use]
pub fn refuse_for_step() -> Failure {
    let text = "--test-only can only be used for a new job, not for a step in a running job";
    Failure::usage(anyhow::anyhow!(text))
}

fn in_kant_format(view: &TrialView, zone: &TimeZone) -> String {
    let what = match view.tasks {
        0 => "It".to_owned(),
        tasks => format!("The first of {tasks} tasks"),
    };
    let outlook = start_outlook::outlook(&view.outlook, zone);
    let outlook = escape_hidden(&outlook);
    format!("{what} {outlook}. Nothing was submitted.")
}

/// Slurm's line `Job 7 to start at ... using 4 processors on nodes n1 in partition main`, which
/// programs parse, and why not now. Nodes of a later start are a forecast.
fn in_slurm_format(view: &TrialView, zone: &TimeZone) -> Vec<String> {
    let TrialView { job, cpus, queue, outlook, as_of, .. } = view;
    let why = outlook.reason.as_ref().map(|reason| escape_hidden(&reason.sentence).into_owned());
    let at = outlook.starts_now.as_ref().map(|_| *as_of).or(outlook.expected_at);
    let Some(at) = at else {
        let why = why.unwrap_or_else(|| "it waits".to_owned());
        return vec![format!("Job {job} would wait for an unknown time: {why}")];
    };
    let later = Some(&outlook.expected_on).filter(|nodes| !nodes.is_empty() && !outlook.bounded);
    let nodes = outlook.starts_now.as_ref().or(later);
    let nodes = nodes.map_or_else(|| "(undecided)".to_owned(), compress);
    let at = format_time(at, zone);
    let start = format!(
        "Job {job} to start at {at} using {cpus} processors on nodes {nodes} in partition {queue}"
    );
    let bound = if outlook.bounded { "that is the earliest: " } else { "not now: " };
    std::iter::once(start).chain(why.map(|why| format!("{bound}{why}"))).collect()
}
