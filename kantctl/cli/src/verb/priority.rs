//! `kantctl priority`: the priorities of waiting jobs, factor by factor.

use crate::failure::{Failure, OK};
use crate::fetch::{self, Answer};
use crate::keys::{self, Keys};
use crate::output::screen::note;
use crate::output::{Screen, priority};
use crate::server::{Server, encoded};
use common::wire::api::PriorityList;

const EXAMPLES: &str = "\
Examples:
  kantctl priority
  kantctl priority 42 43_[0-3]
  kantctl priority --json

In a queue with multifactor order, a job's priority is a sum of points: for each factor its weight
(in kantctld.toml) times a value between 0 and 1; nice is subtracted. A list of jobs shows points
only; a single job shows weights and values, too. A fifo queue orders its jobs by queue and QoS
priority, nice and age, without a sum.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only these jobs: 42, 42_7, 42_[0-3] [default: all waiting jobs]
    #[arg(value_name = "JOB")]
    pub keys: Vec<Keys>,
}

/// Shows priorities.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or does not know one of the jobs.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let keys: Vec<String> = keys::flatten(&args.keys).iter().map(ToString::to_string).collect();
    let query = match keys.is_empty() {
        true => String::new(),
        false => format!("?job={}", encoded(&keys.join(","))),
    };
    let answer: Answer<PriorityList> = fetch::get(server, &format!("/v1/priority{query}")).await?;
    match answer.typed.jobs.as_slice() {
        _ if screen.json => screen.print_answer_json(&answer.raw)?,
        [job] if !keys.is_empty() => screen.print_record(&priority::record(job))?,
        [] if !keys.is_empty() => {
            note("only jobs that wait have a priority, and none of these waits");
        }
        jobs => screen.print_table(&priority::table(jobs))?,
    }
    Ok(OK)
}
