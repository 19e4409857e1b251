//! `kantctl report`: who used how much of the cluster, and how much of it there was. Never adds
//! anything up itself but columns; the controller does.

use super::ask::{self, Answer};
use super::export::{read_since, read_until};
use super::whose::Whose;
use crate::failure::{Failure, OK};
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

A run counts with its time within, from its allocation to its end: what it kept from others, used
or not. Runs that are not over count with their time so far. What nodes had counts from when each
was first seen; the share is of the GPU-time (without GPUs: the CPU-time) that all runs had.";

/// So far back where nobody says.
const BACK: Span = Span::from_minutes(30 * 24 * 60);

/// Arguments of `report`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// By user, account, queue, qos, state, gpus, cpus, nodes; several with commas
    #[arg(long, value_name = "WHAT", default_value = "account,user")]
    pub by: String,
    /// From then on: so long ago (7d, 12h), or a date [default: 30d]
    #[arg(short = 'S', long, value_name = "TIME", value_parser = read_since)]
    pub since: Option<Time>,
    /// Until then [default: now]
    #[arg(short = 'E', long, value_name = "TIME", value_parser = read_until)]
    pub until: Option<Time>,
    #[command(flatten)]
    pub whose: Whose,
    /// As CSV, the times in hours
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

/// Asks for a report.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or nothing is added up by that.
pub async fn ask(
    server: &Server,
    by: &str,
    (since, until): (Time, Option<Time>),
    lists: [(&str, &[String]); 3],
) -> Result<Answer<ReportView>, Failure> {
    let until = until.map_or_else(String::new, |until| format!("&until={}", until.0));
    let lists: String = lists
        .iter()
        .filter(|(_, words)| !words.is_empty())
        .map(|(name, words)| format!("&{name}={}", encoded(&words.join(","))))
        .collect();
    ask::get(server, &format!("/v1/report?by={}&since={}{until}{lists}", encoded(by), since.0))
        .await
}

/// Shows a report.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or nothing is added up by that.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let now = Time(u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0));
    let since = args.since.unwrap_or(now - BACK);
    let answer = ask(server, &args.by, (since, args.until), args.whose.lists()).await?;
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
