//! `kantctl checkpoint`: records that all work of a job up to now is saved.

use crate::failure::{Failure, OK};
use crate::output::Screen;
use crate::output::time::local;
use crate::server::{Retry, Server};
use common::id::JobKey;
use common::wire::api::CheckpointAnswer;
use serde_json::Value;

const EXAMPLES: &str = "\
Examples:
  kantctl checkpoint
  kantctl checkpoint 42_7

The first form is for the job's script, after each save: `python save.py && kantctl checkpoint`. The
second is for the job's owner or an operator, from outside.

The script saves its work itself, and continues from there when it is started again; kant only
records the time. When running jobs are compared for preemption or for moving, their loss is the
work since the start or, if that is later, since the last checkpoint. Minimum run times are still
counted from the start. A checkpoint applies to all components of a job, until the job starts
again.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The job (42, 42_7) [default: the job that this command runs in (KANT_JOB_ID)]
    #[arg(value_name = "JOB")]
    pub key: Option<JobKey>,
}

/// Records the checkpoint.
///
/// # Errors
/// [`Failure`] when there is no such job, it is not running, or the controller cannot be reached.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let around = std::env::var("KANT_JOB_ID").ok();
    let key = job(args.key, around.as_deref())?;
    let path = format!("/v1/jobs/{key}/checkpoint");
    let answer =
        server.post::<Value, CheckpointAnswer>(&path, &Value::Null, Retry::IfUnanswered).await?;
    match screen.json {
        true => screen.print_answer_json(&answer)?,
        false => {
            let at = local(answer.checkpoint_at, &screen.zone);
            screen.print_line(&format!("job {key}: work up to {at} is saved"))?;
        }
    }
    Ok(OK)
}

/// The job that was named, or the one this runs in.
fn job(named: Option<JobKey>, around: Option<&str>) -> Result<JobKey, Failure> {
    let around = || around.and_then(|key| key.parse().ok());
    named.or_else(around).ok_or_else(|| {
        Failure::usage(anyhow::anyhow!(
            "this does not run inside a job: name one (`kantctl checkpoint 42`)"
        ))
    })
}
