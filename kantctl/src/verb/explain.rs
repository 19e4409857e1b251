//! `kantctl explain`: why a job is where it is, and what to do.

use super::ask::{self, Answer};
use crate::failure::{Failure, OK};
use crate::keys::{self, Keys};
use crate::output::{Screen, jobs, plain};
use crate::server::Server;
use common::wire::api::Explanation;
use serde_json::Value;

const EXAMPLES: &str = "\
Examples:
  kantctl explain 42
  kantctl explain $(kantctl submit --parsable --hold --wrap hostname)";

/// Arguments of `explain`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
#[allow(missing_docs)] // each field's comment is its help
pub struct Args {
    /// Jobs: 42, 42_7, 42_[0-3]
    #[arg(required = true, value_name = "JOB")]
    pub keys: Vec<Keys>,
}

/// Explains jobs.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or does not know one of them.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let mut raw = Vec::new();
    let keys = keys::all(&args.keys);
    for (place, key) in keys.iter().enumerate() {
        let path = format!("/v1/jobs/{key}/explain");
        let answer: Answer<Explanation> = ask::get(server, &path).await?;
        if screen.json {
            raw.push(answer.raw);
            continue;
        }
        if place > 0 {
            screen.line("")?;
        }
        screen.print(&told(&answer.typed))?;
    }
    match raw.len() {
        0 => {}
        1 => raw.iter().try_for_each(|one| screen.answer(one))?,
        _ => screen.answer(&Value::Array(raw))?,
    }
    Ok(OK)
}

fn told(explanation: &Explanation) -> String {
    let Explanation { job, lines, advice } = explanation;
    let mut text = format!("Job {} ({}) is {}.\n", job.key, plain(&job.ask.name), job.state);
    let own = if lines.is_empty() { Some(jobs::where_or_why(job)) } else { None };
    for line in lines.iter().cloned().chain(own.filter(|own| !own.is_empty())) {
        text.push_str(&format!("  {}\n", plain(&line)));
    }
    if let Some(advice) = advice {
        text.push_str(&format!("What to do: {}\n", plain(advice)));
    }
    text
}
