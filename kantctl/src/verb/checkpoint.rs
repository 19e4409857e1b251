//! `kantctl checkpoint`: says that all work of a job so far is saved. Never saves anything.

use crate::failure::{Failure, OK};
use crate::output::Screen;
use crate::output::time::local;
use crate::server::{Again, Server};
use common::id::JobKey;
use common::wire::api::CheckpointAnswer;
use serde_json::Value;

const EXAMPLES: &str = "\
Examples:
  kantctl checkpoint
  kantctl checkpoint 42_7

The first is for a job's script, after each save: `python save.py && kantctl checkpoint`. The second
is for its owner or an operator, from outside.

The script saves its work itself, and goes on from it when it is started again; kant only takes note
of when that was. Who is stopped for another job, and who may be moved, is told by what would be
lost: all that a job did since it started or, if that is later, since it last said this. Least run
times go on counting from its start. It holds for all components of a job, and until it starts
again.";

/// Arguments of `checkpoint`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The job (42, 42_7); without it the one that this runs in (KANT_JOB_ID)
    #[arg(value_name = "JOB")]
    pub key: Option<JobKey>,
}

/// Says it.
///
/// # Errors
/// [`Failure`] when there is no such job, it does not run, or the controller cannot be reached.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let around = std::env::var("KANT_JOB_ID").ok();
    let key = job(args.key, around.as_deref())?;
    let path = format!("/v1/jobs/{key}/checkpoint");
    let answer =
        server.post::<Value, CheckpointAnswer>(&path, &Value::Null, Again::IfUnanswered).await?;
    match screen.json {
        true => screen.answer(&answer)?,
        false => {
            let at = local(answer.checkpoint_at, &screen.zone);
            screen.line(&format!("job {key}: work up to {at} is saved"))?;
        }
    }
    Ok(OK)
}

/// Which job: the one named, or the one around.
fn job(named: Option<JobKey>, around: Option<&str>) -> Result<JobKey, Failure> {
    let around = || around.and_then(|key| key.parse().ok());
    named.or_else(around).ok_or_else(|| {
        Failure::usage(anyhow::anyhow!("this runs in no job: name one (`kantctl checkpoint 42`)"))
    })
}
