//! `kantctl report`: usage of the cluster, and its capacity. The controller computes all sums.

use super::export::{read_since, read_until};
use super::usage_filter::UsageFilter;
use crate::clock;
use crate::failure::{Failure, OK};
use crate::fetch::{self, Answer};
use crate::output::{Screen, report};
use crate::server::{Server, encoded};
use common::time::{Span, Time};
use common::wire::api::ReportView;

const EXAMPLES: &str = "\
Examples:
  kantctl report
  kantctl report --by user --since 7d
  kantctl report --by account,user --since 2026-01-01 --until 2026-02-01 --csv > january.csv
  kantctl report --by gpus --queue train

A run counts with the part of its time that lies in the period, from allocation to end: the
resources it occupied, used or not. Runs that have not ended count with their time so far. Capacity
counts from when a node was first seen. The share is of the GPU time (without GPUs: the CPU time)
of all runs.";

/// The default period.
const BACK: Span = Span::from_minutes(30 * 24 * 60);

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Group by user, account, queue, qos, state, gpus, cpus or nodes; several are comma-separated
    #[arg(long, value_name = "WHAT", default_value = "account,user")]
    pub by: String,
    /// Start of the period: an age (7d, 12h) or a date [default: 30d]
    #[arg(short = 'S', long, value_name = "TIME", value_parser = read_since)]
    pub since: Option<Time>,
    /// End of the period [default: now]
    #[arg(short = 'E', long, value_name = "TIME", value_parser = read_until)]
    pub until: Option<Time>,
    #[command(flatten)]
    pub filter: UsageFilter,
    /// Print CSV, with times in hours
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

/// Requests a report.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or the grouping is unknown.
pub async fn fetch_report(
    server: &Server,
    by: &str,
    since: Time,
    until: Option<Time>,
    lists: [(&str, &[String]); 3],
) -> Result<Answer<ReportView>, Failure> {
    let until = until.map_or_else(String::new, |until| format!("&until={}", until.0));
    let lists: String = lists
        .iter()
        .filter(|(_, words)| !words.is_empty())
        .map(|(name, words)| format!("&{name}={}", encoded(&words.join(","))))
        .collect();
    fetch::get(server, &format!("/v1/report?by={}&since={}{until}{lists}", encoded(by), since.0))
        .await
}

/// Shows a report.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or the grouping is unknown.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let now = clock::now();
    let since = args.since.unwrap_or(now - BACK);
    let answer = fetch_report(server, &args.by, since, args.until, args.filter.lists()).await?;
    if screen.json {
        screen.answer(&answer.raw)?;
    } else if args.csv {
        screen.csv(&report::csv(&args.by, &answer.typed))?;
    } else {
        screen.record(&report::cluster(&answer.typed, &screen.zone))?;
        screen.line("")?;
        screen.table(&report::table(&args.by, &answer.typed))?;
    }
    Ok(OK)
}
