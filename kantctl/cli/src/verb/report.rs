//! `kantctl report`: usage of the cluster and its capacity, or time limits compared with run times.
//! The controller computes all sums.

use super::export::{read_since, read_until};
use super::usage_filter::UsageFilter;
use crate::clock;
use crate::failure::{Failure, OK};
use crate::fetch::{self, Answer};
use crate::output::{Screen, estimates, report};
use crate::server::{Server, encoded};
use common::time::{Span, Time};
use common::wire::api::{EstimatesView, ReportView};

const EXAMPLES: &str = "\
Examples:
  kantctl report
  kantctl report --by user --since 7d
  kantctl report --by account,user --since 2026-01-01 --until 2026-02-01 --csv > january.csv
  kantctl report --by gpus --queue train
  kantctl report estimates --by user --since 90d

In a usage report, a run counts with the part of its time that lies in the period, from allocation to end: the
resources it occupied, used or not. Runs that have not ended count with their time so far. Capacity
counts from when a node was first seen. The share is of the GPU time (without GPUs: the CPU time)
of all runs.

`estimates` shows who asks for how much more time than needed. It counts runs with a time limit that
ended in the period by themselves or by that limit. LIMIT and RUN are means, in hours. HALF USED 10%:
half of the runs used at most 10 % of their time limits; 95% USED: the same for 95 of 100 runs.
UNUSED is what the time limits claimed beyond the ends of the runs.";

/// The default period.
const BACK: Span = Span::from_minutes(30 * 24 * 60);

/// The subject of a report.
#[derive(clap::ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Usage,
    Estimates,
}

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What to report: usage, or estimates (time limits compared with run times)
    #[arg(value_name = "WHAT", default_value = "usage")]
    pub what: What,
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

/// Requests a usage report.
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
    fetch::get(server, &format!("/v1/report{}", query(by, since, until, lists))).await
}

fn query(by: &str, since: Time, until: Option<Time>, lists: [(&str, &[String]); 3]) -> String {
    let until = until.map_or_else(String::new, |until| format!("&until={}", until.0));
    let lists: String = lists
        .iter()
        .filter(|(_, words)| !words.is_empty())
        .map(|(name, words)| format!("&{name}={}", encoded(&words.join(","))))
        .collect();
    format!("?by={}&since={}{until}{lists}", encoded(by), since.0)
}

/// Shows a report.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or the grouping is unknown.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let since = args.since.unwrap_or(clock::now() - BACK);
    match args.what {
        What::Usage => show_usage(args, since, server, screen).await?,
        What::Estimates => show_estimates(args, since, server, screen).await?,
    }
    Ok(OK)
}

async fn show_usage(
    args: &Args,
    since: Time,
    server: &Server,
    screen: &Screen,
) -> Result<(), Failure> {
    let answer =
        fetch_report(server, &args.by, since, args.until, args.filter.query_lists()).await?;
    if screen.json {
        screen.print_answer_json(&answer.raw)?;
    } else if args.csv {
        screen.print_csv(&report::csv(&args.by, &answer.typed))?;
    } else {
        screen.print_record(&report::cluster(&answer.typed, &screen.zone))?;
        screen.print_line("")?;
        screen.print_table(&report::table(&args.by, &answer.typed))?;
    }
    Ok(())
}

async fn show_estimates(
    args: &Args,
    since: Time,
    server: &Server,
    screen: &Screen,
) -> Result<(), Failure> {
    let query = query(&args.by, since, args.until, args.filter.query_lists());
    let answer: Answer<EstimatesView> =
        fetch::get(server, &format!("/v1/report/estimates{query}")).await?;
    if screen.json {
        screen.print_answer_json(&answer.raw)?;
    } else if args.csv {
        screen.print_csv(&estimates::csv(&args.by, &answer.typed))?;
    } else {
        screen.print_table(&estimates::table(&args.by, &answer.typed))?;
    }
    Ok(())
}
